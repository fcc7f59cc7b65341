"""Errata of the five texts: where it is printed, the printed form, the right form, and the test.

The entries stand in `errata_tables/*.toml`, one file per text. An entry names the test that shows
both that the printed form fails and that the right one holds; `tests/books` checks that it exists.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

TEXTS = {
    "cookbook": "Machine Learning Cookbook (Bießmann, Müller, von Bünau)",
    "first_encounter": "A First Encounter with Machine Learning (Welling)",
    "lecture_notes": "Machine Learning, lecture notes, winter term 2015/16",
    "summary": "Summary - Machine Learning (Hägele)",
    "slides": "Machine Learning, lecture slides (Bießmann)",
}

# the methods an erratum may concern, and the public estimators on those pages
PAGES: dict[str, tuple[str, ...]] = {
    "pca": ("PCA",),
    "whiten": ("PCA",),
    "kernel_pca": ("KernelPCA",),
    "least_squares": ("LinearRegression", "Ridge"),
    "weighted_least_squares": ("GeneralizedLeastSquares", "ReweightedLeastSquares"),
    "total_least_squares": ("TotalLeastSquares",),
    "robust": ("HuberRegressor", "QuantileRegressor"),
    "sparse_regression": ("Lasso", "ElasticNet", "LassoCV", "ElasticNetCV", "lasso_path"),
    "nonlinear_least_squares": (),
    "ridge": ("Ridge", "RidgeCV"),
    "kernel_ridge": ("KernelRidge", "KernelRidgeCV"),
    "kernel_regression": (),
    "neural_network": ("MLPRegressor", "MLPClassifier"),
    "gaussian_process": ("GaussianProcessRegressor",),
    "svm": ("SVC", "LinearSVC", "SVR", "LinearSVR"),
    "fisher": ("FisherDiscriminant", "KernelFisherDiscriminant"),
    "discriminants": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "centroids": ("NearestCentroid",),
    "naive_bayes": (
        "GaussianNB",
        "BernoulliNB",
        "CategoricalNB",
        "MultinomialNB",
        "ComplementNB",
        "HistogramNB",
    ),
    "histograms": ("HistogramNB", "HistogramDensity"),
    "density_tree": ("DensityTree", "DensityForest"),
    "boosting": ("AdaBoostClassifier", "AdaBoostRegressor"),
    "trees": (
        "DecisionTreeRegressor",
        "DecisionTreeClassifier",
        "RandomForestRegressor",
        "RandomForestClassifier",
        "ExtraTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreesRegressor",
        "ExtraTreesClassifier",
    ),
    "copula": ("RankTransform", "CopulaDensity", "CopulaClassifier"),
    "bayes": ("MajorityClassifier",),
    "neighbours": ("NearestNeighbors", "KNeighborsClassifier", "KNeighborsRegressor"),
    "logistic": ("LogisticRegression", "OnlineClassifier"),
    "perceptron": ("Perceptron", "Adaline", "OnlineClassifier"),
    "cca": ("CCA", "KernelCCA", "MultiviewCCA"),
    "nmf": ("NMF",),
    "ica": ("FastICA",),
    "robust_pca": ("RobustPCA",),
    "k_means": ("KMeans", "KernelKMeans", "KMedoids", "KLines"),
    "hierarchical": ("AgglomerativeClustering",),
    "choose_k": ("choose_k",),
    "mixture": ("GaussianMixture",),
    "spectral": ("SpectralClustering",),
    "manifolds": ("LocallyLinearEmbedding", "LaplacianEigenmaps", "Isomap", "ClassicalMDS"),
    "random_kitchen_sinks": ("FourierFeatures", "KitchenSinksRegressor", "KitchenSinksClassifier"),
    "kernel_template": ("KernelRidge", "KernelPCA"),
    "kernels": ("Linear", "Polynomial", "AllSubsets", "Gaussian"),
    "features": ("cook",),
    "metrics": ("cook",),
    "choosing": ("choose",),
    "cross_validation": ("RidgeCV", "KernelRidgeCV"),
}


@dataclass(frozen=True)
class Erratum:
    """One error of a printed page. `pages` names the methods concerned, `test` a pytest node."""

    id: str
    text: str
    where: str
    printed: str
    right: str
    why: str
    test: str
    pages: tuple[str, ...]


def _read(text: str) -> Iterator[Erratum]:
    table = files(__package__).joinpath("errata_tables", f"{text}.toml").read_text("utf-8")
    for number, entry in tomllib.loads(table).items():
        pages = tuple(entry.pop("pages"))
        yield Erratum(id=f"{text} {number}", text=text, pages=pages, **entry)


@cache
def errata() -> tuple[Erratum, ...]:
    """Every erratum, text by text, in the order of the pages."""
    return tuple(erratum for text in TEXTS for erratum in _read(text))


def concerning(name: str) -> tuple[Erratum, ...]:
    """The errata of one method ("kernel_pca") or of one estimator ("KernelPCA")."""
    pages = {page for page, estimators in PAGES.items() if name == page or name in estimators}
    return tuple(erratum for erratum in errata() if pages & set(erratum.pages))


def as_markdown() -> str:
    """All errata as one Markdown document (docs/errata.md is made from it)."""
    lines = ["# What the printed pages get wrong", ""]
    lines += ["Each entry has a test in which the printed form fails and the right form holds.", ""]
    for text, title in TEXTS.items():
        lines += [f"## {title}", ""]
        for e in (e for e in errata() if e.text == text):
            lines += [f"### {e.id}: {e.where}", "", f"- Printed: {e.printed}"]
            lines += [f"- Right: {e.right}", f"- Why: {e.why}", f"- Test: `{e.test}`", ""]
    return "\n".join(lines)

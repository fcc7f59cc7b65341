"""One table of everything public: where a name lives, and the page of the book it belongs to.

The lazy namespace of `kilogram`, the laws, the documentation and `kg explain` all read this table,
so a new page becomes visible everywhere by one entry here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Page:
    """One page: a linear method and its kernel twin, what they minimise, cost and limits."""

    slug: str
    title: str
    names: tuple[str, ...]
    objective: str
    when: str
    cost: str
    limits: str
    sources: tuple[str, ...]


#: The pages in the order of the book; each is told in `pages/<slug>.toml`.
SLUGS: tuple[str, ...] = (
    "least_squares",
    "robust",
    "ridge",
    "svm",
    "pca",
    "cca",
    "factors",
    "fisher",
    "discriminants",
    "centroids",
    "naive_bayes",
    "logistic",
    "online",
    "gaussian_process",
    "clusters",
    "mixtures",
    "hierarchical",
    "choose_k",
    "spectral",
    "manifolds",
    "densities",
    "trees",
    "few_labels",
    "explicit_features",
    "feature_maps",
    "kernels",
)

PUBLIC: dict[str, str] = {
    # least squares
    "LinearRegression": "kilogram.models.regression.linear",
    "GeneralizedLeastSquares": "kilogram.models.regression.least_squares_general",
    "ReweightedLeastSquares": "kilogram.models.regression.least_squares_variance",
    "TotalLeastSquares": "kilogram.models.regression.total_least_squares",
    "coefficient_table": "kilogram.models.regression.coefficient_table",
    # robust regression
    "HuberRegressor": "kilogram.models.regression.robust",
    "QuantileRegressor": "kilogram.models.regression.quantile",
    # regression
    "Ridge": "kilogram.models.regression.ridge",
    "KernelRidge": "kilogram.models.regression.kernel_ridge",
    "RidgeCV": "kilogram.models.regression.ridge_cv",
    "KernelRidgeCV": "kilogram.models.regression.kernel_ridge_cv",
    "GaussianProcessRegressor": "kilogram.models.regression.process",
    # classification and regression with margins
    "SVC": "kilogram.models.classification.svm",
    "LinearSVC": "kilogram.models.classification.svm_linear",
    "SVR": "kilogram.models.regression.svr",
    "svm_path": "kilogram.models.classification.svm_path",
    "LinearSVR": "kilogram.models.regression.svr_linear",
    # subspaces
    "PCA": "kilogram.models.subspace.pca",
    "KernelPCA": "kilogram.models.subspace.kernel_pca",
    "CCA": "kilogram.models.subspace.cca",
    "KernelCCA": "kilogram.models.subspace.kernel_cca",
    "MultiviewCCA": "kilogram.models.subspace.multiview",
    "FastICA": "kilogram.models.subspace.ica",
    "NMF": "kilogram.models.subspace.nmf",
    "nmf_rank": "kilogram.models.subspace.nmf_rank",
    "RobustPCA": "kilogram.models.subspace.robust_pca",
    # classification
    "FisherDiscriminant": "kilogram.models.classification.fisher",
    "KernelFisherDiscriminant": "kilogram.models.classification.kernel_fisher",
    "GaussianProcessClassifier": "kilogram.models.classification.process",
    "LinearDiscriminantAnalysis": "kilogram.models.classification.linear_discriminant",
    "QuadraticDiscriminantAnalysis": "kilogram.models.classification.quadratic_discriminant",
    "NearestCentroid": "kilogram.models.classification.centroid",
    "MajorityClassifier": "kilogram.models.classification.majority",
    "GaussianNB": "kilogram.models.classification.naive_bayes_gaussian",
    "BernoulliNB": "kilogram.models.classification.naive_bayes_bernoulli",
    "CategoricalNB": "kilogram.models.classification.naive_bayes_categorical",
    "MultinomialNB": "kilogram.models.classification.naive_bayes_counts",
    "ComplementNB": "kilogram.models.classification.naive_bayes_counts",
    "HistogramNB": "kilogram.models.classification.naive_bayes_histogram",
    "LogisticRegression": "kilogram.models.classification.logistic",
    "LogisticRegressionCV": "kilogram.models.classification.logistic_cv",
    "logistic_path": "kilogram.models.classification.logistic_cv",
    "LabelSpreading": "kilogram.models.classification.spreading",
    "OnlineClassifier": "kilogram.models.classification.online",
    "Perceptron": "kilogram.models.classification.perceptron",
    "Adaline": "kilogram.models.classification.adaline",
    # clusters
    "KMeans": "kilogram.models.clusters.kmeans",
    "KernelKMeans": "kilogram.models.clusters.kernel_kmeans",
    "GaussianMixture": "kilogram.models.clusters.mixture",
    "SpectralClustering": "kilogram.models.clusters.spectral",
    # manifolds
    "LocallyLinearEmbedding": "kilogram.models.manifolds.lle",
    "LaplacianEigenmaps": "kilogram.models.manifolds.laplacian_eigenmaps",
    "Isomap": "kilogram.models.manifolds.isomap",
    "MDS": "kilogram.models.manifolds.mds",
    "KMedoids": "kilogram.models.clusters.medoids",
    "KLines": "kilogram.models.clusters.lines",
    "AgglomerativeClustering": "kilogram.models.clusters.agglomerative",
    "dendrogram": "kilogram.models.clusters.dendrogram",
    "choose_k": "kilogram.models.clusters.choose_k",
    "silhouette_samples": "kilogram.models.clusters.silhouette",
    "silhouette_score": "kilogram.models.clusters.silhouette",
    "clustering_distance": "kilogram.functions.partitions",
    # densities
    "HistogramDensity": "kilogram.models.densities.histogram",
    "KernelDensity": "kilogram.models.densities.kernel_density",
    "DensityTree": "kilogram.models.densities.tree",
    "DensityForest": "kilogram.models.densities.forest",
    "RankTransform": "kilogram.models.densities.ranks",
    "CopulaDensity": "kilogram.models.densities.copula",
    "CopulaClassifier": "kilogram.models.densities.copula",
    "DensityClassifier": "kilogram.models.densities.classifier",
    # trees
    "DecisionTreeRegressor": "kilogram.models.trees.decision",
    "DecisionTreeClassifier": "kilogram.models.trees.decision",
    "RandomForestRegressor": "kilogram.models.trees.forest",
    "RandomForestClassifier": "kilogram.models.trees.forest",
    # feature maps
    "PolynomialFeatures": "kilogram.models.features.polynomial",
    "RadialBasisFeatures": "kilogram.models.features.radial_basis",
    "FunctionFeatures": "kilogram.models.features.user_functions",
    "FourierFeatures": "kilogram.models.features.fourier",
    "Nystroem": "kilogram.models.features.nystroem",
    "KitchenSinksRegressor": "kilogram.models.features.kitchen_sinks",
    "KitchenSinksClassifier": "kilogram.models.features.kitchen_sinks",
    # kernels
    "Linear": "kilogram.kernels",
    "Polynomial": "kilogram.kernels",
    "AllSubsets": "kilogram.kernels",
    "Gaussian": "kilogram.kernels",
    "Laplacian": "kilogram.kernels",
    "Matern": "kilogram.kernels",
    "RationalQuadratic": "kilogram.kernels",
    "Chi2": "kilogram.kernels",
    "Precomputed": "kilogram.kernels",
    "OnColumns": "kilogram.kernels",
    "Stretched": "kilogram.kernels",
    "White": "kilogram.kernels",
    "FromCallable": "kilogram.kernels",
    # rows of any size, and what a fit will cost
    "open_rows": "kilogram.arrays.rows_files",
    "estimate": "kilogram.base.estimate",
    # from a table and a question to an answer
    "cook": "kilogram.kitchen",
    "audit": "kilogram.kitchen.audit",
    "choose": "kilogram.kitchen.choosing",
    "load_model": "kilogram.kitchen",
    "explain_model": "kilogram.kitchen.explain_model",
    "export_model": "kilogram.kitchen.export",
}


@cache
def pages() -> tuple[Page, ...]:
    """Every page of the book, in order; read from the package's own files when first asked for."""
    return tuple(_read(slug) for slug in SLUGS)


def page_of(name: str) -> Page | None:
    """The page on which a public name is told."""
    return next((page for page in pages() if name in page.names), None)


def _read(slug: str) -> Page:
    import tomllib  # only those who read a page pay for its reader

    text = (Path(__file__).parent / "pages" / f"{slug}.toml").read_text("utf-8")
    entry: dict[str, Any] = tomllib.loads(text)
    return Page(slug, **{key: _value(value) for key, value in entry.items()})


def _value(value: Any) -> Any:
    """Lists as tuples, paragraphs on one line."""
    return " ".join(value.split()) if isinstance(value, str) else tuple(value)

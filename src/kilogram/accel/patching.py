"""Exchange of the names in scikit-learn's public modules."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import sklearn

import kilogram as kg
from kilogram.errors import UserError

#: What Kilogram has under the same name, by the module that people import it from. Functions are
#: here only if they take every argument of scikit-learn's; those of trees because scikit-learn's
#: refuse trees of other classes.
SHARED: dict[str, tuple[str, ...]] = {
    "sklearn.cluster": ("AgglomerativeClustering", "KMeans", "SpectralClustering"),
    "sklearn.covariance": ("MinCovDet",),
    "sklearn.cross_decomposition": ("CCA",),
    "sklearn.decomposition": ("FastICA", "KernelPCA", "NMF", "PCA"),
    "sklearn.discriminant_analysis": (
        "LinearDiscriminantAnalysis",
        "QuadraticDiscriminantAnalysis",
    ),
    "sklearn.ensemble": (
        "AdaBoostClassifier",
        "AdaBoostRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ),
    "sklearn.gaussian_process": ("GaussianProcessClassifier", "GaussianProcessRegressor"),
    "sklearn.kernel_approximation": ("Nystroem",),
    "sklearn.kernel_ridge": ("KernelRidge",),
    "sklearn.linear_model": (
        "ElasticNet",
        "ElasticNetCV",
        "GammaRegressor",
        "HuberRegressor",
        "Lars",
        "LarsCV",
        "Lasso",
        "LassoCV",
        "LassoLars",
        "LassoLarsCV",
        "LassoLarsIC",
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "MultiTaskElasticNet",
        "MultiTaskElasticNetCV",
        "MultiTaskLasso",
        "MultiTaskLassoCV",
        "OrthogonalMatchingPursuit",
        "OrthogonalMatchingPursuitCV",
        "Perceptron",
        "PoissonRegressor",
        "QuantileRegressor",
        "RANSACRegressor",
        "Ridge",
        "RidgeCV",
        "TheilSenRegressor",
        "TweedieRegressor",
        "enet_path",
        "lars_path",
        "lasso_path",
        "orthogonal_mp",
    ),
    "sklearn.manifold": ("ClassicalMDS", "Isomap", "LocallyLinearEmbedding", "MDS"),
    "sklearn.metrics": ("silhouette_samples", "silhouette_score"),
    "sklearn.mixture": ("GaussianMixture",),
    "sklearn.naive_bayes": (
        "BernoulliNB",
        "CategoricalNB",
        "ComplementNB",
        "GaussianNB",
        "MultinomialNB",
    ),
    "sklearn.neighbors": (
        "KernelDensity",
        "KNeighborsClassifier",
        "KNeighborsRegressor",
        "LocalOutlierFactor",
        "NearestCentroid",
        "NearestNeighbors",
        "RadiusNeighborsClassifier",
        "RadiusNeighborsRegressor",
    ),
    "sklearn.neural_network": ("MLPClassifier", "MLPRegressor"),
    "sklearn.preprocessing": ("PolynomialFeatures",),
    "sklearn.semi_supervised": ("LabelSpreading",),
    "sklearn.svm": ("LinearSVC", "LinearSVR", "SVC", "SVR"),
    "sklearn.tree": (
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
        "export_text",
        "plot_tree",
    ),
}
NAMES = frozenset(name for names in SHARED.values() for name in names)

#: What scikit-learn had under the names that are exchanged now.
_originals: dict[tuple[str, str], Any] = {}


def patch(names: Iterable[str] | None = None, *, exclude: Iterable[str] = ()) -> tuple[str, ...]:
    """Put Kilogram's classes and functions under scikit-learn's public names.

    Parameters
    ----------
    names : iterable of str or None, default=None
        Which ones, such as `["KMeans", "SVC"]`; None takes all that both libraries have.
    exclude : iterable of str, default=()
        Names that keep scikit-learn's.

    Returns
    -------
    tuple of str
        The names that are exchanged now, with their modules: "sklearn.cluster.KMeans".
    """
    wanted = _known(names) - _known(exclude or ()) if names is not None else NAMES - _known(exclude)
    _load_scikit_learn()
    for where, shared in SHARED.items():
        module = sys.modules[where]
        for name in [name for name in shared if name in wanted]:
            if (where, name) not in _originals and hasattr(module, name):
                _originals[where, name] = getattr(module, name)
                setattr(module, name, getattr(kg, name))
    return replaced_names()


def unpatch(names: Iterable[str] | None = None) -> None:
    """Put scikit-learn's own classes back: the `names` given, or all."""
    wanted = NAMES if names is None else _known(names)
    for where, name in list(_originals):
        if name in wanted:
            setattr(sys.modules[where], name, _originals.pop((where, name)))


@contextmanager
def patched(
    names: Iterable[str] | None = None, *, exclude: Iterable[str] = ()
) -> Iterator[tuple[str, ...]]:
    """`patch` for the duration of a `with` block; what was exchanged before stays exchanged."""
    before = set(_originals)
    try:
        yield patch(names, exclude=exclude)
    finally:
        unpatch(name for where, name in set(_originals) - before)


def replaced_names() -> tuple[str, ...]:
    """The names that are exchanged now."""
    return tuple(f"{where}.{name}" for where, name in _originals)


def _load_scikit_learn() -> None:
    """Import its public modules, so that they keep their own classes: some ask for the type of a
    model (`isinstance(model, RandomForestRegressor)`) and then use its private methods."""
    for found in pkgutil.iter_modules(sklearn.__path__, "sklearn."):
        name = found.name.removeprefix("sklearn.")
        if not name.startswith("_") and name not in ("conftest", "experimental", "externals"):
            import_module(found.name)


def _known(names: Iterable[str]) -> frozenset[str]:
    """The names, if all of them can be exchanged."""
    if isinstance(names, str):
        raise UserError(f"names must be an iterable of names such as ['SVC'], got {names!r}.")
    found = frozenset(names)
    if unknown := sorted(found - NAMES):
        raise UserError(
            f"No class or function of Kilogram can stand in for {', '.join(unknown)}. "
            "python -m kilogram.accel --list shows all that can."
        )
    return found

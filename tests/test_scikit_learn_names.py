"""docs/scikit_learn.md lists exactly what differs from the installed scikit-learn."""

import inspect
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import is_classifier
from sklearn.utils import all_estimators

import kilogram as kg
from kilogram.registry import PUBLIC

PAGE = Path(__file__).parents[1] / "docs" / "scikit_learn.md"
PEERS = dict(all_estimators())
# Attributes that are stored with an option only, and faster fits.
OPTIONS = {
    "DecisionTreeClassifier": {"max_depth": 2},
    "GaussianMixture": {"n_components": 2},
    "LogisticRegressionCV": {"use_legacy_attributes": False, "Cs": 3},
    "LinearDiscriminantAnalysis": {"store_covariance": True},
    "QuadraticDiscriminantAnalysis": {"store_covariance": True},
    "RandomForestClassifier": {"oob_score": True},
    "RandomForestRegressor": {"oob_score": True},
    "RidgeCV": {"store_cv_results": True, "alphas": np.logspace(-2, 2, 5)},
}
POSITIVE = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GammaRegressor",
    "GaussianNB",
    "MultinomialNB",
    "NMF",
    "PoissonRegressor",
    "TweedieRegressor",
]
SHARED = sorted(name for name in PUBLIC if name in PEERS and inspect.isclass(getattr(kg, name)))


def listed():
    """Class -> parameters not taken, methods and attributes not there, other defaults."""
    found = {}
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `"):
            names, *rest = (re.findall(r"`(\w+)`", cell) for cell in line.split("|")[1:-1])
            found |= {name: tuple(set(cell) for cell in rest) for name in names}
    return found


def differences(name):
    """The same, measured; deprecated markers of scikit-learn are no defaults."""
    ours, theirs = (
        inspect.signature(cls.__init__).parameters for cls in (getattr(kg, name), PEERS[name])
    )
    methods = {m for m in vars_of(PEERS[name]) if not hasattr(getattr(kg, name), m)}
    defaults = {
        p
        for p in set(ours) & set(theirs)
        if theirs[p].default not in ("warn", "deprecated") and theirs[p].default != ours[p].default
    }
    return set(theirs) - set(ours), methods, attributes_not_there(name), defaults


@cache
def fitted(name):
    """Ours and scikit-learn's, fitted on the same rows."""
    return tuple(fit(cls, name) for cls in (getattr(kg, name), PEERS[name]))


def fit(cls, name):
    """The class fitted on rows and targets that it takes."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 5)), np.repeat([0, 1, 2], 20)
    X[:, 0] += y
    model = cls(**OPTIONS.get(name, {}))
    if not is_classifier(model):
        y = X[:, 0] + X[:, 1] ** 2
    if name in POSITIVE:
        X, y = np.abs(X).round(), np.abs(y) + (0 if is_classifier(model) else 0.1)
    if name.startswith("MultiTask") or name == "CCA":
        y = np.column_stack([y, X[:, 2] - X[:, 1]])
    if name == "LabelSpreading":
        y[::3] = -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def attributes(model):
    """Name -> value of what a fit leaves, properties included."""
    names = (n for n in dir(model) if n.endswith("_") and not n.startswith("_"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of attributes that scikit-learn will remove
        return {n: getattr(model, n) for n in names if hasattr(model, n)}


def attributes_not_there(name):
    ours, theirs = fitted(name)
    return set(attributes(theirs)) - set(attributes(ours))


def vars_of(cls):
    """Public methods, without those of metadata routing."""
    for name in dir(cls):
        if not name.startswith(("_", "set_", "get_metadata")) and callable(
            getattr(cls, name, None)
        ):
            yield name


@pytest.mark.skipif(
    not sklearn.__version__.startswith("1.9."), reason="the page describes scikit-learn 1.9"
)
@pytest.mark.parametrize("name", SHARED)
def test_differences_are_those_listed(name):
    assert differences(name) == listed().get(name, (set(), set(), set(), set()))


@pytest.mark.parametrize("name", SHARED)
def test_numbers_are_those_of_numpy_where_scikit_learn_has_them(name):
    ours, theirs = map(attributes, fitted(name))
    floats = {n for n, value in theirs.items() if n in ours and is_numpy_float(value)}
    assert {n for n in floats if not is_numpy_float(ours[n])} == set()


def is_numpy_float(value):
    """A floating number of NumPy, or a list of them."""
    if isinstance(value, list) and value:
        return is_numpy_float(value[0])
    return isinstance(value, np.floating)


@pytest.mark.parametrize(
    ("name", "method", "arguments"),
    [
        ("GaussianProcessClassifier", "log_marginal_likelihood", ()),
        ("GaussianProcessRegressor", "log_marginal_likelihood", ()),
        ("Isomap", "reconstruction_error", ()),
        ("KernelDensity", "score", (np.eye(5),)),
        ("MinCovDet", "score", (np.eye(5),)),
    ],
)
def test_returned_numbers_are_those_of_numpy(name, method, arguments):
    for model in fitted(name):
        assert isinstance(getattr(model, method)(*arguments), np.floating)


def test_the_page_names_shared_classes_only():
    assert set(listed()) <= set(SHARED)


def test_the_readme_counts_them():
    readme = PAGE.parents[1] / "README.md"
    assert f"({len(listed())} of {len(SHARED)} classes)" in readme.read_text()

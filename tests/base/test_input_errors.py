"""What is no table and what is no number is refused with its name and with what to do."""

from pathlib import Path

import numpy as np
import pytest

import kilogram as kg

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
LABELS, TARGETS = (X[:, 0] > 0).astype(int), X @ [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("name", "method"),
    [("Ridge", "predict"), ("GaussianNB", "predict"), ("PCA", "transform")],
)
@pytest.mark.parametrize(
    ("thing", "match"),
    [
        (None, "X is None: give rows"),
        ("table.csv", r"X is the text 'table.csv', not a table\. .*open_rows"),
        (Path("table.csv"), "not a table"),
        ({"a": [1.0, 2.0]}, "X is a dict, .* make a data frame"),
        ({1.0, 2.0}, "X is a set"),
    ],
)
def test_what_is_no_table(name, method, thing, match):
    """NumPy made one word, one number or one object of it, and the advice was to reshape it."""
    with pytest.raises(TypeError, match=match):
        getattr(kg, name)().fit(thing, LABELS)
    fitted = getattr(kg, name)().fit(X, LABELS)
    with pytest.raises(TypeError, match=match):
        getattr(fitted, method)(thing)


@pytest.mark.parametrize("name", ["SVC", "MDS", "KernelRidge", "HuberRegressor"])
@pytest.mark.parametrize("value", [-1, "plenty", np.nan, [1, 2], 0, True, np.inf])
def test_memory_that_is_none_is_named(name, value):
    with pytest.raises((ValueError, TypeError), match="max_memory"):
        getattr(kg, name)(max_memory=value).fit(X, LABELS)


NUMBERS = [
    ("FisherDiscriminant", "alpha", ["much", [1, 2], None, -1.0, np.nan, np.inf]),
    ("FisherDiscriminant", "shrinkage", ["much", [0.1, 0.2], 2.0]),
    ("FisherDiscriminant", "n_components", ["many", [1], 1.5, 0, 2]),
    ("FisherDiscriminant", "priors", ["even", [0.5], [-1.0, 2.0]]),
    ("KernelFisherDiscriminant", "alpha", ["much", [1, 2], None, 0.0, np.nan, np.inf]),
    ("KernelFisherDiscriminant", "n_components", ["many", 1.5, 0]),
    ("GaussianNB", "priors", ["even", {"a": 1}]),
    ("HistogramNB", "priors", ["even"]),
    ("NearestCentroid", "priors", ["even", {"a": 1}]),
    ("NearestCentroid", "shrink_threshold", ["much", [1, 2], 0.0, np.nan]),
    ("LogisticRegressionCV", "Cs", ["many", None, 0, -1, 1.5, np.nan, np.inf, [], [0.0, 1.0]]),
    ("LogisticRegressionCV", "l1_ratios", ["half"]),
    ("SVC", "cache_size", ["large", None, 0, -1, np.nan, np.inf, [1, 2]]),
    ("SVR", "cache_size", ["large", 0]),
    ("TotalLeastSquares", "x_error", ["small", {"a": 1}, -1.0]),
    ("TotalLeastSquares", "y_error", ["small", 0.0]),
    ("LabelSpreading", "max_iter", ["many", 0, 1.5, np.inf]),
    ("LabelSpreading", "unlabelled", [[1, 2]]),
    ("HistogramDensity", "alpha", [np.inf]),
    ("KernelCCA", "alpha", ["much", [1, 2, 3], None, 0.0, np.nan, np.inf]),
    ("KernelCCA", "max_iter", ["many", None, 0, 1.5, np.inf]),
    ("KernelCCA", "n_components", ["many", None, 0, 1.5]),
    ("KernelCCA", "tol", ["small", None, -1.0]),
    ("CCA", "alpha", ["much", [1, 2, 3], None, -1.0, np.inf]),
    ("CCA", "n_components", ["many", None, 1.5]),
    ("MultiviewCCA", "alpha", ["much", None, -1.0, np.inf]),
    ("MultiviewCCA", "n_components", ["many", None, 1.5]),
    ("MultiviewCCA", "views", ["two", None, 1.5, [1.5, 1.5]]),
    ("LinearDiscriminantAnalysis", "tol", ["small", None, -1.0]),
    ("Ridge", "alpha", ["much", None, [[1, 2], 3]]),
    ("RidgeCV", "alphas", ["much", None, [], [1.0, -1.0]]),
    ("KernelRidgeCV", "alphas", ["much", None]),
    ("KitchenSinksRegressor", "alpha", ["much", None]),
]


@pytest.mark.parametrize(
    ("name", "param", "values"), NUMBERS, ids=[f"{name}-{param}" for name, param, _ in NUMBERS]
)
def test_parameters_that_are_no_numbers_are_named(name, param, values):
    y = LABELS if hasattr(getattr(kg, name), "predict_proba") or "SVC" in name else TARGETS
    for value in values:
        with pytest.raises(ValueError, match=param):
            getattr(kg, name)(**{param: value}).fit(X, y)


def test_labels_that_are_missing_are_not_taken_for_numbers_of_a_regression():
    y = LABELS.astype(object)
    y[3] = None
    with pytest.raises(ValueError, match="y contains None"):
        kg.LabelSpreading().fit(X, y)
    found = kg.LabelSpreading(unlabelled=None).fit(X, y)
    assert found.classes_.tolist() == [0, 1]

"""Input and parameters at the edge: a clear error or the right value, never a silent NaN."""

import numpy as np
import pytest
from sklearn import naive_bayes as peers
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer

import kilogram as kg

X, Y = load_iris(return_X_y=True)
NAMES = ("GaussianNB", "MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB")


@pytest.mark.parametrize("name", [*NAMES, "HistogramNB"])
def test_response_methods_are_those_of_scikit_learn(name):
    """A decision_function changed what calibration and scorers use."""
    model = getattr(kg, name)()
    assert not hasattr(model, "decision_function")
    for method in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        assert hasattr(model, method)


@pytest.mark.parametrize("name", NAMES)
def test_calibration_and_scorers_agree_with_scikit_learn(name):
    rows = np.floor(X)
    two = (Y == 1).astype(int)
    ours, peer = getattr(kg, name)(), getattr(peers, name)()
    folds = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    got, want = (
        CalibratedClassifierCV(m, cv=folds).fit(rows, two).predict_proba(rows) for m in (ours, peer)
    )
    np.testing.assert_allclose(got, want, atol=1e-6)
    auc = get_scorer("roc_auc")
    assert auc(ours.fit(rows, two), rows, two) == pytest.approx(
        auc(peer.fit(rows, two), rows, two), abs=1e-9
    )


def test_squares_between_two_rows_overflow():
    with pytest.raises(ValueError, match="overflow"):
        kg.GaussianNB().fit([[0.0], [1e160]], [0, 1])


@pytest.mark.parametrize("model", [kg.ComplementNB(), kg.MultinomialNB()], ids=repr)
def test_counts_whose_sums_overflow(model):
    with pytest.raises(ValueError, match="overflow"):
        model.fit([[1e308, 1e308], [1e308, 2.0], [3.0, 1e308]], [0, 1, 0])
    model.fit([[3.0, 1.0], [1.0, 4.0]], [0, 1])
    with pytest.raises(ValueError, match="overflow"):
        model.predict_proba([[1e308, 1.7e308]])
    p = model.predict_proba([[1e300, 1.0]])
    np.testing.assert_allclose(p, [[1.0, 0.0]])


@pytest.mark.parametrize("alpha", [np.inf, 0.0, -1.0, np.nan, "one", None])
@pytest.mark.parametrize("name", ["HistogramNB", "CopulaDensity", "CopulaClassifier"])
def test_weight_of_the_pseudo_row(name, alpha):
    with pytest.raises(ValueError, match="alpha must be a float greater than 0"):
        getattr(kg, name)(alpha=alpha).fit(X, Y)


@pytest.mark.parametrize("name", [*NAMES])
def test_parameters_that_are_no_numbers(name):
    parameter = "var_smoothing" if name == "GaussianNB" else "alpha"
    for value in (None, "a", -1.0, np.inf):
        with pytest.raises(ValueError, match=parameter):
            getattr(kg, name)(**{parameter: value}).fit(np.floor(X), Y)
    getattr(kg, name)(**{parameter: np.float32(0.5)}).fit(np.floor(X), Y)


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
@pytest.mark.parametrize("tol", [None, "small", -1.0])
def test_tolerances_of_discriminants(name, tol):
    with pytest.raises(ValueError, match="tol must be a float of at least 0"):
        getattr(kg, name)(tol=tol).fit(X, Y)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("size", [300, 20])  # of few rows the scores are computed in another way
def test_labels_of_float32_rows_near_a_tie_do_not_depend_on_the_library(library, size):
    """Sums of 200 float32 terms differ in their last digits; rows at the border show it."""
    asarray = pytest.importorskip(library).asarray
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((400, 200)).astype(np.float32) + 30
    model = kg.GaussianNB().fit(rows, np.arange(400) % 2)
    ends = rows[rng.integers(0, 400, (size, 2))].astype(np.float64)
    low, high = np.zeros(size), np.ones(size)
    for _ in range(40):  # bisection between two rows, to where the scores meet
        middle = (low + high) / 2
        at = ends[:, 0] + middle[:, None] * (ends[:, 1] - ends[:, 0])
        same = model.predict(at) == model.predict(ends[:, 0])
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    border = at.astype(np.float32)
    want = model.predict(border.astype(np.float64))
    np.testing.assert_array_equal(model.predict(border), want)
    np.testing.assert_array_equal(np.asarray(model.predict(asarray(border))), want)
    for method in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        assert getattr(model, method)(border).dtype == np.float32

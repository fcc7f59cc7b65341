"""Rows, targets and weights near the ends of their type: a defined answer, or a clear error."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.statistics.class_scatters import ClassScatters
from kilogram.statistics.classes import ClassMoments

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
TWO = (X[:, 0] + 0.3 * RNG.standard_normal(60) > 0).astype(int)
THREE = TWO + (X[:, 1] > 1)
TARGET = X @ [1.0, 2.0, 3.0] + 0.1 * RNG.standard_normal(60)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    ("name", "scale"),
    [("GaussianNB", s) for s in (1e-42, 1e-30, 1e-22, 1e30, 2.0**124)]
    + [("LinearDiscriminantAnalysis", s) for s in (1e-30, 2.0**-120)]
    + [("FisherDiscriminant", s) for s in (1e-30, 2.0**-120)],
)
def test_float32_rows_of_any_size(name, scale, y):
    """Their squares, or one over them, leave float32: the predictions were NaN, or one class."""
    model = getattr(kg, name)()
    want = model.fit(X, y).predict_proba(X)
    rows = (X * scale).astype(np.float32)
    got = model.fit(rows, y).predict_proba(rows)
    assert got.dtype == np.float32
    close = 0.05 if scale < 1e-40 else 1e-4  # subnormal numbers have few digits
    np.testing.assert_allclose(got, want, atol=close)
    scores = "decision_function" if hasattr(model, "decision_function") else "predict_log_proba"
    assert np.isfinite(getattr(model, scores)(rows)).all()


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("priors", ["uniform", "empirical"])
@pytest.mark.parametrize(
    ("metric", "scale"),
    [(m, s) for m in ("euclidean", "manhattan") for s in (2.0**-140, 1e-30, 1e30, 2.0**124)]
    + [("mahalanobis", s) for s in (2.0**-140, 2.0**-100, 1e-30)],
)
def test_nearest_centroids_of_float32_rows_of_any_size(metric, priors, scale, y):
    """Scores were products of two tiny numbers, 0 for every class, or of two huge ones."""
    model = kg.NearestCentroid(metric, priors=priors)
    rows = (X * scale).astype(np.float32)
    same = rows.astype(np.float64) / scale
    want = model.fit(same, y)
    expected, values = want.predict(same), want.decision_function(same)
    got = model.fit(rows, y).decision_function(rows)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(model.predict(rows), expected)
    np.testing.assert_allclose(got, values, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    "model", [kg.GaussianNB(), *map(kg.NearestCentroid, ("euclidean", "mahalanobis"))], ids=repr
)
def test_float64_rows_whose_squares_underflow_are_refused(model):
    """Variances of 0 answered with the priors, or with one class for all."""
    with pytest.raises(ValueError, match=r"so small that their squares underflow float64"):
        model.fit(X * 1e-200, TWO)
    with pytest.raises(ValueError, match=r"so small that their squares underflow float64"):
        model.fit([(X * 1e-200, TWO)])
    far = model.fit(X, TWO).predict(X)
    np.testing.assert_array_equal(model.fit(X * 1e-140, TWO).predict(X * 1e-140), far)
    model.fit(np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 0, 1, 1])  # no squares, no small numbers


def test_missing_values_beside_tiny_ones():
    rows = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    with pytest.raises(ValueError, match="squares underflow"):
        kg.GaussianNB().fit(rows * 1e-200, TWO)
    with pytest.raises(ValueError, match="too small to divide by"):
        kg.GaussianNB(var_smoothing=0).fit(X * 1e-153 * [1.0, 1.0, 0.01], TWO)


@pytest.mark.parametrize("kind", [ClassMoments, ClassScatters])
def test_sums_of_tiny_float32_rows(kind):
    rows = (X * 2.0**-100).astype(np.float32)
    got = kind.of(rows, TWO, n_classes=2)
    want = kind.of(rows.astype(np.float64), TWO, n_classes=2)
    np.testing.assert_allclose(got.spread, want.spread, rtol=1e-12)
    assert (np.diagonal(got.spread, axis1=-2, axis2=-1) > 0).all()


@pytest.mark.parametrize("rule", ["shared", "per_class"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_rows_far_from_every_class(rule, y):
    """The squares of the distances overflow; a linear rule decides as it does nearer by."""
    model = kg.FisherDiscriminant(rule=rule).fit(X, y)
    far = X * 1e200
    p = model.predict_proba(far)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert not np.isnan(model.decision_function(far)).any()
    np.testing.assert_array_equal(model.predict(far), model.classes_[np.argmax(p, axis=1)])
    if rule == "shared":
        np.testing.assert_array_equal(model.predict(far), model.predict(X * 1e8))
    else:
        np.testing.assert_allclose(p[0], model.priors_)


@pytest.mark.parametrize(
    "model",
    [kg.Perceptron(), *(kg.OnlineClassifier(loss) for loss in ("log", "hinge", "tanh"))],
    ids=lambda m: getattr(m, "loss", type(m).__name__),
)
def test_online_steps_of_rows_whose_squares_overflow_float32(model):
    """Their scores, products with such rows, were infinite."""
    rows = (X * 1e30).astype(np.float32)
    with pytest.raises(ValueError, match="squares of the values of X overflow"):
        model.fit(rows, TWO)
    with pytest.raises(ValueError, match="squares of the values of X overflow"):
        model.partial_fit(rows, TWO, classes=[0, 1])
    model.fit((X * 1e12).astype(np.float32), TWO)


def test_coefficients_that_float32_cannot_hold():
    rows, y = (X * 1e-42).astype(np.float32), TARGET.astype(np.float32)
    with pytest.raises(ValueError, match=r"LinearRegression: the coefficients reach .* float32"):
        kg.LinearRegression().fit(rows, y)
    assert kg.LinearRegression().fit(rows.astype(np.float64), TARGET).score(rows, y) > 0.9


def test_total_least_squares_names_targets_whose_squares_overflow():
    with pytest.raises(ValueError, match="values of y are finite, but their squares overflow"):
        kg.TotalLeastSquares().fit(X, TARGET * 1e200)


@pytest.mark.parametrize("size", [1e-3, 1e-200])
def test_light_rows_are_rows(size):
    """A class of light rows was called one of a single sample."""
    want = kg.QuadraticDiscriminantAnalysis().fit(X, TWO)
    got = kg.QuadraticDiscriminantAnalysis().fit(X, TWO, sample_weight=np.full(60, size))
    np.testing.assert_allclose(got.predict_proba(X), want.predict_proba(X), atol=1e-10)
    alone = np.where(np.arange(60) == 3, 7, TWO)
    with pytest.raises(ValueError, match="only 1 sample in class 7"):
        kg.QuadraticDiscriminantAnalysis().fit(X, alone, sample_weight=np.full(60, size))


def test_wide_classes_are_refused_before_their_covariances_are_formed(monkeypatch):
    """10 rows of 5000 columns took minutes and gigabytes, to be refused in the end."""
    from kilogram.models.discriminant import qda as page

    def never(*args):
        raise AssertionError("no covariance should be formed")

    monkeypatch.setattr(page, "class_statistic", never)
    wide, y = RNG.standard_normal((10, 5000)), np.arange(10) % 2
    with pytest.raises(np.linalg.LinAlgError, match="not full rank: 5 rows for 5000 columns"):
        kg.QuadraticDiscriminantAnalysis().fit(wide, y)


@pytest.mark.parametrize(
    "model",
    [kg.QuadraticDiscriminantAnalysis(reg_param=0.5), kg.HuberRegressor(), kg.QuantileRegressor()],
    ids=lambda model: type(model).__name__,
)
def test_products_of_columns_that_do_not_fit_are_named_with_their_size(model, monkeypatch):
    monkeypatch.setattr("kilogram.base.estimator.memory_limit", lambda given=None: 2**26)
    wide, y = RNG.standard_normal((10, 3000)), np.arange(10) % 2
    with pytest.raises(MemoryError, match=r"3000 by 3000, need .* memory limit"):
        model.fit(wide, y)

"""Support vector machines after failed fits, at time limits, on extreme values and precisions."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.svm import l1_min_c

import kilogram as kg
from kilogram.solvers.smo import BlockOptions, StoredRows, certify, solve_block, tube

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 3))
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * RNG.standard_normal(80)
LABELS = (Y > 0).astype(int)
MACHINES = [(kg.SVC, LABELS), (kg.SVR, Y), (kg.LinearSVC, LABELS), (kg.LinearSVR, Y)]


@pytest.mark.parametrize(("cls", "y"), MACHINES)
def test_an_interrupted_fit_leaves_the_model_as_it_was(cls, y, monkeypatch):
    model = cls().fit(X, y)
    want = model.predict(X)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(cls, "_solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], y)
    np.testing.assert_array_equal(model.predict(X), want)
    fresh = cls()
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    with pytest.raises(NotFittedError):
        fresh.objective(X, y)


def test_probabilities_need_a_fit_with_probability():
    model = kg.SVC().fit(X, LABELS).set_params(probability=True)
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        model.predict_proba(X)
    three = np.digitize(Y, [-0.5, 0.5])
    model = kg.SVC().fit(X, three)
    want = model.predict(X)
    np.testing.assert_array_equal(model.set_params(probability=True).predict(X), want)
    model.fit(X, three)
    assert model.predict_proba(X).shape == (80, 3)
    model.set_params(probability=False).fit(X, three)
    assert not hasattr(model, "calibration_")


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_time_limit_between_blocks_leaves_a_usable_dual_point(rounds, monkeypatch):
    """A block without a move was an empty bincount of integers, which native code refused."""
    monkeypatch.setattr("kilogram.solvers.smo.working_set.WHOLE", 0)
    monkeypatch.setattr("kilogram.solvers.smo.working_set.pair_steps", still(rounds))
    K = kg.Gaussian(1.0)(X)
    P = tube(Y, np.full(80, 1.0), 0.1, slack=1)
    options = BlockOptions(tol=1e-8, block=16, tick=lambda step, value: step > rounds + 2)
    found = solve_block(StoredRows(K), P, options)
    assert "time" in found.message
    certificate = certify(P, *found.value)
    assert np.isfinite(certificate.objective)
    assert certificate.gap >= 0


def still(rounds):
    """Pair steps that do nothing after some rounds, as at the limit of steps."""
    from kilogram.native.svm import PairSteps, pair_steps

    calls = []

    def steps(*args, **kwargs):
        calls.append(1)
        return pair_steps(*args, **kwargs) if len(calls) < rounds else PairSteps(0, np.inf)

    return steps


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_l1_has_a_solution_just_above_the_smallest_C(fit_intercept):
    smallest = l1_min_c(X, LABELS, fit_intercept=fit_intercept)
    params = {"penalty": "l1", "fit_intercept": fit_intercept}
    below = kg.LinearSVC(C=0.99 * smallest, **params).fit(X, LABELS)
    above = kg.LinearSVC(C=1.01 * smallest, **params).fit(X, LABELS)
    assert not below.coef_.any()
    assert not below.intercept_.any()
    assert above.coef_.any() or above.intercept_.any()


@pytest.mark.parametrize(("cls", "y"), MACHINES)
@pytest.mark.parametrize("huge", [1e308, -1e200])
def test_values_whose_squares_overflow_are_an_error_with_advice(cls, y, huge):
    Z = X.copy()
    Z[3, 1] = huge
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"overflow.*StandardScaler"):
            cls().fit(Z, y)


def test_a_huge_penalty_is_an_error_with_advice():
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"overflow.*StandardScaler"):
        kg.LinearSVC(C=1e300).fit(1e20 * X, LABELS)


@pytest.mark.parametrize("cls", [kg.SVC, kg.LinearSVC])
def test_class_weights_of_zero_for_every_class(cls):
    with pytest.raises(ValueError, match="0 for every class"):
        cls(class_weight={0: 0.0, 1: 0.0}).fit(X, LABELS)


@pytest.mark.parametrize(("cls", "y"), MACHINES)
def test_numpy_numbers_are_accepted(cls, y):
    model = cls(C=np.float32(1.0), tol=np.float64(1e-3), max_iter=np.int64(10_000)).fit(X, y)
    plain = cls(tol=1e-3, max_iter=10_000).fit(X, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=2e-3)


@pytest.mark.parametrize("params", [{"kernel": "rbf"}, {"kernel": "linear"}, {"slack": 2}])
def test_float64_targets_keep_their_precision_beside_float32_rows(params):
    """Timestamps near 1.7e9 were rounded to multiples of 128."""
    small, y = X.astype(np.float32), 1.7e9 + Y
    model = kg.SVR(C=10.0, epsilon=0.01, tol=1e-6, **params).fit(small, y)
    want = kg.SVR(C=10.0, epsilon=0.01, tol=1e-6, **params).fit(small.astype(float), Y)
    assert model.predict(small).dtype == np.float64
    np.testing.assert_allclose(model.predict(small) - 1.7e9, want.predict(small), atol=1e-3)
    assert kg.SVR(**params).fit(small, Y.astype(np.float32)).predict(small).dtype == np.float32


def test_linear_svr_predicts_float64_targets_in_float64():
    small, y = X.astype(np.float32), 1e9 + Y
    params = {"epsilon": 0.0, "penalize_intercept": False, "tol": 1e-8}
    model = kg.LinearSVR(**params).fit(small, y)
    want = kg.LinearSVR(**params).fit(small.astype(float), y)
    assert model.predict(small).dtype == np.float64
    np.testing.assert_allclose(model.predict(small), want.predict(small.astype(float)), atol=0.1)


@pytest.mark.parametrize("model", [kg.SVC, kg.SVR])
def test_an_array_as_kernel_is_a_clear_error(model):
    X = np.random.default_rng(0).random((20, 2))
    with pytest.raises((TypeError, ValueError), match="kernel must be"):
        model(kernel=np.array([1.0, 2.0])).fit(X, np.arange(20) % 2)

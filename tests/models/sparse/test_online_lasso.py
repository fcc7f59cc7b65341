"""The online lasso against plain steps, the lasso's optimum and the textbook version."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import kilogram as kg
from kilogram.textbook import online_lasso, run


def data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    return X, X @ [1.5, -1.0, 0.0, 0.0, 0.0] + rng.standard_normal(n) + 2.0


def plain(X, y, w, alpha, eta0, power):
    """The iterate, the mean and their intercepts, in the words of the solver's page."""
    v, b, mean, b_mean, total = np.zeros(X.shape[1]), 0.0, np.zeros(X.shape[1]), 0.0, 0.0
    for t, (x, target, weight) in enumerate(zip(X, y, w, strict=True), start=1):
        step = min(eta0 * t**-power * weight, 1 / (x @ x + 1))
        e = target - x @ v - b
        v = v + step * e * x
        v = np.sign(v) * np.maximum(np.abs(v) - step * alpha, 0)
        b += step * e
        share = t * (t + 1) * (t + 2)
        mean, b_mean, total = mean + share * v, b_mean + share * b, total + share
    return v, b, mean / total, b_mean / total


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_pass_is_the_steps_of_the_page(container, dtype):
    X, y = data(70)
    X[::9] *= 30  # steps that would overshoot
    X = X.astype(dtype)
    # weights take the float type of the rows
    w = np.random.default_rng(1).uniform(0.5, 2, size=70).astype(dtype)
    v, b, mean, b_mean = plain(X.astype(np.float64), y, w.astype(np.float64), 0.2, 0.3, 0.7)
    last = kg.OnlineLasso(0.2, eta0=0.3, power=0.7, average=False)
    last.partial_fit(container(X), y, w)
    averaged = kg.OnlineLasso(0.2, eta0=0.3, power=0.7).partial_fit(container(X), y, w)
    np.testing.assert_allclose(last.coef_, v, rtol=1e-9, atol=1e-12)
    assert last.intercept_ == pytest.approx(b, rel=1e-9)
    np.testing.assert_allclose(averaged.coef_, mean, rtol=1e-9, atol=1e-12)
    assert averaged.intercept_ == pytest.approx(b_mean, rel=1e-9)


def test_parts_of_the_rows_are_the_rows():
    X, y = data()
    once, parts = kg.OnlineLasso(0.1).partial_fit(X, y), kg.OnlineLasso(0.1)
    for a in range(0, 300, 37):
        parts.partial_fit(X[a : a + 37], y[a : a + 37])
    np.testing.assert_array_equal(parts.coef_, once.coef_)
    assert (parts.t_, parts.intercept_) == (300, once.intercept_)


def test_rows_in_blocks_without_shuffling_are_the_rows():
    X, y = data()
    whole = kg.OnlineLasso(0.1, shuffle=False, max_iter=3).fit(X, y)
    blocks = [(X[:100], y[:100]), (X[100:], y[100:])]
    np.testing.assert_array_equal(
        kg.OnlineLasso(0.1, shuffle=False, max_iter=3).fit(blocks).coef_, whole.coef_
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_it_equals_the_textbook_version(intercept):
    X, y = data()
    how = {"eta_0": 0.02, "form": "proximal", "offset": intercept}  # shorter than any cut
    book = run(online_lasso.online_lasso(X, y, 0.3, 4, np.random.default_rng(3), **how))
    model = kg.OnlineLasso(
        0.3, eta0=0.02, average=False, max_iter=4, fit_intercept=intercept,
        random_state=np.random.default_rng(3),
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(model.coef_, book["w_last"], rtol=1e-9, atol=1e-12)


def test_the_objective_falls_to_that_of_the_lasso():
    X, y = data()
    best = kg.Lasso(0.3, tol=1e-12).fit(X, y)
    excess = [
        kg.OnlineLasso(0.3, max_iter=passes, random_state=0).fit(X, y).objective(X, y)
        - best.objective_
        for passes in (1, 30, 900)
    ]
    assert 0 < excess[2] < excess[1] < excess[0] < 0.1 * best.objective_
    assert excess[2] < 1e-3 * best.objective_


def test_the_threshold_leaves_the_features_of_the_lasso():
    X, y = data()
    support = kg.Lasso(0.3, tol=1e-12).fit(X, y).coef_ != 0
    model = kg.OnlineLasso(0.3, threshold=0.02, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_ != 0, support)
    free = kg.OnlineLasso(0.3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_[support], free.coef_[support])
    assert (free.coef_ != 0).sum() > support.sum()


def test_a_warm_start_goes_on():
    X, y = data()
    whole = kg.OnlineLasso(0.1, shuffle=False, max_iter=4).fit(X, y)
    model = kg.OnlineLasso(0.1, shuffle=False, max_iter=2, warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert model.t_ == 1200


def test_refusals():
    X, y = data()
    with pytest.raises(ValueError, match="squares of the values of X overflow"):
        kg.OnlineLasso().fit(1e200 * X, y)
    with pytest.raises(ValueError, match="squares of the values of y overflow"):
        kg.OnlineLasso().fit(X, 1e200 * y)
    with pytest.raises(ValueError, match="power must be"):
        kg.OnlineLasso(power=1.5).fit(X, y)
    model = kg.OnlineLasso().partial_fit(X, y)
    with pytest.raises(ValueError, match="5 features"):
        model.partial_fit(X[:, :3], y)
    assert model.t_ == 300  # as it was

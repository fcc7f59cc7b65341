"""The interior point method for quantile regression against a simplex-grade linear program."""

import numpy as np
import pytest
from scipy.optimize import linprog

from kilogram.solvers.interior_point.quantile import quantile_program


def oracle(X, y, v, q, lasso, fit_intercept):
    """min sum_i v_i (q r_i+ + (1 - q) r_i-) + lasso |w|_1 by HiGHS."""
    n, d = X.shape
    k = int(fit_intercept)
    cost = np.concatenate([np.full(2 * d, lasso), np.zeros(2 * k), q * v, (1 - q) * v])
    ones = np.ones((n, k))
    A = np.hstack([X, -X, ones, -ones, np.eye(n), -np.eye(n)])
    return linprog(cost, A_eq=A, b_eq=y, method="highs").fun


def value(X, y, v, q, lasso, w, b):
    r = y - X @ w - b
    return v @ np.maximum(q * r, (q - 1) * r) + lasso * np.abs(w).sum()


TARGETS = {
    "zero": lambda X, rng: np.zeros(len(X)),
    "mostly zero": lambda X, rng: np.where(rng.uniform(size=len(X)) < 0.9, 0.0, 3.0),
    "constant": lambda X, rng: np.full(len(X), 5.0),
    "counts": lambda X, rng: rng.integers(0, 3, len(X)).astype(float),
    "exact": lambda X, rng: X @ rng.standard_normal(X.shape[1]),
    "large": lambda X, rng: np.where(rng.uniform(size=len(X)) < 0.95, 0.0, 1e6),
    "noisy": lambda X, rng: X[:, 0] + rng.standard_normal(len(X)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lasso", [0.0, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_degenerate_problems(target, lasso, fit_intercept):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(5, 50)), int(rng.integers(1, 7))
        X = rng.integers(0, 3, (n, d)).astype(float) if seed % 2 else rng.standard_normal((n, d))
        y, v = TARGETS[target](X, rng), rng.uniform(0.5, 2.0, n)
        q = [0.5, 0.1, 0.9][seed % 3]
        found = quantile_program(X, y, v, q, lasso=lasso, fit_intercept=fit_intercept)
        best = oracle(X, y, v, q, lasso, fit_intercept)
        w, b = found.value
        assert found.converged
        assert value(X, y, v, q, lasso, w, b) <= best + 1e-8 * (best + v @ np.abs(y))
        assert found.objective == pytest.approx(value(X, y, v, q, lasso, w, b), abs=1e-9 * n)


def test_coefficients_that_are_zero_are_exactly_zero():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 10))
    y = 2.0 * X[:, 0] + rng.standard_normal(200)
    w, _ = quantile_program(X, y, np.ones(200), 0.5, lasso=20.0).value
    assert np.count_nonzero(w) < 5
    assert np.abs(w[w != 0]).min() > 1e-6

"""Constant columns next to an intercept: their centred values are rounding, and mean nothing."""

from __future__ import annotations

import numpy as np
import pytest

import kilogram as kg

NAMES = {
    "Lasso": {"alpha": 0},
    "ElasticNet": {"alpha": 0},
    "GroupLasso": {"alpha": 0},
    "PenalizedRegressor": {"alpha": 0},
    "PoissonRegressor": {"alpha": 0},
    "GammaRegressor": {"alpha": 0},
    "LogisticRegression": {"C": np.inf},
    "LinearRegression": {},
}


def data(n, p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    X[:, 1], X[:, 2] = 3.1, 1e8 + 0.3  # the sums of n of them are rounded
    return X, X[:, 0] + rng.normal(size=n)


def fitted(name, X, y, **more):
    t = {"LogisticRegression": y > 0, "PoissonRegressor": abs(y), "GammaRegressor": abs(y)}
    return getattr(kg, name)(**NAMES[name], **more).fit(X, t.get(name, y))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [40, 1500])
def test_an_unpenalised_fit_is_that_of_the_other_columns(name, n):
    """Coefficients were 1e12 of Poisson and logistic regression, which did not converge."""
    X, y = data(n, 5)
    tol = {} if name == "LinearRegression" else {"tol": 1e-8}
    whole = fitted(name, X, y, **tol)
    part = fitted(name, X[:, [0, 3, 4]], y, **tol)
    coef = np.ravel(whole.coef_)
    np.testing.assert_allclose(coef[[0, 3, 4]], np.ravel(part.coef_), atol=1e-4)
    # the intercept may take any share of a constant, so only predictions say more
    answer = "decision_function" if name == "LogisticRegression" else "predict"
    np.testing.assert_allclose(
        getattr(whole, answer)(X), getattr(part, answer)(X[:, [0, 3, 4]]), atol=1e-3
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weights", [False, True])
def test_columns_of_wide_rows_in_memory(dtype, weights):
    """More columns than rows: a centred copy is made."""
    X, y = data(40, 60)
    X = X.astype(dtype)
    w = (np.arange(40) % 3).astype(float) if weights else None
    if weights:
        X[0, 1] = 7.0  # a row without weight
    for model in (kg.Lasso(0, max_iter=10_000), kg.GroupLasso(alpha=0, max_iter=10_000)):
        np.testing.assert_array_equal(model.fit(X, y, w).coef_[1:3], 0.0)


def test_a_column_that_varies_a_little_is_used():
    X, y = data(40, 60)
    X[:, 2] = 1e8 + y  # varies by 1e-8 of its size
    model = kg.Lasso(1e-3, max_iter=10_000).fit(X, y)
    assert model.coef_[2] == pytest.approx(1.0, abs=0.01)

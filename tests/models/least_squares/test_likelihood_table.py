"""Standard errors of logistic and generalised linear models."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import kilogram as kg

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) + np.array([0.0, 2.0, -1.0])
Z = X @ [0.5, -0.3, 0.2] + 0.4
COUNTS = RNG.poisson(np.exp(Z))
LABELS = np.where(RNG.random(400) < 1 / (1 + np.exp(-Z)), "yes", "no")
AMOUNTS = RNG.gamma(2.0, np.exp(Z) / 2.0)
FULL = np.column_stack([np.ones(400), X])


def information(model, h):
    return np.linalg.inv(FULL.T @ (h[:, None] * FULL))


def test_poisson_errors_are_the_inverse_information():
    model = kg.PoissonRegressor(alpha=0.0, tol=1e-10).fit(X, COUNTS)
    table = kg.coefficient_table(model, X, COUNTS)
    cov = information(model, model.predict(X))
    np.testing.assert_allclose(table.covariance, cov, rtol=1e-6)
    np.testing.assert_allclose(table.error, np.sqrt(np.diagonal(cov)), rtol=1e-6)
    assert table.names == ("intercept", "x0", "x1", "x2")
    np.testing.assert_allclose(table.p, 2 * scipy.stats.norm.sf(np.abs(table.t)), rtol=1e-8)
    assert table.degrees == np.inf
    r = COUNTS - model.predict(X)
    robust = kg.coefficient_table(model, X, COUNTS, kind="HC0").covariance
    np.testing.assert_allclose(robust, cov @ (FULL.T @ (r[:, None] ** 2 * FULL)) @ cov, rtol=1e-5)


def test_logistic_errors_are_the_inverse_information():
    model = kg.LogisticRegression(C=np.inf, tol=1e-10).fit(X, LABELS)
    table = kg.coefficient_table(model, X, LABELS)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(table.covariance, information(model, p * (1 - p)), rtol=1e-6)
    np.testing.assert_allclose(table.estimate[1:], model.coef_[0])
    assert "estimate" in repr(table)


def test_gamma_errors_have_a_dispersion():
    model = kg.GammaRegressor(alpha=0.0, tol=1e-10).fit(X, AMOUNTS)
    table = kg.coefficient_table(model, X, AMOUNTS)
    mu = model.predict(X)
    phi = np.sum(((AMOUNTS - mu) / mu) ** 2) / (400 - 4)
    np.testing.assert_allclose(table.covariance, phi * information(model, np.ones(400)), rtol=1e-6)
    assert table.degrees == 396
    assert float(table.sigma) == pytest.approx(np.sqrt(phi))


def test_normal_identity_errors_equal_least_squares():
    y = Z + RNG.normal(size=400)
    glm = kg.coefficient_table(kg.TweedieRegressor(alpha=0.0, tol=1e-10).fit(X, y), X, y)
    ols = kg.coefficient_table(kg.LinearRegression().fit(X, y), X, y)
    np.testing.assert_allclose(glm.error, ols.error, rtol=1e-6)
    np.testing.assert_allclose(glm.p, ols.p, rtol=1e-4, atol=1e-12)


def test_weights_streams_and_no_intercept():
    counts = RNG.integers(1, 4, 400)
    setting = {"alpha": 0.0, "tol": 1e-10, "fit_intercept": False}
    model = kg.PoissonRegressor(**setting).fit(X, COUNTS, counts)
    weighted = kg.coefficient_table(model, X, COUNTS, counts, weights="frequency", kind="HC1")
    again, twice = np.repeat(X, counts, axis=0), np.repeat(COUNTS, counts)
    repeated = kg.coefficient_table(model, again, twice, kind="HC1")
    np.testing.assert_allclose(weighted.error, repeated.error, rtol=1e-8)
    blocks = [(X[i : i + 90], COUNTS[i : i + 90]) for i in range(0, 400, 90)]
    streamed = kg.coefficient_table(model, blocks)
    np.testing.assert_allclose(streamed.error, kg.coefficient_table(model, X, COUNTS).error)


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (kg.PoissonRegressor(), COUNTS, "fitted with a penalty"),
        (kg.LogisticRegression(), LABELS, "fitted with a penalty"),
        (kg.LogisticRegression(C=np.inf), COUNTS.clip(0, 2), "needs two classes"),
    ],
)
def test_errors_that_would_not_hold_are_refused(model, y, message):
    with pytest.raises(ValueError, match=message):
        kg.coefficient_table(model.fit(X, y), X, y)


def test_dependent_columns_are_refused():
    twice = np.column_stack([X, X[:, 0]])
    model = kg.PoissonRegressor(alpha=0.0).fit(twice, COUNTS)
    with pytest.raises(ValueError, match="linearly dependent"):
        kg.coefficient_table(model, twice, COUNTS)

"""MCP and SCAD by their optimality conditions, their limits, and where the lasso is biased."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.functions.penalties import penalty_slope
from tests.models.sparse.test_elastic_net import data


@pytest.mark.parametrize("shape", [(60, 8), (40, 120), (200, 30)])
@pytest.mark.parametrize(("penalty", "gamma"), [("mcp", 3.0), ("mcp", 1.5), ("scad", 3.7)])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_optimality_conditions(shape, penalty, gamma, container):
    X, y = data(*shape)
    model = kg.ConcaveRegressor(0.2, penalty=penalty, gamma=gamma, tol=1e-8, max_iter=10**4)
    model.fit(container(X), y)
    s = X.std(axis=0)
    b, c = model.coef_ * s, X.T @ (y - model.predict(X)) / len(y) / s
    slope = penalty_slope(np.abs(b), 0.2, gamma, penalty)
    missed = np.where(b == 0, np.maximum(np.abs(c) - 0.2, 0), np.abs(c - slope * np.sign(b)))
    assert missed.max() < 1e-5 * y.std()
    assert model.violation_ < 1e-5
    assert abs(np.mean(y - model.predict(X))) < 1e-8 * np.abs(y).max()


def test_l1_and_a_large_gamma_are_the_lasso():
    X, y = data(80, 20)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    lasso = kg.Lasso(0.1, tol=1e-12, max_iter=10**4).fit(Z, y)
    for setting in ({"penalty": "l1"}, {"gamma": 1e8}, {"penalty": "scad", "gamma": 1e8}):
        model = kg.ConcaveRegressor(0.1, tol=1e-9, max_iter=10**4, **setting).fit(Z, y)
        np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-5)


def test_large_coefficients_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    y = X[:, :3] @ [4.0, -3.0, 5.0] + 0.5 * rng.normal(size=300)
    for penalty, gamma in (("mcp", 3.0), ("scad", 3.7)):
        model = kg.ConcaveRegressor(0.2, penalty=penalty, gamma=gamma).fit(X, y)
        np.testing.assert_array_equal(np.flatnonzero(model.coef_), [0, 1, 2])
        exact = kg.LinearRegression().fit(X[:, :3], y).coef_
        np.testing.assert_allclose(model.coef_[:3], exact, atol=1e-4)
    assert np.abs(kg.Lasso(0.2).fit(X, y).coef_[0] - 4.0) > 0.1


def test_degenerate_input_and_limits():
    X, y = data(30, 6)
    X[:, 2], X[:, 1] = 3.0, X[:, 0]
    model = kg.ConcaveRegressor(0.1).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.coef_[2] == 0
    assert not kg.ConcaveRegressor(0.1).fit(X, np.full(30, 4.0)).coef_.any()
    assert not kg.ConcaveRegressor(1e6).fit(X, y).coef_.any()
    for setting, message in (
        ({"alpha": 0.0}, "alpha must be a float greater than 0"),
        ({"penalty": "scad", "gamma": 1.5}, "gamma must be a float greater than 2"),
    ):
        with pytest.raises(ValueError, match=message):
            kg.ConcaveRegressor(**setting).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="optimality conditions"):
        kg.ConcaveRegressor(0.01, max_time=1e-9).fit(X, y)

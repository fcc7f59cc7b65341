"""Poisson, gamma and Tweedie regression against scikit-learn and their optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peers

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.functions.deviances import Tweedie


def data(kind, n=300, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    mu = np.exp(X @ rng.normal(size=d) * 0.3 + 0.2)
    draw = {"Poisson": rng.poisson, "Gamma": lambda m: rng.gamma(3.0, m / 3.0)}[kind]
    return X, draw(mu).astype(float)


@pytest.mark.parametrize("kind", ["Poisson", "Gamma"])
@pytest.mark.parametrize("alpha", [0.0, 0.1, 5.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_equals_scikit_learn(kind, alpha, intercept):
    X, y = data(kind)
    w = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    setting = {"alpha": alpha, "fit_intercept": intercept, "tol": 1e-10}
    ours = getattr(kg, f"{kind}Regressor")(**setting).fit(X, y, w)
    theirs = getattr(peers, f"{kind}Regressor")(solver="newton-cholesky", **setting).fit(X, y, w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-7)
    assert ours.score(X, y, w) == pytest.approx(theirs.score(X, y, w), abs=1e-9)
    assert ours.gradient_norm_ <= 1e-10
    sparse = getattr(kg, f"{kind}Regressor")(**setting).fit(sp.csr_array(X), y, w)
    np.testing.assert_allclose(sparse.coef_, ours.coef_, atol=1e-7)


@pytest.mark.parametrize("power", [-1.0, 0.0, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("link", ["auto", "log"])
def test_powers_reach_a_stationary_point(power, link):
    X, y = data("Gamma", n=200, d=3)
    if power < 0:
        y = y + 5.0
    model = kg.TweedieRegressor(power=power, link=link, alpha=0.05, tol=1e-9, max_iter=500)
    model.fit(X, y)
    mu = model.predict(X)
    slope = mu if model._family().link == "log" else np.ones(len(y))
    g = X.T @ ((mu - y) * slope * mu**-power) / len(y) + 0.05 * model.coef_
    assert np.abs(g).max() < 1e-7
    peer = peers.TweedieRegressor(power=power, link=link, alpha=0.05, tol=1e-9, max_iter=5000)
    np.testing.assert_allclose(mu, peer.fit(X, y).predict(X), rtol=1e-4)


def test_streams_float32_and_many_columns():
    X, y = data("Poisson", n=500, d=8)
    blocks = [(X[i : i + 90], y[i : i + 90]) for i in range(0, 500, 90)]
    whole = kg.PoissonRegressor(alpha=0.1, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(
        kg.PoissonRegressor(alpha=0.1, tol=1e-9).fit(blocks).coef_, whole.coef_, atol=1e-8
    )
    narrow = kg.PoissonRegressor(alpha=0.1).fit(X.astype(np.float32), y.astype(np.float32))
    np.testing.assert_allclose(narrow.coef_, whole.coef_, atol=1e-3)
    assert narrow.coef_.dtype == np.float32
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(60, 2100))
    counts = rng.poisson(np.exp(0.5 * wide[:, 0]))
    model = kg.PoissonRegressor(alpha=1.0, tol=1e-7).fit(wide, counts)
    mu = model.predict(wide)
    assert np.abs(wide.T @ (mu - counts) / 60 + model.coef_).max() < 1e-6


def test_dependent_columns_and_warm_start():
    X, y = data("Poisson")
    twice = np.column_stack([X, X[:, 0], np.ones(len(y))])
    model = kg.PoissonRegressor(alpha=0.0, tol=1e-8).fit(twice, y)
    plain = kg.PoissonRegressor(alpha=0.0, tol=1e-8, warm_start=True).fit(X, y)
    np.testing.assert_allclose(model.predict(twice), plain.predict(X), rtol=1e-5)
    assert plain.fit(X, y).n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match="max_iter is reached"):
        kg.PoissonRegressor(max_iter=1, tol=1e-12).fit(X, y)


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        (kg.PoissonRegressor(), -1.0, "out of the valid range"),
        (kg.GammaRegressor(), 0.0, "out of the valid range"),
        (kg.PoissonRegressor(), 0.0, "positive mean"),
        (kg.PoissonRegressor(alpha=-1.0), 1.0, "alpha must be a float of at least 0"),
        (kg.TweedieRegressor(power=0.5), 1.0, "power must be"),
    ],
)
def test_bad_input(model, target, message):
    X, _ = data("Poisson", n=20)
    with pytest.raises(ValueError, match=message):
        model.fit(X, np.full(20, target))


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("link", ["log", "identity"])
def test_derivatives_by_differences(power, link):
    rng = np.random.default_rng(2)
    y, z = rng.uniform(0.1, 3.0, 20), rng.uniform(0.2, 1.5, 20)
    family, h = Tweedie(power, link), 1e-5
    up, down, here = (family.terms(y, z + s) for s in (h, -h, 0.0))
    np.testing.assert_allclose(here.gradient, (up.loss - down.loss) / (2 * h), rtol=1e-6, atol=1e-8)
    if link == "log" and 1 <= power <= 2:
        second = (up.gradient - down.gradient) / (2 * h)
        np.testing.assert_allclose(here.curvature, second, rtol=1e-6, atol=1e-8)
    assert (here.curvature >= 0).all()
    np.testing.assert_allclose(family.deviance(y, y), 0, atol=1e-12)

"""Summary section 2: the features it names, as transformers, and least squares on them."""

from __future__ import annotations

import numpy as np
from book_checks import covers

import kilogram as kg


@covers("summary A2.2", "summary A2.6")
def test_A2_6_a_parabola_by_polynomial_features():
    x = np.linspace(-2, 3, 12)[:, None]
    y = 1.5 - 2 * x[:, 0] + 0.5 * x[:, 0] ** 2
    Phi = kg.PolynomialFeatures(2).fit_transform(x)
    assert np.allclose(Phi, np.column_stack([np.ones(12), x, x**2]))
    model = kg.LinearRegression(fit_intercept=False).fit(Phi, y)
    assert np.allclose(model.coef_, [1.5, -2, 0.5])
    # several variables, any degree, with or without the constant
    X = np.random.default_rng(0).standard_normal((5, 2))
    Phi = kg.PolynomialFeatures(3, include_bias=False).fit_transform(X)
    a, b = X.T
    cubes = [a, b, a * a, a * b, b * b, a**3, a * a * b, a * b * b, b**3]
    assert np.allclose(Phi, np.column_stack(cubes))


@covers("summary A2.3", "summary A2.9")
def test_A2_9_a_bump_at_every_point():
    x = np.linspace(0, 4, 10)[:, None]
    y = np.sin(2 * x[:, 0])
    Phi = kg.RadialBasisFeatures().fit_transform(x)  # width 1, a constant in front
    assert Phi.shape == (10, 11)
    assert np.allclose(Phi[:, 1:], np.exp(-0.5 * (x - x.T) ** 2))
    assert np.linalg.matrix_rank(Phi) < 11  # the normal equations have no inverse
    smallest = kg.LinearRegression(fit_intercept=False).fit(Phi, y)
    assert smallest.rank_ < 11
    assert np.isfinite(smallest.coef_).all()
    assert kg.Ridge(1e-3, fit_intercept=False).fit(Phi, y).score(Phi, y) > 0.99


@covers("summary A2.4")
def test_A2_4_a_list_of_functions():
    x = np.linspace(-1, 1, 40)[:, None]
    names = ["identity", "square", "exp", lambda z: np.exp(-z), "sin", "cos"]
    Phi = kg.FunctionFeatures(names).fit_transform(x)
    v = x[:, 0]
    want = [np.ones(40), v, v**2, np.exp(v), np.exp(-v), np.sin(v), np.cos(v)]
    assert np.allclose(Phi, np.column_stack(want))
    y = 2 * np.exp(v) - np.sin(v)
    assert np.allclose(kg.LinearRegression(fit_intercept=False).fit(Phi, y).predict(Phi), y)

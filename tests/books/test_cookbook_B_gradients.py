"""Cookbook appendix B: the derivations of PCA, least squares and ridge, by finite differences."""

from __future__ import annotations

import numpy as np
from book_checks import cloud, covers, numerical_gradient, pca_sides, ridge_sides

from kilogram.textbook import ridge


@covers("cookbook TB.1")
@pca_sides
def test_TB_1_the_lagrangian_is_stationary_at_eigenvectors_only(fit_pca):
    """w'Cw + lambda (1 - w'w), C the covariance."""
    X = cloud(0)
    C = np.cov(X.T, ddof=0)
    fitted = fit_pca(X)

    def lagrangian(lam):
        return lambda w: float(w @ C @ w + lam * (1 - w @ w))

    for w, lam in zip(fitted.W.T, fitted.Lambda, strict=True):
        assert np.allclose(numerical_gradient(lagrangian(lam), w), 0, atol=1e-6)
    w = np.random.default_rng(0).standard_normal(5)
    w /= np.linalg.norm(w)
    lam = w @ C @ w
    gradient = numerical_gradient(lagrangian(lam), w)
    assert np.allclose(gradient, 2 * C @ w - 2 * lam * w, atol=1e-6)
    assert np.linalg.norm(gradient) > 0.1


@covers("cookbook TB.3")
def test_TB_3_gradient_of_least_squares():
    X = cloud(1)
    Y = np.random.default_rng(1).standard_normal((60, 2))
    W = np.random.default_rng(2).standard_normal((5, 2))
    numerical = numerical_gradient(lambda V: ridge.cost(X, Y, V, 0.0), W)
    assert np.allclose(ridge.gradient(X, Y, W, 0.0), numerical, rtol=1e-5, atol=1e-3)


@covers("cookbook TB.4")
def test_TB_4_gradient_of_ridge():
    X = cloud(3)
    Y = np.random.default_rng(3).standard_normal((60, 2))
    W = np.random.default_rng(4).standard_normal((5, 2))
    numerical = numerical_gradient(lambda V: ridge.cost(X, Y, V, 30.0), W)
    assert np.allclose(ridge.gradient(X, Y, W, 30.0), numerical, rtol=1e-5, atol=1e-3)
    assert not np.allclose(ridge.gradient(X, Y, W, 0.0), numerical, rtol=1e-2, atol=1e-1)


@covers("cookbook TB.3", "cookbook TB.4")
@ridge_sides
def test_TB_3_TB_4_the_fits_are_stationary(fit_ridge):
    X = cloud(5)
    y = np.random.default_rng(5).standard_normal(60) + X[:, 0]
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    for lam in (0.0, 3.0):
        W = fit_ridge(X, y, lam).W
        assert np.allclose(ridge.gradient(Xc, yc, W, lam), 0, atol=1e-8)
        moved = W + 1e-3
        assert ridge.cost(Xc, yc, moved, lam) > ridge.cost(Xc, yc, W, lam)

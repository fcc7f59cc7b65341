"""Slides lectures 2 (derivatives) and 8 (covariance, least squares)."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import cloud, covers, numerical_gradient, ridge_sides, rotated_cloud

import kilogram as kg
from kilogram.textbook import ridge


def problem(seed: int, n: int = 40, d: int = 3):
    X = cloud(seed, n, d)
    return X, X @ np.arange(1.0, d + 1) + np.random.default_rng(seed).standard_normal(n)


@covers("slides B2.8", "slides B2.11")
def test_B2_11_derivatives_as_columns():
    rng = np.random.default_rng(12)
    A, u, x = rng.standard_normal((4, 4)), rng.standard_normal(4), rng.standard_normal(4)
    assert np.allclose(numerical_gradient(lambda v: u @ v, x), u)
    assert np.allclose(numerical_gradient(lambda v: v @ v, x), 2 * x, atol=1e-6)
    cost = numerical_gradient(lambda v: ridge.cost(A, u, v, 0.3), x)  # both of them at once
    assert np.allclose(cost, ridge.gradient(A, u, x, 0.3), atol=1e-5)
    quadratic = numerical_gradient(lambda v: v @ A @ v, x)
    assert np.allclose(quadratic, (A + A.T) @ x, atol=1e-6)
    assert not np.allclose(quadratic, 2 * A @ x, atol=0.1)
    # the table's x'(A + A') is a row where 2x is a column
    column = x[:, None]
    assert (column.T @ (A + A.T)).shape != (2 * column).shape
    # Ax has a Jacobian: as many rows as outputs
    B = rng.standard_normal((2, 4))
    jacobian = np.array([numerical_gradient(lambda v, i=i: (B @ v)[i], x) for i in range(2)])
    assert np.allclose(jacobian, B, atol=1e-6)
    # u'x is the length of the projection only for a unit u
    unit = u / np.linalg.norm(u)
    shadow = np.linalg.norm(unit * (unit @ x))
    assert np.isclose(abs(unit @ x), shadow)
    assert not np.isclose(abs(u @ x), shadow)
    # A B and B A differ in general, not always: plane rotations commute
    turn = [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in (0.3, 1.1)]
    assert np.allclose(turn[0] @ turn[1], turn[1] @ turn[0])
    assert not np.allclose(A @ np.diag(u), np.diag(u) @ A)
    # p < 1 breaks the triangle inequality

    def size(v, p):
        return np.sum(np.abs(v) ** p) ** (1 / p)

    assert size(np.array([1.0, 1.0]), 0.5) > size(np.array([1.0, 0]), 0.5) + size(
        np.array([0, 1.0]), 0.5
    )


@covers("slides B8.2", "slides B8.3")
def test_B8_3_the_recipe_for_a_correlated_cloud():
    """Covariances I, diag(9, 1), [[5, 4], [4, 5]]; X X' without 1/T is T times too large."""
    X = rotated_cloud(13, 200_000)
    T = len(X)
    assert np.allclose(X.T @ X / T, [[5, 4], [4, 5]], atol=0.1)
    assert not np.allclose(X.T @ X, [[5, 4], [4, 5]], rtol=10)
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)
    assert np.allclose(turn @ np.diag([9.0, 1.0]) @ turn.T, [[5, 4], [4, 5]])
    found = kg.PCA().fit(X)  # takes the recipe back: variances 9 and 1, turned by 45 degrees
    assert np.allclose(found.explained_variance_, [9, 1], rtol=0.02)
    assert np.allclose(np.abs(found.components_), np.abs(turn.T), atol=0.01)


@covers("slides B8.6", "summary C4")
@ridge_sides
def test_B8_6_columns_and_rows_are_transposes(fit_ridge):
    rows, y = problem(14)
    rows, y = rows - rows.mean(axis=0), y - y.mean()
    X, targets = rows.T, y[None, :]
    with pytest.raises(ValueError, match="mismatch"):
        np.linalg.inv(X @ X.T) @ X @ targets  # an overlay loses the transpose
    w = np.linalg.inv(X @ X.T) @ X @ targets.T
    assert np.allclose(w[:, 0], fit_ridge(rows, y, 0.0).W)
    assert np.allclose(X @ X.T, 40 * np.cov(X, ddof=0))  # T times the covariance
    assert not np.allclose(X @ X.T, np.cov(X, ddof=0), rtol=1)


@covers("slides B8.7")
@ridge_sides
def test_B8_7_several_targets_are_multivariate_not_multiple(fit_ridge):
    """Multiple: several inputs, one target. Multivariate: several targets, that many fits."""
    X, y = problem(15)
    Y = np.column_stack([y, y**2])
    multiple, multivariate = fit_ridge(X, y, 0.0), fit_ridge(X, Y, 0.0)
    assert multiple.W.shape == (3,)
    assert multivariate.W.shape == (3, 2)
    assert np.allclose(multivariate.W[:, 0], multiple.W)
    assert np.allclose(multivariate.W[:, 1], fit_ridge(X, Y[:, 1], 0.0).W)

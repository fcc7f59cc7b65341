"""Coordinate descent on a Gram matrix against a plain NumPy loop, at awkward sizes and strides."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from kilogram.native.coordinate import (
    Groups,
    PathGoal,
    Penalty,
    SparseColumns,
    column_descent,
    column_products,
    gram_descent,
    gram_path,
    group_descent,
)


def plain(G, q, l1, l2, positive, epochs):
    b = np.zeros(len(q))
    for _ in range(epochs):
        for j in range(len(q)):
            c = q[j] - G[j] @ b + G[j, j] * b[j]
            c = max(c, 0.0) if positive else c
            b[j] = np.sign(c) * max(abs(c) - l1[j], 0.0) / (G[j, j] + l2)
    return b


@pytest.mark.parametrize("m", [1, 2, 7, 33])
@pytest.mark.parametrize("positive", [False, True])
def test_equals_the_plain_loop(m, positive):
    rng = np.random.default_rng(m)
    X = rng.normal(size=(50, m)) / 7
    buffer = np.full((m + 3, m + 5), np.nan)
    buffer[:m, :m] = X.T @ X
    G, q = buffer[:m, :m], X.T @ rng.normal(size=50)
    l1 = rng.uniform(0, 0.3, m)
    b, h = np.zeros(m), q.copy()
    penalty = Penalty(l1, 0.1, positive)
    epochs, change = gram_descent(G, q, penalty, b, h, tol=1e-13, max_epochs=5000)
    assert change <= 1e-13
    assert epochs < 5000
    np.testing.assert_allclose(b, plain(G, q, l1, 0.1, positive, 3000), atol=1e-11)
    np.testing.assert_allclose(h, q - G @ b, atol=1e-12)


@pytest.mark.parametrize("kind", ["mcp", "scad"])
def test_concave_penalties_find_the_minimiser_of_one_coordinate(kind):
    t, gamma = 0.5, 3.7

    def value(x):
        x = np.abs(x)
        if kind == "mcp":
            return np.where(x <= gamma * t, t * x - x**2 / (2 * gamma), gamma * t**2 / 2)
        middle = (2 * gamma * t * x - x**2 - t**2) / (2 * (gamma - 1))
        return np.where(x <= t, t * x, np.where(x <= gamma * t, middle, t**2 * (gamma + 1) / 2))

    grid = np.linspace(-5, 5, 200001)
    for c in (-4.0, -1.2, -0.6, 0.2, 0.8, 1.1, 1.7, 3.0):
        best = grid[np.argmin(0.5 * grid**2 - c * grid + value(grid))]
        b, h = np.zeros(1), np.array([c])
        gram_descent(np.eye(1), np.array([c]), Penalty(np.array([t]), kind=kind, gamma=gamma), b, h,
                     tol=1e-12, max_epochs=100)  # fmt: skip
        assert b[0] == pytest.approx(best, abs=1e-4)


def test_a_gram_matrix_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="G must be"):
        gram_descent(np.eye(3), np.zeros(2), Penalty(np.zeros(2)), np.zeros(2), np.zeros(2), tol=0,
                     max_epochs=1)  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "t"), [([1, 1, 1], 1), ([1] * 7, 3), ([2, 5, 1], 1), ([3, 4], 2)]
)
def test_groups_reach_the_optimality_conditions(sizes, t):
    rng = np.random.default_rng(sum(sizes) + t)
    m = sum(sizes)
    X = rng.normal(size=(40, m)) / 6
    buffer = np.full((m + 2, m + 3), np.nan)
    buffer[:m, :m] = X.T @ X
    G, Q = buffer[:m, :m], X.T @ rng.normal(size=(40, t))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    parts = [slice(a, b) for a, b in pairwise(starts)]
    curvature = np.array([np.linalg.eigvalsh(G[g, g])[-1] for g in parts])
    strength, l2 = rng.uniform(0.05, 0.3, len(sizes)), 0.1
    B, H = np.zeros((m, t)), Q.copy()
    groups = Groups(starts, curvature, strength, l2)
    _, change = group_descent(G, groups, B, H, tol=1e-13, max_epochs=20_000)
    assert change <= 1e-13
    np.testing.assert_allclose(H, Q - G @ B, atol=1e-11)
    for g, s in zip(parts, strength, strict=True):
        pull, norm = H[g] - l2 * B[g], np.linalg.norm(B[g])
        if norm == 0:
            assert np.linalg.norm(pull) <= s + 1e-9
        else:
            np.testing.assert_allclose(pull, s * B[g] / norm, atol=1e-9)
    with pytest.raises(ValueError, match="must cover"):
        group_descent(G, groups._replace(starts=starts[:-1]), B, H, tol=0.1, max_epochs=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "p", "k"), [(1, 1, 1), (37, 5, 3), (3000, 700, 8), (17, 300, 11)])
def test_column_products_are_those_of_numpy(dtype: type, n: int, p: int, k: int) -> None:
    rng = np.random.default_rng(n)
    X, R = np.asfortranarray(rng.normal(size=(n, p)), dtype=dtype), rng.normal(size=(n, k))
    found = column_products(X, R.astype(dtype))
    bound = n * np.finfo(dtype).eps * (np.abs(X).T @ np.abs(R))
    assert np.all(np.abs(found - X.astype(float).T @ R.astype(dtype).astype(float)) <= bound)


def test_column_products_refuse_other_layouts() -> None:
    X = np.ones((4, 3))
    with pytest.raises(ValueError, match="Fortran"):
        column_products(X, np.ones((4, 2)))
    with pytest.raises(ValueError, match="shape"):
        column_products(np.asfortranarray(X), np.ones((3, 2)))


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("kind", ["l1", "mcp"])
def test_sparse_columns_equal_their_gram_matrix(centred, kind):
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 15), density=0.3, rng=rng, format="csc")
    ones = np.full(60, 60**-0.5)
    mean = np.asarray(X.T @ ones) if centred else np.zeros(15)
    y = rng.normal(size=60)
    y -= ones * (ones @ y)
    Z = X.toarray() - np.outer(ones, mean)
    penalty = Penalty(rng.uniform(0.05, 0.3, 15), 0.1, False, kind, 30.0)
    columns = SparseColumns(
        X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64), mean, (Z**2).sum(axis=0)
    )
    b, r = np.zeros(15), y.copy()
    _, change = column_descent(columns, penalty, b, r, tol=1e-12, max_epochs=5000)
    assert change <= 1e-12
    stored, h = np.zeros(15), Z.T @ y
    gram_descent(Z.T @ Z, Z.T @ y, penalty, stored, h, tol=1e-12, max_epochs=5000)
    assert np.count_nonzero(b) > 0
    np.testing.assert_allclose(b, stored, atol=1e-10)
    np.testing.assert_allclose(r, y - X @ b, atol=1e-12)


@pytest.mark.parametrize("n", [1, 5, 60, 67])
def test_dense_columns_equal_their_gram_matrix(n):
    rng = np.random.default_rng(n)
    X = np.asfortranarray(rng.normal(size=(n, 15)))
    ones = np.full(n, n**-0.5)
    mean, y = X.T @ ones, rng.normal(size=n)
    y -= ones * (ones @ y)
    Z = X - np.outer(ones, mean)
    penalty = Penalty(rng.uniform(0.05, 0.3, 15), 0.1)
    starts, none = np.arange(0, 15 * n + 1, n), np.empty(0, dtype=np.int32)
    columns = SparseColumns(X.ravel(order="F"), none, starts, mean, (Z**2).sum(axis=0))
    b, r = np.zeros(15), y.copy()
    _, change = column_descent(columns, penalty, b, r, tol=1e-12, max_epochs=5000)
    assert change <= 1e-12
    stored, h = np.zeros(15), Z.T @ y
    gram_descent(Z.T @ Z, Z.T @ y, penalty, stored, h, tol=1e-12, max_epochs=5000)
    np.testing.assert_allclose(b, stored, atol=1e-9)
    np.testing.assert_allclose(r, y - X @ b, atol=1e-12)
    with pytest.raises(ValueError, match="starts"):
        column_descent(columns._replace(starts=starts[:-1]), penalty, b, r, tol=1, max_epochs=1)


def test_columns_without_entries_stay_at_zero():
    none = np.empty(0)
    columns = SparseColumns(
        none, none.astype(np.int32), np.zeros(4, dtype=np.int64), np.zeros(3), np.zeros(3)
    )
    b, r = np.ones(3), np.ones(5)
    assert column_descent(columns, Penalty(np.ones(3)), b, r, tol=0, max_epochs=9) == (1, 0.0)
    np.testing.assert_array_equal(b, 0)
    np.testing.assert_array_equal(r, 1)


@pytest.mark.parametrize("m", [1, 6, 40])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.2])
def test_a_path_equals_descent_at_each_strength(m, positive, l2):
    rng = np.random.default_rng(m)
    X, y = rng.normal(size=(50, m)) / 7, rng.normal(size=50)
    buffer = np.full((m + 3, m + 5), np.nan)
    buffer[:m, :m] = X.T @ X
    G, q, yy = buffer[:m, :m], X.T @ y, float(y @ y)
    grid = np.abs(q).max() * np.array([1.0, 0.5, 0.2, 0.3, 0.01])
    strengths = np.column_stack([grid, l2 * grid])
    goal = PathGoal(1e-12 * yy, 1e-3, 1e-15, 10_000)
    B, states = gram_path(G, q, yy, strengths, np.zeros(m), goal, positive=positive)
    assert len(B) == len(grid)
    for b, (epochs, gap, value, squares), (l1, ridge) in zip(B, states, strengths, strict=True):
        slow, h = np.zeros(m), q.copy()
        penalty = Penalty(np.full(m, l1), ridge, positive)
        gram_descent(G, q, penalty, slow, h, tol=1e-13, max_epochs=10_000)
        assert epochs >= 1
        assert 0 <= gap <= goal.gap
        np.testing.assert_allclose(X @ b, X @ slow, atol=2e-6 * np.sqrt(yy))
        np.testing.assert_allclose(squares, ((y - X @ b) ** 2).sum(), rtol=1e-10)
        expected = 0.5 * squares + l1 * np.abs(b).sum() + 0.5 * ridge * b @ b
        np.testing.assert_allclose(value, expected, rtol=1e-10)
    few, _ = gram_path(
        G, q, yy, strengths, np.zeros(m), goal._replace(max_epochs=1, gap=-1.0), positive=positive
    )
    assert len(few) < len(grid)  # no gap is below 0: the first strength is not solved
    with pytest.raises(ValueError, match="start"):
        gram_path(G, q, yy, strengths, np.zeros(m + 1), goal, positive=positive)


def test_extrapolation_is_ahead_of_plain_epochs_where_they_are_slow():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(200, 1))
    X = (common + 0.1 * rng.normal(size=(200, 30))) / 200**0.5
    G, q = X.T @ X, X.T @ rng.normal(size=200)
    l1 = np.full(30, 1e-4)
    b, h = np.zeros(30), q.copy()
    _, change = gram_descent(G, q, Penalty(l1), b, h, tol=1e-9, max_epochs=100_000)
    assert change <= 1e-9
    slow = plain(G, q, l1, 0.0, False, 200)

    def value(b):
        return 0.5 * b @ G @ b - q @ b + l1 @ np.abs(b)

    correlations = q - G @ b
    assert np.all(np.abs(correlations) <= l1 + 1e-8)
    assert value(b) < value(slow)
    np.testing.assert_allclose(h, correlations, atol=1e-8)

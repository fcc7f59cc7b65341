"""Lecture notes, lecture 20: locally linear embedding."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers, same_up_to_sign

import kilogram as kg
from kilogram.textbook import manifolds
from kilogram.textbook.state import run

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3)) + 2.0


def sheet(n=300, seed=0):
    """A sheet rolled up in space, and the two coordinates it had before."""
    rng = np.random.default_rng(seed)
    t, height = rng.uniform(0, 1.2 * np.pi, n), rng.uniform(0, 4, n)
    return np.column_stack([3 * np.cos(t), height, 3 * np.sin(t)]), np.column_stack([3 * t, height])


@covers("lecture_notes L20.M2")
def test_L20_M2_textbook_and_fast_agree_for_training_and_new_points():
    points, _ = sheet(90)
    reference = run(manifolds.lle(points, 8, 2))
    fast = kg.LocallyLinearEmbedding(n_neighbors=8).fit(points)
    assert same_up_to_sign(fast.embedding_, reference["Z"], 1e-6)
    assert fast.reconstruction_error_ == pytest.approx(reference.objective, rel=1e-4)
    for x in sheet(5, seed=1)[0]:
        z = run(manifolds.lle_new(x, points, fast.embedding_, 8))["z"]
        np.testing.assert_allclose(fast.transform(x[None])[0], z, rtol=1e-6, atol=1e-8)


@covers("lecture_notes L20.E2")
def test_L20_E2_a_curved_sheet_is_unrolled():
    points, flat = sheet(600)
    Z = kg.LocallyLinearEmbedding(n_neighbors=12).fit_transform(points)
    # the flat coordinates are linear functions of the embedding; of the points they are not
    design = np.column_stack([Z, np.ones(600)])
    left = flat - design @ np.linalg.lstsq(design, flat, rcond=None)[0]
    assert (1 - left.var(axis=0) / flat.var(axis=0)).min() > 0.9
    P = kg.PCA(2).fit_transform(points)
    design = np.column_stack([P, np.ones(600)])
    bent = flat - design @ np.linalg.lstsq(design, flat, rcond=None)[0]
    assert left.var(axis=0).sum() < 0.5 * bent.var(axis=0).sum()


@covers("lecture_notes L20.T3")
def test_L20_T3_weights_do_not_see_turns_shifts_and_scales():
    W, M = (run(manifolds.lle(X, 6))[letter] for letter in "WM")
    np.testing.assert_allclose(M @ np.ones(40), 0, atol=1e-12)
    Q = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
    moved = 5.0 * X @ Q + [1.0, -2.0, 30.0]
    np.testing.assert_allclose(run(manifolds.lle(moved, 6))["W"], W, atol=1e-9)
    one, two = (kg.LocallyLinearEmbedding(n_neighbors=6).fit(Y) for Y in (X, moved))
    assert same_up_to_sign(two.embedding_, one.embedding_, 1e-6)


@covers("lecture_notes L20.X1")
def test_L20_X1_weights_are_divided_by_their_sum():
    W = run(manifolds.lle(X, 6))["W"]
    printed = W / np.linalg.norm(W, axis=1, keepdims=True)
    ones = np.ones(40)
    for weights, exact in ((W, True), (printed, False)):
        M = (np.eye(40) - weights).T @ (np.eye(40) - weights)
        assert (np.abs(M @ ones).max() < 1e-12) == exact
    i = 7  # and only sums of one mix shifted neighbours to the shifted point
    shift = np.array([100.0, 0.0, 0.0])
    assert np.allclose(W[i] @ (X + shift), W[i] @ X + shift)
    assert not np.allclose(printed[i] @ (X + shift), printed[i] @ X + shift, atol=1.0)


@covers("lecture_notes L20.X2")
def test_L20_X2_C_has_a_row_for_each_neighbour():
    near = X[manifolds.neighbours(manifolds.distances(X), 5)[0]]
    Z = near - X[0]
    right, printed = Z @ Z.T, Z.T @ Z
    assert right.shape == (5, 5)  # C w = 1 has five unknowns
    assert printed.shape == (3, 3)  # as many as there are coordinates
    assert np.linalg.matrix_rank(right) == 3  # k > d: singular, so the diagonal is raised
    w = manifolds.weights(X[0], near)
    assert w.sum() == pytest.approx(1)
    assert np.linalg.norm(w @ near - X[0]) < 0.05 * np.linalg.norm(Z, axis=1).mean()
    for other in RNG.dirichlet(np.ones(5), 50):  # no other mixture comes nearer (at eps = 0)
        best = manifolds.weights(X[0], near, 1e-10)
        assert np.linalg.norm(best @ near - X[0]) <= np.linalg.norm(other @ near - X[0])


@covers("lecture_notes L20.X3")
def test_L20_X3_the_constant_is_left_out_and_columns_have_length_one():
    points, _ = sheet(100)
    reference = run(manifolds.lle(points, 8))
    assert abs(reference["Lambda"][0]) < 1e-12  # 1 / sqrt of it would be anything
    fast = kg.LocallyLinearEmbedding(n_neighbors=8).fit(points)
    for Z in (reference["Z"], fast.embedding_):
        np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-7)
        np.testing.assert_allclose(Z.T @ Z, np.eye(2), atol=1e-7)
        np.testing.assert_allclose(np.cov(np.sqrt(100) * Z.T, bias=True), np.eye(2), atol=1e-6)

"""Coordinate descent on a Gram matrix against a plain NumPy loop, at awkward sizes and strides."""

from __future__ import annotations

import numpy as np
import pytest

from kilogram.native.coordinate import Penalty, gram_descent


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
    room = np.full((m + 3, m + 5), np.nan)
    room[:m, :m] = X.T @ X
    G, q = room[:m, :m], X.T @ rng.normal(size=50)
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

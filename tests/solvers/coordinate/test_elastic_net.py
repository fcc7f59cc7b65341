"""Coordinate descent for sparse penalties: the optimality conditions, and plain proximal steps."""

import numpy as np
import pytest
import scipy.sparse as sp

from kilogram.functions.penalties import penalty_slope
from kilogram.solvers.coordinate.designs import DenseDesign, SparseDesign
from kilogram.solvers.coordinate.elastic_net import (
    ElasticNetOptions,
    elastic_net_path,
    strength_max,
)
from kilogram.solvers.coordinate.group_lasso import (
    Grouping,
    GroupOptions,
    group_path,
    group_strength_max,
)


def rows(n=40, p=60):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    y = X[:, :5] @ np.array([3.0, -2.0, 1.5, -1.0, 0.5]) + rng.standard_normal(n)
    return np.asfortranarray((X - X.mean(axis=0)) / np.sqrt(n)), (y - y.mean()) / np.sqrt(n)


def proximal_gradient(X, y, l1, l2, positive=False, steps=40_000):
    """The oracle: b <- prox(b + X'(y - X b) / L)."""
    b, L = np.zeros(X.shape[1]), np.linalg.norm(X, 2) ** 2 + l2
    for _ in range(steps):
        z = b + (X.T @ (y - X @ b) - l2 * b) / L
        b = np.sign(z) * np.maximum(np.abs(z) - l1 / L, 0.0)
        b = np.maximum(b, 0.0) if positive else b
    return b


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.05])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_path_ends_where_proximal_steps_do(form, l2, positive):
    X, y = rows()
    design = DenseDesign(X, y)
    if form == "sparse":
        design = SparseDesign(sp.csc_array(X), y, np.zeros(X.shape[1]), np.ones(len(y)))
    top = strength_max(design, None, positive)
    options = ElasticNetOptions(positive=positive, tol=1e-10, max_iter=100_000)
    path = elastic_net_path(design, [(top, l2), (0.3 * top, l2), (0.05 * top, l2)], options)
    assert not path[0].coef.any()
    want = proximal_gradient(X, y, 0.05 * top, l2, positive)
    np.testing.assert_allclose(path[-1].coef, want, atol=2e-4 * np.abs(want).max())
    assert path[-1].converged
    assert (path[-1].coef >= 0).all() or not positive


@pytest.mark.parametrize("kind", ["mcp", "scad"])
def test_a_concave_solution_is_a_stationary_point(kind):
    X, y = rows(120, 20)
    design = DenseDesign(X, y)
    l1 = 0.1 * strength_max(design, None, False)
    options = ElasticNetOptions(penalty=kind, gamma=3.7, tol=1e-9, max_iter=100_000)
    b = elastic_net_path(design, [(l1, 0.0)], options)[0].coef
    c = X.T @ (y - X @ b)
    on = b != 0
    want = np.sign(b[on]) * penalty_slope(np.abs(b[on]), l1, 3.7, kind)
    np.testing.assert_allclose(c[on], want, atol=1e-5)
    assert (np.abs(c[~on]) <= l1 + 1e-6).all()


def test_groups_are_zero_together_and_satisfy_their_conditions():
    X, y = rows()
    design = DenseDesign(X, y[:, None])
    groups = Grouping(np.arange(60), np.arange(0, 61, 3), np.ones(20))
    top = group_strength_max(design, groups)
    options = GroupOptions(groups, tol=1e-10, max_iter=100_000)
    first, last = group_path(design, [(top, 0.0), (0.2 * top, 0.0)], options)
    assert not first.coef.any()
    c = X.T @ (y[:, None] - X @ last.coef)
    assert last.coef.any()
    for g in map(groups.of, range(20)):
        b, size = last.coef[g], np.linalg.norm(last.coef[g])
        if size > 0:
            np.testing.assert_allclose(c[g], 0.2 * top * b / size, atol=1e-5)
        else:
            assert np.linalg.norm(c[g]) <= 0.2 * top * (1 + 1e-6)

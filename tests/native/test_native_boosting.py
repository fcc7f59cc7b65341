"""Binned rows, growth and predictions of boosting, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, softmax

from kilogram.native.boosting import Grower, Growth, add_trees, bin_limits, gradients
from kilogram.solvers.boosting.ensemble import BoostedTrees

RULES = Growth(31, 100, 5, 0.0, 1e-3, 1.0, 1.0)


def grown(X, g, h, rules=RULES, **kwargs):
    d = X.shape[1]
    none = np.zeros(d, np.int64)
    grower = Grower(
        X, bin_limits(X, 255), kwargs.get("categories", none), kwargs.get("monotone", none),
        kwargs.get("groups", []),
    )  # fmt: skip
    grower.grow(g, h, rules, 0)
    return grower, grower.tree()


def best_gain(X, g, h, min_leaf):
    """The largest decrease by one split `x <= c`, by trying all: each side has `min_leaf` rows, and
    the curvature of `min_leaf - 1` average ones."""
    best, least = 0.0, (min_leaf - 1) * h.mean()
    for k in range(X.shape[1]):
        for c in np.unique(X[:, k])[:-1]:
            left = X[:, k] <= c
            if min(left.sum(), (~left).sum()) < min_leaf:
                continue
            if min(h[left].sum(), h[~left].sum()) < least:
                continue
            parts = [g[s].sum() ** 2 / h[s].sum() for s in (left, ~left)]
            best = max(best, sum(parts) - g.sum() ** 2 / h.sum())
    return best


def test_limits_lie_between_distinct_values():
    x = np.array([[3.0], [1.0], [np.nan], [2.0], [2.0]])
    np.testing.assert_allclose(bin_limits(x, 255)[0], [1.5, 2.5])
    assert len(bin_limits(np.full((4, 1), np.nan), 255)[0]) == 0
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 2))
    for limits in bin_limits(X, 16):
        assert len(limits) == 15
        assert (np.diff(limits) > 0).all()
    counts = np.histogram(X[:, 0], np.r_[-np.inf, bin_limits(X, 16)[0], np.inf])[0]
    np.testing.assert_allclose(counts, 5000 / 16, atol=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [11, 200])
def test_the_first_split_gains_most(n, dtype):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 3)).astype(dtype)
    g, h = rng.standard_normal(n), rng.uniform(0.5, 2, n)
    _, tree = grown(X, g, h, RULES._replace(max_leaves=2))
    assert tree.gain[0] == pytest.approx(best_gain(X, g, h, 5), rel=1e-6)
    left = X[:, tree.nodes["feature"][0]] <= tree.nodes["threshold"][0]
    want = [-g[s].sum() / h[s].sum() for s in (left, ~left)]
    np.testing.assert_allclose(tree.nodes["value"][1:], want, rtol=1e-12)
    assert tree.samples.tolist() == [n, left.sum(), (~left).sum()]


def test_rows_without_curvature_do_not_fill_a_leaf():
    x = np.arange(100.0)[:, None]
    g, h = np.where(x[:, 0] < 10, -1.0, 0.1), np.where(x[:, 0] < 10, 1e-3, 1.0)
    for min_leaf, cut in ((5, 13.5), (1, 9.5)):  # ten such rows are less than four average ones
        _, tree = grown(x, g, h, RULES._replace(max_leaves=2, min_leaf=min_leaf))
        assert tree.nodes["threshold"][0] == cut


@pytest.mark.parametrize("n", [1, 7, 64, 65, 1000])
def test_predictions_are_the_leaves_of_the_rows(n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    g, h = rng.standard_normal(n), np.ones(n)
    grower, tree = grown(X, g, h, RULES._replace(min_leaf=1))
    raw = np.zeros(n)
    grower.add_values(raw)
    trees = BoostedTrees.empty(np.zeros(1)).extended([tree])
    np.testing.assert_array_equal(trees.raw(X)[:, 0], raw)
    np.testing.assert_array_equal(trees.raw(np.asfortranarray(X))[:, 0], raw)
    out = np.zeros((n, 1))
    add_trees(trees.nodes, trees.sets, trees.roots, trees.depths, 0, 0, X, out)
    assert not out.any()


def test_categories_are_grouped_by_their_gradient():
    rng = np.random.default_rng(0)
    c = rng.integers(0, 6, 600)
    g = np.where(np.isin(c, [1, 4]), -1.0, 1.0)
    X = c[:, None].astype(float)
    _, tree = grown(X, g, np.ones(600), RULES._replace(max_leaves=2), categories=np.array([6]))
    bits = tree.sets[tree.nodes["categories"][0], 0]
    assert {k for k in range(6) if bits >> k & 1} in ({1, 4}, {0, 2, 3, 5})


def test_gradients_are_derivatives():
    rng = np.random.default_rng(0)
    y, f = rng.uniform(0.5, 2, 50), rng.standard_normal((1, 50))
    want = {
        "squared_error": (f[0] - y, np.ones(50)),
        "poisson": (np.exp(f[0]) - y, np.exp(f[0])),
        "gamma": (1 - y * np.exp(-f[0]), y * np.exp(-f[0])),
        "absolute_error": (np.sign(f[0] - y), np.ones(50)),
    }
    for name, (g_want, h_want) in want.items():
        g, h = np.empty_like(f), np.empty_like(f)
        gradients(name, 0.0, y, np.full(50, 2.0), f, g, h)
        np.testing.assert_allclose(g[0], 2 * g_want, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(h[0], 2 * h_want, rtol=1e-13)
    c = rng.integers(0, 3, 50).astype(float)
    raw = rng.standard_normal((3, 50))
    g, h = np.empty_like(raw), np.empty_like(raw)
    gradients("multinomial_log_loss", 0.0, c, None, raw, g, h)
    p = softmax(raw, axis=0)
    np.testing.assert_allclose(g, p - (c == np.arange(3)[:, None]), atol=1e-14)
    np.testing.assert_allclose(h, p * (1 - p), atol=1e-14)
    gradients("binary_log_loss", 0.0, (c > 0) * 1.0, None, 40 * raw[:1], g[:1], h[:1])
    np.testing.assert_allclose(g[0], expit(40 * raw[0]) - (c > 0), atol=1e-14)

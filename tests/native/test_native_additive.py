"""Rounds of additive boosting and the screening of pairs, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from kilogram.native.additive import Bins, Cells, StepRule, additive_values, screen_pairs
from kilogram.native.boosting import bin_limits

STEPS = StepRule(learning_rate=0.5, l2=0.3, min_hessian=1e-3, min_rows=2.0, max_leaves=2.0)


def gain(g, h, l2):
    return g.sum() ** 2 / (h.sum() + l2)


def best_cut(g, h, bins, l2, least):
    """Values on both sides of the best cut of bins in order, by trying all."""
    best, found = gain(g, h, l2), None
    for c in range(1, int(bins.max()) + 1):
        left = bins < c
        if min(left.sum(), (~left).sum()) < least:
            continue
        score = gain(g[left], h[left], l2) + gain(g[~left], h[~left], l2)
        if score > best * (1 + 1e-10):
            best, found = score, c
    return found


def rows_of(n, d, seed=0):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 7, (d, n)).astype(np.uint16)
    shapes = np.array([[8, 1, 0, 0]] * d, np.int64)  # the last bin would be that of missing values
    return rng, bins, shapes


@pytest.mark.parametrize("n", [40, 40_000])  # one slice, several slices
@pytest.mark.parametrize("threads", [1, 2])
def test_a_round_takes_the_features_in_turn(n, threads):
    rng, bins, shapes = rows_of(n, 3)
    y, w = (rng.random(n) < 0.4).astype(float), rng.uniform(0.5, 2, n)
    raw = np.full((1, n), 0.2)
    steps = Cells(bins, shapes).round(
        "binary_log_loss", 0.0, y, w, np.arange(3), STEPS, raw, threads
    )
    f = np.full(n, 0.2)
    for k in range(3):
        p = expit(f)
        g, h = w * (p - y), w * p * (1 - p)
        c = best_cut(g, h, bins[k], STEPS.l2, STEPS.min_rows)
        table = np.zeros(8)
        for part, side in ((bins[k] < c, slice(0, c)), (bins[k] >= c, slice(c, 7))):
            table[side] = -0.5 * g[part].sum() / (h[part].sum() + STEPS.l2)
        np.testing.assert_allclose(steps[8 * k : 8 * k + 8, 0], table, rtol=1e-9, atol=1e-12)
        f += table[bins[k]]
    np.testing.assert_allclose(raw[0], f, rtol=1e-9)


def test_missing_values_are_a_leaf_of_their_own_and_categories_are_ordered_by_their_means():
    y = np.array([1.0, 1, 5, 5, 1, 1, 9, 9])
    bins = np.array([[0, 0, 1, 1, 2, 2, 3, 3]], np.uint16)
    rules = STEPS._replace(l2=0.0, learning_rate=1.0)
    shapes = np.array([[4, 1, 1, 0]], np.int64)
    raw = np.zeros((1, 8))
    found = Cells(bins, shapes).round("squared_error", 0.0, y, None, np.arange(1), rules, raw, 1)
    np.testing.assert_allclose(found[:, 0], [1, 5, 1, 9])  # 0 and 2 together


@pytest.mark.parametrize("sign", [-1, 1])
def test_steps_with_a_monotone_constraint_never_turn(sign):
    rng, bins, _ = rows_of(300, 1)
    y = sign * np.array([0.0, 2, 1, 3, 2, 5, 4])[bins[0]] + 0.1 * rng.standard_normal(300)
    cells = Cells(bins, np.array([[8, 1, 0, sign]], np.int64))
    raw = np.zeros((1, 300))
    rules = STEPS._replace(max_leaves=4.0)
    for _ in range(30):
        step = cells.round("squared_error", 0.0, y, None, np.arange(1), rules, raw, 1)
        assert (sign * np.diff(step[:7, 0]) >= 0).all()
    assert np.ptp(raw) > 0.1


def test_a_pair_gets_four_leaves_and_the_screening_finds_it():
    rng = np.random.default_rng(0)
    n = 2000
    bins = rng.integers(0, 5, (3, n)).astype(np.uint16)
    y = np.where((bins[0] > 1) == (bins[2] > 2), 1.0, -1.0)
    pairs = np.array([[0, 0, 1], [1, 2, 2]], np.int64)
    counts = np.full(3, 6, np.int32)
    rules = STEPS._replace(l2=0.0, learning_rate=1.0)
    fall = screen_pairs(bins, counts, -y, np.ones(n), pairs, rules)
    assert fall.argmax() == 1
    assert fall[1] == pytest.approx(n - y.sum() ** 2 / n)  # all of the variance
    cells = (bins[0] * np.uint16(6) + bins[2])[None]
    raw = np.zeros((1, n))
    shapes = np.array([[6, 6, 0, 0]], np.int64)
    Cells(cells, shapes).round("squared_error", 0.0, y, None, np.arange(1), rules, raw, 1)
    np.testing.assert_allclose(raw[0], y, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_are_tables_at_the_bins(dtype):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1200, 3)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = rng.integers(-1, 4, 1200)  # categories 0 to 2, others unknown
    limits = [*bin_limits(X, 9)[:2], np.empty(0)]
    bins = Bins(limits, np.array([10, 10, 4], np.int32), np.array([False, False, True]))
    found = bins.of(X)
    for k in range(2):
        known = ~np.isnan(X[:, k])
        assert (found[k][~known] == 9).all()
        np.testing.assert_array_equal(
            found[k][known], np.searchsorted(limits[k], X[known, k].astype(float), "left")
        )
    np.testing.assert_array_equal(found[2], np.where((X[:, 2] < 0) | (X[:, 2] > 2), 3, X[:, 2]))
    coarse = [np.array([0] * 5 + [1] * 4 + [2], np.uint16) for _ in range(2)] + [
        np.arange(4, dtype=np.uint16)
    ]
    tables = rng.standard_normal((24 + 9, 2))
    terms = np.array([[0, 1, 2, 0], [-1, -1, -1, 1], [1, 1, 1, 3], [0, 10, 20, 24]], np.int64)
    each = additive_values(X, bins, coarse, terms, tables, True)
    starts = [tables[s:][b] for s, b in zip((0, 10, 20), found, strict=True)]
    pair = tables[24:][coarse[0][found[0]] * 3 + coarse[1][found[1]]]
    np.testing.assert_array_equal(each, np.stack([*starts, pair], axis=1))
    total = additive_values(X, bins, coarse, terms, tables, False)
    np.testing.assert_allclose(total[:, 0], each.sum(axis=1), rtol=1e-12, atol=1e-12)

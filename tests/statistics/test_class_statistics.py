"""Scatters, squares and counts of classes: against plain lines, merged, elsewhere, with gaps."""

import numpy as np
import pytest
import scipy.sparse as sp

from kilogram.arrays.namespace import to_numpy
from kilogram.statistics.class_counts import CategoryCounts, FeatureCounts
from kilogram.statistics.class_scatters import ClassScatters
from kilogram.statistics.class_variances import ClassVariances
from kilogram.statistics.ranges import Ranges

K = 3


def rows(n=90, d=4, apart=1.0, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, K, n)
    X = apart * rng.standard_normal((K, d))[codes] + rng.standard_normal((n, d)) + 5
    return X, codes, rng.integers(1, 4, n).astype(float)


def elsewhere(X):
    strict = pytest.importorskip("array_api_strict")
    return strict.asarray(X)


@pytest.mark.parametrize("apart", [1.0, 1e6])
@pytest.mark.parametrize("made", [np.asarray, sp.csr_array, elsewhere])
def test_scatters(apart, made):
    X, codes, w = rows(apart=apart)
    found = ClassScatters.of(made(X), codes, made(w) if made is elsewhere else w, n_classes=K)
    slack = 1e-9 if made is not sp.csr_array else 1e-13 * apart**2 * 1e3 + 1e-9
    for c in range(K):
        own = codes == c
        C = np.cov(X[own].T, bias=True, aweights=w[own])
        np.testing.assert_allclose(to_numpy(found.covariances)[c], C, rtol=1e-6, atol=slack)
    parts = [ClassScatters.of(X[i::4], codes[i::4], w[i::4], n_classes=K) for i in range(4)]
    merged = sum(parts)
    np.testing.assert_allclose(merged.scatters, ClassScatters.of(X, codes, w, n_classes=K).scatters)
    np.testing.assert_allclose(merged.pooled.within, merged.scatters.sum(axis=0))


def test_wide_rows_are_gathered():
    X, codes, w = rows(60, 450)
    wide = ClassScatters.of(X, codes, w, n_classes=K)
    few = ClassScatters.of(X[:, :50], codes, w, n_classes=K)
    np.testing.assert_allclose(wide.scatters[:, :50, :50], few.scatters, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("made", [np.asarray, sp.csr_array, elsewhere])
@pytest.mark.parametrize("gaps", [False, True])
def test_variances(made, gaps):
    X, codes, w = rows()
    if gaps:
        X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    weights = made(w) if made is elsewhere else w
    found = ClassVariances.of(made(X), codes, weights, n_classes=K)
    for c in range(K):
        for j in range(X.shape[1]):
            own = (codes == c) & ~np.isnan(X[:, j])
            m = np.average(X[own, j], weights=w[own])
            v = np.average((X[own, j] - m) ** 2, weights=w[own])
            np.testing.assert_allclose(to_numpy(found.means)[c, j], m)
            np.testing.assert_allclose(to_numpy(found.variances)[c, j], v, rtol=1e-8)
    there = ~np.isnan(X)
    total = np.array([np.cov(X[t, j], bias=True, aweights=w[t]) for j, t in enumerate(there.T)])
    np.testing.assert_allclose(to_numpy(found.total_variance), total, rtol=1e-8)
    parts = [ClassVariances.of(X[i::3], codes[i::3], w[i::3], n_classes=K) for i in range(3)]
    np.testing.assert_allclose(sum(parts).squares, to_numpy(found.squares), rtol=1e-8)


def test_counts_of_features_and_categories():
    rng = np.random.default_rng(2)
    X, codes, w = rng.integers(0, 4, (50, 3)), rng.integers(0, K, 50), rng.random(50)
    want = np.array([w[codes == c] @ X[codes == c] for c in range(K)])
    for made in (np.asarray, sp.csr_array, elsewhere):
        found = FeatureCounts.of(made(X.astype(float)), codes, w, n_classes=K)
        np.testing.assert_allclose(to_numpy(found.counts), want)
    table = CategoryCounts.of(X, codes, w, n_classes=K)
    for v in range(4):
        for c in range(K):
            fraction = w[(codes == c) & (X[:, 1] == v)].sum()
            np.testing.assert_allclose(table.tables[1][c, v], fraction)
    halves = [CategoryCounts.of(X[i::2], codes[i::2], w[i::2], n_classes=K) for i in range(2)]
    for one, two in zip(sum(halves).tables, table.tables, strict=True):
        np.testing.assert_allclose(one, two)
    narrow = CategoryCounts.of(np.zeros((2, 3), int), np.array([0, 1]), None, n_classes=K)
    assert (narrow + table).tables[0].shape == table.tables[0].shape


def test_ranges_leave_nan_out():
    X = np.array([[1.0, np.nan, np.nan], [3.0, 2.0, np.nan]])
    both = Ranges.of(X[:1]) + Ranges.of(X[1:])
    np.testing.assert_array_equal(both.low, [1, 2, np.inf])
    np.testing.assert_array_equal(both.high, [3, 2, -np.inf])

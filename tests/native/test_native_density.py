"""Kernel sums over windows and the growth of density trees against plain NumPy."""

import itertools

import numpy as np
import pytest

from kilogram.functions.density_kernels import KERNELS, profile
from kilogram.native.density import (
    ColumnMajorRows,
    density_sums,
    exponential_line,
    grow_density_tree,
)


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("product", [False, True])
@pytest.mark.parametrize("size", [(1, 1, 1), (31, 2, 5), (32, 3, 1), (1500, 1, 130), (700, 7, 66)])
def test_sums_over_windows(machine, kind, product, size):
    n, d, m = size
    rng = np.random.default_rng(n)
    Y, Q, w = 0.7 * rng.standard_normal((n, d)), rng.standard_normal((m, d)), rng.random(n)
    lo = rng.integers(0, n + 1, (m, 2))
    hi = rng.integers(0, n + 1, (m, 2))  # some windows are empty
    U = (Q[:, None] - Y) ** 2
    K = np.prod(profile(kind, U), axis=2) if product else profile(kind, U.sum(axis=2))
    j = np.arange(n)
    inside = ((j >= lo[..., None]) & (j < hi[..., None])).sum(axis=1)
    want = (K * w * inside).sum(axis=1)
    got = density_sums(kind, ColumnMajorRows.of(Y, w), Q, lo, hi, product=product)
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-14)


def test_sums_do_not_depend_on_threads(machine):
    rng = np.random.default_rng(0)
    Y, Q = rng.standard_normal((5000, 3)), rng.standard_normal((300, 3))
    rows = ColumnMajorRows.of(Y, np.ones(5000))
    lo, hi = np.zeros((300, 1), np.int64), np.full((300, 1), 5000)
    got = density_sums("gaussian", rows, Q, lo, hi)
    one = np.concatenate([density_sums("gaussian", rows, q[None], lo[:1], hi[:1]) for q in Q])
    np.testing.assert_array_equal(got, one)


def test_windows_beyond_the_rows_are_refused():
    rows = ColumnMajorRows.of(np.zeros((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match="beyond"):
        density_sums("tophat", rows, np.zeros((1, 1)), np.array([[0]]), np.array([[4]]))


@pytest.mark.parametrize("n", [1, 2, 100])
def test_exponential_line(n):
    rng = np.random.default_rng(n)
    y, w = np.sort(3 * rng.standard_normal(n)), rng.random(n)
    q = np.sort(np.concatenate([5 * rng.standard_normal(50), y[:1]]))
    want = (np.exp(-np.abs(q[:, None] - y)) * w).sum(axis=1)
    np.testing.assert_allclose(exponential_line(y, w, q), want, rtol=1e-12)


def plain_split(X, w, low, high, likelihood, few):
    """The best cut of a node by trying all of them."""
    best = (0.0, -1, 0.0)
    for j in range(X.shape[1]):
        v = np.unique(X[:, j])
        for a, b in itertools.pairwise(v):
            step = min(1e-6 * (high[j] - low[j]), (b - a) / 2)
            q = w[X[:, j] <= a].sum() / w.sum()
            if min(q, 1 - q) * w.sum() < few - 1e-9:
                continue
            for t in (a + step, b - step):
                s = (t - low[j]) / (high[j] - low[j])
                if not 1e-3 <= s <= 1 - 1e-3:
                    continue
                if likelihood:
                    gain = q * np.log(q / s) + (1 - q) * np.log((1 - q) / (1 - s))
                else:
                    gain = q**2 / s + (1 - q) ** 2 / (1 - s) - 1
                if gain > best[0]:
                    best = (gain, j, t)
    return best


@pytest.mark.parametrize("likelihood", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_first_split_of_a_tree(likelihood, ties):
    rng = np.random.default_rng(3)
    X, w = rng.standard_normal((60, 3)), rng.integers(1, 4, 60).astype(float)
    X = np.round(2 * X) if ties else X
    box = np.stack([X.min(axis=0), X.max(axis=0)])
    limits = np.array([2.0, 12.0, 0.0, 0.0, 1e-3, 1e-6, 0.0])
    grown = grow_density_tree(
        X, w, box, likelihood=likelihood, max_depth=1, limits=limits, columns=3, seed=0
    )
    gain, j, t = plain_split(X, w, *box, likelihood, 12)
    assert grown.feature.tolist() == [j, -1, -1]
    assert grown.threshold[0] == pytest.approx(t)
    assert grown.gain[0] == pytest.approx(gain)
    left = w[X[:, j] <= t].sum()
    np.testing.assert_allclose(grown.mass, [w.sum(), left, w.sum() - left])

"""Sums over the rows of classes against plain NumPy, at awkward sizes, in both types and orders."""

import numpy as np
import pytest

from kilogram.native import class_sums

SIZES = [(1, 1, 1), (7, 3, 2), (500, 50, 5), (1500, 33, 40), (161, 13, 3)]


def rows(n, d, K, dtype, seed=0):
    rng = np.random.default_rng(seed)
    X, shifts = rng.standard_normal((n, d)), rng.standard_normal((K, d))
    return X.astype(dtype), rng.integers(0, K, n), shifts.astype(dtype), rng.random(n)


def plain(X, codes, shifts, w):
    """(K, d + 1, d + 1): scatters of [x - shift, 1]."""
    out = []
    for c in range(len(shifts)):
        own = codes == c
        Z = np.c_[X[own].astype(float) - shifts[c], np.ones(own.sum())]
        out.append(Z.T @ (Z * w[own][:, None]))
    return np.array(out)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_against_numpy(size, dtype, weighted, order):
    X, codes, shifts, w = rows(*size, dtype)
    X = np.asarray(X, order=order)
    want = plain(X, codes, shifts, w if weighted else np.ones(len(X)))
    w = w if weighted else None
    close = {
        "rtol": 1e-4 if dtype == np.float32 else 1e-11,
        "atol": 1e-3 if dtype == np.float32 else 1e-10,
    }
    np.testing.assert_allclose(class_sums.class_scatter(X, codes, shifts, w), want, **close)
    S, sums, counts = class_sums.within_scatter(X, codes, shifts, w)
    np.testing.assert_array_equal(counts, np.bincount(codes, minlength=len(shifts)))
    np.testing.assert_allclose(S, want[:, :-1, :-1].sum(axis=0), **close)
    np.testing.assert_allclose(sums, want[:, -1, :-1], **close)
    powers = class_sums.class_powers(X, codes, shifts, w, powers=3)
    np.testing.assert_allclose(powers[0], want[:, -1, :-1], **close)
    np.testing.assert_allclose(powers[1], np.diagonal(want, 0, 1, 2)[:, :-1], **close)
    np.testing.assert_allclose(powers[2], np.repeat(want[:, -1, -1:], X.shape[1], 1), **close)


def test_nan_is_left_out():
    X, codes, shifts, w = rows(200, 6, 3, np.float64)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    sums, squares, seen = class_sums.class_powers(X, codes, shifts, w, powers=3)
    there = ~np.isnan(X)
    V = np.where(there, X - shifts[codes], 0.0)
    for c in range(3):
        own = codes == c
        np.testing.assert_allclose(sums[c], w[own] @ V[own])
        np.testing.assert_allclose(squares[c], w[own] @ V[own] ** 2)
        np.testing.assert_allclose(seen[c], w[own] @ there[own])
    assert np.isnan(class_sums.class_powers(X, codes, shifts, w, powers=2)).any()


def test_same_for_any_threads():
    from threadpoolctl import threadpool_limits

    X, codes, shifts, w = rows(30_000, 20, 4, np.float64)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(
                (
                    class_sums.class_scatter(X, codes, shifts, w),
                    *class_sums.within_scatter(X, codes, shifts, w),
                    class_sums.class_powers(X, codes, shifts, w),
                )
            )
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_class_without_a_neighbour_in_every_lane():
    """Rows enter in pairs: the last of an odd number comes alone, and every row counts once."""
    X, _, _, w = rows(5001, 7, 1, np.float64)
    codes = np.where(np.arange(len(X)) % 1000 == 17, 1, 0)  # five rows of class 1, far apart
    shifts = np.zeros((3, 7))
    want = plain(X, codes, shifts, w)
    np.testing.assert_allclose(class_sums.class_scatter(X, codes, shifts, w), want, rtol=1e-10)
    assert class_sums.class_scatter(X, codes, shifts)[:, -1, -1].tolist() == [4996.0, 5.0, 0.0]


def test_labels_present():
    labels = np.array([3, 0, 3, 5])
    assert class_sums.labels_present(labels, 6).tolist() == [1, 0, 0, 1, 0, 1]
    assert class_sums.labels_present(labels, 5) is None
    assert class_sums.labels_present(np.array([-1, 2]), 5) is None


@pytest.mark.parametrize("bad", [-1, 3])
def test_codes_out_of_range_are_refused(bad):
    X, codes, shifts, _ = rows(20, 2, 3, np.float64)
    codes[4] = bad
    for function in (class_sums.class_scatter, class_sums.within_scatter, class_sums.class_powers):
        with pytest.raises(ValueError, match="class code"):
            function(X, codes, shifts)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_counts_against_numpy(size, dtype, weighted, order):
    X, codes, shifts, w = rows(*size, dtype)
    X, K = np.asarray(X, order=order), len(shifts)
    w = w.astype(dtype) if weighted else None
    member = np.eye(K)[codes] * (1.0 if w is None else w[:, None])
    close = {"rtol": 1e-10, "atol": 1e-10}
    counts, low = class_sums.class_counts(X, codes, K, w)
    np.testing.assert_allclose(counts, member.T @ X.astype(float), **close)
    np.testing.assert_array_equal(low, X.min(axis=0))
    X[X > 1] = np.nan
    yes, seen = class_sums.class_presence(X, codes, K, -0.25, w)
    np.testing.assert_allclose(yes, member.T @ (np.asarray(-0.25, dtype) < X), **close)
    np.testing.assert_allclose(seen, member.T @ ~np.isnan(X), **close)


def test_an_infinity_shows_in_what_is_seen_and_in_the_range():
    X, codes, _, _ = rows(40, 3, 2, np.float64)
    X[7, 1] = np.inf
    seen = class_sums.class_presence(X, codes, 2, 0.0)[1]
    assert np.isnan(seen[codes[7], 1])
    assert np.isnan(seen).sum() == 1
    assert class_sums.column_ranges(X, 10.0)[1, 1] == np.inf


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_categories_against_numpy(dtype, weighted, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(0, [2, 7, 300], (700, 3)), dtype=dtype, order=order)
    X[rng.random(X.shape) < 0.1] = np.nan
    codes, w = rng.integers(0, 4, 700), rng.random(700).astype(dtype)
    low, high, odd = class_sums.column_ranges(X, 1000.0)
    np.testing.assert_array_equal(low, np.nanmin(X, axis=0))
    np.testing.assert_array_equal(high, np.nanmax(X, axis=0))
    assert not odd.any()
    sizes = high.astype(int) + 1
    w = w if weighted else None
    for j, table in enumerate(class_sums.class_categories(X, codes, 4, sizes, w)):
        want = np.zeros((4, sizes[j]))
        there = ~np.isnan(X[:, j])
        at = codes[there], X[there, j].astype(int)
        np.add.at(want, at, 1.0 if w is None else w[there].astype(float))
        np.testing.assert_allclose(table, want, rtol=1e-12)


def test_values_outside_the_table_are_left_out():
    X = np.array([[-1.0], [0.0], [2.0], [1e300], [np.inf], [np.nan]])
    (table,) = class_sums.class_categories(X, np.zeros(6, int), 1, np.array([2]))
    np.testing.assert_array_equal(table, [[1.0, 0.0]])


def test_what_is_not_an_integer_is_found_column_by_column():
    X = np.array([[0.0, 1.5, 2.0], [3.0, 1.0, np.nan], [-0.5, 0.0, 1e9]])
    np.testing.assert_array_equal(class_sums.column_ranges(X, 100.0)[2], [0.0, 1.0, 0.0])

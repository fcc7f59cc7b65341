"""Sums over the rows of classes against plain NumPy, at awkward sizes, in both types and orders."""

import numpy as np
import pytest

from kilogram.native import classes

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
    np.testing.assert_allclose(classes.class_scatter(X, codes, shifts, w), want, **close)
    S, sums = classes.within_scatter(X, codes, shifts, w)
    np.testing.assert_allclose(S, want[:, :-1, :-1].sum(axis=0), **close)
    np.testing.assert_allclose(sums, want[:, -1, :-1], **close)
    powers = classes.class_powers(X, codes, shifts, w, powers=3)
    np.testing.assert_allclose(powers[0], want[:, -1, :-1], **close)
    np.testing.assert_allclose(powers[1], np.diagonal(want, 0, 1, 2)[:, :-1], **close)
    np.testing.assert_allclose(powers[2], np.repeat(want[:, -1, -1:], X.shape[1], 1), **close)


def test_nan_is_left_out():
    X, codes, shifts, w = rows(200, 6, 3, np.float64)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    sums, squares, seen = classes.class_powers(X, codes, shifts, w, powers=3)
    there = ~np.isnan(X)
    V = np.where(there, X - shifts[codes], 0.0)
    for c in range(3):
        own = codes == c
        np.testing.assert_allclose(sums[c], w[own] @ V[own])
        np.testing.assert_allclose(squares[c], w[own] @ V[own] ** 2)
        np.testing.assert_allclose(seen[c], w[own] @ there[own])
    assert np.isnan(classes.class_powers(X, codes, shifts, w, powers=2)).any()


def test_same_for_any_threads():
    from threadpoolctl import threadpool_limits

    X, codes, shifts, w = rows(30_000, 20, 4, np.float64)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(
                (
                    classes.class_scatter(X, codes, shifts, w),
                    *classes.within_scatter(X, codes, shifts, w),
                    classes.class_powers(X, codes, shifts, w),
                )
            )
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("bad", [-1, 3])
def test_codes_out_of_range_are_refused(bad):
    X, codes, shifts, _ = rows(20, 2, 3, np.float64)
    codes[4] = bad
    for function in (classes.class_scatter, classes.within_scatter, classes.class_powers):
        with pytest.raises(ValueError, match="class code"):
            function(X, codes, shifts)

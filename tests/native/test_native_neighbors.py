"""Search under a metric and by binary codes against plain NumPy."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kilogram.native.neighbors import hashed_nearest, metric_nearest

RNG = np.random.default_rng(0)


def plain(D, k):
    """The k smallest of each row, of equal ones the first."""
    places = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, places, axis=1), places


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [(1, 1, 1), (5, 3, 2), (130, 20, 65), (700, 200, 5)])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cityblock", "chebyshev", "powers", "unequal"])
def test_nearest_under_a_metric(machine, metric, size, dtype):
    n, m, d = size
    # whole numbers: equal distances are equal to the last digit, whatever the order of the sum
    X, Y = (RNG.integers(0, 4, (rows, d)).astype(dtype) for rows in (m, n))
    name, p = {"powers": ("minkowski", 3.0), "unequal": ("hamming", 2.0)}.get(metric, (metric, 2.0))
    D = cdist(X, Y, name, **({"p": p} if metric == "powers" else {}))
    D = np.rint(D**3) if metric == "powers" else np.rint(D * d) if metric == "unequal" else D
    k = min(7, n)
    distances, places = metric_nearest(metric, X, Y, k, p=p)
    expected, where = plain(D, k)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
    np.testing.assert_array_equal(places, where)


def test_gower_leaves_out_what_one_row_does_not_know(machine):
    X, Y = RNG.random((9, 6)), RNG.random((50, 6))
    for A in (X, Y):
        A[:, 4:] = RNG.integers(0, 3, (len(A), 2))
        A[RNG.random(A.shape) < 0.3] = np.nan
    X[0], Y[0] = [0.5, *[np.nan] * 5], [np.nan, 0.5, *[np.nan] * 4]
    gaps = np.abs(X[:, None] - Y)
    gaps[:, :, 4:] = np.where(np.isnan(gaps[:, :, 4:]), np.nan, gaps[:, :, 4:] > 0)
    known = ~np.isnan(gaps)
    total = np.where(known, gaps, 0.0).sum(axis=2)
    D = np.where(known.any(axis=2), total / np.maximum(known.sum(axis=2), 1), 1.0)
    distances, places = metric_nearest("gower", X, Y, 50, numbers=4)
    np.testing.assert_allclose(distances, np.sort(D, axis=1), atol=1e-12)
    np.testing.assert_allclose(
        np.take_along_axis(D, places.astype(int), axis=1), distances, atol=1e-12
    )


@pytest.mark.parametrize("words", [1, 2, 3, 4, 8])
def test_candidates_are_the_rows_of_the_nearest_codes(machine, words):
    X, Y = RNG.standard_normal((6, 5)), RNG.standard_normal((300, 5))
    a, b = (RNG.integers(0, 2**16, (n, words)).astype(np.uint64) for n in (6, 300))
    bits = np.array(
        [[sum(int(u ^ v).bit_count() for u, v in zip(p, q, strict=True)) for q in b] for p in a]
    )
    _, chosen = plain(bits, 40)
    D = cdist(X, Y, "sqeuclidean")
    hidden = np.full_like(D, np.inf)
    np.put_along_axis(hidden, chosen, np.take_along_axis(D, chosen, axis=1), axis=1)
    distances, places = hashed_nearest(X, Y, a, b, 40, 4)
    expected, where = plain(hidden, 4)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
    np.testing.assert_array_equal(places, where)


def test_arguments_that_do_not_fit_are_refused():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match="fewer rows"):
        metric_nearest("cityblock", X, X, 4)
    with pytest.raises(ValueError, match="differ in their columns"):
        metric_nearest("cityblock", X, np.zeros((3, 1)), 1)
    codes = np.zeros((3, 1), np.uint64)
    with pytest.raises(ValueError, match="candidates"):
        hashed_nearest(X, X, codes, codes, 1, 2)
    with pytest.raises(ValueError, match="codes do not fit"):
        hashed_nearest(X, X, codes[:2], codes, 2, 2)

"""Nearest rows and shortest paths against plain NumPy and SciPy, at awkward sizes."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph

from kilogram.native.graph import shortest_paths
from kilogram.native.neighbors import nearest_rows

SIZES = [(2, 1, 1), (7, 3, 6), (250, 5, 3), (301, 13, 40), (249, 140, 9)]


def plain(X, Y, k):
    """All distances, sorted; a row is not its own neighbour."""
    other = X if Y is None else Y
    D = ((X[:, None].astype(float) - other[None].astype(float)) ** 2).sum(axis=2)
    if Y is None:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, order, axis=1), order


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_nearest(machine, size, dtype):
    n, d, k = size
    rng = np.random.default_rng(n)
    X, Y = ((rng.standard_normal((m, d)) + 3).astype(dtype) for m in (n, max(k, 2 * n // 3)))
    for x, y in ((X, None), (np.asfortranarray(X), Y), (np.repeat(X, 2, axis=0)[::2], None)):
        squares, index = nearest_rows(x, y, k)
        want, order = plain(X, y, k)
        np.testing.assert_allclose(squares, want, rtol=1e-5 if dtype == np.float32 else 1e-12)
        if dtype == np.float64:  # rounded to float32, distances have ties
            np.testing.assert_array_equal(index, order)


def test_copies_are_neighbours_of_each_other(machine):
    X = np.repeat(np.arange(3.0)[:, None], 5, axis=0)
    squares, index = nearest_rows(X, None, 4)
    assert (squares == 0).all()
    assert (index != np.arange(15)[:, None]).all()
    assert (np.sort(index // 5) == (np.arange(15) // 5)[:, None]).all()


@pytest.mark.parametrize("apart", [30.0, 1e3, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_neighbours_within_clouds_that_lie_far_apart(machine, apart, dtype):
    """Inner products have lost the digits in which the rows of one cloud differ."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((301, 3))
    X[::2] += apart
    X = X.astype(dtype)
    for x, y in ((X, None), (np.asfortranarray(X), X[:200])):
        squares, _ = nearest_rows(x, y, 5)
        want, _ = plain(X, y, 5)
        np.testing.assert_allclose(squares, want, rtol=2e-4 if dtype == np.float32 else 2e-9)


@pytest.mark.parametrize("d", [64, 128, 300])
def test_neighbours_where_every_product_is_rounded_down(machine, d):
    """One large number, then products just below half a digit of it: d roundings add up."""
    u = 2.0**-24
    x = np.full(d, 2.0**-12)
    x[0] = 1.0
    near, far = 0.99 * x, 1.03 * x
    near[0] = far[0] = 1.0
    rows = [near, far]
    for steps in (70, 76, 82, 88, 94, 100):
        other = x.copy()
        other[0] += steps * u
        rows.append(other)
    Y = np.array([*rows, *(-row for row in rows)], dtype=np.float32)  # so that nothing is shifted
    squares, _ = nearest_rows(x[None].astype(np.float32), Y, 1)
    want, _ = plain(x[None].astype(np.float32), Y, 1)
    np.testing.assert_allclose(squares, want, rtol=2e-4)


def test_neighbours_where_squares_overflow():
    X = (1e20 * np.random.default_rng(0).standard_normal((50, 3))).astype(np.float32)
    _, index = nearest_rows(X, None, 40)
    assert (np.sort(index, axis=1)[:, 1:] > np.sort(index, axis=1)[:, :-1]).all()  # no row twice
    assert (index != np.arange(50)[:, None]).all()


def test_too_many_neighbours():
    with pytest.raises(ValueError, match="neighbours"):
        nearest_rows(np.zeros((4, 2)), None, 4)


def test_shortest_paths(machine):
    rng = np.random.default_rng(0)
    A = sp.random(120, 120, 0.012, random_state=rng)
    graph = sp.csr_array(A.maximum(A.T))
    want = scipy.sparse.csgraph.shortest_path(graph, directed=True)
    got = shortest_paths(graph, np.array([5, 0, 119]))
    assert np.isinf(want).any()  # some nodes cannot be reached
    np.testing.assert_allclose(got, want[[5, 0, 119]])


def test_bad_graphs():
    graph = sp.csr_array(np.array([[0.0, -1.0], [1.0, 0.0]]))
    with pytest.raises(ValueError, match="negative"):
        shortest_paths(graph, np.array([0]))
    with pytest.raises(ValueError, match="source"):
        shortest_paths(abs(graph), np.array([2]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_of_equal_distances_the_first_row_is_taken(dtype):
    """Whole numbers have many ties; less their means, rounding decided between them."""
    X = np.random.default_rng(0).integers(-3, 4, (300, 4)).astype(dtype) + 10
    squares, index = nearest_rows(X, None, 7)
    D = ((X[:, None].astype(float) - X) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    want = np.argsort(D, axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(index, want)
    np.testing.assert_array_equal(squares, np.take_along_axis(D, want, axis=1))

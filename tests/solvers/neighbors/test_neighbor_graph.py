"""Neighbour graphs and their eigensolvers: against plain NumPy, and on awkward rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from kilogram.solvers.eigen import graphs
from kilogram.solvers.neighbors.nearest import nearest
from kilogram.solvers.neighbors.neighbor_graph import (
    connected_components,
    connecting_edges,
    neighbor_graph,
    symmetric_graph,
)


def plain(X, k, new=None):
    Y = X if new is None else new
    D = np.sqrt(((Y[:, None] - X[None]) ** 2).sum(axis=2))
    if new is None:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, order, axis=1), order


@pytest.mark.parametrize("form", ["tiles", "tree", "sparse"])
@pytest.mark.parametrize("new", [False, True])
def test_three_solvers_to_the_same_neighbours(form, new, monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((150, 3)), rng.standard_normal((37, 3)) if new else None
    if form == "tree":
        monkeypatch.setattr("kilogram.solvers.neighbors.nearest.TREE_ROWS", 1)
    if form == "sparse":
        monkeypatch.setattr("kilogram.solvers.neighbors.nearest.BLOCK_ENTRIES", 1000)
    put = sp.csr_array if form == "sparse" else np.asarray
    found = nearest(put(X), 6, None if Y is None else put(Y))
    distances, indices = plain(X, 6, Y)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, atol=1e-7)


@pytest.mark.parametrize("form", ["tiles", "tree", "sparse"])
def test_copies_of_a_row_are_its_neighbours(form, monkeypatch):
    X = np.repeat(np.arange(1.0, 5.0)[:, None], 6, axis=0)
    if form == "tree":
        monkeypatch.setattr("kilogram.solvers.neighbors.nearest.TREE_ROWS", 1)
    found = nearest(sp.csr_array(X) if form == "sparse" else X, 3)
    assert (found.distances == 0).all()
    assert (found.indices // 6 == (np.arange(24) // 6)[:, None]).all()
    assert (found.indices != np.arange(24)[:, None]).all()


@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 1e3), (np.float64, 1e6)])
def test_sparse_rows_whose_squares_hide_their_distances(dtype, far):
    X = np.random.default_rng(0).standard_normal((45, 3))
    X = (X + np.where(np.arange(45) < 20, far, 0.0)[:, None]).astype(dtype)
    found = nearest(sp.csr_array(X), 6)
    distances, indices = plain(X.astype(float), 6)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-6)


def test_parts_are_joined_by_their_shortest_edges():
    X = np.array([0.0, 1.0, 4.0, 5.0, 11.0, 12.0])[:, None]
    near = nearest(X, 1).indices
    count, labels = connected_components(neighbor_graph(np.ones((6, 1)), near, 6))
    assert count == 3
    a, b, length = connecting_edges(X, labels)
    edges = {(min(i, j), max(i, j)): d for i, j, d in zip(a, b, length, strict=True)}
    assert edges == {(1, 2): 3.0, (3, 4): 6.0}


def test_two_way_edges_keep_lengths_of_zero():
    graph = symmetric_graph(np.array([0, 1]), np.array([1, 2]), np.array([0.0, 2.0]), 3)
    assert graph.nnz == 4
    assert graph[[1]].toarray().tolist() == [[0.0, 0.0, 2.0]]


def laplacian(n, d, k=8):
    X = np.random.default_rng(0).random((n, d))
    at = nearest(X, k).indices
    C = neighbor_graph(np.ones(at.shape), at, n)
    A = sp.csr_array(0.5 * (C + C.T) + sp.eye_array(n))
    r = sp.diags_array(1 / np.sqrt(A.sum(axis=1)))
    return sp.csr_array(r @ A @ r)


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("solver", [None, "factor", "products", "dense"])
def test_smoothest(d, solver):
    S = laplacian(400, d)
    values, vectors = graphs.smoothest(S, 4, tol=1e-9, solver=solver).value
    want = np.linalg.eigvalsh(S.toarray())[::-1][:4]
    np.testing.assert_allclose(values, want, atol=1e-9)
    np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-5)


def test_parts_have_one_smooth_function_each():
    S = sp.csr_array(sp.block_diag([laplacian(300, 2), laplacian(350, 2)]))
    for solver in ("factor", "products"):
        values = graphs.smoothest(S, 3, tol=1e-9, solver=solver).value[0]
        np.testing.assert_allclose(values[:2], 1.0, atol=1e-9)
        assert values[2] < 1 - 1e-5


def test_growth_separates_a_sheet_from_a_cloud():
    assert graphs.growth_dimension(laplacian(3000, 2)) < 2.1
    assert graphs.growth_dimension(laplacian(3000, 8)) > 2.5


@pytest.mark.parametrize("dense", [True, False])
def test_smallest_but_constant(dense):
    n = 500
    places = np.arange(n) + 0.1 * np.random.default_rng(0).random(n)
    at = nearest(places[:, None], 4).indices
    W = neighbor_graph(np.full((n, 4), 1 / 4), at, n)
    B = sp.csr_array(sp.eye_array(n) - W)
    values, vectors = graphs.smallest_but_constant(B, 3, dense=dense).value
    all_values, all_vectors = np.linalg.eigh((B.T @ B).toarray())
    np.testing.assert_allclose(values, all_values[1:4], atol=1e-12)
    np.testing.assert_allclose(np.abs(vectors.T @ all_vectors[:, 1:4]), np.eye(3), atol=1e-5)
    np.testing.assert_allclose(vectors.sum(axis=0), 0, atol=1e-9)


def test_distances_that_overflow_are_refused():
    X = np.array([[-1.7e308, 0.0], [1.7e308, 0.0]])
    with pytest.raises(ValueError, match="overflow"):
        nearest(X, 1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("n", "d"), [(60, 5), (1300, 2)])  # by tiles and by a tree
def test_neighbours_do_not_depend_on_the_unit(dtype, form, n, d):
    """Squares of 1e200 and of 1e-200 are out of range, the distances are not."""
    X = np.random.default_rng(0).standard_normal((n, d)).astype(dtype)
    want = nearest(form(X), 3)
    for far in (2.0**100, 2.0**-100) if dtype == "float32" else (2.0**700, 2.0**-700, 2.0**-1000):
        found = nearest(form(X * X.dtype.type(far)), 3)
        np.testing.assert_array_equal(found.indices, want.indices)
        np.testing.assert_allclose(found.distances / far, want.distances, rtol=1e-6)
        new = nearest(form(X * X.dtype.type(far)), 1, form(X[:5] * X.dtype.type(far)))
        np.testing.assert_array_equal(new.indices[:, 0], np.arange(5))

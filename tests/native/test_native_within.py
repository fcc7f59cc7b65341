"""k-d trees and searches within a radius against all distances, at awkward sizes."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import kilogram.native._core as _core
from kilogram.native.neighbors import KDTree, metric_within, rows_within

METRICS = {
    "sqeuclidean": ("euclidean", {}),
    "cityblock": ("cityblock", {}),
    "chebyshev": ("chebyshev", {}),
    "powers": ("minkowski", {"p": 3.0}),
}
# around the 32 points of a leaf and the 8 children of a node
SIZES = [(1, 1), (2, 3), (32, 2), (33, 1), (65, 13), (257, 8), (270, 2), (530, 3)]


def rows_of(kind, n, d):
    rng = np.random.default_rng(n + d)
    if kind == "normal":
        return rng.normal(size=(n, d))
    return rng.integers(0, 4, size=(n, d)).astype(float) if kind == "grid" else np.ones((n, d))


def between(D):
    """A radius that no rounding puts on the other side of a distance."""
    values = np.unique(D)
    gap = np.flatnonzero(np.diff(values) > 1e-6)
    i = gap[len(gap) // 3] if len(gap) else None
    return float(values[0] + 1.0 if i is None else (values[i] + values[i + 1]) / 2)


def lists(found):
    assert found.start[0] == 0
    assert found.start[-1] == len(found.indices) == len(found.distances)
    return np.split(found.indices, found.start[1:-1])


def expected(D, radius, by_distance):
    near = [np.flatnonzero(row <= radius) for row in D]
    if by_distance:
        near = [i[np.argsort(row[i], kind="stable")] for row, i in zip(D, near, strict=True)]
    return near


@pytest.mark.parametrize("kind", ["normal", "grid", "equal"])
@pytest.mark.parametrize("size", SIZES)
def test_tree_finds_the_nearest_points(machine, size, kind):
    n, d = size
    X, Q = rows_of(kind, n, d), rows_of("grid", 77, d) + 0.25
    tree = KDTree.of(X)
    assert np.array_equal(np.sort(tree.rows[tree.rows >= 0]), np.arange(n))
    k = min(n, 7)
    for metric, (name, settings) in METRICS.items():
        root = {"sqeuclidean": 0.5, "powers": 1 / 3}.get(metric, 1.0)
        for queries, others in ((Q, False), (X, True)):
            D = cdist(queries, X, name, **settings)
            if others:
                np.fill_diagonal(D, np.inf)
            few = min(k, n - others)
            if few == 0:
                continue
            sums, index = tree.nearest(queries, few, metric=metric, p=3.0, others=others)
            order = np.argsort(D, axis=1, kind="stable")[:, :few]
            wanted = np.take_along_axis(D, order, axis=1)
            np.testing.assert_allclose(sums**root, wanted, rtol=1e-12)
            if metric != "powers":  # its sums are rounded: ties
                np.testing.assert_array_equal(index, order)


@pytest.mark.parametrize("k", [1, 63, 64, 65, 200, 300])
def test_few_and_many_neighbours_with_ties(k):
    X, Q = rows_of("grid", 300, 2), rows_of("grid", 20, 2)
    D = cdist(Q, X, "sqeuclidean")
    sums, index = KDTree.of(X).nearest(Q, k)
    np.testing.assert_array_equal(index, np.argsort(D, axis=1, kind="stable")[:, :k])
    np.testing.assert_array_equal(sums, np.sort(D, axis=1)[:, :k])


def test_tree_of_more_points_than_are_copied_at_once():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40_000, 2)), np.zeros((30_000, 2))])
    tree = KDTree.of(X)
    assert np.array_equal(np.sort(tree.rows[tree.rows >= 0]), np.arange(len(X)))
    Q = rng.normal(size=(50, 2))
    sums, _ = tree.nearest(Q, 5)
    np.testing.assert_allclose(sums, np.sort(cdist(Q, X, "sqeuclidean"), axis=1)[:, :5])


@pytest.mark.parametrize("by_distance", [False, True])
@pytest.mark.parametrize("kind", ["normal", "grid", "equal"])
@pytest.mark.parametrize("size", SIZES)
def test_rows_within_a_radius(machine, size, kind, by_distance):
    n, d = size
    X, Q = rows_of(kind, n, d), rows_of("normal", 61, d)
    tree = KDTree.of(X)
    for metric, (name, settings) in METRICS.items():
        for queries, others in ((Q, False), (X, True)):
            D = cdist(queries, X, name, **settings)
            if others:
                np.fill_diagonal(D, np.inf)
            radius = between(D[np.isfinite(D)]) if np.isfinite(D).any() else 1.0
            same = X if not others else None
            ways = [
                tree.within(queries, radius, metric=metric, p=3.0, others=others,
                            by_distance=by_distance),
                metric_within(metric, queries, same, radius, p=3.0, by_distance=by_distance),
            ]  # fmt: skip
            if metric == "sqeuclidean":
                ways.append(rows_within(queries, same, radius, by_distance=by_distance))
            wanted = expected(D, radius, by_distance and kind == "normal")
            for found in ways:
                got = lists(found)
                if by_distance and kind != "normal":  # rounded distances have ties
                    away = np.split(found.distances, found.start[1:-1])
                    assert all((np.diff(v) >= 0).all() for v in away)
                    got = [np.sort(i) for i in got]
                assert all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))
                query = np.repeat(np.arange(len(D)), np.diff(found.start))
                np.testing.assert_allclose(found.distances, D[query, found.indices], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [3, 128, 130])
@pytest.mark.parametrize("far", [0.0, 1e3, 1e5])
def test_products_find_rows_far_from_the_origin(machine, d, far, dtype):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(501, d))
    X[::2] += far
    X = X.astype(dtype)
    D = cdist(X.astype(float), X.astype(float))
    radius = between(D)
    found = rows_within(X[:97], X, radius)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(lists(found), expected(D[:97], radius, False), strict=True)
    )


def test_products_that_overflow_are_measured():
    X = np.array([[1e19, 0.0], [1.00001e19, 0.0], [-3e19, 3e19], [0.0, 0.0]], np.float32)
    found = rows_within(X, None, 1e16)
    assert [i.tolist() for i in lists(found)] == [[1], [0], [], []]


def test_unequal_columns_and_missing_values_within_a_radius(machine):
    X = np.array([[0.0, 1, 2], [0, 1, 3], [5, 6, 7]])
    assert [i.tolist() for i in lists(metric_within("unequal", X, X, 1.0))] == [[0, 1], [0, 1], [2]]
    Y = np.array([[0.0, np.nan, 1.0], [0.5, 2.0, 1.0]])
    found = metric_within("gower", Y, None, 0.3, numbers=2)
    assert [i.tolist() for i in lists(found)] == [[1], [0]]
    np.testing.assert_allclose(found.distances, 0.25)


def test_radius_zero_and_no_query():
    X = np.repeat(np.arange(40.0)[:, None], 2, axis=0)
    for found in (KDTree.of(X).within(X, 0.0), rows_within(X, X, 0.0)):
        assert [i.tolist() for i in lists(found)[:2]] == [[0, 1], [0, 1]]
    for found in (KDTree.of(X).within(X[:0], 1.0), rows_within(X[:0], X, 1.0)):
        assert found.start.tolist() == [0]
        assert len(found.indices) == 0


def test_arrays_that_are_no_tree_are_refused():
    tree = KDTree.of(np.arange(100.0)[:, None])
    with pytest.raises(ValueError, match="queries"):
        tree.nearest(np.zeros((3, 2)), 1)
    with pytest.raises(ValueError, match="fewer rows"):
        tree.nearest(np.zeros((3, 1)), 101)
    with pytest.raises(ValueError, match="fit together"):
        tree._replace(shape=(1000, 1)).nearest(np.zeros((3, 1)), 1)
    with pytest.raises(ValueError, match="tree has between"):
        _core.tree_shape(0)

"""Swaps of medoids and merge trees against plain NumPy and SciPy, in both types."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist, pdist

from kilogram.native.linkage import (
    link_cloud,
    link_matrix,
    link_rows,
    medoid_build,
    medoid_sweep,
)

TYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])
SIZES = [(2, 1), (3, 2), (33, 1), (70, 3), (201, 17)]


def rows(n, d, dtype=np.float64):
    return np.random.default_rng(n).standard_normal((n, d)).astype(dtype)


def total(D, w, chosen):
    return float(w @ D[:, chosen].min(axis=1))


@TYPES
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_no_swap_is_left(machine, size, k, dtype):
    n, k = size[0], min(k, size[0])
    X = rows(*size, dtype)
    D = cdist(X, X).astype(dtype)
    w = np.random.default_rng(0).integers(1, 4, n).astype(dtype)
    for eager in (True, False):
        chosen, end = np.arange(k, dtype=np.int32), None
        while end is None or end.quiet < n:
            end = medoid_sweep(D, w, chosen, eager=eager, quiet=0 if end is None else end.quiet)
        assert end.total == pytest.approx(total(D, w, chosen), rel=1e-5)
        assert len(set(chosen)) == k
        for c in range(k):
            for i in range(n):
                other = chosen.copy()
                other[c] = i
                assert total(D, w, other) >= end.total * (1 - 1e-5) - 1e-6


@TYPES
def test_the_best_swap_is_the_best_of_all(machine, dtype):
    X = rows(60, 3, dtype)
    D, w = cdist(X, X).astype(dtype), np.ones(60, dtype)
    chosen = np.arange(4, dtype=np.int32)
    swaps = [np.r_[chosen[:c], i, chosen[c + 1 :]] for c in range(4) for i in range(60)]
    best = min(total(D, w, s) for s in swaps)
    assert medoid_sweep(D, None, chosen, eager=False).total == pytest.approx(best, rel=1e-5)


@TYPES
def test_build(machine, dtype):
    X = rows(80, 3, dtype)
    D, w = cdist(X, X).astype(dtype), np.random.default_rng(1).random(80).astype(dtype)
    w[:3] = 0
    chosen: list = []
    for _ in range(5):
        chosen.append(min(range(3, 80), key=lambda i: total(D, w, [*chosen, i])))
    np.testing.assert_array_equal(medoid_build(D, w, 5), chosen)


@TYPES
@pytest.mark.parametrize("size", SIZES)
def test_trees_are_those_of_scipy(machine, size, dtype):
    X = rows(*size, dtype)
    rtol = 1e-9 if dtype == np.float64 else 1e-3
    for ward in (False, True):
        Z = linkage(X.astype(float), "ward" if ward else "single")
        for x in (X, np.asfortranarray(X)):
            tree = link_rows(x, ward=ward)
            np.testing.assert_allclose(np.sqrt(tree.heights), Z[:, 2], rtol=rtol)
            np.testing.assert_array_equal(tree.weights[size[0] :], Z[:, 3])
            np.testing.assert_array_equal(tree.children, np.sort(Z[:, :2]))
    D = cdist(X.astype(float), X.astype(float))
    for name in ("single", "complete", "average", "ward", "centroid"):
        Z = linkage(pdist(X.astype(float)), name)
        squared = name in ("ward", "centroid")
        tree = link_matrix((D**2 if squared else D).astype(dtype), name)
        heights = np.sqrt(tree.heights) if squared else tree.heights
        np.testing.assert_allclose(heights, Z[:, 2], rtol=10 * rtol)
        np.testing.assert_array_equal(tree.children, np.sort(Z[:, :2]))


def medoid_tree(D):
    """The closest pair of medoids again and again."""
    groups, heights = [[i] for i in range(len(D))], []
    while len(groups) > 1:
        m = [g[np.argmin(D[np.ix_(g, g)].sum(axis=0))] for g in groups]
        near = D[np.ix_(m, m)] + np.diag(np.full(len(m), np.inf))
        a, b = sorted(np.unravel_index(near.argmin(), near.shape))
        heights.append(near[a, b])
        groups[a] = sorted(groups[a] + groups.pop(b))
    return heights


@TYPES
def test_medoids_represent_their_clusters(machine, dtype):
    X = rows(50, 3, dtype)
    D = cdist(X, X).astype(dtype)
    np.testing.assert_allclose(link_matrix(D.copy(), "medoid").heights, medoid_tree(D), rtol=1e-5)


def test_a_weight_is_as_many_rows(machine):
    X = rows(40, 3)
    w = np.random.default_rng(2).integers(1, 4, 40)
    many = np.repeat(X, w, axis=0)
    D, E = cdist(X, X), cdist(many, many)
    for name in ("average", "medoid", "centroid"):
        power = 2 if name == "centroid" else 1
        ours = link_matrix(D**power, name, w.astype(float)).heights
        np.testing.assert_allclose(link_matrix(E**power, name).heights[-39:], ours, atol=1e-9)
    ours = link_rows(X, w.astype(float), ward=True).heights
    np.testing.assert_allclose(link_rows(many, ward=True).heights[-39:], ours, atol=1e-9)


def test_equal_rows():
    X = np.zeros((70, 2))
    assert link_rows(X).heights.max() == link_rows(X, ward=True).heights.max() == 0
    for name in ("single", "complete", "average", "ward", "centroid", "medoid"):
        tree = link_matrix(np.zeros((70, 70)), name)
        assert tree.heights.max() == 0
        assert tree.weights[-1] == 70


@TYPES
@pytest.mark.parametrize("shape", ["cloud", "widening", "both"])
def test_mutual_neighbours_and_chains_grow_one_tree(machine, shape, dtype):
    """In a cloud many pairs merge at once; where gaps widen one pair at a time does."""
    gaps = np.c_[1.07 ** np.arange(150), np.zeros((150, 2))]
    parts = {"cloud": [rows(400, 3)], "widening": [gaps], "both": [rows(300, 3), gaps + 5]}
    X = np.concatenate(parts[shape])
    D = cdist(X, X)
    for name in ("complete", "average", "ward"):
        Z = linkage(pdist(X), name)
        tree = link_matrix((D**2 if name == "ward" else D).astype(dtype), name)
        heights = np.sqrt(tree.heights) if name == "ward" else tree.heights
        np.testing.assert_allclose(heights, Z[:, 2], rtol=1e-9 if dtype == np.float64 else 1e-3)
        if dtype == np.float64:
            np.testing.assert_array_equal(tree.children, np.sort(Z[:, :2]))
            np.testing.assert_array_equal(tree.weights[len(X) :], Z[:, 3])


def test_ties_are_merged_in_some_order(machine):
    """Of a lattice every row has several nearest: every cluster still merges once, upwards."""
    X = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    for name in ("complete", "average", "ward"):
        tree = link_matrix(cdist(X, X), name)
        assert (np.diff(tree.heights) >= 0).all()
        assert tree.heights[0] == 1.0
        assert tree.weights[-1] == 64
        assert sorted(tree.children.ravel()) == list(range(126))


@TYPES
@pytest.mark.parametrize("limit", [0, 1 << 25], ids=["rounds", "matrix"])
def test_clouds_grow_the_trees_of_their_distances(machine, limit, dtype):
    """Rounds over the rows before a matrix is stored, or the matrix at once: SciPy's trees."""
    gaps = np.c_[1.07 ** np.arange(150), np.zeros((150, 2))]
    for X in (rows(2, 1), rows(3, 2), rows(65, 1), rows(333, 7), np.r_[rows(200, 3), gaps + 5]):
        for name in ("complete", "average"):
            Z = linkage(pdist(X), name)
            for x in (X.astype(dtype), np.asfortranarray(X, dtype)):
                tree = link_cloud(x, complete=name == "complete", memory_limit=limit)
                rtol = 1e-9 if dtype == np.float64 else 1e-3
                np.testing.assert_allclose(tree.heights, Z[:, 2], rtol=rtol)
                if dtype == np.float64:
                    np.testing.assert_array_equal(tree.children, np.sort(Z[:, :2]))
                    np.testing.assert_array_equal(tree.weights[len(X) :], Z[:, 3])


def test_weights_and_ties_in_clouds(machine):
    X = rows(60, 3)
    w = np.random.default_rng(2).integers(1, 4, 60)
    for limit in (0, 1 << 25):
        for complete in (True, False):
            ours = link_cloud(X, w.astype(float), complete=complete, memory_limit=limit).heights
            many = link_cloud(
                np.repeat(X, w, axis=0), complete=complete, memory_limit=limit
            ).heights
            np.testing.assert_allclose(many[-59:], ours, atol=1e-9)
            assert (
                link_cloud(np.zeros((70, 2)), complete=complete, memory_limit=limit).heights.max()
                == 0
            )
            grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
            tree = link_cloud(grid, complete=complete, memory_limit=limit)
            assert sorted(tree.children.ravel()) == list(range(126))
            assert tree.heights[0] == 1.0
            assert (np.diff(tree.heights) >= 0).all()

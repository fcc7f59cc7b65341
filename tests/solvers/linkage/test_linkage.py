"""Merge trees and their cuts, against SciPy's."""

import numpy as np
import pytest
from scipy.cluster import hierarchy

import kilogram as kg
from kilogram.solvers.linkage.linkage import MergeTree, cluster_count, cut, widest_gap

X = np.random.default_rng(0).standard_normal((40, 3))


def tree_of(linkage):
    model = kg.AgglomerativeClustering(linkage=linkage).fit(X)
    weights = np.concatenate([np.ones(len(X)), model.linkage_matrix_[:, 3]])
    return MergeTree(model.children_, model.distances_, weights), model.linkage_matrix_


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single"])
def test_heights_and_cuts_are_those_of_scipy(linkage):
    tree, matrix = tree_of(linkage)
    want = hierarchy.linkage(X, linkage)
    np.testing.assert_allclose(tree.heights, want[:, 2], rtol=1e-10)
    for k in (1, 2, 5, 40):
        labels, ours = hierarchy.fcluster(want, k, "maxclust"), cut(tree, k)
        assert len(np.unique(ours)) == k
        assert len(np.unique(np.stack([labels, ours]), axis=1).T) == k  # the same clusters
        assert (np.diff(np.bincount(ours)) <= 0).all()  # the heaviest first
    assert hierarchy.is_valid_linkage(matrix)


def test_a_threshold_counts_clusters():
    tree, want = tree_of("average")[0], hierarchy.linkage(X, "average")
    for t in (0.0, 0.7, 1.5, 99.0):
        below = np.nextafter(t, -np.inf)
        want = len(
            np.unique(hierarchy.fcluster(hierarchy.linkage(X, "average"), below, "distance"))
        )
        assert cluster_count(tree.heights, t) == want


def test_the_widest_gap():
    assert widest_gap(np.array([1.0, 1.1, 1.2, 5.0, 5.5])) == 3  # cut below the merger at 5.0
    assert widest_gap(np.array([2.0, 2.0, 2.0])) == 1
    assert widest_gap(np.array([2.0])) == 1

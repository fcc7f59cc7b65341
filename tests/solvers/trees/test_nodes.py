"""Sums over subtrees, pruning and paths of a tree that is small enough to write down."""

import numpy as np
import pytest

from kilogram.native.trees import NO_CATEGORIES, GrownNodes
from kilogram.solvers.trees.nodes import Links, Trees
from kilogram.solvers.trees.pruning import cost_complexity_pruned, pruning_path

#          0 (x0 <= 1)
#     1 (x1 <= 0)     2
#    3        4
LINKS = np.array([[0, 1, -1, -1, -1], [1, 3, -1, -1, -1], [2, 4, -1, -1, -1]], np.int32)
IMPURITY = np.array([0.5, 0.3, 0.1, 0.0, 0.0])
WEIGHT = np.array([10.0, 6.0, 4.0, 3.0, 3.0])


def tree():
    threshold = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    value = np.arange(5.0)[:, None]
    sides = np.zeros(5, np.uint8)
    return Trees.of(
        [GrownNodes(LINKS, threshold, WEIGHT, IMPURITY, WEIGHT, value, sides, NO_CATEGORIES)]
    )


def test_sums_and_depth():
    links = Links(*LINKS)
    np.testing.assert_array_equal(links.sums(np.array([9.0, 9.0, 1.0, 2.0, 4.0])), [7, 6, 1, 2, 4])
    assert links.depth() == 2
    np.testing.assert_array_equal(links.inner, [0, 1])


def test_pruning_path_by_hand():
    # R: root 0.5, node 1 0.18, node 2 0.04; leaves of node 1 cost 0
    # node 1: 0.18 / 1; root: (0.5 - 0.04) / 2 = 0.23, after node 1 is a leaf 0.5 - 0.22 = 0.28
    path = pruning_path(tree())
    np.testing.assert_allclose(path.ccp_alphas, [0.0, 0.18, 0.28])
    np.testing.assert_allclose(path.impurities, [0.04, 0.22, 0.5])


@pytest.mark.parametrize(("alpha", "leaves"), [(0.1, 3), (0.19, 2), (0.29, 1)])
def test_cost_complexity_pruning_by_hand(alpha, leaves):
    assert len(cost_complexity_pruned(tree(), alpha).leaves) == leaves


def test_paths_of_rows():
    forest = Trees.of([tree().grown(), tree().grown()])
    X = np.array([[0.0, -1.0], [0.0, 1.0], [2.0, 0.0]])
    np.testing.assert_array_equal(forest.apply(X), [[3, 8], [4, 9], [2, 7]])
    want = np.array([[1, 1, 0, 1, 0], [1, 1, 0, 0, 1], [1, 0, 1, 0, 0]])
    np.testing.assert_array_equal(forest.decision_path(X).toarray(), np.hstack([want, want]))
    np.testing.assert_array_equal(forest.one(1).apply(X)[:, 0], [3, 4, 2])

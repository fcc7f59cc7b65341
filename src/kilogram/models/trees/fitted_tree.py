"""The nodes of one fitted tree under the attribute names of scikit-learn's `tree_`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse
from kilogram.solvers.trees.nodes import Trees

UNDEFINED = -2  # feature and threshold of a leaf
NO_CHILD = -1  # scikit-learn's mark


@dataclass(frozen=True, eq=False)
class FittedTree:
    """Arrays over the nodes; the root is node 0 and a child has a larger number than its parent.

    Parameters
    ----------
    nodes : Trees
        A single tree.
    n_features : int
    n_classes : ndarray of shape (n_outputs,)
        1 for regression.
    """

    nodes: Trees
    n_features: int
    n_classes: np.ndarray

    @property
    def n_outputs(self) -> int:
        return len(self.n_classes)

    @property
    def node_count(self) -> int:
        return int(self.nodes.links.shape[1])

    @property
    def capacity(self) -> int:
        return self.node_count

    @property
    def n_leaves(self) -> int:
        return len(self.nodes.leaves)

    @cached_property
    def max_depth(self) -> int:
        return self.nodes.depth()

    @property
    def max_n_classes(self) -> int:
        return int(self.n_classes.max())

    @cached_property
    def _is_leaf(self) -> np.ndarray:
        return self.nodes.links[0] < 0

    @cached_property
    def children_left(self) -> np.ndarray:
        """The left child of every node, -1 in leaves."""
        return np.where(self._is_leaf, NO_CHILD, self.nodes.links[1]).astype(np.int64)

    @cached_property
    def children_right(self) -> np.ndarray:
        """The right child of every node, -1 in leaves."""
        return np.where(self._is_leaf, NO_CHILD, self.nodes.links[2]).astype(np.int64)

    @cached_property
    def feature(self) -> np.ndarray:
        """The feature of the split, -2 in leaves."""
        return np.where(self._is_leaf, UNDEFINED, self.nodes.links[0]).astype(np.int64)

    @cached_property
    def threshold(self) -> np.ndarray:
        """Rows with x <= threshold go left; -2 in leaves."""
        return np.where(self._is_leaf, float(UNDEFINED), self.nodes.threshold)

    @property
    def impurity(self) -> np.ndarray:
        return self.nodes.impurity

    @cached_property
    def n_node_samples(self) -> np.ndarray:
        """The number of rows in every node."""
        return self.nodes.samples.astype(np.int64)

    @property
    def weighted_n_node_samples(self) -> np.ndarray:
        return self.nodes.weight

    @cached_property
    def missing_go_to_left(self) -> np.ndarray:
        """1 where rows with a missing value go left."""
        return self.nodes.missing_left.astype(np.uint8)

    @cached_property
    def value(self) -> np.ndarray:
        """(nodes, n_outputs, max_n_classes): the value of the target, or the class proportions."""
        return self._by_output(self.nodes.value)

    def _by_output(self, values: np.ndarray) -> np.ndarray:
        """(rows, n_outputs, max_n_classes) of (rows, width), filled with 0."""
        found = np.zeros((len(values), self.n_outputs, self.max_n_classes))
        first = 0
        for k, classes in enumerate(self.n_classes):
            found[:, k, :classes] = values[:, first : first + classes]
            first += int(classes)
        return found

    def compute_feature_importances(self, normalize: bool = True) -> np.ndarray:
        """Decrease of the impurity by the splits of each feature, (n_features,)."""
        return self.nodes.importances(self.n_features, normalize)

    def compute_node_depths(self) -> np.ndarray:
        """The depth of every node, 1 for the root."""
        depth = np.ones(self.node_count, np.int64)
        for i in np.flatnonzero(~self._is_leaf):
            depth[[self.children_left[i], self.children_right[i]]] = depth[i] + 1
        return depth

    def apply(self, X: Any) -> np.ndarray:
        """The leaf of every row, (n,)."""
        return self.nodes.apply(_dense(X))[:, 0]

    def decision_path(self, X: Any) -> Any:
        """(n, nodes), sparse: 1 where a row passes through a node."""
        return self.nodes.decision_path(_dense(X))

    def predict(self, X: Any) -> np.ndarray:
        """The value of the leaf of every row, (n, width) or (n, n_outputs, max_n_classes)."""
        found = self.value[self.apply(X)]
        if self.n_outputs == 1:
            return found[:, 0]
        return found[:, :, 0] if self.max_n_classes == 1 else found


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)

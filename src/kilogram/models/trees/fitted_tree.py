"""The nodes of one fitted tree under the attribute names of scikit-learn's `tree_`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kilogram.solvers.trees.nodes import Trees

UNDEFINED = -2  # feature and threshold of a leaf
NO_CHILD = -1


@dataclass(frozen=True, eq=False)
class FittedTree:
    """Arrays over the nodes; the root is node 0 and a child has a larger number than its parent.

    Parameters
    ----------
    nodes : Trees
        A single tree.
    n_features : int
    n_classes : ndarray of shape (1,)
        1 for regression.
    """

    nodes: Trees
    n_features: int
    n_classes: np.ndarray
    n_outputs: int = 1

    @property
    def node_count(self) -> int:
        return int(self.nodes.links.shape[1])

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
    def value(self) -> np.ndarray:
        """(nodes, 1, width): the mean of the target, or the class proportions."""
        return self.nodes.value[:, None, :]

    def apply(self, X: Any) -> np.ndarray:
        """The leaf of every row, (n,)."""
        return self.nodes.apply(np.asarray(X, dtype=np.float64))[:, 0]

    def decision_path(self, X: Any) -> Any:
        """(n, nodes), sparse: 1 where a row passes through a node."""
        return self.nodes.decision_path(np.asarray(X, dtype=np.float64))

    def predict(self, X: Any) -> np.ndarray:
        """The value of the leaf of every row, (n, width)."""
        return self.nodes.value[self.apply(X)]

    def compute_feature_importances(self) -> np.ndarray:
        return self.nodes.importances(self.n_features)

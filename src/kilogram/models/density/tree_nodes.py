"""A grown density tree: nodes with boxes, the leaf of a row, pruned trees.

Children come after their parents, so sums over subtrees take one backward pass. Volumes are
fractions of the root's, in logarithms: hundreds of columns do not overflow them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kilogram.native.density import GrownDensityTree
from kilogram.solvers.trees.nodes import Links


@dataclass(frozen=True, eq=False)
class DensityNodes:
    """Column (-1 in leaves), threshold, children, weight and box of every node."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    mass: np.ndarray
    lower: np.ndarray  # (nodes, d)
    upper: np.ndarray

    @classmethod
    def of(cls, grown: GrownDensityTree, box: np.ndarray) -> DensityNodes:
        """Nodes with boxes, from grown nodes and the box (2, d) of the root."""
        k, d = len(grown.feature), box.shape[1]
        lower, upper = np.empty((k, d)), np.empty((k, d))
        lower[0], upper[0] = box
        for i in np.flatnonzero(grown.feature >= 0):
            a, b, j = grown.left[i], grown.right[i], grown.feature[i]
            lower[[a, b]], upper[[a, b]] = lower[i], upper[i]
            upper[a, j] = lower[b, j] = grown.threshold[i]
        return cls(
            grown.feature, grown.threshold, grown.left, grown.right, grown.mass, lower, upper
        )

    @property
    def leaves(self) -> np.ndarray:
        """The numbers of the leaves."""
        return np.flatnonzero(self.feature < 0)

    def log_shares(self) -> np.ndarray:
        """log of the volume of every node as a fraction of the root's."""
        side = self.upper - self.lower
        return np.log(side / side[0]).sum(axis=1)

    def log_densities(self) -> np.ndarray:
        """log N_l / (N V_l) of every node; -inf for one without weight."""
        with np.errstate(divide="ignore"):
            fraction = np.log(self.mass / self.mass[0])
        return fraction - np.log(self.upper - self.lower).sum(axis=1)

    @property
    def links(self) -> Links:
        """Columns and children."""
        return Links(self.feature, self.left, self.right)

    def depth(self) -> int:
        """Splits on the longest way down."""
        return self.links.depth()

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The leaf of every row, (n,); -1 outside the root's box."""
        node = np.zeros(len(X), dtype=np.int64)
        going = np.arange(len(X)) if self.feature[0] >= 0 else np.empty(0, dtype=np.int64)
        while len(going):
            at = node[going]
            low = X[going, self.feature[at]] <= self.threshold[at]
            node[going] = np.where(low, self.left[at], self.right[at])
            going = going[self.feature[node[going]] >= 0]
        inside = ((self.lower[0] <= X) & (self.upper[0] >= X)).all(axis=1)
        return np.where(inside, node, -1)

    def weights_of(self, X: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        """The weight of these rows in every node; those outside count for none."""
        leaf = self.apply(X)
        inside = leaf >= 0
        found = np.bincount(leaf[inside], None if w is None else w[inside], len(self.feature))
        return self.links.sums(found.astype(np.float64))

    def refilled(self, X: np.ndarray, w: np.ndarray | None) -> DensityNodes:
        """The same boxes with the weights of these rows."""
        return replace(self, mass=self.weights_of(X, w))

    def collapsed(self, cost: np.ndarray, penalty: float = 0.0) -> DensityNodes:
        """Without the subtrees whose leaves cost no less than the node itself.

        cost (nodes,) is that of a node as a leaf; every leaf costs `penalty` more.
        """
        links, there = self.links.without(self.links.worthwhile(cost, penalty))
        return DensityNodes(
            links.feature,
            np.where(links.feature >= 0, self.threshold[there], 0.0),
            links.left,
            links.right,
            self.mass[there],
            self.lower[there],
            self.upper[there],
        )

    def draw(self, m: int, rng: np.random.Generator) -> np.ndarray:
        """m rows: a leaf by its weight, then a place in its box."""
        leaves = self.leaves
        fraction = self.mass[leaves] / self.mass[leaves].sum()
        at = leaves[rng.choice(len(leaves), m, p=fraction)]
        low, high = self.lower[at], self.upper[at]
        return low + rng.random(low.shape) * (high - low)

"""Nodes of trees: which subtrees pay, what is left of a pruned tree, leaves of rows, importances.

Children come after their parents, so sums over subtrees are one run backwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kilogram.native.trees import Grown, find_leaves, sum_leaves


class Links(NamedTuple):
    """Column (-1 in leaves) and children of every node."""

    feature: np.ndarray
    left: np.ndarray
    right: np.ndarray

    def sums(self, own: np.ndarray) -> np.ndarray:
        """What stands in the leaves, added up to the root; own (nodes, ...) counts in leaves."""
        total = own.copy()
        for i in np.flatnonzero(self.feature >= 0)[::-1]:
            total[i] = total[self.left[i]] + total[self.right[i]]
        return total

    def depth(self) -> int:
        """Splits on the longest way down."""
        return depth_below(self, np.zeros(1, np.int64))

    def paying(self, cost: np.ndarray, penalty: float = 0.0) -> np.ndarray:
        """Nodes whose split is worth it: the leaves below cost less than the node itself.

        cost (nodes,) is that of a node as a leaf; every leaf costs `penalty` more.
        """
        best = cost + penalty
        keep = np.zeros(len(cost), dtype=bool)
        for i in np.flatnonzero(self.feature >= 0)[::-1]:
            below = best[self.left[i]] + best[self.right[i]]
            keep[i] = below < best[i]
            best[i] = min(below, best[i])
        return keep

    def without(self, keep: np.ndarray) -> tuple[Links, np.ndarray]:
        """Nodes that are not kept become leaves; the links and the nodes (mask) that are left."""
        there = np.zeros(len(keep), dtype=bool)
        there[0] = True
        for i in np.flatnonzero(keep):
            if there[i]:
                there[[self.left[i], self.right[i]]] = True
        number = np.cumsum(there) - 1
        kept = (keep & there)[there]

        def renamed(child: np.ndarray) -> np.ndarray:
            return np.where(kept, number[child[there]], -1).astype(np.int32)

        feature = np.where(kept, self.feature[there], -1).astype(np.int32)
        return Links(feature, renamed(self.left), renamed(self.right)), there


def depth_below(links: Links, nodes: np.ndarray) -> int:
    """Splits on the longest way down from any of these nodes."""
    levels = 0
    while len(inner := nodes[links.feature[nodes] >= 0]):
        nodes = np.concatenate([links.left[inner], links.right[inner]])
        levels += 1
    return levels


@dataclass(frozen=True, eq=False)
class Trees:
    """One tree or many, one after another: links (3, nodes), threshold, weight, impurity, value.

    `roots` (trees,) are the first nodes; links are numbers among all nodes. value (nodes, width) is
    the mean of the target, or the shares of the classes.
    """

    links: np.ndarray
    threshold: np.ndarray
    weight: np.ndarray
    impurity: np.ndarray
    value: np.ndarray
    roots: np.ndarray

    @classmethod
    def of(cls, grown: list[Grown]) -> Trees:
        """All trees as one table."""
        sizes = [len(tree.threshold) for tree in grown]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        moved = []
        for tree, root in zip(grown, roots, strict=True):
            links = tree.links.copy()
            links[1:, links[0] >= 0] += np.int32(root)
            moved.append(links)
        threshold, weight, impurity, value = (
            np.concatenate(part) for part in zip(*(tree[1:] for tree in grown), strict=True)
        )
        return cls(np.concatenate(moved, axis=1), threshold, weight, impurity, value, roots)

    def __len__(self) -> int:
        return len(self.roots)

    def one(self, t: int) -> Trees:
        """Tree number t alone."""
        ends = np.append(self.roots, self.links.shape[1])
        part = slice(int(ends[t]), int(ends[t + 1]))
        links = self.links[:, part].copy()
        links[1:, links[0] >= 0] -= np.int32(ends[t])
        return Trees(
            links,
            self.threshold[part],
            self.weight[part],
            self.impurity[part],
            self.value[part],
            np.zeros(1, np.int64),
        )

    @property
    def leaves(self) -> np.ndarray:
        """The numbers of the leaves."""
        return np.flatnonzero(self.links[0] < 0)

    def depth(self) -> int:
        """Splits on the longest way down a tree."""
        return depth_below(Links(*self.links), self.roots)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The leaf of every row in every tree, (n, trees), as numbers among all nodes."""
        return find_leaves(self.links, self.threshold, self.roots, X)

    def mean(self, X: np.ndarray) -> np.ndarray:
        """The mean over the trees of the values at the rows, (n, width)."""
        return sum_leaves(self.links, self.threshold, self.roots, self.value, X) / len(self)

    def importances(self, d: int) -> np.ndarray:
        """Fall of the impurity by the splits of each of d columns, (d,), in all 1."""
        feature, left, right = self.links
        inner = feature >= 0
        held = self.weight * self.impurity
        fall = held[inner] - held[left[inner]] - held[right[inner]]
        start = np.repeat(self.weight[self.roots], np.diff(np.append(self.roots, len(feature))))
        found = np.bincount(feature[inner], np.maximum(fall, 0.0) / start[inner], d)
        return found / found.sum() if found.sum() > 0 else found

    def kept(self, keep: np.ndarray) -> Trees:
        """A single tree whose other nodes became leaves."""
        links, there = Links(*self.links).without(keep)
        return Trees(
            np.stack(links),
            np.where(links.feature >= 0, self.threshold[there], 0.0),
            self.weight[there],
            self.impurity[there],
            self.value[there],
            self.roots,
        )

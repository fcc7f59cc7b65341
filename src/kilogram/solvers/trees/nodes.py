"""Nodes of binary trees as arrays: sums over subtrees, pruned trees, leaves of rows, importances.

Children have larger numbers than their parents, so sums over subtrees take one backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from kilogram.native.trees import GrownNodes, find_leaves, prepare_trees, sum_leaves


class InfiniteRows(ValueError):
    """Rows with infinite values, found on their way down trees."""


class Links(NamedTuple):
    """Split column (-1 in leaves) and children of every node."""

    feature: np.ndarray
    left: np.ndarray
    right: np.ndarray

    @property
    def inner(self) -> np.ndarray:
        """The numbers of the nodes that are split."""
        return np.flatnonzero(self.feature >= 0)

    def sums(self, own: np.ndarray) -> np.ndarray:
        """Values of the leaves, own (nodes, ...), summed over the leaves below every node."""
        total = own.copy()
        for i in self.inner[::-1]:
            total[i] = total[self.left[i]] + total[self.right[i]]
        return total

    def depth(self) -> int:
        """The length of the longest path from the root."""
        return depth_below(self, np.zeros(1, np.int64))

    def worthwhile(self, cost: np.ndarray, penalty: float = 0.0) -> np.ndarray:
        """Nodes (mask) whose split is kept: the leaves below cost less than the node itself.

        cost (nodes,) is that of a node as a leaf; every leaf costs `penalty` more.
        """
        best = cost + penalty
        keep = np.zeros(len(cost), dtype=bool)
        for i in self.inner[::-1]:
            below = best[self.left[i]] + best[self.right[i]]
            keep[i] = below < best[i]
            best[i] = min(below, best[i])
        return keep

    def without(self, keep: np.ndarray) -> tuple[Links, np.ndarray]:
        """Nodes that are not kept become leaves: the new links, and the nodes (mask) in them."""
        there = np.zeros(len(keep), dtype=bool)
        there[0] = True
        for i in np.flatnonzero(keep):
            if there[i]:
                there[[self.left[i], self.right[i]]] = True
        number = np.cumsum(there) - 1
        kept = (keep & there)[there]

        def renumbered(child: np.ndarray) -> np.ndarray:
            return np.where(kept, number[child[there]], -1).astype(np.int32)

        feature = np.where(kept, self.feature[there], -1).astype(np.int32)
        return Links(feature, renumbered(self.left), renumbered(self.right)), there

    def candidate_penalties(self, cost: np.ndarray, count: int, smallest: float) -> np.ndarray:
        """0, and `count` penalties between the smallest and the largest gain of a split.

        Gains below `smallest` times the largest one are rounding.
        """
        inner = self.inner
        gains = cost[inner] - cost[self.left[inner]] - cost[self.right[inner]]
        gains = gains[gains > 0]
        if len(gains) == 0:
            return np.zeros(1)
        low = max(gains.min(), gains.max() * smallest)
        return np.concatenate([np.zeros(1), np.geomspace(low, gains.max() * 1.01, count)])


def depth_below(links: Links, nodes: np.ndarray) -> int:
    """The length of the longest path down from any of these nodes."""
    levels = 0
    while len(inner := nodes[links.feature[nodes] >= 0]):
        nodes = np.concatenate([links.left[inner], links.right[inner]])
        levels += 1
    return levels


@dataclass(frozen=True, eq=False)
class Trees:
    """One tree or many, one after another.

    links (3, nodes) are split columns and children, numbered among all nodes; value (nodes, width)
    is the mean of the target, or the class proportions; `missing_left` (nodes,) is the side of NaN,
    `categories` (nodes, 4) or (0, 4) are the bits of the categories that go left; `roots` (trees,)
    are the first nodes.
    """

    links: np.ndarray
    threshold: np.ndarray
    weight: np.ndarray
    impurity: np.ndarray
    samples: np.ndarray
    value: np.ndarray
    missing_left: np.ndarray
    categories: np.ndarray
    roots: np.ndarray

    @classmethod
    def of(cls, grown: list[GrownNodes]) -> Trees:
        """All trees as one table."""
        sizes = [len(tree.threshold) for tree in grown]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        moved = []
        for tree, root in zip(grown, roots, strict=True):
            links = tree.links.copy()
            links[1:, links[0] >= 0] += np.int32(root)
            moved.append(links)
        columns = (np.concatenate(parts) for parts in zip(*(g[1:] for g in grown), strict=True))
        return cls(*GrownNodes(np.concatenate(moved, axis=1), *columns), roots)

    def __getstate__(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in (*GrownNodes._fields, "roots")}

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        vars(self).update(state)

    @cached_property
    def prepared(self) -> Any:
        """The nodes as native predictions use them."""
        return prepare_trees(
            self.links,
            self.threshold,
            self.missing_left,
            self.categories,
            self.roots,
            self.value,
        )

    def __len__(self) -> int:
        return len(self.roots)

    def one(self, t: int) -> Trees:
        """Tree number t alone."""
        ends = np.append(self.roots, self.links.shape[1])
        part = slice(int(ends[t]), int(ends[t + 1]))
        links = self.links[:, part].copy()
        links[1:, links[0] >= 0] -= np.int32(ends[t])
        own = GrownNodes(links, *(a[part] for a in self.grown()[1:]))
        return Trees(*own, np.zeros(1, np.int64))

    def with_more(self, other: Trees) -> Trees:
        """These trees and then the others."""
        return Trees.of(
            [trees.one(t).grown() for trees in (self, other) for t in range(len(trees))]
        )

    def grown(self) -> GrownNodes:
        """The nodes without the roots."""
        return GrownNodes(*(getattr(self, name) for name in GrownNodes._fields))

    @property
    def leaves(self) -> np.ndarray:
        """The numbers of the leaves."""
        return np.flatnonzero(self.links[0] < 0)

    def depth(self) -> int:
        """The length of the longest path from a root."""
        return depth_below(Links(*self.links), self.roots)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The leaf of every row in every tree, (n, trees), numbered among all nodes."""
        return find_leaves(self.prepared, len(self), X)

    def decision_path(self, X: np.ndarray) -> scipy.sparse.csr_matrix:
        """(n, nodes): 1 where a row passes through a node, in any of the trees."""
        n, nodes = len(X), self.links.shape[1]
        parent = np.full(nodes, -1, dtype=np.int64)
        inner = np.flatnonzero(self.links[0] >= 0)
        for child in self.links[1:]:
            parent[child[inner]] = inner
        row, node = (a.ravel() for a in np.broadcast_arrays(np.arange(n)[:, None], self.apply(X)))
        rows, columns = [row], [node.astype(np.int64)]
        while len(node):  # one level up with every pass
            above = parent[node]
            row, node = row[above >= 0], above[above >= 0]
            rows.append(row)
            columns.append(node)
        at = np.concatenate(rows), np.concatenate(columns)
        found = scipy.sparse.csr_matrix((np.ones(len(at[0]), np.int64), at), shape=(n, nodes))
        found.sort_indices()
        return found

    def mean(self, X: np.ndarray, finite: bool = False) -> np.ndarray:
        """The mean over the trees of the values at the rows, (n, width).

        With `finite`, infinite values of X raise an error, which its search costs nothing here.
        """
        found, infinite = sum_leaves(self.prepared, len(self), self.value.shape[1], X)
        if finite and infinite:
            raise InfiniteRows("X has infinite values")
        if len(self) > 1:
            found /= len(self)
        return found

    def importances(self, d: int, normalize: bool = True) -> np.ndarray:
        """Decrease of the impurity by the splits of each of d columns, (d,), as fractions of 1.

        The mean over the trees, each of which sums to 1; a tree without a split has zeros.
        """
        feature, left, right = self.links
        inner = feature >= 0
        sizes = np.diff(np.append(self.roots, len(feature)))
        tree = np.repeat(np.arange(len(self)), sizes)[inner]
        weighted = self.weight * self.impurity
        fall = weighted[inner] - weighted[left[inner]] - weighted[right[inner]]
        fall = np.maximum(fall, 0.0) / self.weight[self.roots][tree]
        if not normalize:
            return np.bincount(feature[inner], fall, d) / len(self)
        totals = np.bincount(tree, fall, len(self))
        fraction = fall / np.where(totals > 0, totals, 1.0)[tree]
        found = np.bincount(feature[inner], fraction, d)
        return found / found.sum() if found.sum() > 0 else found

    def kept(self, keep: np.ndarray) -> Trees:
        """A single tree whose other nodes became leaves."""
        links, there = Links(*self.links).without(keep)
        leaf = links.feature < 0
        old = self.grown()
        return Trees(
            np.stack(links),
            np.where(leaf, 0.0, old.threshold[there]),
            old.weight[there],
            old.impurity[there],
            old.samples[there],
            old.value[there],
            np.where(leaf, 0, old.missing_left[there]).astype(np.uint8),
            _leaves_cleared(old.categories, there, leaf),
            self.roots,
        )


def _leaves_cleared(categories: np.ndarray, there: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """The bits of the nodes that are left; none in leaves."""
    if not len(categories):
        return categories
    return np.where(leaf[:, None], np.uint64(0), categories[there])

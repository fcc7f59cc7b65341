"""Trees of a boosted model, as arrays that predictions read in place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kilogram.native.boosting import NODE, SET_WORDS, Tree, add_trees


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """All trees, one after another; tree t belongs to output t % n_outputs.

    Node numbers are those within the tree; children are `left` and `left + 1`, a leaf is its own
    left child. `missing_right` is 1 where rows without a value go right. `categories` is the row
    of `sets` whose bits name the categories on the left, -1 for `x <= threshold`.
    """

    nodes: np.ndarray  # (nodes,) of NODE
    sets: np.ndarray  # (sets, 8) uint32
    gain: np.ndarray  # (nodes,) decrease of the loss by the split, 0 in leaves
    samples: np.ndarray  # (nodes,) training rows
    roots: np.ndarray  # (trees,) first node
    depths: np.ndarray  # (trees,)
    baseline: np.ndarray  # (n_outputs,)

    @classmethod
    def empty(cls, baseline: np.ndarray) -> BoostedTrees:
        """No trees yet: every raw prediction is the baseline."""
        none = np.empty(0)
        return cls(
            np.empty(0, NODE), np.empty((0, SET_WORDS), np.uint32), none, none,
            np.empty(0, np.int64), np.empty(0, np.int32), np.asarray(baseline, np.float64),
        )  # fmt: skip

    @property
    def n_outputs(self) -> int:
        return len(self.baseline)

    @property
    def n_iter(self) -> int:
        """Rounds: each has one tree for every output."""
        return len(self.roots) // self.n_outputs

    def extended(self, trees: list[Tree]) -> BoostedTrees:
        """The ensemble with further trees."""
        if not trees:
            return self
        sizes = [len(tree.nodes) for tree in trees]
        starts = len(self.nodes) + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        set_starts = len(self.sets) + np.cumsum([0] + [len(tree.sets) for tree in trees])
        moved = []
        for tree, first_set in zip(trees, set_starts, strict=False):
            nodes = tree.nodes.copy()
            nodes["categories"] += np.where(nodes["categories"] >= 0, first_set, 0)
            moved.append(nodes)
        return replace(
            self,
            nodes=np.concatenate([self.nodes, *moved]),
            sets=np.concatenate([self.sets, *(tree.sets for tree in trees)]),
            gain=np.concatenate([self.gain, *(tree.gain for tree in trees)]),
            samples=np.concatenate([self.samples, *(tree.samples for tree in trees)]),
            roots=np.concatenate([self.roots, starts.astype(np.int64)]),
            depths=np.concatenate([self.depths, np.array([t.depth for t in trees], np.int32)]),
        )

    def add(self, X: np.ndarray, out: np.ndarray, first: int = 0, last: int | None = None) -> None:
        """Add rounds first .. last - 1 to raw predictions out (n, n_outputs)."""
        last = self.n_iter if last is None else last
        k = self.n_outputs
        add_trees(self.nodes, self.sets, self.roots, self.depths, first * k, last * k, X, out)

    def raw(self, X: np.ndarray) -> np.ndarray:
        """Raw predictions (n, n_outputs)."""
        out = np.empty((len(X), self.n_outputs))
        out[:] = self.baseline
        self.add(X, out)
        return out

    def arrays(self) -> dict[str, Any]:
        """Trees of thresholds as plain arrays, the form of `models/trees/tree_arrays`."""
        if len(self.sets):
            raise ValueError("Trees with categorical splits have no form as thresholds.")
        return self.threshold_arrays()

    def members(self) -> np.ndarray | None:
        """Which categories each node sends to the left, (nodes, 256); None: thresholds only."""
        if not len(self.sets):
            return None
        bits = np.unpackbits(self.sets.astype("<u4").view(np.uint8), axis=1, bitorder="little")
        split = self.nodes["categories"]
        return np.where((split >= 0)[:, None], bits[np.maximum(split, 0)], 0).astype(bool)

    def threshold_arrays(self) -> dict[str, Any]:
        """As `arrays`; the threshold of nodes that split by categories is below all values."""
        nodes, sizes = self.nodes, np.diff(np.append(self.roots, len(self.nodes)))
        left = nodes["left"] + np.repeat(self.roots, sizes)
        leaf = left == np.arange(len(nodes))
        largest = np.finfo(np.float64).max  # finite, and still not below any value
        return {
            "feature": nodes["feature"].copy(),
            "threshold": np.where(
                nodes["categories"] >= 0, -largest, np.minimum(nodes["threshold"], largest)
            ),
            "left": left.astype(np.int32),
            "right": np.where(leaf, left, left + 1).astype(np.int32),
            "missing_left": ~leaf & (nodes["missing_right"] == 0),
            "leaf": leaf,
            "value": nodes["value"][:, None].copy(),
            "roots": self.roots.astype(np.int32),
            "outputs": (np.arange(len(self.roots)) % self.n_outputs).astype(np.int32),
            "columns": self.n_outputs,
            "depth": int(self.depths.max(initial=0)),
            "start": self.baseline.copy(),
            "factor": 1.0,
            "single": False,
        }

    def importances(self, n_features: int) -> np.ndarray:
        """Fraction of the decrease of the loss that is due to the splits of each feature."""
        total = np.bincount(self.nodes["feature"], self.gain, n_features)
        whole = total.sum()
        return total / whole if whole > 0 else total

"""Predictions of trees in plain arrays for a few rows: all trees at once.

`models.trees.tree_arrays` follows one tree after another with many rows, which keeps the nodes of a
tree in cache. For a few rows that is a Python loop over the trees; here one array operation moves
every row down one level of every tree. Leaves are added in the same order, so that both give the
same bits.
"""

from __future__ import annotations

import numpy as np

from kilogram.models.trees.tree_arrays import Arrays, tree_outputs

# With more pairs of row and tree the arrays, 160 kB each, leave the cache, and one tree after
# another is faster.
MAX_PAIRS = 20_000


def predict_trees(trees: Arrays, X: np.ndarray) -> np.ndarray:
    """(n, columns) predictions for (n, d) rows."""
    if trees["single"] or len(X) * len(trees["roots"]) > MAX_PAIRS:
        return tree_outputs(trees, X)
    leaves = trees["value"][_leaves(trees, X)]  # (n, trees, width)
    start = np.asarray(trees["start"], dtype=float)
    if leaves.shape[2] == len(start):
        return _running_total(start, trees["factor"] * leaves)
    out = np.tile(start, (len(X), 1))
    for k in range(len(start)):
        out[:, [k]] = _running_total(start[[k]], leaves[:, trees["outputs"] == k])
    return out


def _running_total(start: np.ndarray, values: np.ndarray) -> np.ndarray:
    """start + values[:, 0] + values[:, 1] + ..., added from the left."""
    first = np.broadcast_to(start, (len(values), 1, len(start)))
    return np.add.accumulate(np.concatenate([first, values], axis=1), axis=1)[:, -1]


def _leaves(trees: Arrays, X: np.ndarray) -> np.ndarray:
    """(n, trees) leaves; missing values go to the side that the node names."""
    node = np.tile(np.asarray(trees["roots"], dtype=np.intp), (len(X), 1))
    rows = np.arange(len(X))[:, None]
    gaps = bool(np.isnan(X).any())
    for _ in range(int(trees["depth"]) + 1):
        cells = X[rows, trees["feature"][node]]
        left = cells <= trees["threshold"][node]
        if gaps:
            left = np.where(np.isnan(cells), trees["missing_left"][node], left)
        after = np.where(left, trees["left"][node], trees["right"][node])
        node = np.where(trees["leaf"][node], node, after)
    return node

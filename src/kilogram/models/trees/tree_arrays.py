"""Trees as plain arrays, as model files store them, and predictions from these arrays.

A fitted tree of scikit-learn is a compiled object that trusts its own state; loaded from an
untrusted file it could read anywhere in memory. As arrays a wrong index is an ordinary error, and
the descent ends after `depth` levels whatever the arrays contain.

    at node m:  leaf -> value[m];   x[feature[m]] <= threshold[m] -> left[m], else right[m];
                missing -> left[m] if missing_left[m]
    prediction  start + factor * sum over trees of the value of the leaf
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Arrays = dict[str, Any]
# rows that descend together: their nodes stay in cache
BLOCK = 4096


def tree_outputs(trees: Arrays, X: np.ndarray) -> np.ndarray:
    """(n, columns) predictions for (n, d) rows; a leaf has a value for each, or just one."""
    out = np.tile(np.asarray(trees["start"], dtype=float), (len(X), 1))
    for begin in range(0, len(X), BLOCK):
        rows = X[begin : begin + BLOCK]
        if trees["single"]:
            rows = rows.astype(np.float32)  # files of forests that compare in single precision
        for total, output in _leaves(trees, rows):
            part = out[begin : begin + BLOCK]
            if total.shape[1] == out.shape[1]:
                part += trees["factor"] * total
            else:
                part[:, output] += total[:, 0]
    return out


def _leaves(trees: Arrays, X: np.ndarray) -> Iterable[tuple[np.ndarray, int]]:
    """For each tree the values of the leaves that the rows come to."""
    feature, threshold, leaf = trees["feature"], trees["threshold"], trees["leaf"]
    all_rows = np.arange(len(X))
    missing = np.isnan(X)
    gaps = bool(missing.any())
    for root, output in zip(trees["roots"], trees["outputs"], strict=True):
        node = np.full(len(X), root)
        for _ in range(int(trees["depth"]) + 1):
            f = feature[node]
            left = X[all_rows, f] <= threshold[node]
            if gaps:
                left = np.where(missing[all_rows, f], trees["missing_left"][node], left)
            after = np.where(left, trees["left"][node], trees["right"][node])
            node = np.where(leaf[node], node, after)
        yield trees["value"][node], int(output)

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


def from_boosting(model: Any) -> Arrays:
    """Histogram gradient boosting of scikit-learn; values are sums on its raw scale."""
    # the trees have no public name; they have had this one since the class is there
    rounds = model._predictors
    parts, outputs = [], []
    for trees in rounds:
        for k, tree in enumerate(trees):
            nodes = tree.nodes
            parts.append({
                "feature": nodes["feature_idx"], "threshold": nodes["num_threshold"],
                "left": nodes["left"], "right": nodes["right"],
                "missing_left": nodes["missing_go_to_left"], "leaf": nodes["is_leaf"] != 0,
                "value": nodes["value"][:, None],
            })  # fmt: skip
            outputs.append(k)
    columns = len(rounds[0])
    depth = max(int(tree.nodes["depth"].max()) for trees in rounds for tree in trees)
    return _joined(parts, np.asarray(outputs), columns, depth) | {
        "start": np.ravel(model._baseline_prediction).astype(float), "factor": 1.0,
        "single": False,
    }  # fmt: skip


def _joined(
    parts: list[dict[str, np.ndarray]], outputs: np.ndarray, columns: int, depth: int
) -> Arrays:
    """All trees one after another, their inner references moved along."""
    sizes = [len(part["feature"]) for part in parts]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    found: Arrays = {
        name: np.concatenate([part[name] for part in parts])
        for name in ("feature", "threshold", "missing_left", "leaf", "value")
    }
    for name in ("left", "right"):
        moved = [np.maximum(part[name].astype(np.int64), 0) + root
                 for part, root in zip(parts, roots, strict=True)]  # fmt: skip
        found[name] = np.concatenate(moved).astype(np.int32)
    found["feature"] = np.maximum(found["feature"], 0).astype(np.int32)
    found["missing_left"] = found["missing_left"].astype(bool)
    return found | {"roots": roots.astype(np.int32), "outputs": outputs.astype(np.int32),
                    "columns": columns, "depth": depth}  # fmt: skip


def answers(trees: Arrays, X: np.ndarray) -> np.ndarray:
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

"""Forests and boosted trees as one ONNX node, from `kilogram.models.trees.tree_arrays`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kitchen.export.graph import ML, Graph


def tree_sums(g: Graph, trees: dict[str, Any], x: str) -> str:
    """The sums of the leaves of all trees; rows are rounded where trees compare in float32."""
    rows = g.cast(g.cast(x, np.float32), np.float64) if trees["single"] else g.cast(x, np.float64)
    return g.cast(g.add("TreeEnsembleRegressor", rows, domain=ML, **_nodes(g, trees)))


def _nodes(g: Graph, trees: dict[str, Any]) -> dict[str, Any]:
    roots = np.asarray(trees["roots"], dtype=np.int64)
    tree = np.searchsorted(roots, np.arange(len(trees["feature"])), side="right") - 1
    inside = np.arange(len(tree)) - roots[tree]
    leaf = np.asarray(trees["leaf"], dtype=bool)
    columns, at = int(trees["columns"]), np.flatnonzero(leaf)
    values = np.asarray(trees["value"], dtype=float)[at] * float(trees["factor"])
    if values.shape[1] == columns:  # a leaf has a value for every column
        target = np.tile(np.arange(columns), len(at))
        at, values = np.repeat(at, columns), values.reshape(-1)
    else:
        target, values = np.asarray(trees["outputs"])[tree[at]], values[:, 0]
    here = g.numpy.from_array

    def to_integers(numbers: Any) -> list[int]:
        return np.asarray(numbers).astype(np.int64).tolist()

    return {
        "n_targets": columns, "aggregate_function": "SUM", "post_transform": "NONE",
        "base_values_as_tensor": here(np.asarray(trees["start"], dtype=np.float64), "base"),
        "nodes_treeids": to_integers(tree), "nodes_nodeids": to_integers(inside),
        "nodes_featureids": to_integers(trees["feature"]),
        "nodes_modes": ["LEAF" if one else "BRANCH_LEQ" for one in leaf],
        "nodes_values_as_tensor": here(
            np.where(leaf, 0.0, np.asarray(trees["threshold"], dtype=np.float64)), "cuts"),
        "nodes_truenodeids": to_integers(np.where(leaf, 0, trees["left"] - roots[tree])),
        "nodes_falsenodeids": to_integers(np.where(leaf, 0, trees["right"] - roots[tree])),
        "nodes_missing_value_tracks_true": to_integers(trees["missing_left"]),
        "target_treeids": to_integers(tree[at]), "target_nodeids": to_integers(inside[at]),
        "target_ids": to_integers(target), "target_weights_as_tensor": here(values, "leaves"),
    }  # fmt: skip

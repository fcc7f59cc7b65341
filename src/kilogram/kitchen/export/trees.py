"""Forests and boosted trees as one ONNX node, from `kilogram.models.trees.tree_arrays`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kitchen.export.graph import ML, Graph, no_graph
from kilogram.models.trees.tree_model import TreeModel
from kilogram.solvers.trees.nodes import Trees


def tree_sums(g: Graph, trees: dict[str, Any], x: str) -> str:
    """The sums of the leaves of all trees; rows are rounded where trees compare in float32."""
    rows = g.cast(g.cast(x, np.float32), np.float64) if trees["single"] else g.cast(x, np.float64)
    return g.cast(g.add("TreeEnsembleRegressor", rows, domain=ML, **_nodes(g, trees)))


def leaf_means(g: Graph, model: TreeModel, x: str) -> str:
    """The means over the trees of the values of the leaves, (n, columns)."""
    if model.trees_.categories.any():
        raise no_graph(model, "splits by categories")
    return tree_sums(g, node_arrays(model.trees_, factor=1.0 / len(model.trees_)), x)


def node_arrays(
    trees: Trees, *, single_outputs: bool = False, factor: float = 1.0
) -> dict[str, Any]:
    """The nodes as `tree_sums` takes them; `single_outputs`: every tree has a column of its own."""
    feature, left, right = trees.links
    columns = len(trees) if single_outputs else trees.value.shape[1]
    return {
        "feature": np.maximum(feature, 0), "leaf": feature < 0, "left": left, "right": right,
        "threshold": trees.threshold, "roots": trees.roots, "missing_left": trees.missing_left,
        "value": trees.value[:, :1] if single_outputs else trees.value,
        "outputs": np.arange(columns) if single_outputs else np.zeros(len(trees), int),
        "columns": columns, "start": np.zeros(columns), "factor": factor, "single": False,
    }  # fmt: skip


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

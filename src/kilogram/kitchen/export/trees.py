"""Trees as one ONNX node, from arrays as `kilogram.models.trees.tree_arrays` has them.

thresholds only      TreeEnsembleRegressor, a leaf with values for every column
sets of categories   TreeEnsemble, whose leaves have one value: a copy of the trees per column
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.base.categories import CategoricalMixin
from kilogram.kitchen.export.graph import ML, SETS_ML_OPSET, Graph, no_graph
from kilogram.models.trees.tree_model import TreeModel
from kilogram.solvers.trees.nodes import Trees

AT_MOST, MEMBER = 0, 6  # modes of the nodes of a TreeEnsemble
TREES = "TreeEnsembleRegressor"


def tree_sums(
    g: Graph, trees: dict[str, Any], x: str, members: np.ndarray | None = None, dtype: Any = None
) -> str:
    """The sums of the leaves of all trees, in the type of the model unless `dtype` is given.

    Rows are rounded where trees compare in float32. members (nodes, categories), if there are any
    sets, marks the categories on the left.
    """
    rows = g.cast(g.cast(x, np.float32), np.float64) if trees["single"] else g.cast(x, np.float64)
    if members is None:
        return g.cast(g.add(TREES, rows, domain=ML, **_nodes(g, trees)), dtype)
    g.ml_opset = SETS_ML_OPSET
    sums = g.add("TreeEnsemble", rows, domain=ML, **_nodes_with_sets(g, trees, members))
    return g.cast(g.add("Add", sums, g.constant(trees["start"][None, :], np.float64)), dtype)


def category_codes(g: Graph, model: CategoricalMixin, x: str) -> str:
    """x with positions among the categories of the fit; NaN for missing and unknown ones."""
    if model._codes is None:
        return x
    places, columns = np.arange(model._codes.n_features), [x]
    for k, known in model._codes.categories.items():
        if any(isinstance(value, str) for value in known):
            raise no_graph(model, "categories that are words, in a table of numbers")
        places[k] = model._codes.n_features + len(columns) - 1
        columns.append(_positions(g, g.take(x, [k]), np.asarray(known, dtype=float)))
    return g.take(g.add("Concat", *columns, axis=1), places)


def _positions(g: Graph, column: str, known: np.ndarray) -> str:
    """Positions (n, 1) of values among `known`, NaN where they are not there."""
    missing = g.constant([np.nan])
    if not len(known):
        return g.add("Mul", column, missing)
    marks = g.cast(g.add("Equal", column, g.constant(known[None, :])))
    place = g.add("MatMul", marks, g.constant(np.arange(len(known))[:, None]))
    there = g.add("Greater", g.total(marks), g.constant([0.0]))
    return g.add("Where", there, place, missing)


def leaf_means(g: Graph, model: TreeModel, x: str) -> str:
    """The means over the trees of the values of the leaves, (n, columns)."""
    trees = model.trees_
    members = None
    if model.is_categorical_ is not None:
        words = trees.categories.astype("<u8").view(np.uint8)
        members = np.unpackbits(words, axis=1, bitorder="little").astype(bool)
    arrays = node_arrays(trees, factor=1.0 / len(trees))
    return tree_sums(g, arrays, category_codes(g, model, x), members)


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


def _nodes_with_sets(g: Graph, trees: dict[str, Any], members: np.ndarray) -> dict[str, Any]:
    """Splits and leaves, numbered apart; a root without a split asks for the same leaf twice.

    The trees are repeated for every column of the values.
    """
    leaf, roots = np.asarray(trees["leaf"], dtype=bool), np.asarray(trees["roots"], dtype=np.int64)
    asks = ~leaf
    asks[roots] = True
    at, ends = np.flatnonzero(asks), np.flatnonzero(leaf)
    columns, width = int(trees["columns"]), trees["value"].shape[1]
    copy = np.arange(width)[:, None]
    number, leaf_number = np.cumsum(asks) - 1, np.cumsum(leaf) - 1

    def repeated(values: Any) -> list[int]:
        return _integers(np.tile(values, width))

    def branch(side: str) -> dict[str, list[int]]:
        to = np.where(leaf, np.arange(len(leaf)), trees[side])[at]
        numbers = np.where(
            leaf[to], leaf_number[to] + copy * len(ends), number[to] + copy * len(at)
        )
        name = {"left": "true", "right": "false"}[side]
        return {
            f"nodes_{name}nodeids": _integers(numbers),
            f"nodes_{name}leafs": repeated(leaf[to]),
        }

    sets = members[at].any(axis=1)
    cuts = np.where(sets | leaf[at], 0.0, np.asarray(trees["threshold"], dtype=np.float64)[at])
    asked = [np.append(np.flatnonzero(row), np.nan) for row in members[at[sets]]] * width
    target = np.broadcast_to(copy, (width, len(ends)))
    if width != columns:  # every tree has one column
        target = np.asarray(trees["outputs"])[np.searchsorted(roots, ends, side="right") - 1]
    modes = np.tile(np.where(sets, MEMBER, AT_MOST), width).astype(np.uint8)
    values = float(trees["factor"]) * np.asarray(trees["value"], dtype=np.float64)[ends].T.ravel()
    here = g.numpy.from_array
    return {
        "n_targets": columns, "aggregate_function": 1, "post_transform": 0,
        "tree_roots": _integers(number[roots] + copy * len(at)),
        "nodes_featureids": repeated(trees["feature"][at]),
        "nodes_splits": here(np.tile(cuts, width), "cuts"),
        "nodes_modes": here(modes, "modes"),
        **branch("left"), **branch("right"),
        "nodes_missing_value_tracks_true": repeated(trees["missing_left"][at]),
        "leaf_targetids": _integers(target), "leaf_weights": here(values, "leaves"),
    } | ({"membership_values": here(np.concatenate(asked), "sets")} if asked else {})  # fmt: skip


def _integers(numbers: Any) -> list[int]:
    return np.ravel(np.asarray(numbers)).astype(np.int64).tolist()


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
    return {
        "n_targets": columns, "aggregate_function": "SUM", "post_transform": "NONE",
        "base_values_as_tensor": here(np.asarray(trees["start"], dtype=np.float64), "base"),
        "nodes_treeids": _integers(tree), "nodes_nodeids": _integers(inside),
        "nodes_featureids": _integers(trees["feature"]),
        "nodes_modes": ["LEAF" if one else "BRANCH_LEQ" for one in leaf],
        "nodes_values_as_tensor": here(
            np.where(leaf, 0.0, np.asarray(trees["threshold"], dtype=np.float64)), "cuts"),
        "nodes_truenodeids": _integers(np.where(leaf, 0, trees["left"] - roots[tree])),
        "nodes_falsenodeids": _integers(np.where(leaf, 0, trees["right"] - roots[tree])),
        "nodes_missing_value_tracks_true": _integers(trees["missing_left"]),
        "target_treeids": _integers(tree[at]), "target_nodeids": _integers(inside[at]),
        "target_ids": _integers(target), "target_weights_as_tensor": here(values, "leaves"),
    }  # fmt: skip

"""Boosted weak learners and additive models in an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kitchen.export.graph import Graph, no_graph
from kilogram.kitchen.export.trees import node_arrays, tree_sums
from kilogram.models.boosting.additive_model import AdditiveBoosting
from kilogram.models.boosting.stumps import DecisionStump, ShallowTree
from kilogram.solvers.trees.nodes import Trees


def vote_table(positions: np.ndarray, k: int) -> np.ndarray:
    """Rows: what a vote for a class adds to the scores; one column where there are two classes."""
    if k == 2:
        return np.array([[-1.0], [1.0]])[positions]
    return ((np.eye(k) * k - 1) / (k - 1) ** 2)[positions]


def stump_votes(g: Graph, stumps: list[DecisionStump], weights: np.ndarray, k: int, x: str) -> str:
    """Weighted votes of stumps: trees with one question."""
    t = len(stumps)
    made = [one.stump for one in stumps if one.stump is not None]
    column = np.array([one.column for one in made])
    value = np.zeros((t, 3, 1 if k == 2 else k))
    for side, code in ((1, [one.left for one in made]), (2, [one.right for one in made])):
        value[:, side] = weights[:, None] * vote_table(np.array(code), k)
    roots = 3 * np.arange(t)
    constant = column < 0  # everything is on the left
    threshold = np.where(constant, np.finfo(np.float64).max, [one.threshold for one in made])
    trees = {
        "feature": np.repeat(np.maximum(column, 0), 3), "threshold": np.repeat(threshold, 3),
        "leaf": np.tile([False, True, True], t), "value": value.reshape(3 * t, -1),
        "left": np.repeat(roots + 1, 3), "right": np.repeat(roots + 2, 3),
        "missing_left": np.zeros(3 * t, bool), "roots": roots, "outputs": np.zeros(t, int),
        "columns": value.shape[2], "start": np.zeros(value.shape[2]), "factor": 1.0,
        "single": False,
    }  # fmt: skip
    return tree_sums(g, trees, x)


def shallow_trees(g: Graph, learners: list[ShallowTree], x: str) -> str:
    """The prediction of every tree, (n, trees)."""
    parts = Trees.of([one.trees.grown() for one in learners if one.trees is not None])
    return tree_sums(g, node_arrays(parts, single_outputs=True), x)


def weighted_median(g: Graph, each: str, weights: np.ndarray) -> str:
    """The weighted medians (n, 1) of the rows of `each` (n, learners)."""
    count = g.constant([len(weights)], np.int64)
    values, order = f"{each}_sorted", f"{each}_order"
    g.nodes.append(g.helper.make_node("TopK", [each, count], [values, order], largest=0, sorted=1))
    reached = g.add("CumSum", g.add("Gather", g.constant(weights), order), g.constant(1, np.int64))
    below = g.cast(g.add("Less", reached, g.constant([0.5 * weights.sum()])), np.int64)
    return g.add("GatherElements", values, g.total(below), axis=1)


def additive(g: Graph, model: AdditiveBoosting, x: str) -> str:
    """Tables looked up at the bins of the features."""
    if model.is_categorical_ is not None:
        raise no_graph(model)
    t = model.terms_
    bins = [_bin(g, g.take(x, [k]), edges) for k, edges in enumerate(t.bins.limits)]
    total = g.constant(t.baseline[None, :])
    for features, table in zip(t.features, t.tables, strict=True):
        place = bins[features[0]]
        if len(features) == 2:
            i, j = (
                g.add("Gather", g.constant(t.coarse[k].astype(np.int64), np.int64), bins[k])
                for k in features
            )
            wide = g.constant([table.shape[1]], np.int64)
            place = g.add("Add", g.add("Mul", i, wide), j)
        flat = g.constant(table.reshape(-1, t.n_outputs))
        total = g.add("Add", total, g.add("Gather", flat, place, axis=0))
    return total


def _bin(g: Graph, column: str, limits: Any) -> str:
    """The number of limits below each value, (n,); one more than the largest where missing."""
    wide = g.cast(column, np.float64)
    above = g.cast(g.add("Greater", wide, g.constant(limits[None, :], np.float64)), np.int64)
    flat = g.constant([1], np.int64)
    last = g.constant([len(limits) + 1], np.int64)
    found = g.add("ReduceSum", above, flat, keepdims=0)
    return g.add("Where", g.add("Squeeze", g.add("IsNaN", wide), flat), last, found)

"""Boosted weak learners and additive models in an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kitchen.export.graph import Graph
from kilogram.kitchen.export.trees import category_codes, node_arrays, tree_sums
from kilogram.models.boosting.additive_model import AdditiveBoosting
from kilogram.models.boosting.cascade import CascadeClassifier, CascadeStage
from kilogram.models.boosting.stumps import DecisionStump, ShallowTree
from kilogram.solvers.trees.nodes import Trees

TIE = 1e-12  # of the sum of all votes: scores that differ do so by far more


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
    threshold = np.where(column < 0, np.inf, [one.threshold for one in made])  # -1: all left
    return tree_sums(g, one_question(np.maximum(column, 0), threshold, value), x)


def one_question(column: np.ndarray, threshold: np.ndarray, value: np.ndarray) -> dict[str, Any]:
    """Trees with one split each; value (trees, 3, columns) of root, left and right."""
    t, roots = len(column), 3 * np.arange(len(column))
    threshold = np.minimum(threshold, np.finfo(np.float64).max)
    return {
        "feature": np.repeat(column, 3), "threshold": np.repeat(threshold, 3),
        "leaf": np.tile([False, True, True], t), "value": value.reshape(3 * t, -1),
        "left": np.repeat(roots + 1, 3), "right": np.repeat(roots + 2, 3),
        "missing_left": np.zeros(3 * t, bool), "roots": roots, "outputs": np.zeros(t, int),
        "columns": value.shape[2], "start": np.zeros(value.shape[2]), "factor": 1.0,
        "single": False,
    }  # fmt: skip


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
    t = model.terms_
    coded = category_codes(g, model, x)
    bins = [
        _code(g, g.take(coded, [k]), int(t.bins.counts[k]) - 1)
        if t.bins.categorical[k]
        else _bin(g, g.take(x, [k]), edges)
        for k, edges in enumerate(t.bins.limits)
    ]
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


def _code(g: Graph, column: str, missing: int) -> str:
    """The code of each category, (n,), and the last bin for missing ones."""
    gap = g.add("IsNaN", column)
    found = g.add("Where", gap, g.constant([float(missing)]), column)
    return g.add("Squeeze", g.cast(found, np.int64), g.constant([1], np.int64))


def cascade(g: Graph, model: CascadeClassifier, x: str) -> str:
    """Scores (n, 1) as those of `decision_function`: all stages, then the first that rejects."""
    stages = model.stages_
    total = np.array([stage.weights.sum() for stage in stages])
    limits = model.thresholds_ - TIE * total  # thresholds are scores of rows: sums may be rounded
    above = g.add("Sub", _stage_scores(g, stages, x), g.constant(limits[None, :], np.float64))
    zero, one = g.constant([0.0], np.float64), g.constant([1], np.int64)
    rejects = g.cast(g.add("Less", above, zero), np.float64)
    before = g.add("CumSum", rejects, g.constant(1, np.int64), exclusive=1)
    passes = g.cast(g.add("Equal", g.add("Add", before, rejects), zero), np.float64)
    passed = g.add("ReduceSum", passes, one, keepdims=1)
    last = g.add("Min", g.cast(passed, np.int64), g.constant([len(stages) - 1], np.int64))
    margin = g.add("Div", above, g.constant(2 * total[None, :], np.float64))
    margin = g.add("GatherElements", margin, last, axis=1)
    moved = g.add("Sub", passed, g.constant([len(stages) - 1.0], np.float64))
    return g.cast(g.add("Add", moved, margin))


def _stage_scores(g: Graph, stages: list[CascadeStage], x: str) -> str:
    """f of every stage, (n, stages), in double precision."""
    stumps = np.concatenate([stage.stumps for stage in stages])
    weights = np.concatenate([stage.weights for stage in stages])
    t = len(stumps)
    value = np.zeros((t, 3, 1))
    value[:, 1:, 0] = weights[:, None] * stumps[:, 2:]
    trees = one_question(stumps[:, 0].astype(int), stumps[:, 1], value)
    of = np.repeat(np.arange(len(stages)), [len(stage.stumps) for stage in stages])
    trees |= {"outputs": of, "columns": len(stages), "start": np.zeros(len(stages))}
    no_sets = np.zeros((3 * t, 1), bool)  # for the node whose sums are in double precision
    return tree_sums(g, trees, x, no_sets, dtype=np.float64)


def _bin(g: Graph, column: str, limits: Any) -> str:
    """The number of limits below each value, (n,); one more than the largest where missing."""
    wide = g.cast(column, np.float64)
    above = g.cast(g.add("Greater", wide, g.constant(limits[None, :], np.float64)), np.int64)
    flat = g.constant([1], np.int64)
    last = g.constant([len(limits) + 1], np.int64)
    found = g.add("ReduceSum", above, flat, keepdims=0)
    return g.add("Where", g.add("Squeeze", g.add("IsNaN", wide), flat), last, found)

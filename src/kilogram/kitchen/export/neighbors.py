"""Nearest-neighbour predictions in an ONNX graph.

Candidates are the k smallest distances by products, |x|^2 + |z|^2 - 2 <x, z>; those of the k found
are computed again from differences, so that votes by distance keep their digits.
"""

from __future__ import annotations

import numpy as np

from kilogram.kitchen.export.graph import Graph, no_graph
from kilogram.kitchen.export.kernels import squared_distances
from kilogram.models.neighbors.base import NeighborsBase
from kilogram.models.neighbors.classification import KNeighborsClassifier
from kilogram.models.neighbors.regression import KNeighborsRegressor

SHOWN = "only Euclidean and city-block distances of dense rows, with uniform or distance weights"


def class_fractions(g: Graph, model: KNeighborsClassifier, x: str) -> str:
    """Fractions of the votes for each class, (n, classes)."""
    if model.outputs_2d_:
        raise no_graph(model, "several outputs")
    places, votes = _neighbours(g, model, x)
    marks = np.eye(len(model.classes_))[model._codes[:, 0]]
    return _weighted_mean(g, g.add("Gather", g.constant(marks), places, axis=0), votes)


def neighbour_means(g: Graph, model: KNeighborsRegressor, x: str) -> tuple[str, int]:
    """Weighted means of the targets of the neighbours, (n, outputs)."""
    targets = np.asarray(model._y, dtype=float).reshape(model.n_samples_fit_, -1)
    places, votes = _neighbours(g, model, x)
    near = g.add("Gather", g.constant(targets), places, axis=0)
    return _weighted_mean(g, near, votes), targets.shape[1]


def _neighbours(g: Graph, model: NeighborsBase, x: str) -> tuple[str, str | None]:
    """Positions (n, k) of the neighbours, and their votes (n, k, 1) or None for equal ones."""
    power = {"euclidean": 2, "manhattan": 1, "l2": 2, "l1": 1, "cityblock": 1}.get(
        model.effective_metric_ if isinstance(model.effective_metric_, str) else ""
    )
    Z = model._fit_X
    given = model.effective_metric_params_
    if power is None or given or not isinstance(Z, np.ndarray) or callable(model.weights):
        raise no_graph(model, SHOWN)
    Z = np.asarray(Z, dtype=float)
    far = squared_distances(g, x, Z) if power == 2 else _city_block(g, x, Z)
    name = f"{far}_places"
    count = g.constant([int(model.n_neighbors)], np.int64)
    g.nodes.append(g.helper.make_node("TopK", [far, count], [f"{far}_least", name], largest=0))
    if model.weights != "distance":
        return name, None
    rows = g.add("Gather", g.constant(Z), name, axis=0)  # (n, k, d)
    away = g.add("Sub", rows, g.add("Unsqueeze", x, g.constant([1], np.int64)))
    size = g.add("Mul", away, away) if power == 2 else g.add("Abs", away)
    near = g.total(size, axis=2)
    if power == 2:
        near = g.add("Sqrt", near)
    zero = g.constant([0.0])
    equal = g.cast(g.add("Equal", near, zero))  # exact matches vote alone where there are any
    some = g.add("ReduceMax", equal, g.constant([1], np.int64), keepdims=1)
    others = g.add("Reciprocal", g.add("Add", near, equal))
    return name, g.add("Where", g.add("Greater", some, zero), equal, others)


def _city_block(g: Graph, x: str, Z: np.ndarray) -> str:
    """Sums of |x_j - z_j|, (n, m), column by column."""
    total = ""
    for j, column in enumerate(Z.T):
        part = g.add("Abs", g.add("Sub", g.take(x, [j]), g.constant(column[None, :])))
        total = g.add("Add", total, part) if total else part
    return total


def _weighted_mean(g: Graph, values: str, votes: str | None) -> str:
    """Means (n, t) over the neighbours of values (n, k, t)."""
    if votes is None:
        return g.add("ReduceMean", values, g.constant([1], np.int64), keepdims=0)
    axis = g.constant([1], np.int64)
    whole = g.add("ReduceSum", g.add("Mul", values, votes), axis, keepdims=0)
    return g.add("Div", whole, g.add("ReduceSum", votes, axis, keepdims=0))

"""Nearest-neighbour predictions in an ONNX graph.

Candidates are the k smallest distances by products, |x|^2 + |z|^2 - 2 <x, z>; those of the k found
are computed again from differences, so that votes by distance keep their digits. All distances are
computed from differences where a radius decides.
"""

from __future__ import annotations

import numpy as np

from kilogram.kitchen.export.graph import Graph, no_graph
from kilogram.kitchen.export.kernels import squared_distances
from kilogram.models.neighbors.base import NeighborsBase
from kilogram.models.neighbors.classification import (
    KNeighborsClassifier,
    NeighborsClassifier,
    RadiusNeighborsClassifier,
)
from kilogram.models.neighbors.outliers import (
    LEAST_REACH,
    KNeighborsOutlierDetector,
    LocalOutlierFactor,
    NeighborOutliers,
)
from kilogram.models.neighbors.regression import KNeighborsRegressor, NeighborsRegressor

EXPORTED = "only Euclidean and city-block distances of dense rows, with uniform or distance weights"
NO_ERRORS = "a graph has no error for rows without neighbours: give an outlier_label"


def class_fractions(g: Graph, model: NeighborsClassifier, x: str) -> str:
    """Fractions of the votes for each class, (n, classes)."""
    if model.outputs_2d_:
        raise no_graph(model, "several outputs")
    marks = np.eye(len(model.classes_))[model._codes[:, 0]]
    if isinstance(model, RadiusNeighborsClassifier):
        votes = _votes_within(g, model, x)
        alone = np.asarray(model.classes_) == (model.outlier_label_ or [None])[0]
        if not alone.any():
            raise no_graph(model, NO_ERRORS + " that is one of the classes")
        empty = g.cast(g.add("Equal", g.total(votes), g.constant([0.0])))
        sums = g.add("MatMul", votes, g.constant(marks))
        sums = g.add("Add", sums, g.add("Mul", empty, g.constant(alone[None, :].astype(float))))
        return g.add("Div", sums, g.total(sums))
    assert isinstance(model, KNeighborsClassifier)
    places, votes_k = _neighbours(g, model, x)
    return _weighted_mean(g, g.add("Gather", g.constant(marks), places, axis=0), votes_k)


def neighbour_means(g: Graph, model: NeighborsRegressor, x: str) -> tuple[str, int]:
    """Weighted means of the targets of the neighbours, (n, outputs); NaN without neighbours."""
    targets = np.asarray(model._y, dtype=float).reshape(model.n_samples_fit_, -1)
    if isinstance(model, KNeighborsRegressor):
        places, votes_k = _neighbours(g, model, x)
        near = g.add("Gather", g.constant(targets), places, axis=0)
        return _weighted_mean(g, near, votes_k), targets.shape[1]
    votes = _votes_within(g, model, x)
    sums = g.add("MatMul", votes, g.constant(targets))
    return g.add("Div", sums, g.total(votes)), targets.shape[1]


def outlier_scores(g: Graph, model: NeighborOutliers, x: str) -> str:
    """`decision_function` (n, 1), negative for outliers."""
    if not model.novelty:
        raise no_graph(model, "with novelty=False it judges the rows of its fit only")
    places, near = _nearest(g, model, x, model.n_neighbors_)
    if isinstance(model, LocalOutlierFactor):
        factor = _local_factor(g, model, places, near)
    else:
        assert isinstance(model, KNeighborsOutlierDetector)
        factor = _distance_score(g, model, near)
    return g.add("Sub", g.constant([-model.offset_]), factor)


def _local_factor(g: Graph, model: LocalOutlierFactor, places: str, near: str) -> str:
    """Mean density of the neighbours over that of the row, (n, 1)."""
    axis = g.constant([1], np.int64)
    reach = g.add("Gather", g.constant(model._reach_of_last), places, axis=0)  # (n, k)
    away = g.add("ReduceMean", g.add("Max", near, reach), axis, keepdims=1)
    inverse = g.add("Add", away, g.constant([LEAST_REACH]))
    density = g.add("Gather", g.constant(model._density), places, axis=0)
    return g.add("Mul", g.add("ReduceMean", density, axis, keepdims=1), inverse)


def _distance_score(g: Graph, model: KNeighborsOutlierDetector, near: str) -> str:
    """The score (n, 1) from the distances (n, k), which rounding may leave out of order."""
    axis = g.constant([1], np.int64)
    if model.method == "mean":
        return g.add("ReduceMean", near, axis, keepdims=1)
    if model.method == "largest":
        return g.add("ReduceMax", near, axis, keepdims=1)
    k, name = model.n_neighbors_, f"{near}_places"
    ordered = f"{near}_sorted"
    count = g.constant([k], np.int64)
    g.nodes.append(g.helper.make_node("TopK", [near, count], [ordered, name], largest=0))
    middle = g.take(ordered, [(k - 1) // 2, k // 2])
    return g.add("ReduceMean", middle, axis, keepdims=1)


def _power(model: NeighborsBase) -> int:
    """2 for Euclidean, 1 for city-block distances; others are refused."""
    power = {"euclidean": 2, "manhattan": 1, "l2": 2, "l1": 1, "cityblock": 1}.get(
        model.effective_metric_ if isinstance(model.effective_metric_, str) else ""
    )
    plain = isinstance(model._fit_X, np.ndarray) and not model.effective_metric_params_
    if power is None or not plain or callable(getattr(model, "weights", None)):
        raise no_graph(model, EXPORTED)
    return power


def _nearest(g: Graph, model: NeighborsBase, x: str, k: int) -> tuple[str, str]:
    """Positions (n, k) and distances (n, k) of the k nearest rows."""
    power, Z = _power(model), np.asarray(model._fit_X, dtype=float)
    far = squared_distances(g, x, Z) if power == 2 else _sums_of_powers(g, x, Z, 1)
    name = f"{far}_places"
    count = g.constant([int(k)], np.int64)
    g.nodes.append(g.helper.make_node("TopK", [far, count], [f"{far}_least", name], largest=0))
    rows = g.add("Gather", g.constant(Z), name, axis=0)  # (n, k, d)
    away = g.add("Sub", rows, g.add("Unsqueeze", x, g.constant([1], np.int64)))
    size = g.add("Mul", away, away) if power == 2 else g.add("Abs", away)
    near = g.add("ReduceSum", size, g.constant([2], np.int64), keepdims=0)
    return name, g.add("Sqrt", near) if power == 2 else near


def _neighbours(
    g: Graph, model: KNeighborsClassifier | KNeighborsRegressor, x: str
) -> tuple[str, str | None]:
    """Positions (n, k) of the neighbours, and their votes (n, k, 1) or None for equal ones."""
    places, near = _nearest(g, model, x, int(model.n_neighbors))
    if model.weights != "distance":
        return places, None
    return places, g.add("Unsqueeze", _by_distance(g, near), g.constant([2], np.int64))


def _by_distance(g: Graph, near: str) -> str:
    """1 / distance; exact matches vote alone where there are any."""
    zero = g.constant([0.0])
    equal = g.cast(g.add("Equal", near, zero))
    some = g.add("ReduceMax", equal, g.constant([1], np.int64), keepdims=1)
    others = g.add("Reciprocal", g.add("Add", near, equal))
    return g.add("Where", g.add("Greater", some, zero), equal, others)


def _votes_within(g: Graph, model: NeighborsBase, x: str) -> str:
    """Votes (n, m) of the training rows, 0 beyond the radius."""
    power, Z = _power(model), np.asarray(model._fit_X, dtype=float)
    far = _sums_of_powers(g, x, Z, power)
    far = g.add("Sqrt", far) if power == 2 else far
    inside = g.cast(g.add("LessOrEqual", far, g.constant([float(model.radius)])))
    if model.weights != "distance":
        return inside
    return g.add("Mul", _by_distance(g, far), inside)


def _sums_of_powers(g: Graph, x: str, Z: np.ndarray, power: int) -> str:
    """Sums of |x_j - z_j| or their squares, (n, m), column by column."""
    total = ""
    for j, column in enumerate(Z.T):
        part = g.add("Sub", g.take(x, [j]), g.constant(column[None, :]))
        part = g.add("Mul", part, part) if power == 2 else g.add("Abs", part)
        total = g.add("Add", total, part) if total else part
    return total


def _weighted_mean(g: Graph, values: str, votes: str | None) -> str:
    """Means (n, t) over the neighbours of values (n, k, t)."""
    if votes is None:
        return g.add("ReduceMean", values, g.constant([1], np.int64), keepdims=0)
    axis = g.constant([1], np.int64)
    whole = g.add("ReduceSum", g.add("Mul", values, votes), axis, keepdims=0)
    return g.add("Div", whole, g.add("ReduceSum", votes, axis, keepdims=0))

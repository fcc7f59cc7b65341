"""Classification by the nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial import QhullError, Voronoi

from kilogram.book.drawing import (
    data_grid,
    faint_curves,
    percent,
    plane,
    python_lines,
)
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    data_points,
    line,
    points,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, choice
from kilogram.models.neighbors.classification import KNeighborsClassifier


def _neighbours(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, data.labels
    n = len(X)
    ks = [k for k in (1, 3, 7, 15, 31, 61) if k < n] or [1]
    grid = data_grid(data, 40)
    order = np.argsort(
        ((X[:, None] - X[None]) ** 2).sum(axis=2) + np.diag(np.full(n, np.inf)), axis=1
    )
    classes = np.unique(y)
    frames, train, left = [], [], []
    fit = "model = kg.KNeighborsClassifier({}, weights={!r}).fit(X, y)"
    model = KNeighborsClassifier(n_neighbors=ks[0]).fit(X, y)
    for k in ks:
        model = KNeighborsClassifier(n_neighbors=k, weights=c["weights"]).fit(X, y)
        votes = np.array([[np.sum(y[row[:k]] == name) for name in classes] for row in order])
        train.append(float(np.mean(model.predict(X) != y)))
        left.append(float(np.mean(classes[votes.argmax(axis=1)] != y)))
        layers = [
            grid.regions(model.predict),
            *(_cells(data) if k == 1 else []),
            data_points(),
        ]
        xs = np.log2(ks[: len(train)])
        marks = [
            line(xs, train, color="c0"),
            line(xs, left, color="c1"),
            points(xs[-1:], train[-1:], color="c0", r=4.5),
            points(xs[-1:], left[-1:], color="c1", r=4.5),
        ]
        frames.append(Frame(f"k = {k}", {"data": layers, "errors": marks}, None,
                            [("k", k), ("training error", percent(train[-1])), ("leave-one-out error", percent(left[-1]))],
                            python_lines("classes", fit.format(k, c["weights"]))))  # fmt: skip
    top = max(*train, *left, 0.05) * 1.15
    panel = Panel("errors", "Error and k", (-0.2, float(np.log2(ks[-1])) + 0.2), (0, top), faint_curves(np.log2(ks), train, left), x_label="log2 k",
                  legend=(("c0", "training"), ("c1", "leave one out")), small=True)  # fmt: skip
    return Recording(
        [plane(data, "data", "Nearest neighbours", describe="the class of the neighbours at every place"), panel], frames,
        python=python_lines("classes", fit.format(ks[-1], c["weights"])),
        code="nearest_neighbours", fitted={"n_samples_fit_": n}, start=int(np.argmin(left)),
    )  # fmt: skip


def _cells(data: Points) -> list[dict[str, Any]]:
    """The borders of the Voronoi cells, where there are enough different points."""
    try:
        found = Voronoi(np.vstack([data.xy, [[-99, 0], [99, 0], [0, -99], [0, 99]]]))
    except QhullError:
        return []
    ends = np.array([found.vertices[pair] for pair in found.ridge_vertices if -1 not in pair])
    return (
        [
            segments(
                ends[:, 0, 0], ends[:, 0, 1], ends[:, 1, 0], ends[:, 1, 1], color="muted", width=0.7
            )
        ]
        if len(ends)
        else []
    )


SCENES = (
    Scene(
        "neighbors", "neighbors", "k nearest neighbours",
        "Every place gets the majority class of its k nearest points. With k = 1 the regions are Voronoi cells; play raises k.",
        _neighbours, data="classes", presets=("moons", "overlap", "three", "circles", "xor"), classes=3,
        controls=(choice("weights", "votes", (("uniform", "equal"), ("distance", "by closeness"))),),
        breaks=(Break("k too large: the majority wins everywhere", "circles"), Break("k = 1 on overlapping classes: training error 0", "overlap")),
        question="What is the training error for k = 1?",
        answer="Zero: every point is its own neighbour. The leave-one-out error shows what it is worth.",
        names=("KNeighborsClassifier",), min_points=3,
    ),
)  # fmt: skip

"""Sums of curves by boosting, and cascades that reject most places early."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_box,
    data_grid,
    fresh_points,
    percent,
    plane,
    probability_field,
    python_lines,
    short,
)
from kilogram.book.errors import BookError
from kilogram.book.recording import Frame, Panel, Recording, bars, data_points, line, points
from kilogram.book.scene import Break, Points, Scene, log_slider, slider, switch
from kilogram.book.scenes.two_classes import SIDES
from kilogram.models.boosting.additive_boosting import AdditiveBoostingClassifier
from kilogram.models.boosting.cascade import CascadeClassifier

COUNTS = (1, 3, 10, 30, 100)


def _additive(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, (data.labels > 0).astype(int)
    fresh, target = fresh_points(Points(X, y))
    grid = data_grid(data)
    settings = {
        "learning_rate": c["rate"], "interactions": int(c["pair"]), "n_bags": 1, "early_stopping": False,
        "random_state": 0,
    }  # fmt: skip
    models = [AdditiveBoostingClassifier(max_iter=count, **settings).fit(X, y) for count in COUNTS]
    train, test = (
        [float(np.mean(m.predict(Z) != t)) for m in models] for Z, t in ((X, y), (fresh, target))
    )
    shapes = [[_steps(data, model, j) for j in (0, 1)] for model in models]
    top = max(float(np.abs(s[1]).max()) for pair in shapes for s in pair) * 1.08 + 1e-6
    logs = np.log10(COUNTS)
    frames = []
    for i, model in enumerate(models):
        frames.append(Frame(
            f"{COUNTS[i]} round{'s' * (COUNTS[i] != 1)}",
            {"data": [probability_field(grid, model.predict_proba(grid.places)[:, 1], levels=(0.0,)), data_points()],
             **{f"f{j}": [line(*shapes[i][j], color="accent", width=2.4)] for j in (0, 1)},
             "errors": [line(logs[: i + 1], train[: i + 1], color="c0"), line(logs[: i + 1], test[: i + 1], color="c1"), points(logs[i : i + 1], test[i : i + 1], color="c1", r=5)]},
            None,
            [("training error", percent(train[i])), ("error on fresh points", percent(test[i])),
             *[(f"importance of {term}", short(float(v))) for term, v in zip(("x₁", "x₂", "the pair"), model.term_importances_, strict=False)]],
        ))  # fmt: skip
    (x0, x1), (y0, y1) = data_box(data)
    zero = {j: line([lo, hi], [0, 0], color="muted", dash=True, width=1) for j, (lo, hi) in enumerate(((x0, x1), (y0, y1)))}  # fmt: skip
    words = ", ".join(f"{k}={v!r}" for k, v in settings.items())
    title = "f₁(x₁) + f₂(x₂) + f₁₂(x₁, x₂)" if c["pair"] else "f₁(x₁) + f₂(x₂)"
    panels = [
        plane(data, "data", f"Probability from {title}", legend=SIDES, describe="probability of class 1"),
        Panel("f0", "Shape of x₁: log odds", (x0, x1), (-top, top), [zero[0]], x_label="x₁"),
        Panel("f1", "Shape of x₂: log odds", (y0, y1), (-top, top), [zero[1]], x_label="x₂"),
        Panel("errors", "Error by rounds", (-0.1, 2.1), (0, max(*train, *test, 0.05) * 1.1), x_label="log10 rounds", legend=(("c0", "training"), ("c1", "fresh points")), small=True),
    ]  # fmt: skip
    lines = [
        "y = (y > 0).astype(int)",
        f"model = kg.AdditiveBoostingClassifier(max_iter={COUNTS[-1]}, {words}).fit(X, y)",
    ]
    return Recording(
        panels, frames, python=python_lines("classes", *lines),
        fitted={"intercept_": models[-1].intercept_, "term_importances_": models[-1].term_importances_}, start=int(np.argmin(test)),
    )  # fmt: skip


def _steps(
    data: Points, model: AdditiveBoostingClassifier, feature: int
) -> tuple[np.ndarray, np.ndarray]:
    """The shape function of a feature as a staircase."""
    shape = model.shape_functions_[feature]
    lo, hi = data_box(data)[feature]
    edges = np.concatenate([[lo], shape.axes[0].edges[1:-1], [hi]])
    values = np.ravel(shape.values)[:-1]  # the last one is that of missing values
    return np.repeat(edges, 2)[1:-1], np.repeat(values, 2)


def _cascade(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, (data.labels > 0).astype(int)
    if min(np.sum(y == 0), np.sum(y == 1)) < 6:
        raise BookError("A cascade holds rows out: each class needs at least six points.")
    settings = {"min_tpr": c["tpr"], "max_fpr": c["fpr"], "max_stumps": 30, "random_state": 0}
    model = CascadeClassifier(**settings).fit(X, y)
    grid = data_grid(data)
    frames = []
    alive, cost = np.ones(len(X), bool), np.zeros(len(X))
    left: list[list[float]] = []
    stages = range(len(model.stages_) + 1)
    for s in stages:
        if s:
            stage = model.stages_[s - 1]
            cost += alive * len(stage.stumps)
            alive = _passes(model, s, X).astype(bool)
        left.append([float(np.mean(alive[y == k])) for k in (0, 1)])
        seen = np.arange(s + 1)
        rates = np.array(left)
        frames.append(Frame(
            "all points" if s == 0 else f"stage {s}: {_counted(model.stages_[s - 1].stumps)}",
            {"data": [grid.regions(partial(_passes, model, s)), data_points(ring=alive.astype(int))],
             "left": [line(seen, rates[:, k], color=f"c{k}", width=2.4) for k in (0, 1)] + [points([s], rates[-1:, k], color=f"c{k}", r=4.5) for k in (0, 1)],
             "cost": [bars(np.arange(len(X)), np.sort(cost)[::-1], 0.9)]},
            None,
            [("of class 1 left", percent(left[-1][1])), ("of class 0 left", percent(left[-1][0])), ("mean number of stumps", short(float(cost.mean())))],
        ))  # fmt: skip
    total = sum(len(stage.stumps) for stage in model.stages_)
    panels = [
        plane(data, "data", "What has passed so far", legend=SIDES, describe="the region that passes the stages so far; ringed points are still in"),
        Panel("left", "Fraction of each class that is left", (-0.1, len(stages) - 0.9), (0, 1.05), x_label="stage", legend=SIDES),
        Panel("cost", "Stumps evaluated for each point", (-1, len(X)), (0, total * 1.1 + 1), x_label="point, sorted", small=True),
    ]  # fmt: skip
    words = ", ".join(f"{k}={v!r}" for k, v in settings.items())
    lines = ["y = (y > 0).astype(int)", f"model = kg.CascadeClassifier({words}).fit(X, y)"]
    return Recording(
        panels, frames, [("stumps in all", total), ("training error", percent(float(np.mean(model.predict(X) != y))))],
        python=python_lines("classes", *lines), fitted={"thresholds_": model.thresholds_, "mean_cost_": model.mean_cost_},
    )  # fmt: skip


def _counted(stumps: np.ndarray) -> str:
    return f"{len(stumps)} stump{'s' * (len(stumps) != 1)}"


def _passes(model: CascadeClassifier, count: int, Z: np.ndarray) -> np.ndarray:
    """1 for the rows that pass the first `count` stages."""
    alive = np.ones(len(Z), dtype=bool)
    for stage in model.stages_[:count]:
        rows = np.flatnonzero(alive)
        alive[rows] = stage.scores(Z, rows) >= stage.threshold
    return alive.astype(int)


SCENES = (
    Scene(
        "additive", "boosting", "Additive boosting",
        "One curve for each column, built up from stumps in turn, and their sum: what the model does with a column can be read from its curve. A pair of columns can have a surface of its own.",
        _additive, data="classes", presets=("moons", "overlap", "two", "circles", "xor"),
        controls=(switch("pair", "a surface for the pair"), log_slider("rate", "learning rate", 0.3, 0.02, 1.0)),
        breaks=(Break("Exclusive or: two flat curves", "xor"), Break("The same with a surface for the pair", "xor", {"pair": True}), Break("Overlap: the curves follow the noise", "overlap", {"rate": 1.0})),
        question="Can a sum of one curve for each column part two rings?",
        answer="Yes: the inner ring is where both curves are low, as in x₁² + x₂². Exclusive or cannot be written so; it needs the pair.",
        names=("AdditiveBoostingClassifier", "AdditiveBoostingRegressor"), min_points=8,
    ),
    Scene(
        "cascade", "boosting", "Cascade",
        "Stage after stage, each a few stumps of AdaBoost that let nearly all of class 1 pass. Most of class 0 is rejected early, so a place costs a few stumps on average.",
        _cascade, data="classes", presets=("inside", "unequal_two", "circles", "moons", "overlap"),
        controls=(slider("tpr", "of class 1, a stage keeps", 0.9, 0.7, 1.0, 0.01, export=(0.8, 0.9)), slider("fpr", "of class 0, a stage passes at most", 0.8, 0.1, 0.9, 0.05, export=(0.5, 0.8))),
        breaks=(Break("Losses multiply: each stage drops some of class 1", "inside", {"tpr": 0.7}), Break("All of class 1 kept: little is rejected", "overlap", {"tpr": 1.0})),
        question="Five stages each keep 90 % of class 1. How much is left at the end?",
        answer="0.9 to the power of 5, 59 %, if the stages err independently. A stage’s target has to be far above that of the whole.",
        names=("CascadeClassifier",), min_points=12,
    ),
)  # fmt: skip

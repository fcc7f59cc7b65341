"""Logistic regression: probabilities on both sides of a border."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_grid,
    objective_panel,
    plane,
    probability_field,
    python_lines,
    short,
)
from kilogram.book.misprints import logistic_uphill, printed_steps
from kilogram.book.presets import TWO_CLASSES
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    data_points,
    limits,
    line,
    points,
)
from kilogram.book.scene import Break, Points, Scene, log_slider, switch
from kilogram.book.scenes.two_classes import SIDES, errors
from kilogram.book.textbook_steps import record
from kilogram.models.logistic.logistic_regression import LogisticRegression


def _logistic(data: Points, c: Mapping[str, Any]) -> Recording:
    X, lam = data.xy, 1 / c["C"]
    y = (data.labels > 0).astype(float)
    steps = (
        printed_steps(logistic_uphill(X, y, np.random.default_rng(0)))
        if c["printed"]
        else record("logistic_irls", X, y, lam, max_steps=20)
    )
    model = LogisticRegression(C=c["C"], tol=1e-8).fit(X, data.labels)
    grid = data_grid(data, 40)
    panel, mark = objective_panel([s.state.objective for s in steps], title="Loss")
    trail = np.array([s.state["w"] for s in steps])
    weights = Panel("weights", "Weights w₁, w₂", limits([0, *trail[:, 1]], 0.15), limits([0, *trail[:, 2]], 0.15),
                    [line(trail[:, 1], trail[:, 2], color="muted", width=1), points(trail[:, 1], trail[:, 2], color="muted", r=3)], x_label="w₁", y_label="w₂")  # fmt: skip
    ones = np.column_stack([np.ones(len(grid.places)), grid.places])
    frames = []
    for i, step in enumerate(steps):
        w = step.state["w"]
        p = 1 / (1 + np.exp(-np.clip(ones @ w, -50, 50)))
        sizes = (
            3 + 14 * np.asarray(step.state["weights"]) if "weights" in step.state.arrays else 4.5
        )
        frames.append(Frame(
            step.name, {"data": [probability_field(grid, p), data_points(r=sizes)],
                        "weights": [points([w[1]], [w[2]], color="accent", r=6)], "objective": mark(i)},
            step.line, [("largest weight", short(float(np.abs(w[1:]).max())))],
        ))  # fmt: skip
    main = plane(
        data,
        "data",
        "As printed: a step up the loss" if c["printed"] else "Probability of class 1",
        legend=SIDES,
        describe="probability of class 1 with its lines at 1/4, 1/2 and 3/4",
    )
    return Recording(
        [main, weights, panel], frames, errors(model, data),
        notes=["A point’s size is its weight p(1 − p) in the next least squares: points near the border count."],
        python=python_lines("classes", f"model = kg.LogisticRegression(C={c['C']}, tol=1e-8).fit(X, y)"),
        code="logistic_irls", fitted={"coef_": model.coef_},
    )  # fmt: skip


SCENES = (
    Scene(
        "logistic", "logistic", "Logistic regression",
        "A line, and a probability that changes smoothly across it. Newton’s method solves a weighted least squares problem in every step.",
        _logistic, data="classes", presets=TWO_CLASSES, controls=(log_slider("C", "C = 1 / penalty", 1.0, 0.001, 10000.0), switch("printed", "as printed: algorithm 18 with the sign of its step")),
        breaks=(Break("What the printed page gets wrong: the loss rises", "overlap", {"printed": True}), Break("Separable, no penalty: weights without end", "two", {"C": 10000.0}), Break("A ring has no straight border", "circles")),
        question="Two separable groups, C very large. Where do the weights stop?",
        answer="They do not: scaling w up always raises the likelihood. Only the penalty stops them.",
        names=("LogisticRegression",), min_points=3,
    ),
)  # fmt: skip

"""Support vector machines: the margin and its support vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_grid,
    objective_panel,
    plane,
    python_lines,
    score_field,
    short,
)
from kilogram.book.recording import (
    Frame,
    Recording,
    data_points,
)
from kilogram.book.scene import Break, Points, Scene, log_slider, switch
from kilogram.book.scenes.two_classes import errors, signs
from kilogram.book.textbook_steps import record, thinned
from kilogram.kernels import Gaussian
from kilogram.models.svm.svc import SVC


def _svm(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, signs(data)
    kernel = Gaussian(c["sigma"])
    K = np.asarray(kernel(X, X))
    steps = thinned(record("smo", K, y, c["C"], tol=1e-3, max_steps=600, most=601), 16)
    linear = SVC(C=c["C"], kernel="linear").fit(X, data.labels)
    model = SVC(C=c["C"], kernel=kernel).fit(X, data.labels)
    grid = data_grid(data, 48)
    places = np.asarray(kernel(grid.places, X))
    panel, mark = objective_panel([s.state.objective for s in steps], title="Dual objective")
    straight = np.zeros(len(X))
    straight[linear.support_] = 1
    frames = []
    for i, step in enumerate(steps):
        alpha = np.asarray(step.state["alpha"])
        if i == len(steps) - 1 and not c["printed"]:
            scores = model.decision_function(grid.places)
            support = np.isin(np.arange(len(X)), model.support_)
        else:
            support = alpha > 1e-8
            free = support if c["printed"] else support & (alpha < c["C"] * (1 - 1e-6))
            inner = K @ (alpha * y)
            b = float(np.mean((y - inner)[free])) if free.any() else 0.0
            scores = places @ (alpha * y) + b
        layers = [
            score_field(grid, np.clip(scores, -3, 3), levels=(-1.0, 0.0, 1.0)),
            data_points(ring=support.astype(int)),
        ]
        frames.append(
            Frame(
                step.name,
                {"kernel": layers, "objective": mark(i)},
                step.line,
                [("support vectors, kernel", int(support.sum()))],
            )
        )
    margin = 2 / float(np.linalg.norm(linear.coef_)) if np.any(linear.coef_) else 0.0
    left = plane(
        data, "data", "Linear machine",
        layers=[score_field(grid, np.clip(linear.decision_function(grid.places), -3, 3), levels=(-1.0, 0.0, 1.0)), data_points(ring=straight)],
        describe="the linear machine with its margin",
    )  # fmt: skip
    right = plane(
        data,
        "kernel",
        "As printed: b from every support vector"
        if c["printed"]
        else f"Gaussian kernel, σ = {c['sigma']:.2g}",
        describe="the kernel machine, step by step",
    )
    return Recording(
        [left, right, panel], frames,
        [("support vectors, linear", len(linear.support_)), ("margin, linear", short(margin)),
         *[(f"{name}, kernel", value) for name, value in errors(model, data)]],
        notes=["Ringed points are support vectors; the dashed lines are the margin."],
        python=python_lines("classes", f"model = kg.SVC(C={c['C']}, kernel=kg.Gaussian({c['sigma']})).fit(X, y)"),
        code="smo", fitted={"n_support_": model.n_support_, "intercept_": model.intercept_},
    )  # fmt: skip


SCENES = (
    Scene(
        "svm", "svm", "Support vector machine",
        "The widest margin between two classes. Only the ringed points, the support vectors, hold the border; C says how much a point inside the margin costs.",
        _svm, data="classes", presets=("moons", "overlap", "two", "circles", "xor", "outlier_class", "unequal_two"),
        controls=(log_slider("C", "C, penalty of slack", 1.0, 0.01, 1000.0), log_slider("sigma", "kernel width σ", 0.8, 0.1, 5.0), switch("printed", "as printed: b averaged over every support vector")),
        breaks=(Break("What the printed page gets wrong: slack in the offset", "unequal_two", {"printed": True, "C": 0.1, "sigma": 1.5}), Break("A narrow kernel learns the points by heart", "overlap", {"sigma": 0.12, "C": 100.0}), Break("No line parts these", "xor", {"sigma": 1.0}), Break("Large C: one far point moves the line", "outlier_class", {"C": 1000.0})),
        question="Delete a point without a ring, far from the border. Does the border move?",
        answer="No: its dual coefficient is 0, so the machine without it is the same.",
        names=("SVC", "LinearSVC"), min_points=2,
    ),
)  # fmt: skip

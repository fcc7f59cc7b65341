"""Robust regression: the influence of outliers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_box,
    objective_panel,
    plane,
    python_lines,
    short,
)
from kilogram.book.misprints import huber_by_loss, printed_steps
from kilogram.book.recording import (
    Frame,
    Recording,
    band,
    data_points,
    line,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, slider, switch
from kilogram.book.textbook_steps import record
from kilogram.models.least_squares.linear_regression import LinearRegression
from kilogram.models.robust.huber import HuberRegressor
from kilogram.models.robust.ransac import RANSACRegressor
from kilogram.models.robust.robust_regressor import RobustRegressor


def _robust(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.x[:, None], data.y
    X1 = np.column_stack([np.ones(len(y)), data.x])
    steps = record("huber_regression", X1, y, steps=12)
    if c["printed"]:
        steps = printed_steps(huber_by_loss(X1, y, float(steps[0].state["kappa"])))
    model = HuberRegressor(epsilon=c["epsilon"], alpha=0.0).fit(X, y)
    plain = LinearRegression().fit(X, y)
    ends = np.array(data_box(data)[0])
    ransac = RANSACRegressor(residual_threshold=c["reach"], random_state=0).fit(X, y)
    mm = RobustRegressor(n_starts=50, random_state=0).fit(X, y)
    panel, mark = objective_panel([s.state.objective for s in steps], title="Huber's loss")
    frames = []
    for i, step in enumerate(steps):
        beta, w = step.state["beta"], step.state["w"]
        layers = [
            line(ends, plain.predict(ends[:, None]), color="c1", dash=True),
            line(ends, beta[0] + beta[1] * ends, color="c0", width=2.6),
        ]
        marks = {}
        if i == len(steps) - 1:
            agreed = ransac.predict(ends[:, None])
            layers.insert(0, band(ends, agreed - c["reach"], agreed + c["reach"], color="c2"))
            layers.append(line(ends, agreed, color="c2", width=2))
            layers.append(line(ends, mm.predict(ends[:, None]), color="c3", width=2.2))
            marks = {"ring": (~ransac.inlier_mask_).astype(int)}
        residuals = segments(data.x, data.y, data.x, beta[0] + beta[1] * data.x, color="muted")
        layers = [residuals, *layers, data_points(r=2.5 + 4 * np.clip(w, 0, 1), **marks)]
        frames.append(
            Frame(
                step.name,
                {"data": layers, "objective": mark(i)},
                step.line,
                [("smallest weight", short(float(np.min(w))))],
            )
        )
    main = plane(data, "data", "Robust regression", equal=False, describe="points by weight and three lines",
                 legend=(("c1", "least squares"), ("c0", "Huber, step by step"), ("c2", "RANSAC"), ("c3", "MM")))  # fmt: skip
    return Recording(
        [main, panel], frames,
        [("slope, least squares", short(float(plain.coef_[0]))), ("slope, HuberRegressor", short(float(model.coef_[0]))), ("slope, RANSACRegressor", short(float(ransac.estimator_.coef_[0]))), ("slope, RobustRegressor (MM)", short(float(mm.coef_[0]))), ("inliers of RANSAC", f"{int(ransac.inlier_mask_.sum())} of {len(y)}"), ("outliers of MM", f"{int(mm.outliers_.sum())} of {len(y)}")],
        notes=["A point’s size is its weight in the last weighted least squares; at the end, rings mark the points beyond RANSAC’s distance, which its line leaves out."],
        python=python_lines("curve", f"model = kg.HuberRegressor(epsilon={c['epsilon']}, alpha=0.0).fit(X, y)", f"ransac = kg.RANSACRegressor(residual_threshold={c['reach']}, random_state=0).fit(X, y)", "mm = kg.RobustRegressor(n_starts=50, random_state=0).fit(X, y)"),
        code="huber_regression", fitted={"coef_": model.coef_},
    )  # fmt: skip


SCENES = (
    Scene(
        "robust", "robust", "Outliers",
        "Least squares follows the outliers. Huber’s loss weighs far points less in each round; RANSAC looks for the line most points agree on; MM gives gross outliers no weight at all.",
        _robust, data="curve", presets=("outliers", "line", "sine"),
        controls=(slider("epsilon", "Huber ε", 1.35, 1.0, 3.0, 0.05, export=(1.0, 1.35, 3.0)), slider("reach", "RANSAC distance", 0.4, 0.05, 1.5, 0.05, export=(0.1, 0.4, 1.0)), switch("printed", "as printed: the weights of Huber are ρ/r²")),
        breaks=(Break("Outliers at the end of the line: leverage", "outliers", {"epsilon": 3.0}), Break("What the printed page gets wrong: outliers weigh twice as much", "outliers", {"printed": True}), Break("Not a line at all", "sine")),
        question="Drag one point straight up. Which line moves?",
        answer="Least squares, without limit. Huber’s pull stays constant once the residual exceeds the bend; RANSAC drops the point.",
        names=("HuberRegressor", "RANSACRegressor", "RobustRegressor", "LinearRegression"), min_points=4,
    ),
)  # fmt: skip

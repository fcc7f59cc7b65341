"""Non-linear regression: a curve whose parameters stand inside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import curve_places, objective_panel, plane, python_lines, short
from kilogram.book.errors import BookError
from kilogram.book.recording import (
    Frame,
    Grid,
    Panel,
    Recording,
    band,
    data_points,
    line,
    points,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, choice, slider
from kilogram.book.textbook_steps import record, thinned
from kilogram.models.nonlinear.regression import NonlinearRegression

Curve = Callable[..., np.ndarray]


def wave(x: np.ndarray, size: float, rate: float) -> np.ndarray:
    """A sine of unknown size and rate."""
    return size * np.sin(rate * x)


def growth(x: np.ndarray, size: float, rate: float) -> np.ndarray:
    """A logistic curve from -size to size."""
    return size * np.tanh(rate * x)


def bump(x: np.ndarray, size: float, rate: float) -> np.ndarray:
    """A bump whose width is one over its rate."""
    return size * np.exp(-((rate * x) ** 2))


_CURVES: dict[str, tuple[Curve, Curve, str, tuple[float, float]]] = {
    "wave": (wave, lambda x, a, r: np.stack([np.sin(r * x), a * x * np.cos(r * x)], axis=1), "size * np.sin(rate * x)", (0.0, 4.0)),
    "growth": (growth, lambda x, a, r: np.stack([np.tanh(r * x), a * x / np.cosh(r * x) ** 2], axis=1), "size * np.tanh(rate * x)", (0.0, 4.0)),
    "bump": (bump, lambda x, a, r: np.stack([np.exp(-((r * x) ** 2)), -2 * a * r * x**2 * np.exp(-((r * x) ** 2))], axis=1), "size * np.exp(-((rate * x) ** 2))", (0.0, 4.0)),
}  # fmt: skip
_SIZE = (-3.0, 3.0)


def _nonlinear(data: Points, c: Mapping[str, Any]) -> Recording:
    x, y = data.x, data.y
    f, slope, formula, rates = _CURVES[c["curve"]]
    start = np.array([c["size"], c["rate"]])

    def model_at(beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        beta = np.clip(beta, -50, 50)  # a step of Gauss-Newton may leave every scale
        return f(x, *beta), slope(x, *beta)

    key = {"lm": "levenberg_marquardt", "gn": "gauss_newton"}[c["method"]]
    settings = {"steps": 60} if c["method"] == "lm" else {"steps": 25}
    try:
        steps = thinned(record(key, model_at, y, start, **settings), 30)
        model = NonlinearRegression(f, start).fit(x[:, None], y)
    except np.linalg.LinAlgError as error:
        raise BookError(
            "At this start the curve does not depend on one of the parameters: choose another one."
        ) from error
    places = curve_places(data, 160).ravel()
    spread = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", J := slope(places, *model.params_), model.covariance_, J), 0))  # fmt: skip
    best = f(places, *model.params_)
    grid = Grid(*_SIZE, *rates, 60, 60)
    losses = np.array([np.sum((y - f(x, a, r)) ** 2) for a, r in grid.places])
    log_loss = np.log(losses + 1e-9)
    levels = np.quantile(log_loss, [0.02, 0.1, 0.25, 0.5, 0.75])
    trail = np.array([s.state["beta"] for s in steps])
    panel, mark = objective_panel([s.state.objective for s in steps], title="Sum of squares")
    frames = []
    for i, step in enumerate(steps):
        now = f(places, *trail[i])
        miss = f(x, *trail[i])
        shown = [segments(x, y, x, miss, color="muted"), line(places, np.clip(now, -99, 99), color="accent", width=2.6), data_points()]  # fmt: skip
        if i == len(steps) - 1 and np.isfinite(spread).all():
            shown.insert(0, band(places, best - 1.96 * spread, best + 1.96 * spread))
        way = [line(trail[: i + 1, 0], trail[: i + 1, 1], color="ink", width=1.6), points(trail[: i + 1, 0], trail[: i + 1, 1], color="ink", r=2.5),
               points(trail[i : i + 1, 0], trail[i : i + 1, 1], color="c1", r=6)]  # fmt: skip
        damping = [("damping τ", short(float(step.state["tau"])))] if c["method"] == "lm" else []
        frames.append(Frame(
            step.name, {"data": shown, "parameters": way, "objective": mark(i)}, step.line,
            [("size", short(float(trail[i, 0]))), ("rate", short(float(trail[i, 1]))), *damping],
        ))  # fmt: skip
    surface = Panel(
        "parameters", "Sum of squares by parameters (log)", _SIZE, rates,
        [grid.values(-log_loss, levels=-levels[::-1])], x_label="size", y_label="rate",
        describe="the sum of squares over both parameters, dark where it is small, and the steps",
    )  # fmt: skip
    lines = [
        f"def curve(x, size, rate): return {formula}",
        f"model = kg.NonlinearRegression(curve, {start.tolist()}).fit(X, y); print(model.summary())",
    ]
    sd = np.sqrt(np.diag(model.covariance_))
    return Recording(
        [plane(data, "data", "Curve, step by step", equal=False, describe="points, residuals and the curve"), surface, panel], frames,
        [*[(f"{name} of the library’s fit", f"{value:.4g} ± {error:.2g}") for name, value, error in zip(("size", "rate"), model.params_, sd, strict=True)],
         ("its sum of squares", short(float(model.objective_)))],
        notes=["Dark is a small sum of squares; the dots are the steps. The band at the end is the 95 % confidence band of the curve that the library finds."],
        python=python_lines("curve", *lines), code=key, fitted={"params_": model.params_},
    )  # fmt: skip


SCENES = (
    Scene(
        "nonlinear", "nonlinear", "A curve step by step",
        "The curve is not linear in its parameters, so there is no formula for the best ones: each step solves least squares on the tangent. The surface has several valleys, and the start decides in which one it ends.",
        _nonlinear, data="curve", presets=("sine", "few", "steps", "line", "outliers"),
        controls=(choice("curve", "curve", (("wave", "a sine: size, rate"), ("growth", "an S: size, rate"), ("bump", "a bump: size, rate"))),
                  choice("method", "method", (("lm", "Levenberg-Marquardt"), ("gn", "Gauss-Newton"))),
                  slider("size", "start: size", 0.5, -3.0, 3.0, 0.1, export=(0.5, 2.5)), slider("rate", "start: rate", 1.2, 0.1, 4.0, 0.1, export=(0.5, 1.2, 3.2))),
        breaks=(Break("A start in the wrong valley", "sine", {"rate": 3.2}), Break("Gauss-Newton without damping: it jumps", "sine", {"rate": 0.5, "size": 0.1, "method": "gn"}), Break("Not a sine at all", "steps")),
        question="Two starts end at different curves. Which one has the smaller sum of squares, and how could one know without trying?",
        answer="One cannot in general: each step sees its own valley only. Try several starts, or choose one from the data, as the period of the sine by eye.",
        names=("NonlinearRegression",), min_points=3,
    ),
)  # fmt: skip

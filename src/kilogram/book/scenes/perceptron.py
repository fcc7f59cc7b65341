"""The perceptron: one update for every misclassified point."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_grid,
    objective_panel,
    percent,
    plane,
    python_lines,
)
from kilogram.book.recording import (
    Frame,
    Layer,
    Recording,
    data_points,
    line,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, log_slider, slider, switch
from kilogram.book.scenes.two_classes import SIDES, signs
from kilogram.book.textbook_steps import Step, record, thinned
from kilogram.models.online.perceptron import Perceptron
from kilogram.textbook import begin


def _perceptron(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, signs(data)
    every = (
        _through_the_origin(X, y, c["eta"], c["seed"])
        if c["printed"]
        else record("perceptron_mistakes", X, y, np.random.default_rng(c["seed"]), eta=c["eta"], max_steps=300, most=302)
    )  # fmt: skip
    steps = thinned(every, 60)
    model = Perceptron(max_iter=200, random_state=0, tol=None).fit(X, data.labels)
    grid = data_grid(data, 24)
    panel, mark = objective_panel(
        [float(np.sum(s.state["wrong"])) for s in steps], title="Misclassified points"
    )
    frames = []
    for i, step in enumerate(steps):
        w, wrong = step.state["w"], step.state["wrong"]
        layers = [grid.regions(partial(_side, w)), *_line_of(w), data_points(ring=np.asarray(wrong, int))]  # fmt: skip
        layers.append(
            segments(
                [0],
                [0],
                [w[1] / (np.linalg.norm(w[1:]) or 1)],
                [w[2] / (np.linalg.norm(w[1:]) or 1)],
                color="ink",
                width=2.5,
            )
        )
        frames.append(
            Frame(
                step.name,
                {"data": layers, "objective": mark(i)},
                step.line,
                [("wrong now", int(np.sum(wrong)))],
            )
        )
    done = not np.any(every[-1].state["wrong"])
    notes = (
        []
        if done
        else [
            "After 300 mistakes points are still wrong: no line parts these classes, and the perceptron never stops."
        ]
    )
    return Recording(
        [plane(data, "data", "Perceptron", legend=SIDES, describe="the two sides of the line; ringed points are wrong"), panel],
        frames, [("mistakes made", len(every) - 1), ("kg.Perceptron, training error", percent(float(np.mean(model.predict(X) != data.labels))))],
        notes=[*notes, "Ringed points are wrong; the segment from the origin is the direction of w."],
        python=python_lines("classes", "model = kg.Perceptron(max_iter=200, random_state=0, tol=None).fit(X, y)"),
        code="perceptron_mistakes", fitted={"coef_": model.coef_},
    )  # fmt: skip


def _through_the_origin(X: np.ndarray, y: np.ndarray, eta: float, seed: int) -> list[Step]:
    """Algorithm 1 as the slides print it: without an offset, so the line passes the origin."""
    rng, w = np.random.default_rng(seed), np.array([0.0, 0.5, 0.5])
    steps: list[Step] = []
    for step in range(301):
        wrong = y * (X @ w[1:]) <= 0
        state = begin("start" if step == 0 else f"step {step}", w=w, wrong=wrong)
        steps.append(Step(state, 6 if step == 0 else 13))  # lines of `perceptron_mistakes`
        if not wrong.any():
            break
        m = rng.choice(np.flatnonzero(wrong))
        w = w + eta * y[m] * np.append(0.0, X[m])
    return steps


def _side(w: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.asarray(w[0] + Z @ w[1:] > 0)


def _line_of(w: np.ndarray) -> list[Layer]:
    """The line w_0 + w_1 x + w_2 y = 0."""
    size = float(w[1:] @ w[1:])
    if size == 0:
        return []
    foot, along = -w[0] * w[1:] / size, 99 * np.array([-w[2], w[1]]) / np.sqrt(size)
    return [line(*np.stack([foot - along, foot + along], axis=1), color="ink", width=2.2)]


SCENES = (
    Scene(
        "perceptron", "online", "Perceptron",
        "Take a point on the wrong side, add it to the weights (with the sign of its class), repeat. If some line separates the classes, this ends.",
        _perceptron, data="classes", presets=("two", "overlap", "outlier_class", "aside", "xor"),
        controls=(slider("seed", "random order of the points", 0, 0, 20, export=(0, 1, 2)), log_slider("eta", "step size η", 1.0, 0.01, 10.0), switch("printed", "as printed: without an offset")),
        breaks=(Break("What the printed page gets wrong: no offset", "aside", {"printed": True}), Break("Overlapping classes: it never ends", "overlap"), Break("Exclusive or", "xor")),
        question="Does a smaller step size end with fewer mistakes?",
        answer="Hardly: only the ratio of the step to the first weights matters. From w = 0 the number of mistakes does not depend on it at all.",
        names=("Perceptron", "Adaline"), min_points=2,
    ),
)  # fmt: skip

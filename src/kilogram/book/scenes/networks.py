"""A small neural network, epoch by epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_grid,
    fresh_points,
    objective_panel,
    plane,
    probability_field,
    python_lines,
    short,
)
from kilogram.book.recording import Frame, Panel, Recording, data_points, line, points
from kilogram.book.scene import Break, Points, Scene, choice, log_slider, slider, switch
from kilogram.book.scenes.two_classes import errors
from kilogram.models.neural.classifier import MLPClassifier

ROUNDS = (0, 2, 5, 10, 20, 35, 60, 100)


def _summed(n: int) -> dict[str, Any]:
    """Summary, section 5: gradient descent on the sum of all rows with a step of 0.1."""
    return {"solver": "sgd", "momentum": 0.0, "learning_rate_init": 0.1 * n}


def _network(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, (data.labels > 0).astype(int)
    settings = _summed(len(X)) if c["printed"] else {"learning_rate_init": c["rate"]}
    model = MLPClassifier(
        (c["units"],), activation=c["activation"], alpha=1e-3, batch_size=len(X), random_state=c["seed"],
        **settings,
    )  # fmt: skip
    grid = data_grid(data, 40)
    frames, losses, wrong, done = [], [], [], 0
    sets = (X, y), fresh_points(Points(X, y))
    for rounds in ROUNDS:
        for _ in range(max(rounds - done, 1 if rounds == 0 else 0)):
            model.partial_fit(X, y, classes=[0, 1])
        done = max(rounds, 1)
        losses.append(float(model.loss_ or 0.0))
        wrong.append([float(np.mean(model.predict(Z) != t)) for Z, t in sets])
        W, b = np.asarray(model.coefs_[0]), np.asarray(model.intercepts_[0])
        layers = [
            probability_field(grid, model.predict_proba(grid.places)[:, 1], levels=(0.0,)),
            *_borders(W, b),
            data_points(),
        ]
        frames.append(
            Frame(
                f"after {done} epoch{'s' * (done != 1)}",
                {"data": layers},
                None,
                [("loss", short(losses[-1]))],
            )
        )
    panel, mark = objective_panel(losses, title="Training loss", x_label="picture")
    rates = np.array(wrong)
    error = Panel(
        "error", "Error", (-0.3, len(ROUNDS) - 0.7), (0, max(float(rates.max()) * 1.1, 0.05)),
        x_label="picture", whole=True, legend=(("c0", "training"), ("c1", "fresh points")), small=True,
    )  # fmt: skip
    for i, frame in enumerate(frames):
        seen = np.arange(i + 1)
        curves = [line(seen, rates[: i + 1, j], color=f"c{j}") for j in (0, 1)]
        marks = [points([i], rates[i, [j]], color=f"c{j}", r=4.5) for j in (0, 1)]
        frame.layers = {**frame.layers, "objective": mark(i), "error": [*curves, *marks]}
    words = "".join(f", {k}={v!r}" for k, v in settings.items())
    fit = (
        f"model = kg.MLPClassifier(({c['units']},), activation={c['activation']!r}, alpha=1e-3, "
        f"batch_size=len(X), random_state={c['seed']}{words})"
    )
    return Recording(
        [plane(data, "data", f"One hidden layer of {c['units']}", legend=(("c0", "class 0"), ("c1", "class 1")), describe="probability of class 1 and the borders of the hidden units"), panel, error],
        frames, errors(model, Points(X, y)), notes=["Dashed lines: where each hidden unit changes sign."],
        python=python_lines("classes", fit, "for _ in range(100): model.partial_fit(X, y, classes=[0, 1])"),
        code="backpropagation", fitted={"loss_": model.loss_},
    )  # fmt: skip


def _borders(W: np.ndarray, b: np.ndarray) -> list[dict[str, Any]]:
    """The line w'x + b = 0 of every hidden unit."""
    found = []
    for w, offset in zip(W.T, b, strict=True):
        size = float(w @ w)
        if size > 1e-6:
            foot, along = -offset * w / size, np.array([-w[1], w[0]]) / np.sqrt(size)
            ends = np.array([foot - 9 * along, foot + 9 * along])
            found.append(line(ends[:, 0], ends[:, 1], color="contour", width=1, dash=True))
    return found


SCENES = (
    Scene(
        "neural_network", "neural", "Neural network",
        "Each hidden unit draws a line, the output combines them, and gradient descent moves all lines at once, a little in every epoch.",
        _network, data="classes", presets=("xor", "moons", "circles", "two", "overlap"),
        controls=(slider("units", "hidden units", 8, 1, 24, export=(1, 2, 8, 16)), choice("activation", "activation", (("tanh", "tanh"), ("relu", "ReLU"), ("logistic", "logistic"))),
                  log_slider("rate", "learning rate", 0.1, 0.001, 1.0), slider("seed", "random first weights", 1, 0, 20, export=(1, 2)), switch("printed", "as printed: gradients added up, steps of 0.1")),
        breaks=(Break("What the printed page gets wrong: steps that grow with the number of points", "moons", {"printed": True}), Break("One unit: one line", "xor", {"units": 1}), Break("Steps too large", "moons", {"rate": 1.0}), Break("Steps too small: hardly a change", "moons", {"rate": 0.001})),
        question="How many hidden units does exclusive or need?",
        answer="Two: one line is not enough, two lines cut out the diagonal band. More make the descent easier.",
        names=("MLPClassifier",), min_points=4,
    ),
)  # fmt: skip

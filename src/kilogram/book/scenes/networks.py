"""A small neural network and gradient boosting on the same points."""

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
from kilogram.book.recording import Frame, Panel, Recording, data_points, line, points
from kilogram.book.scene import Break, Points, Scene, choice, log_slider, slider
from kilogram.book.scenes.classification import errors
from kilogram.models.boosting.hist_gradient_boosting import HistGradientBoostingClassifier
from kilogram.models.neural.classifier import MLPClassifier

ROUNDS = (0, 1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 100)


def _network(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, (data.labels > 0).astype(int)
    model = MLPClassifier(
        (c["units"],), activation=c["activation"], solver="adam", learning_rate_init=c["rate"], alpha=1e-3,
        batch_size=len(X), random_state=c["seed"],
    )  # fmt: skip
    grid = data_grid(data, 40)
    frames, losses, done = [], [], 0
    for rounds in ROUNDS:
        for _ in range(max(rounds - done, 1 if rounds == 0 else 0)):
            model.partial_fit(X, y, classes=[0, 1])
        done = max(rounds, 1)
        losses.append(float(model.loss_ or 0.0))
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
    panel, mark = objective_panel(losses, title="Training loss")
    for i, frame in enumerate(frames):
        frame.layers = {**frame.layers, "objective": mark(i)}
    fit = (
        f"model = kg.MLPClassifier(({c['units']},), activation={c['activation']!r}, learning_rate_init={c['rate']}, alpha=1e-3, "
        f"batch_size=len(X), random_state={c['seed']})"
    )
    return Recording(
        [plane(data, "data", f"One hidden layer of {c['units']}", legend=(("c0", "class 0"), ("c1", "class 1")), describe="probability of class 1 and the borders of the hidden units"), panel],
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


def _boosting(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, data.labels
    grid = data_grid(data, 56)
    counts = (1, 2, 3, 5, 8, 12, 20, 35, 60, 100)
    frames, train = [], []
    settings: dict[str, Any] = {
        "learning_rate": c["rate"],
        "max_depth": c["depth"],
        "min_samples_leaf": 3,
        "early_stopping": False,
        "random_state": 0,
    }
    model = HistGradientBoostingClassifier(max_iter=counts[-1], **settings).fit(X, y)
    stages = list(model.staged_predict_proba(grid.places))
    own = list(model.staged_predict_proba(X))
    classes = np.asarray(model.classes_)
    for i, count in enumerate(counts):
        p, q = np.asarray(stages[count - 1]), np.asarray(own[count - 1])
        train.append(float(np.mean(classes[q.argmax(axis=1)] != y)))
        field = (
            probability_field(grid, p[:, 1], levels=(0.0,))
            if len(classes) == 2 and tuple(classes) == (0, 1)
            else grid.classes(classes[p.argmax(axis=1)])
        )
        curve = [
            line(np.log2(counts[: i + 1]), train, color="accent"),
            points([np.log2(count)], train[-1:], color="accent", r=5),
        ]
        frames.append(
            Frame(
                f"{count} tree{'s' * (count != 1)}",
                {"data": [field, data_points()], "error": curve},
                None,
                [("training error", short(train[-1]))],
            )
        )
    panel = Panel(
        "error",
        "Training error",
        (-0.2, float(np.log2(counts[-1])) + 0.2),
        (0, max(*train, 0.05) * 1.1),
        x_label="log2 trees",
        small=True,
    )
    words = ", ".join(f"{k}={v!r}" for k, v in settings.items())
    return Recording(
        [plane(data, "data", "Trees added one by one", describe="probability of class 1 after some trees"), panel], frames, errors(model, data),
        python=python_lines("classes", f"model = kg.HistGradientBoostingClassifier(max_iter=100, {words}).fit(X, y)"),
        fitted={"n_iter_": model.n_iter_},
    )  # fmt: skip


SCENES = (
    Scene(
        "neural_network", "neural", "Neural network",
        "Each hidden unit draws a line; the output combines them. Gradient descent moves all lines at once.",
        _network, data="classes", presets=("xor", "moons", "circles", "two", "overlap"),
        controls=(slider("units", "hidden units", 8, 1, 24, export=(1, 2, 8, 16)), choice("activation", "activation", (("tanh", "tanh"), ("relu", "ReLU"), ("logistic", "logistic"))),
                  log_slider("rate", "learning rate", 0.1, 0.001, 1.0), slider("seed", "first weights", 1, 0, 20, export=(1, 2))),
        breaks=(Break("One unit: one line", "xor", {"units": 1}), Break("Steps too large", "moons", {"rate": 1.0}), Break("Steps too small: hardly a change", "moons", {"rate": 0.001})),
        question="How many hidden units does exclusive or need?",
        answer="Two: one line is not enough, two lines cut out the diagonal band. More make the descent easier.",
        names=("MLPClassifier",), min_points=4,
    ),
    Scene(
        "boosting", "boosting", "Gradient boosting",
        "Small trees, each fitted to what the ones before it miss. Play adds trees.",
        _boosting, data="classes", presets=("moons", "overlap", "xor", "circles", "three"), classes=3,
        controls=(log_slider("rate", "learning rate", 0.3, 0.01, 1.0), slider("depth", "depth of each tree", 2, 1, 6, export=(1, 2, 4))),
        breaks=(Break("Overlap: more trees learn the noise", "overlap", {"rate": 1.0, "depth": 4}), Break("Stumps cannot see exclusive or", "xor", {"depth": 1})),
        question="Depth 1 on exclusive or: do more trees help?",
        answer="No: a sum of functions of one column each cannot express it.",
        names=("HistGradientBoostingClassifier",), min_points=8,
    ),
)  # fmt: skip

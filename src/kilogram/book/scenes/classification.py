"""Borders between classes: support vectors, logistic regression, the perceptron, neighbours, Gaussians, thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial import QhullError, Voronoi
from sklearn.base import BaseEstimator

from kilogram.book.drawing import (
    data_grid,
    faint_curves,
    fresh_points,
    objective_panel,
    percent,
    plane,
    probability_field,
    python_lines,
    score_field,
    short,
)
from kilogram.book.misprints import logistic_uphill, printed_steps
from kilogram.book.recording import (
    Frame,
    Layer,
    Panel,
    Recording,
    data_points,
    limits,
    line,
    points,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, choice, log_slider, slider, switch
from kilogram.book.textbook_steps import Step, record, thinned
from kilogram.kernels import Gaussian
from kilogram.models.logistic.logistic_regression import LogisticRegression
from kilogram.models.neighbors.classification import KNeighborsClassifier
from kilogram.models.online.perceptron import Perceptron
from kilogram.models.svm.svc import SVC
from kilogram.textbook import begin

_TWO = ("overlap", "two", "moons", "circles", "xor", "outlier_class")
SIDES = (("c0", "class 0"), ("c1", "class 1"))


def _signs(data: Points) -> np.ndarray:
    return np.where(data.labels > 0, 1.0, -1.0)


def errors(model: BaseEstimator, data: Points) -> list[tuple[str, Any]]:
    """Training error, and the error on fresh points around the reader's."""
    X, y = fresh_points(data)
    return [
        ("training error", percent(float(np.mean(model.predict(data.xy) != data.labels)))),
        ("error on fresh points", percent(float(np.mean(model.predict(X) != y)))),
    ]


def _svm(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, _signs(data)
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


def _perceptron(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, _signs(data)
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
        "svm", "svm", "Support vector machine",
        "The widest margin between two classes. Only the ringed points, the support vectors, hold the border; C says how much a point inside the margin costs.",
        _svm, data="classes", presets=("moons", "overlap", "two", "circles", "xor", "outlier_class", "unequal_two"),
        controls=(log_slider("C", "C, penalty of slack", 1.0, 0.01, 1000.0), log_slider("sigma", "kernel width σ", 0.8, 0.1, 5.0), switch("printed", "as printed: b averaged over every support vector")),
        breaks=(Break("What the printed page gets wrong: slack in the offset", "unequal_two", {"printed": True, "C": 0.1, "sigma": 1.5}), Break("A narrow kernel learns the points by heart", "overlap", {"sigma": 0.12, "C": 100.0}), Break("No line parts these", "xor", {"sigma": 1.0}), Break("Large C: one far point moves the line", "outlier_class", {"C": 1000.0})),
        question="Delete a point without a ring, far from the border. Does the border move?",
        answer="No: its dual coefficient is 0, so the machine without it is the same.",
        names=("SVC", "LinearSVC"), min_points=2,
    ),
    Scene(
        "logistic", "logistic", "Logistic regression",
        "A line, and a probability that changes smoothly across it. Newton’s method solves a weighted least squares problem in every step.",
        _logistic, data="classes", presets=_TWO, controls=(log_slider("C", "C = 1 / penalty", 1.0, 0.001, 10000.0), switch("printed", "as printed: algorithm 18 with the sign of its step")),
        breaks=(Break("What the printed page gets wrong: the loss rises", "overlap", {"printed": True}), Break("Separable, no penalty: weights without end", "two", {"C": 10000.0}), Break("A ring has no straight border", "circles")),
        question="Two separable groups, C very large. Where do the weights stop?",
        answer="They do not: scaling w up always raises the likelihood. Only the penalty stops them.",
        names=("LogisticRegression",), min_points=3,
    ),
    Scene(
        "perceptron", "online", "Perceptron",
        "Take a misclassified point, add it to the weights (with its sign), repeat. If a line parts the classes, this ends.",
        _perceptron, data="classes", presets=("two", "overlap", "outlier_class", "aside", "xor"),
        controls=(slider("seed", "order of the draws", 0, 0, 20, export=(0, 1, 2)), log_slider("eta", "step size η", 1.0, 0.01, 10.0), switch("printed", "as printed: without an offset")),
        breaks=(Break("What the printed page gets wrong: no offset", "aside", {"printed": True}), Break("Overlapping classes: it never ends", "overlap"), Break("Exclusive or", "xor")),
        question="Does a smaller step size end with fewer mistakes?",
        answer="Hardly: only the ratio of the step to the first weights matters. From w = 0 the number of mistakes does not depend on it at all.",
        names=("Perceptron", "Adaline"), min_points=2,
    ),
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

"""The lasso path beside ridge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_box,
    faint_curves,
    plane,
    python_lines,
    short,
)
from kilogram.book.errors import BookError
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    bars,
    data_points,
    limits,
    line,
    points,
)
from kilogram.book.scene import Break, Points, Scene, slider, switch
from kilogram.book.tables import columns_at, correlated_columns
from kilogram.book.textbook_steps import record
from kilogram.models.ridge.ridge import Ridge
from kilogram.models.sparse.elastic_net import Lasso
from kilogram.models.sparse.paths import lasso_path


def _split_anew(X: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    """Cookbook, algorithm 17, as printed: the last coefficients of its stochastic gradients."""
    states = record("online_lasso", X, y, alpha, 12, np.random.default_rng(0), form="printed")
    return np.asarray(states[-1].state["w_last"])


def _lasso_points(c: Mapping[str, Any]) -> Points:
    """One column and the target, row by row."""
    X, y, _ = correlated_columns(c["seed"], c["noise"], c["correlation"])
    return Points(np.column_stack([X[:, c["column"] - 1], y]), np.arange(1, len(y) + 1))


def _lasso(data: Points, c: Mapping[str, Any]) -> Recording:
    settings = c["column"], c["seed"], c["noise"], c["correlation"]
    X, y = columns_at(np.column_stack([data.xy, data.labels]), *settings)
    truth = correlated_columns(*settings[1:])[2]
    if not np.any(X.T @ y):
        raise BookError("The target is constant here, so every coefficient is 0: move a point.")
    alphas, coefs, _ = lasso_path(X, y, n_alphas=40, eps=2e-3)
    alphas = np.asarray(alphas)
    order = np.argsort(alphas)[::-1]
    alphas, coefs = alphas[order], np.asarray(coefs)[:, order].T
    if c["printed"]:
        alphas = alphas[::3]
        coefs = np.array([_split_anew(X, y, float(a)) for a in alphas])
    ridges = np.array([Ridge(alpha=len(y) * a * 5).fit(X, y).coef_ for a in alphas])
    fresh, target, _ = correlated_columns(c["seed"] + 1000, c["noise"], c["correlation"])
    logs = np.log10(alphas)
    test = [float(np.mean((target - fresh @ w) ** 2)) for w in coefs]
    train = [float(np.mean((y - X @ w) ** 2)) for w in coefs]
    frames = []
    ends = np.array(data_box(data)[0])
    lines = (
        "from kilogram.book.tables import columns_at",
        f"X, y = columns_at(T, {', '.join(map(str, settings))})",
    )
    for i, a in enumerate(alphas):
        slope = coefs[i, c["column"] - 1]
        shown = [line(logs[: i + 1], coefs[: i + 1, j], color=f"c{j}") for j in range(8)]
        others = [line(logs[: i + 1], ridges[: i + 1, j], color=f"c{j}") for j in range(8)]
        bar = [
            bars(np.arange(1, 9), coefs[i], 0.6, c=np.arange(8)),
            points(np.arange(1, 9), truth, color="ink", shape="ring", r=5),
        ]
        curve = [
            line(logs[: i + 1], train[: i + 1], color="c0"),
            line(logs[: i + 1], test[: i + 1], color="c1"),
            points([logs[i]], [test[i]], color="c1", r=5),
        ]
        frames.append(Frame(f"α = {a:.3g}", {"data": [line(ends, slope * ends, color=f"c{c['column'] - 1}"), data_points()], "path": shown, "ridge": others, "bars": bar, "errors": curve}, None,
                            [("columns in use", int(np.sum(coefs[i] != 0))), ("training error", short(train[i])), ("test error", short(test[i]))],
                            python_lines("rows", *lines, f"model = kg.Lasso(alpha={a:.6g}).fit(X, y)")))  # fmt: skip
    model = Lasso(alpha=float(alphas[-1])).fit(X, y)
    box = (float(logs[-1]), float(logs[0]))
    high = limits([*coefs.ravel(), *truth], 0.1)
    panels = [
        plane(data, "data", f"Target over column {c['column']}", equal=False, describe="the rows; the other columns keep their values when a point moves"),
        Panel("bars", "Coefficients now, truth ringed", (0.4, 8.6), high, x_label="column", whole=True),
        Panel("path", "As printed: u and v split anew" if c["printed"] else "Lasso: coefficients", box, high, faint_curves(logs, *coefs.T), x_label="log10 α", describe="coefficients along the path"),
        Panel("ridge", "Ridge on the same data", box, high, faint_curves(logs, *ridges.T), x_label="log10 α"),
        Panel("errors", "Training and test error", box, (0, max(test[0], train[0]) * 1.05), faint_curves(logs, train, test), x_label="log10 α", legend=(("c0", "training"), ("c1", "test")), small=True),
    ]  # fmt: skip
    return Recording(panels, frames, [("α of least test error", short(float(alphas[int(np.argmin(test))])))],
                     notes=["The points have eight columns. One of them and the target can be moved here."],
                     python=python_lines("rows", *lines, f"model = kg.Lasso(alpha={float(alphas[-1])!r}).fit(X, y)"), code="lasso_sweeps", fitted={"coef_": model.coef_}, start=int(np.argmin(test)),
    )  # fmt: skip


SCENES = (
    Scene(
        "lasso", "sparse", "Lasso path",
        "The penalty |w|₁ sets coefficients to exactly zero; as α falls they enter one after the other. Ridge shrinks them all and drops none.",
        _lasso, data="rows", presets=("sample",), classes=61, draw=_lasso_points, redraws=("noise", "correlation", "seed", "column"), min_points=3,
        controls=(slider("column", "column shown", 1, 1, 8), slider("noise", "noise", 1.5, 0.0, 5.0, 0.25, export=(0.5, 1.5, 3.0)), slider("correlation", "correlation of the columns", 0.3, 0.0, 0.95, 0.05, export=(0.0, 0.3, 0.9)), slider("seed", "random sample", 0, 0, 20, export=(0, 1)), switch("printed", "as printed: algorithm 17, u and v split anew")),
        breaks=(Break("What the printed page gets wrong: no coefficient is zero", controls={"printed": True}), Break("Correlated columns: it picks one of them", controls={"correlation": 0.9}), Break("Much noise: false columns enter", controls={"noise": 3.0})),
        question="Three columns matter. Are they the first three to enter?",
        answer="With little correlation, yes. With strong correlation a stand-in may enter first, and leave again.",
        names=("Lasso", "lasso_path", "Ridge"),
    ),
)  # fmt: skip

"""Columns chosen: concave penalties beside the lasso, and columns one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import python_lines, short
from kilogram.book.recording import Frame, Panel, Recording, bars, limits, line, points
from kilogram.book.scene import Break, Points, Scene, choice, slider
from kilogram.book.tables import correlated_columns
from kilogram.book.textbook_steps import record
from kilogram.models.sparse.concave import ConcaveRegressor
from kilogram.models.sparse.elastic_net import Lasso
from kilogram.models.sparse.lars import Lars
from kilogram.models.sparse.pursuit import OrthogonalMatchingPursuit

COLUMNS = np.arange(1, 9)


def _penalty(kind: str, b: np.ndarray, alpha: float, gamma: float) -> np.ndarray:
    """The penalty of a coefficient."""
    size = np.abs(b)
    if kind == "mcp":
        return np.where(
            size < gamma * alpha, alpha * size - size**2 / (2 * gamma), gamma * alpha**2 / 2
        )
    middle = (2 * gamma * alpha * size - size**2 - alpha**2) / (2 * (gamma - 1))
    flat = alpha**2 * (gamma + 1) / 2
    return np.where(size < alpha, alpha * size, np.where(size < gamma * alpha, middle, flat))


def _rule(kind: str, z: np.ndarray, alpha: float, gamma: float) -> np.ndarray:
    """The coefficient of a column of unit variance whose least squares coefficient is z."""
    soft = np.sign(z) * np.maximum(np.abs(z) - alpha, 0)
    if kind == "mcp":
        return np.where(np.abs(z) <= gamma * alpha, soft / (1 - 1 / gamma), z)
    middle = ((gamma - 1) * z - np.sign(z) * gamma * alpha) / (gamma - 2)
    return np.where(np.abs(z) <= 2 * alpha, soft, np.where(np.abs(z) <= gamma * alpha, middle, z))


def _concave(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y, truth = correlated_columns(c["seed"], c["noise"], c["correlation"])
    fresh, target, _ = correlated_columns(c["seed"] + 1000, c["noise"], c["correlation"])
    kind, gamma = c["penalty"], c["gamma"]
    top = float(np.abs(X.T @ y).max()) / len(y)
    alphas = np.geomspace(top, top / 60, 20)
    b = np.linspace(-3, 3, 121)
    lasso = np.array([Lasso(alpha=a).fit(X, y).coef_ for a in alphas])
    models = [ConcaveRegressor(a, penalty=kind, gamma=gamma).fit(X, y) for a in alphas]
    found = np.array([model.coef_ for model in models])
    errors = [
        [float(np.mean((target - fresh @ w) ** 2)) for w in paths] for paths in (lasso, found)
    ]
    logs, best = np.log10(alphas), int(np.argmin(errors[1]))
    frames = []
    for i, alpha in enumerate(alphas):
        frames.append(Frame(
            f"α = {alpha:.2g}",
            {"bars": [bars(COLUMNS - 0.2, lasso[i], 0.36, color="c1"), bars(COLUMNS + 0.2, found[i], 0.36, color="c0"),
                      points(COLUMNS, truth, color="ink", shape="ring", r=5)],
             "rule": [line(b, b, color="muted", dash=True, width=1), line(b, np.sign(b) * np.maximum(np.abs(b) - alpha, 0), color="c1"), line(b, _rule(kind, b, alpha, gamma), color="c0", width=2.6)],
             "penalty": [line(b, alpha * np.abs(b), color="c1"), line(b, _penalty(kind, b, alpha, gamma), color="c0", width=2.6)],
             "errors": [*[line(logs[: i + 1], errors[j][: i + 1], color=f"c{1 - j}") for j in (0, 1)],
                        *[points(logs[i : i + 1], errors[j][i : i + 1], color=f"c{1 - j}", r=4.5) for j in (0, 1)]]},
            None,
            [("columns in use, lasso", int(np.sum(lasso[i] != 0))), (f"columns in use, {kind.upper()}", int(np.sum(found[i] != 0))),
             ("test error, lasso", short(errors[0][i])), (f"test error, {kind.upper()}", short(errors[1][i]))],
        ))  # fmt: skip
    names = (("c1", "lasso"), ("c0", kind.upper()))
    high = limits([*lasso.ravel(), *found.ravel(), *truth], 0.1)
    panels = [
        Panel("bars", "Coefficients, truth ringed", (0.4, 8.6), high, x_label="column", legend=names, describe="coefficients of both models and the true ones"),
        Panel("rule", "Coefficient after shrinking", (-3, 3), (-3, 3), x_label="least squares coefficient", legend=names),
        Panel("penalty", "Penalty of a coefficient", (-3, 3), (0, 3.1 * float(alphas[best])), x_label="coefficient", legend=names),
        Panel("errors", "Test error", (float(logs[-1]), float(logs[0])), (0, 1.05 * max(map(max, errors))), x_label="log10 α", legend=names),
    ]  # fmt: skip
    lines = [
        f"from kilogram.book.tables import correlated_columns; X, y, _ = correlated_columns({c['seed']}, {c['noise']}, {c['correlation']})",
        f"model = kg.ConcaveRegressor({float(alphas[-1])!r}, penalty={kind!r}, gamma={gamma}).fit(X, y)",
    ]
    return Recording(
        panels, frames, [("α of least test error", short(float(alphas[best])))],
        python=python_lines("none", *lines), fitted={"coef_": models[-1].coef_}, start=best,
    )  # fmt: skip


def _pursuit(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y, truth = correlated_columns(c["seed"], c["noise"], c["correlation"])
    fresh, target, _ = correlated_columns(c["seed"] + 1000, c["noise"], c["correlation"])
    y = y - y.mean()
    steps = record("matching_pursuit", X, y, 8)
    model = OrthogonalMatchingPursuit(n_nonzero_coefs=len(steps) - 1).fit(X, y)
    angles = Lars().fit(X, y)
    path, sizes = np.asarray(angles.coef_path_), np.abs(angles.coef_path_).sum(axis=0)
    curves = [line(sizes, path[j], color=f"c{j}", width=2) for j in range(8)]
    train = [float(np.mean((y - X @ s.state["beta"]) ** 2)) for s in steps]
    test = [float(np.mean((target - fresh @ s.state["beta"]) ** 2)) for s in steps]
    frames = []
    for i, step in enumerate(steps):
        beta, active = step.state["beta"], np.asarray(step.state["active"], int)
        chosen = steps[min(i + 1, len(steps) - 1)].state["active"]
        names = [f"{int(j) + 1}" for j in active]
        correlation = np.abs(X.T @ step.state["r"]) / len(y)
        seen = np.arange(i + 1)
        marks = [points([chosen[i] + 1], [correlation[chosen[i]]], color="ink", shape="ring", r=7)] if i < len(chosen) else []  # fmt: skip
        frames.append(Frame(
            "no column yet" if i == 0 else f"column {names[-1]} joins",
            {"correlation": [bars(COLUMNS, correlation, 0.6, c=np.arange(8)), *marks],
             "bars": [bars(COLUMNS, beta, 0.6, c=np.arange(8)), points(COLUMNS, truth, color="ink", shape="ring", r=5)],
             "path": [*curves, points([sizes[min(i, len(sizes) - 1)]] * 8, path[:, min(i, len(sizes) - 1)], c=np.arange(8), r=4.5)],
             "errors": [line(seen, train[: i + 1], color="c0"), line(seen, test[: i + 1], color="c1"), points([i], test[i : i + 1], color="c1", r=5)]},
            step.line,
            [("columns, in order", ", ".join(names) or "none"), ("training error", short(train[i])), ("test error", short(test[i]))],
        ))  # fmt: skip
    high = limits([*np.ravel([s.state["beta"] for s in steps]), *truth], 0.1)
    strongest = float(np.abs(X.T @ y).max()) / len(y)
    panels = [
        Panel("correlation", "Correlation with the residuals", (0.4, 8.6), (0, strongest * 1.1), x_label="column", legend=(("ink", "joins next"),), describe="absolute correlations of the columns with the residuals"),
        Panel("bars", "Matching pursuit, truth ringed", (0.4, 8.6), high, x_label="column"),
        Panel("path", "Least angles: the whole path", limits(sizes, 0.03), high, x_label="sum of |coefficients|"),
        Panel("errors", "Error by columns", (-0.3, 8.3), (0, max(*train, *test) * 1.05), x_label="columns in use", legend=(("c0", "training"), ("c1", "test"))),
    ]  # fmt: skip
    lines = [
        f"from kilogram.book.tables import correlated_columns; X, y, _ = correlated_columns({c['seed']}, {c['noise']}, {c['correlation']})",
        f"model = kg.OrthogonalMatchingPursuit(n_nonzero_coefs={len(steps) - 1}).fit(X, y)",
    ]
    return Recording(
        panels, frames, [("order of least angles", ", ".join(str(j + 1) for j in np.ravel(angles.active_)))],
        notes=["The ringed bar is the largest: that column joins next. Afterwards the residuals correlate with none of the chosen columns."],
        python=python_lines("none", *lines), code="matching_pursuit", fitted={"coef_": model.coef_}, start=int(np.argmin(test)),
    )  # fmt: skip


_TABLE = (
    slider("noise", "noise", 1.5, 0.0, 4.0, 0.1, export=(0.5, 1.5, 3.0)),
    slider("correlation", "correlation of the columns", 0.3, 0.0, 0.95, 0.05, export=(0.0, 0.3, 0.9)),
    slider("seed", "random sample", 0, 0, 20, export=(0, 1)),
)  # fmt: skip
SCENES = (
    Scene(
        "concave", "sparse", "Without the bias: MCP and SCAD",
        "The lasso draws every coefficient towards zero by the same amount, large ones too. A penalty that levels off leaves large coefficients alone.",
        _concave,
        controls=(choice("penalty", "penalty", (("mcp", "MCP"), ("scad", "SCAD"))), slider("gamma", "γ: where it levels off", 3.0, 2.1, 10.0, 0.1, export=(2.5, 3.0, 8.0)), *_TABLE),
        breaks=(Break("Correlated columns: several minima, the start decides", controls={"correlation": 0.95, "noise": 3.0}), Break("γ large: almost the lasso", controls={"gamma": 10.0})),
        question="At an α that drops all false columns, which of the two has the true coefficients?",
        answer="MCP and SCAD: beyond γα the rule is the identity. The lasso would need a second fit on the chosen columns.",
        names=("ConcaveRegressor", "Lasso"),
    ),
    Scene(
        "pursuit", "pursuit", "Columns one by one",
        "Take the column that correlates most with the residuals, fit all chosen columns anew, repeat. Least angles moves more carefully, and its path is the lasso’s.",
        _pursuit, controls=_TABLE,
        breaks=(Break("Correlated columns: the first choice is wrong and stays", controls={"correlation": 0.95, "noise": 3.0}), Break("No noise: three columns are enough", controls={"noise": 0.0})),
        question="Three columns matter. After the third, what happens to the test error?",
        answer="It turns: further columns fit the noise of this sample, and the training error alone keeps falling.",
        names=("OrthogonalMatchingPursuit", "Lars"),
    ),
)  # fmt: skip

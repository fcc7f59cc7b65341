"""What the scenes share: the data plane, fields of a fitted model, curves, the lines of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from kilogram.book.recording import Grid, Layer, Panel, limits, line, number, points
from kilogram.book.scene import Points

LO, HI = -3.0, 3.0
CELLS = 48  # of a field, each way: some 6 pixels; regions have four times as many

_LOAD = {
    "cloud": 'X = np.loadtxt("points.csv", delimiter=",")[:, :2]',
    "classes": 'T = np.loadtxt("points.csv", delimiter=",")\nX, y = T[:, :2], T[:, 2].astype(int)',
    "rows": 'T = np.loadtxt("points.csv", delimiter=",")',
    "curve": 'T = np.loadtxt("points.csv", delimiter=",")\nX, y = T[:, :1], T[:, 1]',
}


def python_lines(data: str, *fits: str) -> str:
    """The lines that reproduce the picture; `points.csv` is what the page's save button writes."""
    lines = ["import kilogram as kg, numpy as np"]
    lines += [_LOAD[data]] if data in _LOAD else []
    return "\n".join([*lines, *fits])


def data_box(data: Points) -> tuple[tuple[float, float], tuple[float, float]]:
    """The square from -3 to 3, larger where the data goes beyond it."""
    if not len(data) or np.abs(data.xy).max() <= HI:
        return (LO, HI), (LO, HI)
    return limits([LO, HI, *data.x]), limits([LO, HI, *data.y])


def data_grid(data: Points, cells: int = CELLS) -> Grid:
    """The places of a field over the data plane."""
    (x0, x1), (y0, y1) = data_box(data)
    return Grid(x0, x1, y0, y1, cells, cells)


def plane(data: Points, id: str, title: str, **more: Any) -> Panel:
    """The data plane, whose points the reader can move."""
    x, y = data_box(data)
    return Panel(id, title, x, y, editable=True, **{"equal": True, **more})


def curve_places(data: Points, count: int = 200) -> NDArray[np.float64]:
    """Places along the x axis at which a fitted curve is drawn, (count, 1)."""
    (x0, x1), _ = data_box(data)
    return np.linspace(x0, x1, count)[:, None]


def objective_panel(
    values: Sequence[float | None], id: str = "objective", title: str = "Objective", **more: Any
) -> tuple[Panel, Callable[[int], list[Layer]]]:
    """The objective over the frames, and the layers that mark one of them."""
    shown = [(i, v) for i, v in enumerate(values) if v is not None and np.isfinite(v)]
    xs, ys = [i for i, _ in shown], [v for _, v in shown]
    panel = Panel(
        id, title, (-0.5, max(len(values) - 0.5, 1)), limits(ys or [0, 1], 0.1),
        [line(xs, ys, color="muted")], **{"x_label": "step", "small": True, "whole": True, **more},
    )  # fmt: skip

    def mark(frame: int) -> list[Layer]:
        seen = [(i, v) for i, v in shown if i <= frame]
        if not seen:
            return []
        here = seen[-1]
        return [
            line([i for i, _ in seen], [v for _, v in seen], color="accent"),
            points([here[0]], [here[1]], color="accent", r=4.5),
        ]

    return panel, mark


def score_field(grid: Grid, scores: ArrayLike, **style: Any) -> Layer:
    """A decision function of two classes, with its zero line and those at -1 and 1."""
    values = np.asarray(scores, float).ravel()
    limit = float(np.quantile(np.abs(values), 0.95)) or 1.0
    return grid.values(values, levels=style.pop("levels", (0.0,)), limit=limit, **style)


def probability_field(grid: Grid, probability: ArrayLike, **style: Any) -> Layer:
    """The probability of class 1, with its lines at a quarter, a half and three quarters."""
    values = np.asarray(probability, float).ravel() - 0.5
    return grid.values(values, levels=style.pop("levels", (-0.25, 0.0, 0.25)), limit=0.5, **style)


def faint_curves(x: ArrayLike, *curves: ArrayLike) -> list[Layer]:
    """Whole curves behind those that grow while the scene plays, in the colours 0, 1, ..."""
    return [
        line(x, curve, color=f"c{j % 8}", width=1.2, faint=True) for j, curve in enumerate(curves)
    ]


def matched_labels(labels: ArrayLike, like: ArrayLike) -> NDArray[np.int64]:
    """The label of `like` that each label stands for, so that equal clusters have one colour."""
    own, other = np.asarray(labels), np.asarray(like)
    size = int(max(own.max(initial=0), other.max(initial=0))) + 1
    shared = np.zeros((size, size), dtype=int)
    np.add.at(shared, (own[own >= 0], other[own >= 0]), 1)
    return np.asarray(linear_sum_assignment(-shared)[1])


def percent(value: float) -> str:
    """A fraction as a percentage."""
    return f"{100 * value:.1f} %" if np.isfinite(value) else "not defined"


def short(value: float) -> float | None:
    """A number as a readout shows it."""
    return number(value, 4)


def fresh_points(data: Points, seed: int = 1, copies: int = 4) -> tuple[NDArray[Any], NDArray[Any]]:
    """Test data for hand-moved points: fresh draws around them, in their classes.

    A reader's points come from no known distribution; jittered copies stand for new data near them.
    """
    rng = np.random.default_rng(seed)
    xy = np.repeat(data.xy, copies, axis=0)
    return xy + rng.normal(0, 0.3, xy.shape), np.repeat(data.labels, copies)

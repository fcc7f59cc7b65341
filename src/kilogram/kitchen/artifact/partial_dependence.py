"""Partial dependence: the prediction as a function of one column, all else unchanged.

    curve of row i   f_i(v) = f(x_i with v in the column)
    dependence       the mean over the rows
    band             where 80 % of the centred curves of the rows lie: no width means that the
                     column has the same effect whatever the others are (no interaction)

For classes the curves are probabilities of the most probable classes, and the band is that of the
curves themselves: probabilities end at 0 and 1, so that they cannot be centred.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.responses import in_words, responses
from kilogram.kitchen.features.columns import Column

MAX_POINTS = 20  # a curve drawn in 300 pixels shows no more
MAX_LEVELS = 12  # the most frequent; the axis has room for no more
MAX_ROWS = 200  # standard error of the mean: a fourteenth of the spread
MAX_CLASSES = 4  # curves that one tells apart in one plot
ENDS = (0.02, 0.98)


@dataclass(frozen=True)
class PartialDependence:
    """One column: `values` with their `labels`; (points, lines) mean, low and high; where rows lie.

    `lines` are the classes that are shown, empty for numbers; `ordered` values can be joined.
    """

    column: Column
    values: np.ndarray
    labels: tuple[str, ...]
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lines: tuple[str, ...]
    deciles: np.ndarray
    ordered: bool

    @property
    def swing(self) -> float:
        """Range of the mean prediction."""
        return float(np.ptp(self.mean, axis=0).max())

    @property
    def unlike(self) -> float:
        """Width of the band as a fraction of the swing: how much the rows differ in it."""
        return float(np.max(self.high - self.low)) / self.swing if self.swing > 0 else 0.0


def dependence(model: Model, X: np.ndarray, place: int) -> PartialDependence | None:
    """Of the column at `place`; None of text and pictures, whose values have no scale."""
    column = model.layout.used[place]
    if column.kind in ("text", "image"):
        return None
    cells = X[:, place].astype(float)
    cells = cells[np.isfinite(cells)]
    values = grid(column, cells)
    if len(values) < 2:
        return None
    rows = X[:MAX_ROWS]
    many = np.tile(rows, (len(values), 1))
    many[:, place] = np.repeat(values, len(rows))
    curves = responses(model, many).reshape(len(values), len(rows), -1)
    shown = _classes(curves)
    curves = curves[:, :, shown]
    mean = curves.mean(axis=1)
    if not model.classes:  # centred curves: the variation that is left is interaction
        curves = curves - curves.mean(axis=0) + mean.mean(axis=0)
    low, high = np.quantile(curves, [0.1, 0.9], axis=1)
    ordered = column.kind != "categorical"
    lines = tuple(model.classes[k] for k in shown) if model.classes else ()
    labels = tuple(in_words(column, v, 16) for v in values)
    deciles = np.quantile(cells, np.linspace(0.1, 0.9, 9)) if ordered else np.empty(0)
    return PartialDependence(column, values, labels, mean, low, high, lines, deciles, ordered)


def grid(column: Column, cells: np.ndarray) -> np.ndarray:
    """Values to try: all there are if few, else from one end of the rows to the other."""
    there, counts = np.unique(cells, return_counts=True)
    if column.kind == "categorical":
        known = there >= 0
        there, counts = there[known], counts[known]
        return there[np.argsort(-counts, kind="stable")[:MAX_LEVELS]]
    if len(there) <= MAX_LEVELS:
        return there
    low, high = np.quantile(cells, ENDS)
    return np.linspace(low, high, MAX_POINTS) if low < high else there[:0]


def _classes(curves: np.ndarray) -> list[int]:
    """Of two classes the second, of more the most probable ones; numbers have one line."""
    count = curves.shape[2]
    if count <= 2:
        return [count - 1]
    typical = curves.mean(axis=(0, 1))
    return sorted(int(k) for k in np.argsort(-typical, kind="stable")[:MAX_CLASSES])

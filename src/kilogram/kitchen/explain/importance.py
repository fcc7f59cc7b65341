"""Permutation importance of the columns of a table, with intervals.

    I = mean over i, j of  L(y_i, f(x_i with the cell of row j)) - L(y_i, f(x_i))

L is the loss behind the model's measure: squared error over the variance of y (so I is R^2 lost),
or errors counted (accuracy lost), weighted by class for balanced accuracy. Where the truth is not
known, y is the model's own prediction, and I is the change of the predictions.

A shuffle uses every row once as the one that gets a cell and once as the one that gives it, so both
parts of a row in I are known, h_i = mean_k L(i, from k) and g_i = mean_k L(k, from i), and with
Hoeffding's decomposition of a mean over pairs

    var I ~ var(h_i + g_i) / n.

The interval holds the uncertainty of the rows as a sample and of the shuffles. It is for this
model; of two correlated columns either can look unimportant alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from kilogram.base.budget import Budget
from kilogram.evaluation.intervals import Interval
from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.responses import predicted
from kilogram.kitchen.judge.permuted_columns import ROWS_AT_ONCE, most_correlated_columns

CONFIDENCE = 0.95  # of the intervals: the usual level

Losses = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class RowLoss:
    """Losses row by row; their mean over that of `unit` is on the scale of the measure."""

    of: Losses
    unit: np.ndarray


@dataclass(frozen=True)
class ColumnImportance:
    """Columns, most important first, with their losses; `skipped` were not tested."""

    columns: tuple[int, ...]
    losses: tuple[Interval, ...]
    skipped: int
    known: bool


def importance(
    model: Model,
    X: np.ndarray,
    y: np.ndarray | None,
    *,
    shuffles: int,
    rng: np.random.Generator,
    budget: Budget,
) -> ColumnImportance:
    """Of every column, or of the most promising ones where there are many or time is short."""
    outputs = predicted(model, X)
    truth = outputs if y is None else y
    loss = loss_of(model, truth, outputs)
    looked = most_correlated_columns(X, outputs, len(model.classes))
    found: dict[int, Interval] = {}
    for k in looked:
        if found and budget.expired:
            break
        found[int(k)] = one_column(model, X, truth, outputs, int(k), loss, shuffles, rng)
    order = sorted(found, key=lambda k: -found[k].mean)
    return ColumnImportance(
        tuple(order), tuple(found[k] for k in order), X.shape[1] - len(found), y is not None
    )


def loss_of(model: Model, y: np.ndarray, outputs: np.ndarray) -> RowLoss:
    """The loss behind the measure the model was judged by."""
    if not model.classes:
        unit = (y - y.mean()) ** 2
        if not unit.any():
            unit = np.ones(len(y))
        return RowLoss(lambda truth, f: (truth - f) ** 2, unit)
    if "costs" in model.use:
        C = np.asarray(model.use["costs"])
        return RowLoss(lambda truth, f: C[truth.astype(int), f.astype(int)], np.ones(len(y)))
    weights = np.ones(len(y))
    if model.about.get("measure") == "balanced_accuracy":
        there, counts = np.unique(y, return_counts=True)
        weight = dict(zip(there, len(y) / (len(there) * counts), strict=True))
        weights = np.array([weight[c] for c in y])
    return RowLoss(lambda truth, f: (truth != f).astype(float), np.ones(len(y)) / weights)


def one_column(
    model: Model,
    X: np.ndarray,
    y: np.ndarray,
    outputs: np.ndarray,
    column: int,
    loss: RowLoss,
    shuffles: int,
    rng: np.random.Generator,
) -> Interval:
    """Increase of the loss when one column is permuted."""
    n = len(X)
    weight = 1.0 if not model.classes else 1.0 / loss.unit
    before = loss.of(y, outputs) * weight
    gets, gives = np.zeros(n), np.zeros(n)
    at_once = max(1, ROWS_AT_ONCE // n)
    for start in range(0, shuffles, at_once):
        orders = [rng.permutation(n) for _ in range(min(at_once, shuffles - start))]
        shuffled = np.tile(X, (len(orders), 1))
        shuffled[:, column] = np.concatenate([X[order, column] for order in orders])
        for order, f in zip(orders, np.split(predicted(model, shuffled), len(orders)), strict=True):
            lost = loss.of(y, f) * weight - before
            gets += lost / shuffles
            gives[order] += lost / shuffles
    unit = np.ones(n) if model.classes else loss.unit
    return _interval(gets, gives, unit)


def _interval(gets: np.ndarray, gives: np.ndarray, unit: np.ndarray) -> Interval:
    """Mean of `gets` over that of `unit`; both are estimated from the same rows."""
    n, scale = len(gets), float(unit.mean())
    mean = float(gets.mean()) / scale
    spread = (gets + gives - 2 * gets.mean()) / scale - mean * (unit / scale - 1.0)
    half = float(t.ppf((1 + CONFIDENCE) / 2, max(n - 1, 1)) * spread.std(ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half, CONFIDENCE)


def significant_columns(found: ColumnImportance) -> list[tuple[int, Interval]]:
    """Columns whose interval is above zero."""
    return [(k, loss) for k, loss in zip(found.columns, found.losses, strict=True) if loss.low > 0]

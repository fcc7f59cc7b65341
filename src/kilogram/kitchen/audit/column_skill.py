"""How well one column alone predicts the target, on rows it was not fitted to.

    numbers -> number   a line in each of up to 32 quantile bins of the column, gaps a bin of their
                        own; skill = R^2
    words -> number     the mean of each word; skill = R^2
    any -> class        in each bin the class most frequent for its size; skill = balanced accuracy
                        as a fraction of the way from chance to 1

Bins are cut on all rows from the column alone; means, lines and counts come from the other folds,
so that luck does not look like skill: a word that is new in a fold is predicted by the overall
mean. Everything is sums over (fold, bin), so a column costs one pass.
"""

from __future__ import annotations

import numpy as np

from kilogram.kitchen.audit.audit_data import AuditData
from kilogram.kitchen.features.columns import Column

MAX_BINS = 32  # finer ones follow noise: a step of 3 % of the rows
ROWS_PER_BIN = 12  # a mean of so many has a third of the noise


def skill(subject: AuditData, column: Column) -> float:
    """What the column alone can do, from 0 (nothing) to 1 (all)."""
    if column.kind in ("numeric", "ordinal", "date", "time"):
        x = subject.numbers(column)
        return numbers_skill(x, subject)
    return binned_skill(np.unique(subject.coded(column), return_inverse=True)[1], None, subject)


def numbers_skill(x: np.ndarray, subject: AuditData) -> float:
    """Skill of a column of numbers."""
    bins = quantile_bins(x, min(MAX_BINS, max(2, len(x) // ROWS_PER_BIN)))
    return binned_skill(bins, np.where(np.isfinite(x), x, 0.0), subject)


def gap_skill(missing: np.ndarray, subject: AuditData) -> float:
    """Skill of knowing only whether the cell is filled."""
    return binned_skill(missing.astype(np.int64), None, subject)


def quantile_bins(x: np.ndarray, count: int) -> np.ndarray:
    """Bins of about equal numbers of rows; bin 0 holds the gaps."""
    here = np.isfinite(x)
    ranked = np.sort(x[here])
    if not len(ranked):
        return np.zeros(len(x), dtype=np.int64)
    levels = ranked[np.concatenate([[True], ranked[1:] != ranked[:-1]])]
    if len(levels) <= count:
        edges = (levels[1:] + levels[:-1]) / 2.0
    else:
        places = np.linspace(0, len(ranked) - 1, count + 1)[1:-1]
        edges = np.unique(np.interp(places, np.arange(len(ranked)), ranked))
    return np.where(here, np.searchsorted(edges, x, side="right") + 1, 0)


def binned_skill(bins: np.ndarray, x: np.ndarray | None, subject: AuditData) -> float:
    """Skill of bins 0, 1, ..., with a line in x inside each where x is given."""
    if subject.classes:
        return _class_skill(bins, subject)
    return _number_skill(bins, x, subject)


def _number_skill(bins: np.ndarray, x: np.ndarray | None, subject: AuditData) -> float:
    y, spread = subject.y - subject.y.mean(), float(np.var(subject.y))
    if spread == 0.0:
        return 0.0
    n = _weights_of_other_folds(bins, subject, np.ones(len(y)))
    sy = _weights_of_other_folds(bins, subject, y)
    mean = np.where(n > 0, sy / np.maximum(n, 1), 0.0)
    guess = mean
    if x is not None:
        centre = np.where(n > 0, _weights_of_other_folds(bins, subject, x) / np.maximum(n, 1), 0.0)
        xx = _weights_of_other_folds(bins, subject, x * x) / np.maximum(n, 1) - centre**2
        xy = _weights_of_other_folds(bins, subject, x * y) / np.maximum(n, 1) - centre * mean
        wide = xx > 1e-9 * max(float(np.var(x)), 1e-300)
        slope = np.where(wide & (n >= 4), xy / np.where(wide, xx, 1.0), 0.0)
        guess = np.clip(mean + slope * (x - centre), y.min(), y.max())
    return max(0.0, 1.0 - float(np.mean((y - guess) ** 2)) / spread)


def _class_skill(bins: np.ndarray, subject: AuditData) -> float:
    y, C = subject.y.astype(np.int64), subject.classes
    sizes = np.bincount(y, minlength=C)
    B = int(bins.max()) + 1
    cells = np.bincount((subject.fold * B + bins) * C + y, minlength=subject.folds * B * C)
    table = cells.reshape(subject.folds, B, C)
    others = (table.sum(axis=0) - table) / np.maximum(sizes, 1)
    guess = np.argmax(others, axis=2)[subject.fold, bins]
    right = np.bincount(y[guess == y], minlength=C) / np.maximum(sizes, 1)
    balanced = float(right[sizes > 0].mean())
    return max(0.0, (balanced - 1 / C) / (1 - 1 / C))


def _weights_of_other_folds(
    bins: np.ndarray, subject: AuditData, weights: np.ndarray
) -> np.ndarray:
    """(n,) sum of the weights in the row's bin over the rows of other folds."""
    B = int(bins.max()) + 1
    sums = np.bincount(subject.fold * B + bins, weights, minlength=subject.folds * B)
    table = sums.reshape(subject.folds, B)
    return (table.sum(axis=0)[None, :] - table)[subject.fold, bins]

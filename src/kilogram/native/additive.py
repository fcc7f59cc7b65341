"""Additive boosting on cells of binned rows: rounds, the screening of pairs, sums of tables.

The oracle in `tests/native` takes the same steps with plain NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.boosting import LOSSES, NO_WEIGHTS
from kilogram.native.buffers import Array, run
from kilogram.native.threads import SMALL_WORK

# Multiplications that take as long as a row in a step: it is read and written at any place.
WORK_OF_ROW = 40.0


class StepRule(NamedTuple):
    """How a step is made: factor of its values, penalty, and what a leaf needs."""

    learning_rate: float
    l2: float
    min_hessian: float
    min_rows: float
    max_leaves: float


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of d columns; the last of each, counts[k] - 1, is that of missing values."""

    limits: list[Array]
    counts: Array  # (d,) int32
    categorical: Array  # (d,) bool

    def _arrays(self) -> tuple[Array, Array, Array, Array]:
        starts = np.cumsum([0] + [len(a) for a in self.limits]).astype(np.int64)
        return (
            np.concatenate([*self.limits, np.empty(0)]),
            starts,
            np.ascontiguousarray(self.counts, np.int32),
            self.categorical.astype(np.int8),
        )

    def of(self, X: Array) -> Array:
        """The bins (d, n) of rows X (n, d)."""
        out = np.empty((X.shape[1], len(X)), np.uint16)
        run(_core.additive_bins, 20.0 * X.size, X, *self._arrays(), out)
        return out


class Cells:
    """Cells (terms, n) of rows; shapes (terms, 4): bins of the first and the second feature (1 if
    there is none), whether they are categories, the sign of a monotone feature."""

    def __init__(self, cells: Array, shapes: Array):
        self.n = cells.shape[1]
        self.starts = np.concatenate([[0], np.cumsum(shapes[:, 0] * shapes[:, 1])]).astype(np.int64)
        self._cells = _core.AdditiveCells(np.ascontiguousarray(cells), shapes.astype(np.int64))

    def rows(self) -> Array:
        """The number of rows of every cell of every term."""
        out = np.empty(int(self.starts[-1]))
        self._cells.rows(out)
        return out

    def add(self, tables: Array, raw: Array) -> None:
        """raw (classes, n) += tables (cells of all terms, classes) at the cells of the rows."""
        self._cells.add(tables, raw)

    def round(
        self,
        loss: str,
        parameter: float,
        y: Array,
        w: Array | None,
        order: Array,
        steps: StepRule,
        raw: Array,
        threads: int,
    ) -> Array:
        """One step of every term in this order. What was added (cells of all terms, classes);
        raw (classes, n) is updated."""
        out = np.zeros((int(self.starts[-1]), len(raw)))
        weights = NO_WEIGHTS if w is None else w
        team = threads if self.n * WORK_OF_ROW * len(order) > SMALL_WORK else 1
        self._cells.round(
            LOSSES.index(loss), parameter, y, weights, order, np.array(steps, np.float64), raw, out,
            team,
        )  # fmt: skip
        return out


def screen_pairs(
    bins: Array, counts: Array, g: Array, h: Array, pairs: Array, steps: StepRule
) -> Array:
    """The fall of the objective by one tree of each pair of columns (2, pairs) of bins (d, n)."""
    gain = np.empty(pairs.shape[1])
    rules = np.array(steps, np.float64)
    work = 10.0 * len(g) * pairs.shape[1]
    run(_core.screen_pairs, work, bins, counts.astype(np.int32), g, h, pairs, rules, gain)
    return gain


def additive_values(
    X: Array, bins: Bins, coarse: list[Array], terms: Array, tables: Array, each: bool
) -> Array:
    """Contributions (n, terms, classes) of the terms, or (n, 1, classes) their sums.

    `coarse[k]` maps the bins of a column to those it has in pairs; `terms` (4, terms) are the first
    feature, the second (-1 if there is none), the bins of the second and the start in the tables.
    """
    starts = np.cumsum([0] + [len(a) for a in coarse]).astype(np.int64)
    out = np.zeros((len(X), terms.shape[1] if each else 1, tables.shape[1]))
    run(
        _core.additive_values, 10.0 * len(X) * (X.shape[1] + terms.shape[1]), X, *bins._arrays(),
        np.concatenate([*coarse, np.empty(0, np.uint16)]).astype(np.uint16), starts, terms, tables,
        each, out,
    )  # fmt: skip
    return out

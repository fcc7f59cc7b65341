"""Gradient boosting on binned rows: limits of bins, growth of trees, gradients, predictions.

The oracle in `tests/native` finds the same splits with plain NumPy from float64 sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

import kilogram.native._core as _core
from kilogram.native.buffers import Array, run
from kilogram.native.threads import SMALL_WORK, n_threads

NODE = np.dtype(
    [
        ("threshold", "f8"),
        ("value", "f8"),
        ("feature", "i4"),
        ("left", "i4"),
        ("categories", "i4"),
        ("missing_right", "i4"),
    ]
)
SET_WORDS = 8  # a category set is 256 bits, the most bins there are
MOST_ROWS = 2**28  # counts of rows share a word with sums, see histogram.hpp
LOSSES = (
    "squared_error", "absolute_error", "quantile", "poisson", "gamma",
    "binary_log_loss", "multinomial_log_loss", "huber",
)  # fmt: skip
NO_WEIGHTS = np.empty(0)


class Tree(NamedTuple):
    """One tree: nodes (NODE), category sets (sets, 8), gains and rows of the nodes, depth."""

    nodes: Array
    sets: Array
    gain: Array
    samples: Array
    depth: int


class Growth(NamedTuple):
    """When growth stops, and how leaf values are regularised."""

    max_leaves: int
    max_depth: int
    min_leaf: int
    l2: float
    min_hessian: float
    learning_rate: float
    max_features: float


def bin_limits(X: Array, max_bins: int) -> list[Array]:
    """Upper limits of all bins but the last, for every column: between distinct values if they fit
    into `max_bins`, else at quantiles. NaN is left out."""
    d = X.shape[1]
    limits, counts = np.empty((d, max(max_bins - 1, 1))), np.empty(d, np.int64)
    run(_core.bin_limits, 20.0 * X.size, X, max_bins, limits, counts)
    return [limits[k, : counts[k]].copy() for k in range(d)]


class Grower:
    """Binned rows on which trees are grown one after another."""

    def __init__(
        self,
        X: Array,
        limits: list[Array],
        n_categories: Array,
        monotone: Array,
        groups: list[list[int]],
    ):
        """`n_categories[k]` is 0 for numeric columns; categories are coded 0, 1, ..."""
        if len(X) >= MOST_ROWS:
            raise ValueError(f"boosting takes fewer than 2^28 rows, got {len(X)}.")
        starts = np.cumsum([0] + [len(a) for a in limits]).astype(np.int64)
        bins = np.where(n_categories > 0, n_categories, np.diff(starts) + 1).astype(np.int32)
        group_starts = np.cumsum([0] + [len(g) for g in groups]).astype(np.int64)
        columns = np.array([k for g in groups for k in g], np.int64)
        self.threads = n_threads() if X.size * 100.0 > SMALL_WORK else 1
        self._grower = _core.BoostGrower(
            X,
            np.concatenate([*limits, np.empty(0)]),
            starts,
            bins,
            (n_categories > 0).astype(np.int8),
            monotone.astype(np.int8),
            group_starts,
            columns,
            self.threads,
        )

    def grow(self, g: Array, h: Array, rules: Growth, seed: int) -> None:
        """Grow the next tree on gradients g and second derivatives h (n,)."""
        counts = np.array(rules[:3], np.int64)
        self._grower.grow(g, h, counts, np.array(rules[3:], np.float64), seed, self.threads)

    def line_search(self, residual: Array, w: Array | None, q: float) -> None:
        """Leaf values from residuals: their q-quantile."""
        weights = NO_WEIGHTS if w is None else w
        self._grower.line_search(residual, weights, q, self.threads)

    def add_values(self, raw: Array) -> None:
        """Add the values of the last tree to raw predictions (n,) of the rows."""
        self._grower.add_values(raw, self.threads)

    def tree(self) -> Tree:
        """The last tree."""
        nodes, sets, gain, samples, depth = self._grower.tree()
        return Tree(
            nodes.view(NODE)[:, 0],
            sets.view(np.uint32).reshape(-1, SET_WORDS),
            gain.view(np.float64)[:, 0],
            samples.view(np.float64)[:, 0],
            depth,
        )


def gradients(
    loss: str, parameter: float, y: Array, w: Array | None, raw: Array, g: Array, h: Array
) -> None:
    """Write first and second derivatives (classes, n) of the loss at `raw` (classes, n)."""
    weights = NO_WEIGHTS if w is None else w
    work = 30.0 * raw.size
    run(_core.boost_gradients, work, LOSSES.index(loss), parameter, y, weights, raw, g, h)


def add_trees(
    nodes: Array,
    sets: Array,
    roots: Array,
    depths: Array,
    first: int,
    last: int,
    X: Array,
    out: Array,
) -> None:
    """Add the leaves of trees first .. last - 1 to out (n, classes)."""
    bytes_of = nodes.view(np.uint8).reshape(-1, NODE.itemsize)
    set_bytes = sets.view(np.uint8).reshape(-1, 4 * SET_WORDS)
    work = 20.0 * len(X) * (last - first)
    run(_core.add_trees, work, bytes_of, set_bytes, roots, depths, first, last, X, out)


class SortedColumns:
    """Columns sorted once for many stumps: their values and the rows in that order.

    Of sparse rows only the entries that are not 0 are kept.
    """

    def __init__(self, X: Any):
        self.rows = int(X.shape[0])
        if scipy.sparse.issparse(X):
            columns = scipy.sparse.csc_array(X)
            starts, rows, values = columns.indptr, columns.indices, columns.data
            column = np.repeat(np.arange(columns.shape[1]), np.diff(starts))
            kept = values != 0  # a stored 0 is as one that is not stored
            column, rows, values = column[kept], rows[kept], values[kept].astype(np.float64)
            order = np.lexsort((rows, values, column))
            counts = np.bincount(column, minlength=columns.shape[1])
            self.values, self.order = values[order], rows[order].astype(np.int32)
            self.starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        else:
            columns = np.ascontiguousarray(X.T, dtype=np.float64)
            order = np.argsort(columns, axis=1, kind="stable")
            self.values = np.take_along_axis(columns, order, axis=1).ravel()
            self.order = order.astype(np.int32).ravel()
            self.starts = X.shape[0] * np.arange(X.shape[1] + 1)

    def best_stump(self, label: Array, w: Array, classes: int, gini: bool) -> Stump:
        """The stump of least Gini impurity or weighted error; column -1 if there is none."""
        parts = (self.starts, self.order, self.values)
        return Stump(
            *run(_core.best_stump, 4.0 * self.values.size, *parts, label, w, classes, gini)
        )

    def best_squares_cut(self, y: Array, w: Array) -> tuple[int, float]:
        """Column and threshold of the cut of least squares among rows with w > 0; column -1: none.

        y is measured from its mean. Of cuts that are alike the first one of the first column is
        taken; a threshold lies midway between two values.
        """
        parts = (self.starts, self.order, self.values)
        column, threshold = run(_core.best_squares_cut, 4.0 * self.values.size, *parts, y, w)
        return int(column), float(threshold)

    def low_rows(self, column: int, threshold: float) -> Array:
        """Whether the value of each row in a column is at most the threshold, (n,)."""
        a, b = self.starts[column : column + 2]
        low = np.full(self.rows, threshold >= 0)
        low[self.order[a:b]] = self.values[a:b] <= threshold
        return low


class Stump(NamedTuple):
    """Class `left` for x[column] <= threshold, else class `right`."""

    column: int
    threshold: float
    left: int
    right: int

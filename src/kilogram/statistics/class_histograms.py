"""Histograms of every column and class over common bins.

    p_cj(x) = (N_cjl + alpha/(L_j + 2)) / ((N_cj + alpha) Delta_j)     for x in bin l

A column has L_j bins of one width over the range of its values, the same for all classes, and one
bin on either side for values beyond it. `alpha` is the weight of one pseudo-row spread over them
all, so the probabilities of the bins sum to one and no bin has probability 0. The width is the
smallest that the rule finds for the values of a single class, so that the narrowest class is
resolved; rules use at most 20 000 rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import row_count, take_rows
from kilogram.functions.histograms import bin_width
from kilogram.statistics.class_counts import CategoryCounts
from kilogram.statistics.ranges import Ranges

RULE_ROWS = 20_000  # they give the interquartile range of normal data within about 1 %
COPIES = 3  # of the table of one column, while its logarithms are computed
MOST_BINS = 2**60  # more than any memory holds


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """starts (d,), widths (d,) and numbers (d,) of the inner bins of every column."""

    starts: np.ndarray
    widths: np.ndarray
    numbers: np.ndarray

    def places(self, X: Any) -> np.ndarray:
        """The bin of every value: 0 below, 1..L inside, L + 1 beyond, NaN for NaN; on the host."""
        X = to_numpy(X.toarray() if is_sparse(X) else X).astype(np.float64)
        at = np.floor((X - self.starts) / self.widths) + 1
        np.clip(at, 0, self.numbers + 1, out=at)
        last = self.starts + self.numbers * self.widths
        ends = (at == self.numbers + 1) & (last + 1e-9 * self.widths >= X)
        np.copyto(at, self.numbers, where=ends)  # the last bin includes its right end
        return at

    def of(self, X: Any, codes: Any, w: Any = None, *, n_classes: int) -> CategoryCounts:
        """The weights in the bins of rows X, by class."""
        sizes = self.numbers + 2
        return CategoryCounts.of(self.places(X), codes, w, n_classes=n_classes, sizes=sizes)

    def bytes(self, n_classes: int) -> float:
        """Memory of the counts and densities of all classes."""
        L = self.numbers
        return 8.0 * n_classes * (2 * float(L.sum(dtype=float)) + COPIES * int(L.max()))

    def log_densities(self, counts: CategoryCounts, alpha: float) -> list[np.ndarray]:
        """log p_cj of every bin, (n_classes, L_j + 2) for each column."""
        found = []
        for table, width in zip(counts.tables, self.widths, strict=True):
            total = table.sum(axis=1, keepdims=True)
            fraction = (table + alpha / table.shape[1]) / (total + alpha)
            found.append(np.log(fraction) - np.log(width))  # a quotient might overflow
        return found


def choose_bins(
    rule: str | int,
    max_bins: int,
    ranges: Ranges,
    rows: tuple[Any, Any, Any],
    classes: np.ndarray,
    rng: np.random.Generator,
) -> ColumnBins:
    """Bins by a rule, at most max_bins of them, or by their number; rows are (X, labels, w)."""
    X, y, w = rows
    known = ranges.high >= ranges.low
    low = np.where(known, ranges.low, 0.0)
    span = np.where(known, ranges.high - ranges.low, 0.0)
    numbers = np.ones(len(low), dtype=np.int64)
    if not isinstance(rule, str):
        numbers[span > 0] = min(int(rule), MOST_BINS)
    else:
        (sample, codes, weights), total = _sample(X, y, w, classes, rng)
        for j in np.flatnonzero(span > 0):
            widths = _class_widths(rule, sample[:, j], codes, weights, total, rng)
            width = min(widths, default=0.0)
            count = np.ceil(span[j] / width) if width > 0 else max_bins
            numbers[j] = int(np.clip(count, 1, max_bins))
    return ColumnBins(low, np.where(span > 0, span, 1.0) / numbers, numbers)


def _sample(X: Any, y: Any, w: Any, classes: np.ndarray, rng: Any) -> tuple[tuple, float]:
    """Rows (X, codes, w) on the host that a rule uses, and the weight of all rows."""
    n = row_count(X)
    at = np.arange(n) if n <= RULE_ROWS else np.sort(rng.choice(n, RULE_ROWS, replace=False))
    part = take_rows(X, at)
    codes = np.searchsorted(classes, to_numpy(take_rows(y, at)))
    weights = None if w is None else to_numpy(take_rows(w, at)).astype(np.float64)
    drawn = float(len(at)) if weights is None else float(weights.sum())
    dense = to_numpy(part.toarray() if is_sparse(part) else part).astype(np.float64)
    return (dense, codes, weights), drawn * n / len(at)


def _class_widths(
    rule: str, x: np.ndarray, codes: np.ndarray, w: Any, total: float, rng: Any
) -> list[float]:
    """The rule's width for each class that varies."""
    found, there = [], ~np.isnan(x)
    whole = float(len(x)) if w is None else float(w.sum())
    for c in np.unique(codes):
        own = there & (codes == c)
        if own.sum() < 2:
            continue
        weights = None if w is None else w[own]
        size = (own.sum() if weights is None else weights.sum()) * total / whole
        found.append(bin_width(rule, x[own], weights, size=float(size), rng=rng))
    return [width for width in found if width > 0]

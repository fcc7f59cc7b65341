"""Counts of features in classes, as values with `+`.

    FeatureCounts    N_cj = sum_{i in c} w_i x_ij         of counts or of 0 and 1
    CategoryCounts   N_cjv = sum_{i in c} w_i [x_ij = v]   of whole numbers below V_j

What is missing (NaN, or a category below 0) is left out: `seen` is the weight of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, sum_dtype, to_numpy
from kilogram.native import class_sums as native
from kilogram.statistics.classes import class_weights, members
from kilogram.statistics.products import as_floats


@dataclass(frozen=True, eq=False)
class FeatureCounts:
    """weights (K,), counts (K, d), seen (K, d), and the lowest value of all."""

    weights: Any
    counts: Any
    seen: Any
    lowest: float

    @classmethod
    def of(cls, X: Any, codes: Any, w: Any = None, *, n_classes: int) -> FeatureCounts:
        """Counts of rows X (n, d) without missing values."""
        X, codes = as_floats(X), to_numpy(codes)
        if not is_numpy(X):
            return cls.made(X, None, codes, w, n_classes, _lowest(X))
        weights = class_weights(codes, w, n_classes)
        counts, low = native.class_counts(X, codes, n_classes, w)
        seen = np.repeat(weights[:, None], X.shape[1], axis=1)
        return cls(weights, counts, seen, float(low.min()))

    @classmethod
    def above(
        cls, X: np.ndarray, threshold: float, codes: Any, w: Any = None, *, n_classes: int
    ) -> FeatureCounts:
        """Of [X > threshold], NaN left out; the lowest is -inf if a value is infinite, else 0."""
        codes = to_numpy(codes)
        counts, seen = native.class_presence(X, codes, n_classes, threshold, w)
        finite = not np.isnan(seen).any()
        weights = class_weights(codes, w, n_classes)
        return cls(weights, counts, seen, 0.0 if finite else -np.inf)

    @classmethod
    def made(
        cls, X: Any, lost: Any, codes: np.ndarray, w: Any, K: int, lowest: float
    ) -> FeatureCounts:
        """Of rows X with 0 where `lost`, a matrix of 0 and 1 or None, has a 1: nothing is known."""
        weights = class_weights(codes, w, K)
        counts = class_sums(X, codes, w, K)
        seen = like(np.repeat(weights[:, None], X.shape[1], axis=1), counts)
        seen = seen if lost is None else seen - class_sums(lost, codes, w, K)
        return cls(like(weights, counts), counts, seen, lowest)

    def __add__(self, other: FeatureCounts | int) -> FeatureCounts:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, FeatureCounts):
            return NotImplemented
        return FeatureCounts(
            self.weights + other.weights,
            self.counts + other.counts,
            self.seen + other.seen,
            min(self.lowest, other.lowest),
        )

    __radd__ = __add__


@dataclass(frozen=True, eq=False)
class CategoryCounts:
    """weights (K,), and for every column a table (K, V_j); on the host, as labels are."""

    weights: np.ndarray
    tables: tuple[np.ndarray, ...]

    @classmethod
    def of(
        cls, X: Any, codes: Any, w: Any = None, *, n_classes: int, sizes: Any = None
    ) -> CategoryCounts:
        """Of whole numbers X (n, d), dense, on the host; NaN, or below 0: missing.

        `sizes` (d,), where they are known, are the V_j; otherwise the largest values give them.
        """
        X, codes = as_floats(X), to_numpy(codes)
        if sizes is None:
            sizes = category_sizes(native.column_ranges(X, 0.0)[1])
        row = None if w is None else to_numpy(w)
        tables = native.class_categories(X, codes, n_classes, sizes, row)
        return cls(class_weights(codes, w, n_classes), tuple(tables))

    def __add__(self, other: CategoryCounts | int) -> CategoryCounts:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, CategoryCounts):
            return NotImplemented
        pairs = zip(self.tables, other.tables, strict=True)
        return CategoryCounts(
            self.weights + other.weights,
            tuple(_widened(a, b.shape[1]) + _widened(b, a.shape[1]) for a, b in pairs),
        )

    __radd__ = __add__

    def widened(self, sizes: Any) -> CategoryCounts:
        """With at least these many categories in every column."""
        tables = (_widened(t, int(v)) for t, v in zip(self.tables, sizes, strict=True))
        return CategoryCounts(self.weights, tuple(tables))


def category_sizes(high: np.ndarray) -> np.ndarray:
    """V_j of columns whose greatest value is `high` (d,); 0 where none is known."""
    return np.where(high >= 0, high, -1.0).astype(np.int64) + 1


def class_sums(X: Any, codes: np.ndarray, w: Any, K: int) -> Any:
    """(K, d): sums of the rows of every class, in the library of X."""
    n, d = X.shape
    if is_numpy(X):
        return native.class_powers(X, codes, np.zeros((K, d)), w, powers=1)[0]
    if is_sparse(X):
        row = np.ones(n) if w is None else np.asarray(w, dtype=np.float64)
        member = scipy.sparse.csr_array((row, (codes, np.arange(n))), shape=(K, n))
        return (member @ X.astype(np.float64)).toarray()
    xp = namespace(X)
    return members(codes, w, K, X) @ xp.astype(X, sum_dtype(X, xp))


def _lowest(X: Any) -> float:
    if is_sparse(X):
        return float(X.data.min(initial=0.0)) if X.nnz else 0.0
    return float(namespace(X).min(X))


def _widened(table: np.ndarray, V: int) -> np.ndarray:
    more = V - table.shape[1]
    return np.pad(table, [(0, 0), (0, more)]) if more > 0 else table

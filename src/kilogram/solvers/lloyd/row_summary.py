"""Mean, variance and missing values of the rows, in one pass before a clustering fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like
from kilogram.arrays.rows import is_streamed, reduce_rows, take_rows
from kilogram.solvers.lloyd.containers import host
from kilogram.statistics.class_variances import ClassVariances

# squared length, in multiples of the mean, that single rows may have before their squares overflow
LONGER = 16.0
ROUNDING = 1e-9  # fraction of the total weight that rounding may lose: sums of 10 million rows
# Values up to which NumPy sums take less time than the call of a native pass: measured in a fit of
# KMeans, 1.4 times slower at 2 000 without it, equal at 20 000.
SMALL_SIZE = 20_000


@dataclass(frozen=True, eq=False)
class RowSummary:
    """The mean of the rows, the mean variance of their features, their library and float type."""

    origin: np.ndarray
    variance: float
    squares: float  # the sum of w |x - origin|^2
    unseen: np.ndarray  # features without any value
    sizes: np.ndarray  # per feature; not finite where a value is not
    dtype: Any
    put: Callable[[np.ndarray], Any]  # from the host to the library and device of the rows


@dataclass(frozen=True, eq=False)
class Variances:
    """Variances of rows, and which features (d,) have missing values."""

    variances: ClassVariances
    missing: np.ndarray

    def __add__(self, other: Variances | int) -> Variances:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, Variances):
            return NotImplemented
        return Variances(self.variances + other.variances, self.missing | other.missing)

    __radd__ = __add__


def _block_variances(X: Any, w: Any) -> Variances:
    found = ClassVariances.of(X, np.zeros(X.shape[0], dtype=np.int64), w, n_classes=1)
    weight = float(host(found.weights)[0])
    missing = host(found.seen)[0] < weight * (1 - ROUNDING)
    light = np.empty(0, int) if w is None else np.flatnonzero(host(w) <= ROUNDING * weight)
    if light.size:  # a missing value in a row without weight does not show in the sums
        rows = take_rows(X, light)
        rows = host(rows.toarray() if is_sparse(rows) else rows)
        missing = missing | np.isnan(rows).any(axis=0)
    return Variances(found, missing)


def _variances(X: Any, w: Any) -> tuple[np.ndarray, np.ndarray, float, Any, np.ndarray]:
    """Means and variances, the total weight, and which features miss some and all values."""
    if w is None and is_numpy(X) and X.size <= SMALL_SIZE:
        means = X.mean(axis=0, dtype=np.float64)
        squares = np.square(X - means).mean(axis=0)
        if np.isfinite(squares).all():
            return means, squares, float(len(X)), False, np.zeros(len(means), bool)
    both = reduce_rows(_block_variances, X, w)
    found, weight = both.variances, float(host(both.variances.weights)[0])
    unseen = host(found.seen)[0] <= ROUNDING * weight
    return host(found.means)[0], host(found.variances)[0], weight, both.missing, unseen


def summarize_rows(X: Any, w: Any) -> RowSummary:
    """One pass over the rows X (n, d) with weights w (n,) or None."""
    with np.errstate(invalid="ignore", over="ignore"):  # the caller looks at `sizes`
        means, squares, weight, missing, unseen = _variances(X, w)
    sizes = np.where(missing, np.nan, means + squares)
    dtype: Any = np.dtype(np.float64)
    put: Callable[[np.ndarray], Any] = _unchanged
    if not is_streamed(X):
        dtype = np.dtype(np.float32 if str(X.dtype).endswith("float32") else np.float64)
        if not (is_numpy(X) or is_sparse(X)):
            one_row = X[:1, :]
            put = partial(_like_rows, reference=one_row)
    most = float(np.finfo(dtype).max)
    too_long = float(squares.sum()) > most / LONGER  # the squares of rows, not of columns alone
    sizes = np.where((sizes > most) | too_long, np.inf, sizes)
    with np.errstate(over="ignore", invalid="ignore"):
        # rounded to the type of the rows, so that subtracting it costs them no digits
        origin = means.astype(dtype).astype(np.float64)
        off = float(((means - origin) ** 2).sum())
    total = weight * (float(squares.sum()) + off)
    return RowSummary(origin, float(squares.mean()), total, unseen, sizes, dtype, put)


def _unchanged(found: np.ndarray) -> np.ndarray:
    return found


def _like_rows(found: np.ndarray, reference: Any) -> Any:
    return like(found, reference)

"""Smallest and largest value of each column, NaN left out, as a value with `+`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, namespace, to_numpy
from kilogram.native.class_sums import column_ranges
from kilogram.statistics.products import as_floats


@dataclass(frozen=True, eq=False)
class Ranges:
    """low and high (d,), on the host; inf and -inf where a column has no value."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: Any) -> Ranges:
        """Ranges of rows X (n, d), dense or sparse."""
        X = X.toarray() if is_sparse(X) else X
        if is_numpy(X):
            low, high, _ = column_ranges(as_floats(X), 0.0).astype(np.float64)
            return cls(low, high)
        xp = namespace(X)
        lost = xp.isnan(X)
        low = xp.min(xp.where(lost, xp.full_like(X, xp.inf), X), axis=0)
        high = xp.max(xp.where(lost, xp.full_like(X, -xp.inf), X), axis=0)
        return cls(to_numpy(low).astype(np.float64), to_numpy(high).astype(np.float64))

    def __add__(self, other: Ranges) -> Ranges:
        return Ranges(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

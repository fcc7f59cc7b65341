"""Rows in host memory, for methods that sort columns or keep every row."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.row_streams import stack_rows
from kilogram.arrays.rows import is_streamed, row_blocks


def as_float64(X: Any) -> np.ndarray:
    """An array of any library as float64 in host memory."""
    return np.asarray(to_numpy(X), dtype=np.float64)


def rows_in_memory(X: Any, *others: Any) -> tuple[Any, ...]:
    """Streaming input as one array each; anything else unchanged. `others` may be None."""
    if not is_streamed(X):
        return X, *others
    parts = zip(*row_blocks(X, *others), strict=True)
    return tuple(None if part[0] is None else stack_rows(list(part)) for part in parts)


def rows_of_positive_weight(X: Any, w: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows whose weight is above 0 and their weights, both float64 in host memory."""
    X = as_float64(X)
    if w is None:
        return X, None
    w = as_float64(w)
    return (X, w) if (w > 0).all() else (X[w > 0], w[w > 0])

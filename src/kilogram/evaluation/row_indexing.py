"""Rows of whatever scikit-learn takes as X or y, in its own container."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from kilogram.arrays.frames import is_frame, is_series
from kilogram.arrays.namespace import is_sparse
from kilogram.arrays.rows import take_rows


def take(X: Any, rows: Any) -> Any:
    """The rows with these indices (or of this mask): frames stay frames, lists stay lists."""
    rows = np.asarray(rows)
    if rows.dtype == bool:
        rows = np.flatnonzero(rows)
    if is_frame(X) or is_series(X):
        return nw.from_native(X, allow_series=True)[rows].to_native()
    if is_sparse(X):
        return X.tocsr()[rows]
    if isinstance(X, (list, tuple)):
        return [X[i] for i in rows]
    if isinstance(X, np.ndarray):  # of any number of dimensions
        return X[rows]
    return take_rows(X, rows)

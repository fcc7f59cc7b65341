"""A shift of the columns that improves the conditioning of Newton's method."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, row_blocks

SOME = 2048  # rows whose means are taken: any point near the mean will do


def shift_of(X: Any) -> np.ndarray:
    """Means of some rows; 0 for sparse rows, which stay sparse."""
    if is_streamed(X):
        X = next(iter(row_blocks(X)))[0]
    if is_sparse(X):
        return np.zeros(X.shape[1])
    some = X[:: max(1, X.shape[0] // SOME), :]
    first = some[:1, :]  # the mean of equal numbers is not quite the number, that of zeros is
    steps = namespace(some).mean(some - first, axis=0)
    means = np.asarray(to_numpy(first[0, :] + steps), dtype=np.float64)
    return np.where(np.isfinite(means), means, 0.0)

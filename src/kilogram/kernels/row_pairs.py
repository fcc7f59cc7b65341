"""Two tables of rows made ready to be compared, and k(X, Y) V in blocks of rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import float_dtype, is_numpy, is_sparse, namespace, sum_dtype

if TYPE_CHECKING:
    from kilogram.kernels.base import Kernel


def as_pair(X: Any, Y: Any) -> tuple[Any, Any]:
    """X and Y as float arrays of one library, dtype and number of columns; Y may be None.

    None means k(X, X) of one table. The same array given twice is two tables, as a copy would be.
    """
    X = as_rows(X)
    if Y is None:
        return X, None
    Y = as_rows(Y)
    if X.ndim != Y.ndim or X.shape[-1] != Y.shape[-1]:
        raise ValueError(
            f"a kernel compares rows of one length: X has shape {tuple(X.shape)}, "
            f"Y has shape {tuple(Y.shape)}"
        )
    if X.dtype != Y.dtype:
        common = namespace(X, Y).float64
        X, Y = cast(X, common), cast(Y, common)
    return X, Y


def as_rows(X: Any) -> Any:
    """X as a float array of its own library: float32 stays, everything else becomes float64."""
    if is_sparse(X):
        X = X.tocsr()
    else:
        xp = namespace(X)
        X = xp.asarray(X)
    return cast(X, float_dtype(X, namespace(X)))


def cast(X: Any, dtype: Any) -> Any:
    """X in another dtype, itself if it already has it."""
    if X.dtype == dtype:
        return X
    return X.astype(dtype) if is_sparse(X) else namespace(X).astype(X, dtype)


def check_squares(X: Any, name: str) -> None:
    """ValueError if squared distances between finite rows of X would overflow.

    The sum of all squares, one pass over X, settles the usual case.
    """
    values = X.data if is_sparse(X) else X
    xp = namespace(values)
    if math.prod(values.shape) == 0:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(float(xp.sum(values * values)) if not is_numpy(values) else _dot(values)):
            return
    largest = float(xp.max(xp.abs(values)))
    limit = 0.5 * (float(xp.finfo(values.dtype).max) / X.shape[-1]) ** 0.5
    if math.isfinite(largest) and largest > limit:
        raise ValueError(
            f"{name}: the values of X reach {largest:.2g}, and their squares overflow "
            f"{values.dtype}. Divide the features by their scale first (StandardScaler does)."
        )


def _dot(values: np.ndarray) -> float:
    flat = values.ravel(order="K")
    return float(np.dot(flat, flat))


def wide(X: Any) -> Any:
    """X in float64, or the widest float its device has: what factors and likelihoods need."""
    return cast(X, sum_dtype(X, namespace(X)))


def runs_native(X: Any, Y: Any = None) -> bool:
    """Whether the compiled loops can read these tables: both are dense NumPy."""
    return is_numpy(X) and (Y is None or is_numpy(Y))


def dense(X: Any) -> Any:
    """X with its zeros written out."""
    return X.toarray() if is_sparse(X) else X


def row_ones(X: Any, value: float = 1.0) -> Any:
    """A vector with one number per row of X, in X's library, dtype and device."""
    if is_sparse(X):
        return namespace(X).full(X.shape[0], value, dtype=X.dtype)
    return namespace(X).full(X.shape[0], value, dtype=X.dtype, device=X.device)


def blocked_matmul(kernel: Kernel, X: Any, Y: Any, V: Any) -> Any:
    """k(X, Y) V in blocks of rows of X, holding BLOCK_ENTRIES entries of K at a time."""
    n, m = X.shape[0], Y.shape[0]
    step = max(1, BLOCK_ENTRIES // max(1, m))
    if step >= n:
        return kernel(X, Y) @ V
    blocks = [kernel(X[i : min(i + step, n), :], Y) @ V for i in range(0, n, step)]
    return namespace(*blocks).concat(blocks, axis=0)

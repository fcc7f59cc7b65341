"""Weighted products of the rows of two blocks, about shifts p and q:

    Sxx = sum_i w_i (x_i - p)(x_i - p)'     Sxy = sum_i w_i (x_i - p)(y_i - q)'

and Syy likewise, with the sums sx = sum_i w_i (x_i - p) and sy. Dense NumPy rows
take one native pass over both; a sparse X stays sparse.
"""

from __future__ import annotations

import math
from typing import Any

from kilogram import native
from kilogram.arrays.linalg import scatter, squares_underflow
from kilogram.arrays.namespace import float_dtype, is_numpy, is_sparse, namespace
from kilogram.arrays.rows import row_slices

MIXED_ENTRIES = 2**20  # entries of float32 rows converted to float64 at once: 8 MiB


def scatter_pair(X: Any, Y: Any, w: Any, p: Any, q: Any) -> tuple[Any, Any, Any, Any, Any]:
    """(Sxx, Sxy, Syy, sx, sy) of X (n, d) and Y (n, t); p is None for sparse X, q for sparse Y."""
    if not is_sparse(X) and not is_sparse(Y) and X.dtype != Y.dtype:
        return _mixed_pair(X, Y, w, p, q)
    if is_numpy(X) and is_numpy(Y):
        found = native.scatter_pair(X, Y, w, p, q)
        if X.dtype == "float32" and (squares_underflow(found.xx) or squares_underflow(found.yy)):
            X, Y = X.astype("float64"), Y.astype("float64")
            return native.scatter_pair(X, Y, w, p, q)
        return found
    Sxx, sx = scatter(X, w, p)
    Syy, sy = scatter(Y, w, q)
    if is_sparse(X) or is_sparse(Y):
        return Sxx, _sparse_cross(X, Y, w, p, q), Syy, sx, sy
    WY = Y - q if w is None else (Y - q) * w[:, None]
    return Sxx, (X - p).T @ WY, Syy, sx, sy


def _mixed_pair(X: Any, Y: Any, w: Any, p: Any, q: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Products of float32 X and float64 Y: float32 only where X is multiplied with itself."""
    xp = namespace(X, Y)
    w = None if w is None else xp.astype(w, Y.dtype, copy=False)
    Sxx, sx = scatter(X, w, p)
    Syy, sy = scatter(Y, w, q)
    cross = xp.zeros((X.shape[1], Y.shape[1]), dtype=Y.dtype, device=Y.device)
    for some in row_slices(X, X.shape[1], MIXED_ENTRIES):
        near = Y[some, :] - q if w is None else (Y[some, :] - q) * w[some, None]
        cross = cross + (xp.astype(X[some, :], Y.dtype) - p).T @ near
    return Sxx, cross, Syy, sx, sy


def _sparse_cross(X: Any, Y: Any, w: Any, p: Any, q: Any) -> Any:
    """Sxy when one of the two is sparse, and so has no shift: a product with the dense one."""
    if is_sparse(X) and is_sparse(Y):
        WY = Y if w is None else Y.multiply(w[:, None])
        return (X.T @ WY).toarray()
    if is_sparse(X):
        return X.T @ (Y - q if w is None else (Y - q) * w[:, None])
    return _sparse_cross(Y, X, w, q, p).T


def weight_unit(w: Any) -> float:
    """The power of two below the largest weight, if that is far from 1; else 1."""
    largest = 1.0 if w is None or not w.shape[0] else float(namespace(w).max(w))
    if largest <= 0 or 1e-6 < largest < 1e6:
        return 1.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def as_floats(X: Any, like: Any = None) -> Any:
    """Rows of a float type: float32 stays, other types become float64; or the type of `like`."""
    xp = namespace(X)
    dtype = float_dtype(X if like is None else like, xp)
    if X.dtype == dtype:
        return X
    return X.astype(dtype) if is_sparse(X) else xp.astype(X, dtype)

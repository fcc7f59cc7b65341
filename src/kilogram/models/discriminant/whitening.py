"""Whitening by the within-class covariance, for linear discriminant analysis.

T whitens C if T'C T = I; directions in which C has no variance are left out. From the d by d
covariance by its eigenvectors, or from fewer than d centred rows by their singular values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.linalg import eigh, svd
from kilogram.arrays.namespace import is_numpy, namespace
from kilogram.base.labels import codes_of


def standard_whitener(C: Any, means: Any, tol: float) -> Any:
    """T (d, r) with T'C T = I, after the columns are brought to unit deviation."""
    xp = namespace(C)
    variances = xp.linalg.diagonal(C)  # next to a huge weight, rounding may be all of one
    std = xp.sqrt(xp.where(variances > 0, variances, xp.zeros_like(variances)))
    # the deviation of a constant column is the rounding error of its mean: it counts as 0
    flat = std <= 8 * xp.finfo(C.dtype).eps * xp.max(xp.abs(means), axis=0)
    std = xp.where(flat, xp.ones_like(std), std)
    unit = xp.where(flat[:, None] | flat[None, :], xp.zeros_like(C), C / (std[:, None] * std))
    values, V = eigh(unit)
    rank = int(xp.sum(xp.astype(values > max(tol, 1e-7) ** 2, xp.int64)))
    return V[:, :rank] / std[:, None] / xp.sqrt(values[:rank])


def whitener_of_rows(Z: Any, weight: float, tol: float) -> Any:
    """Whitener from centred rows Z (n, d), n < d, without the d by d covariance."""
    xp = namespace(Z)
    std = xp.sqrt(xp.sum(Z * Z, axis=0) / weight)
    std = xp.where(std == 0, xp.ones_like(std), std)
    _, s, Vt = svd(Z / (std * weight**0.5))
    rank = int(xp.sum(xp.astype(s > tol, xp.int64)))
    return Vt[:rank, :].T / std[:, None] / s[:rank]


def centred_rows(rows: tuple, means: Any, classes: np.ndarray) -> Any:
    """Rows less the mean of their class, times the root of their weight."""
    X, y, w = rows
    xp = namespace(X)
    wide = means.dtype
    at = xp.asarray(codes_of(y, classes), device=None if is_numpy(X) else X.device)
    Z = xp.astype(X, wide) - xp.take(means, at, axis=0)
    return Z if w is None else Z * xp.sqrt(xp.astype(w, wide))[:, None]


def pseudo_inverse(C: Any) -> Any:
    """Of a symmetric C; eigenvalues below the rounding error, eps d max |values|, count as 0."""
    xp = namespace(C)
    values, V = eigh(C)
    kept = values > xp.finfo(C.dtype).eps * C.shape[0] * xp.max(xp.abs(values))
    inverse = xp.where(kept, 1 / xp.where(kept, values, xp.ones_like(values)), 0 * values)
    return (V * inverse) @ V.T

"""The pass of a Gaussian mixture as a few products of matrices, for arrays of any library.

With an origin o amid the means, all components are taken at once, for blocks of rows:

    F_c (x - m_c)                  one product with the factors below each other, less F_c (m_c - o)
    sum_i r_ic z_ic z_ic'          one product (r z)' (x - o), less sum_i r_ic z_ic (m_c - o)'

On a device a call costs as much as the work on thousands of rows, and an answer fetched by the host
costs more: so there are few calls, and the sums come to the host once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kilogram.arrays.namespace import like, namespace, sum_dtype, to_numpy
from kilogram.arrays.rows import row_slices
from kilogram.statistics import mixture_missing

ENTRIES = 2**24  # of a block, its rows, components and columns: 128 MiB


def log_joint(X: Any, parts: Any) -> Any:
    """log p(x, c), (n, k), in the library of X; X has no NaN."""
    xp = namespace(X)
    X = xp.astype(X, sum_dtype(X, xp))
    blocks = [_log_joint(X[rows, :], parts) for rows in _slices(X, parts)]
    return blocks[0] if len(blocks) == 1 else xp.concat(blocks, axis=0)


def _log_joint(x: Any, parts: Any) -> Any:
    xp = namespace(x)
    (k, d), (o, near) = parts.means.shape, _about_origin(parts)
    moved, F = x - like(o, x), parts.factors
    if parts.kind == "full":
        below = like(F.reshape(k * d, d), x)
        b = like((F @ near[:, :, None]).ravel(), x)
        Z = xp.reshape(moved @ below.T - b, (x.shape[0], k, d))
    elif parts.kind == "tied":
        Z = (moved @ like(F, x).T)[:, None, :] - like(near @ F.T, x)
    else:
        Z = (moved[:, None, :] - like(near, x)) * like(F, x)
    found = like(parts.constants, x) - xp.sum(Z * Z, axis=2) / 2
    least = xp.full_like(found, mixture_missing.LEAST if "64" in str(found.dtype) else -1e37)
    return xp.where(found >= least, found, least)  # as in the native pass: no infinity, no NaN


def standard_sums(X: Any, w: Any, parts: Any, joint: Any) -> tuple:
    """The fields of `MixtureSums`, from log p(x, c)."""
    xp = namespace(X)
    X = xp.astype(X, sum_dtype(X, xp))
    norms, R = norms_and_responsibilities(xp.astype(joint, X.dtype))
    total = float(X.shape[0])
    if w is not None:
        u = like(w, X)
        R, norms, total = R * u[:, None], norms * u, float(xp.sum(u))
    return (*weighted_sums(X, R, parts), float(xp.sum(norms)), total)


def weighted_sums(X: Any, R: Any, parts: Any) -> tuple:
    """weights, first and second of rows X with responsibilities R (n, k), about the means."""
    (k, d), near = parts.means.shape, _about_origin(parts)[1]
    blocks = (_sums(X[rows, :], R[rows, :], parts) for rows in _slices(X, parts))
    flat: Any = np.zeros(k * (1 + d + d * d)) if X.shape[0] == 0 else to_numpy(sum(blocks))
    N, first, second = np.split(np.asarray(flat, dtype=np.float64), [k, k + k * d])
    first = first.reshape(k, d)
    if parts.kind not in ("full", "tied"):
        return N, first, second.reshape(k, d)
    S = second.reshape(k, d, d) - first[:, :, None] * near[:, None, :]
    S = (S + S.transpose(0, 2, 1)) / 2
    return N, first, S.sum(axis=0) if parts.kind == "tied" else S


def _sums(x: Any, R: Any, parts: Any) -> Any:
    """The sums of a block in a row, on its device: N (k), first (k d), second."""
    xp = namespace(x)
    o, near = _about_origin(parts)
    moved = x - like(o, x)
    z = moved[:, None, :] - like(near, x)
    rz = z * R[:, :, None]
    if parts.kind in ("full", "tied"):
        second = xp.reshape(rz, (x.shape[0], -1)).T @ moved
    else:
        second = xp.sum(rz * z, axis=0)
    found = (xp.sum(R, axis=0), xp.sum(rz, axis=0), second)
    return xp.concat([xp.reshape(part, (-1,)) for part in found])


def norms_and_responsibilities(joint: Any) -> tuple[Any, Any]:
    """log p(x), (n,), and p(c | x), (n, k), not taken from the first: far away it has no digits."""
    xp = namespace(joint)
    most = xp.max(joint, axis=1)
    R = xp.exp(joint - most[:, None])
    total = xp.sum(R, axis=1)
    return most + xp.log(total), R / total[:, None]


def _about_origin(parts: Any) -> tuple[np.ndarray, np.ndarray]:
    """A point amid the means, and the means less it."""
    o = parts.weights @ parts.means
    return o, parts.means - o


def _slices(X: Any, parts: Any) -> Iterator[slice]:
    return row_slices(X, parts.means.size, ENTRIES)

"""The passes of k-means over arrays of another library, computed on their device.

A call there costs as much as the work on thousands of rows, and a transfer to the host costs more:
blocks are large, and only the results are transferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kilogram.arrays.namespace import like, namespace, sum_dtype, to_numpy
from kilogram.arrays.rows import row_slices

ENTRIES = 2**24  # of a block of distances: 64 MiB of float32


def _slices(X: Any, k: int) -> Iterator[slice]:
    return row_slices(X, max(k, X.shape[1]), ENTRIES)


def cluster_sums(X: Any, w: Any, C: np.ndarray, origin: np.ndarray) -> tuple[Any, Any, float]:
    """Sums (k, d) of x - origin of the rows nearest to each centre, their weights, the inertia."""
    blocks = [
        _sums(X[rows, :], None if w is None else w[rows], C, origin) for rows in _slices(X, len(C))
    ]
    flat = np.asarray(to_numpy(sum(blocks)), dtype=np.float64)
    S = flat[:-1].reshape(len(C), -1)
    return S[:, :-1], S[:, -1], float(flat[-1])


def _sums(x: Any, w: Any, C: np.ndarray, origin: np.ndarray) -> Any:
    """The sums and weights (k, d + 1) of a block and its inertia, in a row."""
    xp = namespace(x)
    moved = _moved(x, origin)
    D = _values(moved, C, origin)
    best = xp.argmin(D, axis=1)
    away = _squared(xp.min(D, axis=1), moved)
    members = xp.astype(best[:, None] == xp.arange(len(C), device=moved.device), moved.dtype)
    if w is not None:
        u = xp.astype(w, moved.dtype)
        members, away = members * u[:, None], u * away
    ones = xp.ones((x.shape[0], 1), dtype=moved.dtype, device=moved.device)
    S = members.T @ xp.concat([moved, ones], axis=1)
    return xp.concat([xp.reshape(S, (-1,)), xp.reshape(xp.sum(away), (1,))])


def nearest(X: Any, C: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) int32 and squared distances (n,), on the host."""
    xp = namespace(X)
    labels, away = [], []
    for rows in _slices(X, len(C)):
        moved = _moved(X[rows, :], origin)
        D = _values(moved, C, origin)
        labels.append(xp.argmin(D, axis=1))
        away.append(_squared(xp.min(D, axis=1), moved))
    best, near = (to_numpy(xp.concat(parts)) for parts in (labels, away))
    return best.astype(np.int32), near.astype(np.float64)


def distances(X: Any, C: np.ndarray, origin: np.ndarray) -> Any:
    """|x - c|^2, (n, k), on the device."""
    xp = namespace(X)
    blocks = []
    for rows in _slices(X, len(C)):
        moved = _moved(X[rows, :], origin)
        blocks.append(_squared(_values(moved, C, origin), moved))
    return xp.concat(blocks, axis=0)


def _moved(x: Any, origin: np.ndarray) -> Any:
    xp = namespace(x)
    wide = xp.astype(x, sum_dtype(x, xp))
    return wide - like(origin, wide)


def _values(moved: Any, C: np.ndarray, origin: np.ndarray) -> Any:
    """|c|^2 - 2 <x, c>, (m, k): the distances less |x|^2."""
    near = C - origin
    return moved @ like(-2.0 * near.T, moved) + like((near * near).sum(axis=1), moved)


def _squared(values: Any, moved: Any) -> Any:
    """Squared distances: with |x|^2 added, and clipped at 0."""
    xp = namespace(moved)
    norms = xp.sum(moved * moved, axis=1)
    found = values + (norms if values.ndim == 1 else norms[:, None])
    return xp.where(found > 0, found, xp.zeros_like(found))

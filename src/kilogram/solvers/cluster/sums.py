"""Sums over the rows of the nearest centres, as a value with `+`.

    sums     S_c = sum_{i in c} w_i (x_i - o)       o: one origin for all, near the data
    weights  W_c = sum_{i in c} w_i                 so the new centre is o + S_c / W_c
    inertia        sum_i w_i min_c |x_i - m_c|^2

NumPy rows take one native pass that holds no n by k matrix; sparse rows and arrays of other
libraries hold one block of it at a time, the latter on their device.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, sum_dtype, to_numpy
from kilogram.native.kmeans import cluster_pass, distances_to

BLOCK_ENTRIES = 2**22  # entries of a block of distances


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """S (k, d), W (k,), both float64 on the host, and the inertia."""

    sums: np.ndarray
    weights: np.ndarray
    inertia: float

    @classmethod
    def of(cls, X: Any, w: Any, C: np.ndarray, origin: np.ndarray) -> ClusterSums:
        """Of the rows X (n, d) with weights w (n,) or None and centres C (k, d), NumPy."""
        if is_numpy(X):
            step = cluster_pass(X, C - origin, w, origin)
            return cls(step.sums[:, :-1], step.sums[:, -1], step.inertia)
        if not is_sparse(X):
            return cls._on_device(X, w, C, origin)
        sums, weights, inertia = np.zeros(C.shape), np.zeros(len(C)), 0.0
        for rows, D in _distance_blocks(X, C, origin):
            best = D.argmin(axis=1)
            away = D[np.arange(len(best)), best]
            u = np.ones(len(best)) if w is None else to_numpy(w[rows]).astype(float)
            sums += _gathered(X[rows, :], best, u, len(C))
            weights += np.bincount(best, u, minlength=len(C))
            inertia += float(u @ away)
        return cls(sums - weights[:, None] * origin, weights, inertia)

    @classmethod
    def _on_device(cls, X: Any, w: Any, C: np.ndarray, origin: np.ndarray) -> ClusterSums:
        """Rows of another library: only the sums come to the host."""
        xp = namespace(X)
        total: Any = 0
        for rows in _slices(X, len(C)):
            wide = xp.astype(X[rows, :], sum_dtype(X, xp))
            moved, centres = wide - like(origin, wide), like(C - origin, wide)
            D = xp.sum(centres * centres, axis=1) - 2 * (moved @ centres.T)
            best = xp.argmin(D, axis=1)
            away = xp.min(D, axis=1) + xp.sum(moved * moved, axis=1)
            away = xp.where(away > 0, away, xp.zeros_like(away))
            u = xp.ones_like(away) if w is None else xp.astype(w[rows], away.dtype)
            clusters = xp.arange(len(C), device=wide.device)
            members = xp.where(best[:, None] == clusters, u[:, None], xp.zeros_like(u)[:, None])
            parts = (members.T @ moved, xp.sum(members, axis=0), xp.sum(u * away))
            sums, weights, inertia = (to_numpy(part).astype(float) for part in parts)
            total = total + cls(sums, weights, float(inertia))
        return total

    def __add__(self, other: ClusterSums | int) -> ClusterSums:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, ClusterSums):
            return NotImplemented
        return ClusterSums(
            self.sums + other.sums, self.weights + other.weights, self.inertia + other.inertia
        )

    __radd__ = __add__


def nearest(X: Any, C: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) int32 and squared distances (n,) of the rows of a block, on the host."""
    if is_numpy(X):
        step = cluster_pass(X, C - origin, None, origin, distances=True)
        assert step.distances is not None
        return step.labels, step.distances
    labels, away = [np.empty(0, np.int32)], [np.empty(0)]
    for _, D in _distance_blocks(X, C, origin):
        labels.append(D.argmin(axis=1).astype(np.int32))
        away.append(D.min(axis=1))
    return np.concatenate(labels), np.concatenate(away)


def row_norms(X: Any, origin: np.ndarray) -> np.ndarray | None:
    """|x - origin|^2 of NumPy rows, (n,), which `squared_distances` can be given again."""
    if not is_numpy(X):
        return None
    return np.concatenate([((B - origin.astype(B.dtype)) ** 2).sum(1) for B in _pieces(X)])


def squared_distances(
    X: Any, C: np.ndarray, origin: np.ndarray, norms: np.ndarray | None = None
) -> np.ndarray:
    """(k, n), on the host: of every row of a block from every centre."""
    if is_numpy(X):
        known: Any = row_norms(X, origin) if norms is None else norms
        return distances_to(X, C - origin, known, origin)
    return np.concatenate([D for _, D in _distance_blocks(X, C, origin)]).T


def _pieces(X: np.ndarray) -> Iterator[np.ndarray]:
    step = max(1, BLOCK_ENTRIES // max(X.shape[1], 1))
    return (X[i : i + step] for i in range(0, max(len(X), 1), step))


def _slices(X: Any, k: int) -> Iterator[slice]:
    """Blocks of rows whose distances from k centres are held at once."""
    step = max(1, BLOCK_ENTRIES // max(k, 1))
    return (slice(i, min(i + step, X.shape[0])) for i in range(0, X.shape[0], step))


def _distance_blocks(X: Any, C: np.ndarray, origin: np.ndarray) -> Iterator[tuple[slice, Any]]:
    """|x - c|^2 of blocks of rows, each (m, k) on the host in float64."""
    for rows in _slices(X, len(C)):
        yield rows, np.maximum(_products(X[rows, :], C, origin), 0.0)


def _products(x: Any, C: np.ndarray, origin: np.ndarray) -> np.ndarray:
    squares = (C * C).sum(axis=1)
    if is_sparse(x):
        norms = np.asarray(x.multiply(x).sum(axis=1), dtype=float).ravel()
        return norms[:, None] - 2 * np.asarray(x @ C.T) + squares
    xp = namespace(x)
    wide = xp.astype(x, sum_dtype(x, xp))
    centres, moved = like(C - origin, wide), wide - like(origin, wide)
    D = -2 * (moved @ centres.T) + xp.sum(centres * centres, axis=1)
    return to_numpy(xp.sum(moved * moved, axis=1)[:, None] + D).astype(float)


def _gathered(x: Any, labels: np.ndarray, w: np.ndarray, k: int) -> np.ndarray:
    """sum_{i in c} w_i x_i of sparse rows, (k, d)."""
    members = scipy.sparse.csr_array((w, labels, np.arange(len(labels) + 1)), (len(labels), k))
    return np.asarray((members.T @ x).todense(), dtype=float)

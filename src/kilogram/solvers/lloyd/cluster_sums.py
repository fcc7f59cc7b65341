"""Sums over the rows of the nearest centres, as a value with `+`.

    sums     S_c = sum_{i in c} w_i (x_i - o)       o: one origin for all, near the data
    weights  W_c = sum_{i in c} w_i                 so the new centre is o + S_c / W_c
    inertia        sum_i w_i min_c |x_i - m_c|^2

NumPy rows take one native pass that holds no n by k matrix; sparse rows hold one block of it at a
time, and so do arrays of other libraries, on their device (`sums_device`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import is_numpy, is_sparse, to_numpy
from kilogram.arrays.rows import row_slices
from kilogram.native.kmeans import cluster_pass, distances_to
from kilogram.solvers.lloyd import cluster_sums_device as sums_device


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
            return cls(*sums_device.cluster_sums(X, w, C, origin))
        sums, weights, inertia = np.zeros(C.shape), np.zeros(len(C)), 0.0
        for rows, D in _distance_blocks(X, C):
            best = D.argmin(axis=1)
            away = D[np.arange(len(best)), best]
            u = np.ones(len(best)) if w is None else to_numpy(w[rows]).astype(float)
            sums += _gathered(X[rows, :], best, u, len(C))
            weights += np.bincount(best, u, minlength=len(C))
            inertia += float(u @ away)
        return cls(sums - weights[:, None] * origin, weights, inertia)

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
    if not is_sparse(X):
        return sums_device.nearest(X, C, origin)
    labels, away = [np.empty(0, np.int32)], [np.empty(0)]
    for _, D in _distance_blocks(X, C):
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
) -> Any:
    """(k, n), on the device of X: of every row of a block from every centre."""
    if is_numpy(X):
        known: Any = row_norms(X, origin) if norms is None else norms
        return distances_to(X, C - origin, known, origin)
    if not is_sparse(X):
        return sums_device.distances(X, C, origin).T
    return np.concatenate([D for _, D in _distance_blocks(X, C)]).T


def _pieces(X: np.ndarray) -> Iterator[np.ndarray]:
    step = max(1, BLOCK_ENTRIES // max(X.shape[1], 1))
    return (X[i : i + step] for i in range(0, max(len(X), 1), step))


def _distance_blocks(X: Any, C: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """|x - c|^2 of blocks of sparse rows, each (m, k) in float64."""
    for rows in row_slices(X, len(C), BLOCK_ENTRIES):
        yield rows, np.maximum(_products(X[rows, :], C), 0.0)


def _products(x: Any, C: np.ndarray) -> np.ndarray:
    norms = np.asarray(x.multiply(x).sum(axis=1), dtype=float).ravel()
    return norms[:, None] - 2 * np.asarray(x @ C.T) + (C * C).sum(axis=1)


def _gathered(x: Any, labels: np.ndarray, w: np.ndarray, k: int) -> np.ndarray:
    """sum_{i in c} w_i x_i of sparse rows, (k, d)."""
    members = scipy.sparse.csr_array((w, labels, np.arange(len(labels) + 1)), (len(labels), k))
    return np.asarray((members.T @ x).todense(), dtype=float)

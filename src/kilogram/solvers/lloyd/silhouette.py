"""Silhouettes tile by tile: sums of the distances from every row to every cluster, (n, k).

    a_i = mean distance to the others of its cluster      b_i = least mean distance to another
    s_i = (b_i - a_i) / max(a_i, b_i),   0 in a cluster of one

The (n, n) distances are never kept: a tile is made, added up cluster by cluster as one product
with the memberships, once for its rows and once for its columns, and made again for the next.
Reference: Rousseeuw 1987.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, to_numpy
from kilogram.functions.distances import common_scale
from kilogram.solvers.lloyd.pairwise_distances import Distance, check_distances

TILE = 512  # 2 MB of distances: they stay in cache


def cluster_sums(X: Any, Z: np.ndarray, distance: Distance) -> np.ndarray:
    """D Z, (n, k), for memberships Z (n, k), up to a factor: of silhouettes it cancels."""
    n = X.shape[0]
    if distance.given:
        D = np.asarray(to_numpy(X.toarray() if is_sparse(X) else X), dtype=np.float64)
        check_distances(D)
        return D @ Z - np.diagonal(D)[:, None] * Z  # rounding may be on the diagonal
    if distance.euclidean and is_numpy(X):
        return _euclidean_sums(np.asarray(X, dtype=np.float64), Z, distance.squared)
    sums, step = np.zeros(Z.shape), max(1, TILE * TILE // n)
    for a in range(0, n, step):
        b = min(a + step, n)
        sums[a:b] = np.asarray(to_numpy(distance.between(X[a:b, :], X)), dtype=np.float64) @ Z
    return sums


def _euclidean_sums(X: np.ndarray, Z: np.ndarray, squared: bool) -> np.ndarray:
    X = X / common_scale(X)
    X -= X.mean(axis=0)
    n, norms = len(X), np.einsum("ij,ij->i", X, X)
    sums, buffer = np.zeros(Z.shape), np.empty(TILE * TILE)
    for a in range(0, n, TILE):
        b = min(a + TILE, n)
        for c in range(a, n, TILE):
            e = min(c + TILE, n)
            G = buffer[: (b - a) * (e - c)].reshape(b - a, e - c)
            np.matmul(X[a:b], X[c:e].T, out=G)
            G *= -2.0
            G += norms[c:e]
            G += norms[a:b, None]
            np.maximum(G, 0.0, out=G)
            if not squared:
                np.sqrt(G, out=G)
            if a == c:
                np.fill_diagonal(G, 0.0)
            else:
                sums[c:e] += G.T @ Z[a:b]
            sums[a:b] += G @ Z[c:e]
    return sums


def silhouettes(X: Any, labels: np.ndarray, w: np.ndarray | None, distance: Distance) -> np.ndarray:
    """s_i of every row, (n,); labels are 0..k - 1, k > 1. A weight counts as so many rows."""
    n, k = len(labels), int(labels.max()) + 1
    u = np.ones(n) if w is None else w
    Z = np.zeros((n, k))
    Z[np.arange(n), labels] = u
    sums, sizes = cluster_sums(X, Z, distance), Z.sum(axis=0)
    at = np.arange(n), labels
    others = sizes[labels] - 1.0
    a = sums[at] / np.where(others > 0, others, 1.0)
    means = sums / np.where(sizes > 0, sizes, 1.0)
    means[:, sizes <= 0] = np.inf
    means[at] = np.inf
    b = means.min(axis=1)
    largest = np.maximum(a, b)
    usable = (others > 0) & (largest > 0) & np.isfinite(b)
    safe = np.where(usable, largest, 1.0)
    return np.where(usable, (np.where(usable, b, 0.0) - a) / safe, 0.0)

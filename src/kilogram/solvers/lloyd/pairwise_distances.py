"""Distances between rows: by name, by a function of two rows, of a kernel, or given.

    euclidean    |x - y|            sqeuclidean    |x - y|^2
    a Kernel     |phi(x) - phi(y)| = sqrt(k(x, x) - 2 k(x, y) + k(y, y))
    others       as scikit-learn's `pairwise_distances` names them; a callable gets two rows

A full matrix is made block by block, its lower half copied from the upper: searches for nearest
neighbours end only where d(x, y) and d(y, x) are the same number. By the product of matrices near
rows lose digits, so these pairs are taken again by their differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed
from kilogram.functions.distances import common_scale, divide_by_scale, squared_distances
from kilogram.kernels import Kernel
from kilogram.kernels.row_pairs import wide

BLOCK, WIDTH = 256, 512  # rows and columns of a tile: it should stay in cache
ITSELF = 0.01  # fraction of the largest distance that rounding may leave on the diagonal
SCALED = {"seuclidean": "V", "mahalanobis": "VI"}  # what these take from all rows, not from blocks
NEAR = 1e-9  # squared distances below this fraction of the squares have lost half their digits

Metric = str | Kernel | Callable[[Any, Any], float]


class Distance:
    """d(x, y) for rows: `between` two tables, or the `matrix` of one."""

    def __init__(self, metric: Metric, params: dict[str, Any] | None = None):
        if not (params is None or isinstance(params, Mapping)):
            raise TypeError(f"metric_params must be a dict or None, got {params!r}.")
        self.metric, self.params = metric, dict(params or {})
        plain = metric if isinstance(metric, str) and not self.params else ""
        self.squared = plain == "sqeuclidean"
        self.euclidean = plain in ("euclidean", "l2", "sqeuclidean")
        self.given = isinstance(metric, str) and metric == "precomputed"
        if self.params and (self.given or isinstance(metric, Kernel)):
            raise ValueError(
                f"metric={metric!r} has no use for the parameters {list(self.params)}: a kernel "
                "has its own, as in Gaussian(sigma=1.0), and distances that are given need none."
            )

    def resolved(self, X: Any) -> Distance:
        """With the numbers of a kernel, or the scales of the columns, found from the rows."""
        if isinstance(self.metric, Kernel):
            return Distance(self.metric.resolve(X))
        name = SCALED.get(self.metric) if isinstance(self.metric, str) else None
        if name is None or name in self.params:
            return self
        if is_streamed(X):
            raise ValueError(
                f"metric={self.metric!r} of streamed rows needs metric_params={{{name!r}: ...}}."
            )
        return Distance(self.metric, {**self.params, name: _scales(X, name)})

    def between(self, X: Any, Y: Any) -> Any:
        """(n, m) of the rows of X and Y, in float64 in the library of X."""
        if self.euclidean:
            x, y = wide(X), _like_rows(Y, X)
            if self.squared:
                return squared_distances(x, y)
            scale = common_scale(x, y)
            D = squared_distances(divide_by_scale(x, scale), divide_by_scale(y, scale))
            return scale * namespace(D).sqrt(D)
        if isinstance(self.metric, Kernel):
            x, y = wide(X), _like_rows(Y, X)
            K, xp = self.metric(x, y), namespace(X)
            D = self.metric.diag(x)[:, None] - 2.0 * K + self.metric.diag(y)[None, :]
            return xp.sqrt(xp.where(D > 0, D, xp.zeros_like(D)))
        x, y = to_numpy(X), to_numpy(Y)
        try:
            D = pairwise_distances(x, y, metric=self.metric, **self.params)
        except TypeError as error:
            raise ValueError(
                f"metric_params={self.params!r} do not suit metric={self.metric!r}."
            ) from error
        return D if is_sparse(X) or is_numpy(X) else like(np.asarray(D, np.float64), wide(X))

    def matrix(self, X: Any) -> np.ndarray:
        """(n, n) on the host, symmetric, 0 on the diagonal, in the float type of X."""
        if self.given:
            return checked_matrix(X)
        dtype = np.dtype(np.float32 if str(X.dtype).endswith("float32") else np.float64)
        D = np.empty((X.shape[0], X.shape[0]), dtype)
        if self.euclidean and is_numpy(X):
            _euclidean(X, D, self.squared)
            return D
        for a in range(0, len(D), BLOCK):
            b = min(a + BLOCK, len(D))
            D[a:b] = to_numpy(self.between(X[a:b, :], X))
            _mirror(D, a)
        return D


def checked_matrix(X: Any) -> np.ndarray:
    """A copy of given distances (n, n): square, not negative, symmetric up to rounding."""
    D = np.array(to_numpy(X.toarray() if is_sparse(X) else X), order="C")
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise ValueError(f"metric='precomputed' needs a square matrix of distances, not {D.shape}.")
    check_distances(D)
    for a in range(0, len(D), BLOCK):
        _mirror(D, a)
    return D


def check_distances(D: np.ndarray) -> None:
    """Refuse given numbers (n, n) that are no distances."""
    for a in range(0, len(D), BLOCK):
        upper, lower = D[a : a + BLOCK, a:], D[a:, a : a + BLOCK].T
        if upper.min() < 0 or lower.min() < 0:
            raise ValueError(
                "metric='precomputed' needs distances of at least 0: X has negative ones."
            )
        if not np.allclose(upper, lower, rtol=1e-4, atol=1e-6 * float(upper.max())):
            raise ValueError(
                "metric='precomputed' needs a symmetric matrix of distances. "
                "Use (D + D.T) / 2 if the difference is rounding."
            )
    away = float(np.diagonal(D).max(initial=0.0))
    if away > ITSELF * float(D.max(initial=0.0)):
        raise ValueError(
            f"metric='precomputed' needs distances with a zero diagonal, got {away:g} there. "
            "Similarities S <= 1 become distances as 1 - S; otherwise use np.fill_diagonal(D, 0)."
        )


def _scales(X: Any, name: str) -> np.ndarray:
    """V, the variances of the columns, or VI, the inverse of their covariance."""
    rows = np.asarray(to_numpy(X.toarray() if is_sparse(X) else X), dtype=np.float64)
    if len(rows) < 2:
        return np.ones(rows.shape[1]) if name == "V" else np.eye(rows.shape[1])
    if name == "V":
        return np.asarray(rows.var(axis=0, ddof=1))
    C = np.atleast_2d(np.cov(rows.T))
    if np.linalg.matrix_rank(C) < len(C):
        raise ValueError(
            "metric='mahalanobis' divides by the covariance of the rows, which is singular here: "
            "leave out columns that follow from others, or give metric_params={'VI': ...}."
        )
    return np.asarray(np.linalg.inv(C))


def _like_rows(Y: Any, X: Any) -> Any:
    """Y in the library of X, in float64."""
    return wide(Y if is_sparse(Y) or is_sparse(X) else like(Y, X))


def _mirror(D: np.ndarray, a: int) -> None:
    """Rows a..a + BLOCK are right from column a on: the columns below take their numbers."""
    b = min(a + BLOCK, len(D))
    own = np.triu(D[a:b, a:b], 1)
    D[a:b, a:b] = own + own.T
    D[b:, a:b] = D[a:b, b:].T


def _euclidean(X: np.ndarray, D: np.ndarray, squared: bool) -> None:
    """D = |x_i - x_j|, or its square, tile by tile on and above the diagonal, and their mirrors."""
    scale = 1.0 if squared else common_scale(X, dtype=np.float64)
    X = divide_by_scale(X, scale)
    X = np.asarray(X - X.mean(axis=0), dtype=np.float64)
    n, norms = len(X), np.einsum("ij,ij->i", X, X)
    buffer = np.empty(BLOCK * WIDTH)  # one tile, used again: fresh memory is slow
    for a in range(0, n, BLOCK):
        b = min(a + BLOCK, n)
        for c in range(a, n, WIDTH):
            e = min(c + WIDTH, n)
            G = buffer[: (b - a) * (e - c)].reshape(b - a, e - c)
            with np.errstate(over="ignore", invalid="ignore"):  # the caller looks for what is lost
                np.matmul(X[a:b], X[c:e].T, out=G)
                G *= -2.0
                G += norms[c:e]
                G += norms[a:b, None]
            _recompute_small(X[a:b], X[c:e], G, NEAR * norms[a:b, None])
            D[a:b, c:e] = G if squared else np.sqrt(G, out=G)
            D[max(b, c) : e, a:b] = D[a:b, max(b, c) : e].T
        own = np.triu(D[a:b, a:b], 1)
        D[a:b, a:b] = own + own.T
    if scale != 1.0:
        with np.errstate(over="ignore"):
            D *= scale


def _recompute_small(X: np.ndarray, Y: np.ndarray, G: np.ndarray, limit: np.ndarray) -> None:
    """Squared distances below the limit, from the differences; none stays negative."""
    below = limit > G
    if below.any():
        i, j = np.nonzero(below)
        step = max(1, 2**20 // X.shape[1])
        for s in range(0, len(i), step):
            at, to = i[s : s + step], j[s : s + step]
            gap = X[at] - Y[to]
            G[at, to] = np.einsum("ij,ij->i", gap, gap)
    np.maximum(G, 0.0, out=G)

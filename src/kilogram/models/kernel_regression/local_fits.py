"""Local means and local lines: weighted fits around every query, and leave-one-out errors.

    degree 0   f(x) = sum_i k_i y_i / sum_i k_i                         Nadaraya and Watson
    degree 1   f(x) = a,  min_{a, g} sum_i k_i (y_i - a - g'(x_i - x))^2  local linear

k_i = w_i k(|x - x_i| / h). Far from all rows the nearest ones decide: weights are relative to that
of the nearest row, so that they do not all vanish.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kilogram.arrays.memory import CACHED_ENTRIES
from kilogram.functions.density_kernels import log_profile, profile
from kilogram.solvers.neighbors.nearest import nearest

Array = np.ndarray
# On local slopes, relative: a line through rows at one place has none; half the digits of the
# moments.
RIDGE = 1e-9


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Training rows (n, d), targets (n, t), weights (n,), and how local fits are made of them."""

    X: Array
    Y: Array
    w: Array
    kernel: str
    degree: int
    #: Rows of a local fit; None: all.
    n_neighbors: int | None

    @cached_property
    def spread(self) -> float:
        """The variance of the rows, summed over the features: a line has no more to see."""
        return float(np.var(self.X, axis=0).sum())

    def blocks(self, new: Array | None) -> Iterator[tuple[slice, Array, Array]]:
        """Queries (None: the rows themselves, left out), squared distances, indices of rows."""
        queries = self.X if new is None else new
        n = len(self.X)
        width = (self.n_neighbors or n) * (1 if self.degree == 0 else self.X.shape[1] + 2)
        step = max(1, CACHED_ENTRIES // width)
        for at in range(0, len(queries), step):
            rows = slice(at, min(at + step, len(queries)))
            if self.n_neighbors is None:
                D = _squared_distances(queries[rows], self.X)
                if new is None:
                    D[np.arange(D.shape[0]), np.arange(rows.start, rows.stop)] = np.inf
                yield rows, D, np.broadcast_to(np.arange(n), D.shape)
            elif new is None:  # one more, which is the row itself or its copy
                found = nearest(self.X, min(self.n_neighbors + 1, n), queries[rows])
                D = found.distances.astype(np.float64) ** 2
                own = found.indices == np.arange(rows.start, rows.stop)[:, None]
                yield rows, np.where(own, np.inf, D), found.indices
            else:
                found = nearest(self.X, self.n_neighbors, queries[rows])
                yield rows, found.distances.astype(np.float64) ** 2, found.indices

    def fit_block(self, queries: Array, D: Array, at: Array, h: float) -> Array:
        """Predictions (m, t) of a block at bandwidth h."""
        K = self.w[at] * relative_weights(self.kernel, D, h)
        total = K.sum(axis=1, keepdims=True)
        if self.degree == 0 and self.n_neighbors is None:
            return (K @ self.Y) / total
        Y = self.Y[at]
        mean = np.einsum("mk,mkt->mt", K, Y) / total
        if self.degree == 0:
            return mean
        Z = self.X[at] - queries[:, None, :]
        centre = np.einsum("mk,mkd->md", K, Z) / total
        Z = Z - centre[:, None, :]
        ZK = Z * K[:, :, None]
        G = np.matmul(ZK.transpose(0, 2, 1), Z)
        trace = np.trace(G, axis1=1, axis2=2)
        reach = total[:, 0] * min(h, self.spread**0.5) ** 2
        G += (RIDGE * (trace + reach) + 1e-300)[:, None, None] * np.eye(G.shape[1])
        slope = np.linalg.solve(G, np.matmul(ZK.transpose(0, 2, 1), Y - mean[:, None, :]))
        return mean - np.einsum("md,mdt->mt", centre, slope)

    def predict(self, new: Array, h: float) -> Array:
        """Predictions (m, t)."""
        out = np.empty((len(new), self.Y.shape[1]))
        for rows, D, at in self.blocks(new):
            out[rows] = self.fit_block(new[rows], D, at, h)
        return out

    def leave_one_out(self, bandwidths: Array) -> Array:
        """Mean squared errors of every row predicted from the others, for every bandwidth.

        The distances are computed once for all bandwidths.
        """
        errors = np.zeros(len(bandwidths))
        for rows, D, at in self.blocks(None):
            for k, h in enumerate(bandwidths):
                r = self.Y[rows] - self.fit_block(self.X[rows], D, at, float(h))
                errors[k] += float(self.w[rows] @ (r * r).sum(axis=1))
        return errors / (self.w.sum() * self.Y.shape[1])


def _squared_distances(A: Array, B: Array) -> Array:
    """By differences, one column at a time: products would lose the digits of near rows."""
    D = np.zeros((len(A), len(B)))
    for j in range(A.shape[1]):
        D += (A[:, j : j + 1] - B[:, j]) ** 2
    return D


def relative_weights(kernel: str, D: Array, h: float) -> Array:
    """k(sqrt(D) / h), divided by that of the nearest row for kernels that reach everywhere.

    For kernels of bounded support the nearest row has weight 1 where no row is within h.
    """
    nearest_one = D.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # a distance of many bandwidths is infinite: no weight
        if kernel == "gaussian":
            return np.exp(log_profile(kernel, (D - nearest_one) / h / h))
        if kernel == "exponential":
            return np.exp(log_profile(kernel, ((np.sqrt(D) - np.sqrt(nearest_one)) / h) ** 2))
        K = profile(kernel, D / h / h)
    alone = K.sum(axis=1) <= 0
    K[alone] = (D[alone] <= nearest_one[alone]).astype(np.float64)
    return K


def candidate_bandwidths(rows: LocalRows, count: int) -> Array:
    """From a fraction of the distance to the nearest rows to the spread of all, evenly in logs."""
    n = len(rows.X)
    some = rows.X if n <= 2000 else rows.X[:: -(-n // 2000)]
    near = nearest(rows.X, min(3, n), some).distances[:, -1].astype(np.float64)
    spread = float(np.sqrt(np.var(rows.X, axis=0).sum()))
    positive = near[near > 0]
    low = 0.3 * float(np.median(positive)) if len(positive) else spread
    high = max(2.0 * spread, low)
    return np.geomspace(low, high, count) if high > 0 else np.ones(1)

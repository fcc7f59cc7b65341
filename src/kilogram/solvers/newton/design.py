"""Rows with a constant column beside them: products and scatter matrices.

X~ = [X, scale] is never formed; the constant is handled apart. scale = 0 leaves it out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse
from kilogram.native import scatter_pair

Array = np.ndarray
# Entries of X up to which plain products cost less than a compiled call: measured equal at 50 000,
# 1.07 times slower at 250 000, 2.1 times at a million.
FEW = 100_000


class RowDesign(ABC):
    """X~ of n rows and d + 1 columns."""

    def __init__(self, X: Any, scale: float):
        self.X, self.scale = X, float(scale)
        self.n, self.width = X.shape[0], X.shape[1] + 1

    def times(self, w: Array) -> Array:
        """X~ w, (n,) float64."""
        f = self.X @ w[:-1].astype(self.X.dtype, copy=False)
        return np.asarray(f, dtype=np.float64) + self.scale * w[-1]

    def transposed(self, r: Array) -> Array:
        """X~' r, (d + 1,)."""
        head = self.X.T @ r.astype(self.X.dtype, copy=False)
        return np.append(np.asarray(head, dtype=np.float64), self.scale * r.sum())

    @abstractmethod
    def rows(self, at: Array) -> RowDesign:
        """Some of the rows."""

    @abstractmethod
    def scatter(self, at: Array, c: Array, t: Array) -> tuple[Array, Array]:
        """Sums over the rows of `at`: c x~ x~', (d + 1, d + 1), and c t x~, (d + 1,)."""

    def pulled(self, at: Array, r: Array) -> Array:
        """Sum over the rows of `at` of r x~, (d + 1,); by all rows where that is cheaper."""
        if 4 * at.shape[0] < self.n:
            return self.rows(at).transposed(r)
        full = np.zeros(self.n)
        full[at] = r
        return self.transposed(full)


class ArrayDesign(RowDesign):
    """Dense or sparse rows in memory."""

    def rows(self, at: Array) -> RowDesign:
        return ArrayDesign(self.X[at], self.scale)

    def scatter(self, at: Array, c: Array, t: Array) -> tuple[Array, Array]:
        X = self.X if at.shape[0] == self.n else self.X[at]
        if not is_sparse(X) and self.n * self.width < FEW:
            B = np.empty((at.shape[0], self.width))
            B[:, :-1], B[:, -1] = X, self.scale
            WB = B * c[:, None]
            return WB.T @ B, t @ WB
        if is_sparse(X):
            WX = X.multiply(c[:, None]).tocsr()
            S = np.asarray((X.T @ WX).todense(), dtype=np.float64)
            s = np.asarray(WX.sum(axis=0), dtype=np.float64).ravel()
            q = np.asarray(WX.T @ t, dtype=np.float64)
        else:
            sums = scatter_pair(X, t.astype(X.dtype, copy=False)[:, None], c)
            S, s, q = sums.xx, sums.x, sums.xy[:, 0]
        H = np.empty((self.width, self.width))
        H[:-1, :-1] = S
        H[-1, :-1] = H[:-1, -1] = self.scale * s
        H[-1, -1] = self.scale**2 * c.sum()
        return H, np.append(q, self.scale * float(c @ t))

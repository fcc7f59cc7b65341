"""The columns of a sparse problem that are in use, with their weighted Gram matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import is_sparse
from kilogram.solvers.coordinate.designs import take_columns
from kilogram.solvers.coordinate.group_lasso import Grouping

Array = np.ndarray[Any, np.dtype[Any]]


class PenalizedRows(NamedTuple):
    """Rows X (n, p), dense or CSC; targets; weights of sum 1; whether there is an intercept."""

    X: Any
    y: Array
    v: Array
    intercept: bool


class WorkingColumns:
    """The groups in use: their columns of X, in float64, coefficients and Gram matrix."""

    def __init__(self, rows: PenalizedRows, grouping: Grouping):
        self.rows, self.grouping = rows, grouping
        self.groups = np.empty(0, dtype=np.int64)
        self.columns = np.empty(0, dtype=np.int64)
        self.starts = np.zeros(1, dtype=np.int64)
        self.b = np.empty(0)
        self.c = 0.0
        self.z = np.zeros(len(rows.y))
        self.X = rows.X[:, :0] if is_sparse(rows.X) else np.empty((len(rows.y), 0), order="F")
        self.G = np.empty((0, 0))
        self.h: Array | None = None  # the curvatures of G
        self.mean = np.empty(0)  # of the columns, weighted by h

    def add(self, groups: Array) -> None:
        """Groups enter at 0."""
        parts = [self.grouping.of(g) for g in groups]
        new = np.concatenate(parts)
        X = self.rows.X[:, new] if is_sparse(self.rows.X) else take_columns(self.rows.X, new)
        if is_sparse(X):
            from scipy.sparse import csc_array, hstack

            self.X = csc_array(hstack([self.X, X], format="csc")) if len(self.columns) else X
        else:
            wide = np.empty((len(X), len(self.columns) + len(new)), order="F")
            wide[:, : len(self.columns)] = self.X
            wide[:, len(self.columns) :] = X
            self.X = wide
        self.groups = np.concatenate([self.groups, groups])
        self.columns = np.concatenate([self.columns, new])
        sizes = np.array([len(part) for part in parts])
        self.starts = np.concatenate([self.starts, self.starts[-1] + np.cumsum(sizes)])
        self.b = np.concatenate([self.b, np.zeros(len(new))])
        if self.h is not None:
            self._extend(len(new))

    def _extend(self, k: int) -> None:
        """Entries of G of the last k columns, at the curvatures it has."""
        assert self.h is not None
        m = len(self.columns)
        mean = np.concatenate([self.mean, self._means(self.X[:, m - k :])])
        G = np.empty((m, m))
        G[: m - k, : m - k] = self.G
        G[:, m - k :] = weighted_gram(self.X, self.X[:, m - k :], self.h)
        if self.rows.intercept:
            G[:, m - k :] -= self.h.sum() * np.outer(mean, mean[m - k :])
        G[m - k :, : m - k] = G[: m - k, m - k :].T
        self.G, self.mean = G, mean

    def _means(self, X: Any) -> Array:
        if not self.rows.intercept or self.h is None:
            return np.zeros(X.shape[1])
        return np.asarray(X.T @ self.h) / self.h.sum()

    def refresh(self, h: Array) -> None:
        """The Gram matrix at these curvatures, with the intercept eliminated."""
        self.h = h
        self.mean = self._means(self.X)
        self.G = weighted_gram(self.X, None, h)
        if self.rows.intercept:
            self.G -= h.sum() * np.outer(self.mean, self.mean)

    def drift(self, h: Array) -> float:
        """How far the curvatures are from those of the Gram matrix."""
        if self.h is None:
            return np.inf
        return float(np.abs(h - self.h).sum() / self.h.sum())

    def norms(self, b: Array) -> Array:
        """|b_g| of the groups in use."""
        if len(self.groups) == len(self.columns):
            return np.abs(b)
        return np.asarray(np.sqrt(np.add.reduceat(b * b, self.starts[:-1])))

    def set(self, coef: Array, c: float) -> None:
        self.b, self.c = np.ascontiguousarray(coef[self.columns], dtype=np.float64), c
        self.z = np.asarray(self.X @ self.b) + c


def weighted_gram(A: Any, B: Any, h: Array) -> Array:
    """A' diag(h) B, of dense or sparse columns; A' diag(h) A if B is None."""
    if is_sparse(A):
        weighted = (A if B is None else B).copy()
        weighted.data = weighted.data * h[weighted.indices]
        return np.asarray((A.T @ weighted).toarray(), dtype=np.float64)
    n, m = A.shape
    if B is not None and B.shape[1] == 0:
        return np.zeros((m, 0))
    rows = max(1, BLOCK_ENTRIES // max(m, 1))
    found = np.zeros((m, m if B is None else B.shape[1]))
    for at in range(0, n, rows):
        part, weights = A[at : at + rows], h[at : at + rows, None]
        if B is None:
            scaled = np.sqrt(weights) * part
            found += scaled.T @ scaled
        else:
            found += part.T @ (weights * B[at : at + rows])
    return found

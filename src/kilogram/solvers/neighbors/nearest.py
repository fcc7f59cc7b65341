"""Euclidean nearest neighbours: the k nearest rows of every row, or all rows within a radius.

    nearest  distances and positions of the k nearest rows, without a matrix of all distances
    within   all rows within a radius

Many rows of few columns are searched by a k-d tree, everything else by tiles of matrix products.
A row is not a neighbour of itself, but copies of it are neighbours of each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.functions.distances import common_scale, divide_by_scale
from kilogram.native.neighbors import (
    KDTree,
    RadiusNeighbours,
    ShiftedNorms,
    metric_nearest,
    nearest_rows,
    rows_within,
)

# A tree looks at 2^d cells and more around each row, the tiles at all rows, but quickly: measured
# on 2 to 16 columns, the tree wins from this many rows on, times 2^d.
TREE_ROWS = 300
# Queries that are measured one by one: measured against tiles, 1.0 to 2.3 times faster for two
# queries, 0.6 to 1.4 for four (5 000 x 10 to 20 000 x 200).
FEW = 4
DOUBT = 2**20  # last digits of the squares of two rows: within them their distance is in doubt
# Rows beyond the k nearest, where rounding hides which these are; more near ties are found out and
# repeated.
SPARE = 8


class Neighbours(NamedTuple):
    """distances (n, k), nearest first, and positions (n, k), of the nearest rows."""

    distances: np.ndarray
    indices: np.ndarray


def nearest(X: Any, k: int, new: Any = None) -> Neighbours:
    """The k nearest rows among X of every row of `new`; None: of the rows of X, but for itself.

    Rows of any library are looked at on the host.
    """
    return EuclideanIndex(X).nearest(k, new)


class EuclideanIndex:
    """Rows prepared once for several searches: their scale, their norms or a tree."""

    def __init__(self, X: Any):
        self.X = to_numpy(X)
        if not is_sparse(self.X):
            self.X = np.ascontiguousarray(self.X)
        self.n, self.d = self.X.shape
        self._scale = common_scale(self.X)
        self._tree: KDTree | None = None
        self._norms: ShiftedNorms | None = None

    def nearest(self, k: int, new: Any = None) -> Neighbours:
        """The k nearest of these rows for every row of `new`; None: for each of them, others."""
        new = to_numpy(new)
        if self._scale != 1.0 or is_sparse(self.X) or is_sparse(new):
            return self._scaled(k, new)
        if new is None:
            return self._searched(k, None)
        new = np.asarray(new, dtype=self.X.dtype)
        if new.shape[0] <= FEW and not self._suits_tree():
            squares, indices = metric_nearest("sqeuclidean", new, self.X, k)
            found = Neighbours(np.sqrt(squares).astype(new.dtype), indices)
            return found if np.isfinite(found.distances).all() else self._scaled(k, new)
        if common_scale(new) > 1.0:  # the squares of the queries overflow
            return self._scaled(k, new)
        return self._searched(k, new)

    def suits_products(self, new: Any) -> bool:
        """Whether products of these rows and new ones are in range, and no tree is quicker."""
        plain = not is_sparse(self.X) and self._scale == 1.0 and not self._suits_tree()
        return plain and common_scale(new) == 1.0

    def _suits_tree(self) -> bool:
        return self.n >= TREE_ROWS * 2.0**self.d

    def within(
        self, radius: float, new: Any = None, *, by_distance: bool = False
    ) -> RadiusNeighbours:
        """All of these rows at most `radius` from every row of `new`; None: from each, others.

        Distances are float64, in the order of the rows or nearest first.
        """
        new = to_numpy(new)
        X = self.X
        if is_sparse(X) or is_sparse(new):
            scale, others = common_scale(X, new), new is None
            Z = divide_by_scale(X, scale)
            start, indices, distances = _within_by_blocks(
                Z, Z if others else divide_by_scale(new, scale), radius / scale, others, by_distance
            )
            return RadiusNeighbours(start, indices, distances * scale)
        new = None if new is None else np.asarray(new, dtype=X.dtype)
        scale = common_scale(X, new)
        if scale != 1.0:
            inside = EuclideanIndex(divide_by_scale(X, scale))
            new = None if new is None else np.asarray(divide_by_scale(new, scale), dtype=X.dtype)
            found = inside.within(radius / scale, new, by_distance=by_distance)
            return found._replace(distances=found.distances * scale)
        if self._suits_tree():
            queries = X if new is None else new
            return self._made_tree().within(
                queries, radius, others=new is None, by_distance=by_distance
            )
        x, y = (X, None) if new is None else (new, X)
        return rows_within(x, y, radius, self._made_norms(), by_distance=by_distance)

    def _made_tree(self) -> KDTree:
        self._tree = KDTree.of(self.X) if self._tree is None else self._tree
        return self._tree

    def _made_norms(self) -> ShiftedNorms:
        self._norms = ShiftedNorms.of(self.X) if self._norms is None else self._norms
        return self._norms

    def _searched(self, k: int, new: Any) -> Neighbours:
        """Dense rows whose squares are in range."""
        if self._suits_tree():
            queries = self.X if new is None else new
            squares, indices = self._made_tree().nearest(queries, k, others=new is None)
            return Neighbours(
                np.sqrt(squares, out=squares).astype(self.X.dtype, copy=False), indices
            )
        x, y = (self.X, None) if new is None else (new, self.X)
        squares, indices = nearest_rows(x, y, k, self._made_norms())
        return Neighbours(np.sqrt(squares), indices)

    def _scaled(self, k: int, new: Any) -> Neighbours:
        """Rows whose squares leave the range of floats are divided by a power of two first."""
        X = self.X
        scale = common_scale(X, new)
        if is_sparse(X) or is_sparse(new):
            Z = divide_by_scale(X, scale)
            found = _by_blocks(Z, Z if new is None else divide_by_scale(new, scale), k, new is None)
        else:
            new = None if new is None else np.asarray(divide_by_scale(new, scale), dtype=X.dtype)
            inside = EuclideanIndex(divide_by_scale(X, scale))
            found = inside._searched(k, new)
        if scale == 1.0:
            return found
        with np.errstate(over="ignore"):
            distances = found.distances * scale
        if not np.isfinite(distances).all():
            raise ValueError(
                "the values are finite, but distances between rows overflow. Divide the columns by "
                "their scale first (StandardScaler does)."
            )
        return Neighbours(distances, found.indices)


def _by_blocks(X: Any, new: Any, k: int, itself: bool) -> Neighbours:
    """Sparse rows: blocks of inner products, of which the k smallest distances are kept.

    What is left of the products of rows that are nearly alike is rounding: those among the nearest
    are subtracted from each other instead.
    """
    dtype = X.dtype
    X, new = (scipy.sparse.csr_array(A).astype(np.float64, copy=False) for A in (X, new))
    squares = X.multiply(X).sum(axis=1).ravel()
    n, m = new.shape[0], X.shape[0]
    distances, indices = np.empty((n, k)), np.empty((n, k), np.int32)
    step, doubt = max(1, BLOCK_ENTRIES // m), DOUBT * float(np.finfo(np.float64).eps)
    for a in range(0, n, step):
        B = new[a : a + step]
        rows = np.arange(B.shape[0])
        lengths = B.multiply(B).sum(axis=1).reshape(-1, 1)
        D = squares - 2 * (B @ X.T).toarray() + lengths
        if itself:
            D[rows, a + rows] = np.inf
        near = _k_smallest(D, min(m, k + SPARE))
        kept = np.take_along_axis(D, near, axis=1)
        i, j = np.nonzero(kept <= doubt * (lengths + squares[near]))
        kept[i, j] = _subtracted(B, X, i, near[i, j])
        order = np.argsort(kept, axis=1, kind="stable")[:, :k]
        indices[a : a + step] = np.take_along_axis(near, order, axis=1)
        distances[a : a + step] = np.sqrt(np.take_along_axis(kept, order, axis=1))
    return Neighbours(distances.astype(dtype), indices)


def _within_by_blocks(
    X: Any, new: Any, radius: float, itself: bool, by_distance: bool
) -> RadiusNeighbours:
    """Sparse rows: blocks of inner products; where rounding leaves doubt, rows are measured."""
    X, new = (scipy.sparse.csr_array(A).astype(np.float64, copy=False) for A in (X, new))
    squares = X.multiply(X).sum(axis=1).ravel()
    step, doubt = max(1, BLOCK_ENTRIES // X.shape[0]), DOUBT * float(np.finfo(np.float64).eps)
    rows, places, gaps = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for a in range(0, new.shape[0], step):
        B = new[a : a + step]
        lengths = B.multiply(B).sum(axis=1).reshape(-1, 1)
        D = squares - 2 * (B @ X.T).toarray() + lengths
        off = doubt * (lengths + squares)
        if itself:
            own = np.arange(B.shape[0])
            D[own, a + own] = np.inf
        i, j = np.nonzero(radius * radius + off >= D)
        found, off = D[i, j], off[i, j]
        unsure = np.flatnonzero((found <= off) | (np.abs(found - radius * radius) <= off))
        found[unsure] = _subtracted(B, X, i[unsure], j[unsure])
        found = np.sqrt(found)
        near = found <= radius
        rows.append(a + i[near])
        places.append(j[near])
        gaps.append(found[near])
    i, j = np.concatenate(rows), np.concatenate(places)
    distances = np.concatenate(gaps)
    if by_distance:
        order = np.lexsort((j, distances, i))
        i, j, distances = i[order], j[order], distances[order]
    start = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=new.shape[0]))])
    return RadiusNeighbours(start, j.astype(np.int32), distances)


def _subtracted(A: Any, B: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Squared distances of the rows i of A from the rows j of B, sparse, a pair at a time."""
    parts = [np.empty(0)]
    step = max(1, BLOCK_ENTRIES // max(1, A.shape[1]))
    for a in range(0, len(i), step):
        gap = A[i[a : a + step]] - B[j[a : a + step]]
        parts.append(gap.multiply(gap).sum(axis=1).ravel())
    return np.concatenate(parts)


def _k_smallest(D: np.ndarray, k: int) -> np.ndarray:
    """Positions of the k smallest entries of each row, in order; of equal ones the first."""
    last = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
    less, equal = last > D, last == D
    left = k - less.sum(axis=1, keepdims=True)
    return np.nonzero(less | (equal & (np.cumsum(equal, axis=1) <= left)))[1].reshape(len(D), k)

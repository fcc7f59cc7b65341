"""Rows near queries: by tiles of inner products, one distance at a time, by a tree, by codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, run

#: Metrics by name, as numbered in native/src/neighbors/loops.hpp. The sums themselves are returned:
#: squares for "sqeuclidean", p-th powers for "powers", numbers of columns for "unequal".
METRICS = ("sqeuclidean", "cityblock", "chebyshev", "powers", "unequal", "gower")


class RadiusNeighbours(NamedTuple):
    """Rows found for m queries: those of query i are indices[start[i] : start[i + 1]].

    In the order of the rows, or nearest first if the search was asked `by_distance`.
    """

    start: Array
    indices: Array
    distances: Array


class ShiftedNorms(NamedTuple):
    """A middle (d,) of rows, and the squared distances (n,) of the rows from it."""

    shift: Array
    norms: Array

    @classmethod
    def of(cls, y: Array) -> ShiftedNorms:
        shift = _middle(y)
        parts = np.array_split(y, 64)
        return cls(shift, np.concatenate([((B - shift) ** 2).sum(axis=1) for B in parts]))


def nearest_rows(
    X: Array, Y: Array | None, k: int, prepared: ShiftedNorms | None = None
) -> tuple[Array, Array]:
    """Squared distances (n, k), nearest first, and positions (n, k) int32 of the k nearest rows.

    Y = None looks among the other rows of X: a row is no neighbour of its own. `prepared` are the
    norms of Y (of X), where several searches share them.
    """
    x = np.ascontiguousarray(matrix("X", X))  # rows may have to be measured one by one
    y = x if Y is None else np.ascontiguousarray(matrix("Y", Y, like=x))
    if not 1 <= k <= len(y) - (Y is None):
        raise ValueError(f"{k} neighbours were asked for among {len(y) - (Y is None)} rows")
    shift, norms = ShiftedNorms.of(y) if prepared is None else prepared
    index = np.empty((len(x), k), np.int32)
    squares = np.empty((len(x), k), x.dtype)
    work = float(len(x)) * len(y) * (x.shape[1] + 4)
    run(_core.nearest_rows, work, x, y, shift, norms, Y is None, index, squares)
    return squares, index


def rows_within(
    X: Array,
    Y: Array | None,
    radius: float,
    prepared: ShiftedNorms | None = None,
    *,
    by_distance: bool = False,
) -> RadiusNeighbours:
    """All rows of Y at most `radius` away, Euclidean; Y = None: of the other rows of X."""
    x = np.ascontiguousarray(matrix("X", X))
    y = x if Y is None else np.ascontiguousarray(matrix("Y", Y, like=x))
    shift, norms = ShiftedNorms.of(y) if prepared is None else prepared
    work = float(len(x)) * len(y) * (x.shape[1] + 4)
    args = (x, y, shift, norms, float(radius), Y is None, by_distance)
    return RadiusNeighbours(*run(_core.rows_within, work, *args))


def _middle(y: Array) -> Array:
    """The means of the columns, rounded to an eighth of their ranges.

    Whole numbers less a mean have long fractions, whose rounding breaks ties between neighbours;
    less such a middle they stay short, and equal distances stay equal.
    """
    low, high = (f(axis=0).astype(np.float64) for f in (y.min, y.max))
    with np.errstate(over="ignore", invalid="ignore"):
        span = np.where(np.isfinite(high - low) & (high > low), high - low, 1.0)
        unit = np.ldexp(1.0, np.frexp(span)[1] - 4)
        middle = np.rint(y.mean(axis=0, dtype=np.float64) / unit) * unit
    return middle.astype(y.dtype)


TREE_METRICS = METRICS[:4]
# Multiplications that take as long as the traversal for one query, at least: some 100 nodes.
TREE_WORK = 2000


class KDTree(NamedTuple):
    """A k-d tree of points (n, d): leaves of points, nodes with the boxes of their children.

    Searched under the metrics "sqeuclidean", "cityblock", "chebyshev" and "powers", p >= 1. Of
    equal distances the first row is taken.
    """

    points: Array
    rows: Array
    boxes: Array
    children: Array
    shape: tuple[int, int]

    @classmethod
    def of(cls, X: Array) -> KDTree:
        """The tree of the rows of X, which must be finite."""
        x = np.ascontiguousarray(X, dtype=np.float64)
        n, d = x.shape
        nodes, leaves, leaf, fan = _core.tree_shape(n)
        tree = cls(
            np.empty((leaves, d * leaf)),
            np.empty((leaves, leaf), np.int32),
            np.empty((nodes, 2 * d * fan)),
            np.empty((nodes, fan), np.int32),
            (n, d),
        )
        run(_core.build_tree, 100.0 * n, x, *tree[:4])
        return tree

    def nearest(
        self, Q: Array, k: int, *, metric: str = "sqeuclidean", p: float = 2.0, others: bool = False
    ) -> tuple[Array, Array]:
        """Sums (m, k) float64 of the metric, nearest first, and positions (m, k) int32.

        `others`: Q are the points themselves, and none is a neighbour of its own.
        """
        q = self._queries(Q)
        index, distances = np.empty((len(q), k), np.int32), np.empty((len(q), k))
        run(_core.tree_nearest, len(q) * (TREE_WORK + 40.0 * k), TREE_METRICS.index(metric),
            float(p), self.shape[0], *self[:4], q, others, index, distances)  # fmt: skip
        return distances, index

    def within(
        self, Q: Array, radius: float, *, metric: str = "sqeuclidean", p: float = 2.0,
        others: bool = False, by_distance: bool = False,
    ) -> RadiusNeighbours:  # fmt: skip
        """All points at most `radius` away, which is the root of squares and powers."""
        q = self._queries(Q)
        return RadiusNeighbours(*run(_core.tree_within, len(q) * float(TREE_WORK),
                           TREE_METRICS.index(metric), float(p), self.shape[0], *self[:4], q,
                           float(radius), others, by_distance))  # fmt: skip

    def _queries(self, Q: Array) -> Array:
        q = np.ascontiguousarray(Q, dtype=np.float64)
        if q.ndim != 2 or q.shape[1] != self.shape[1]:
            raise ValueError(f"the queries are {q.shape}, the points {self.shape}")
        return q


def metric_nearest(
    metric: str, X: Array, Y: Array, k: int, *, p: float = 2.0, numbers: int = 0
) -> tuple[Array, Array]:
    """Distances (m, k) float64, nearest first, and positions (m, k) int32 of the nearest rows of Y.

    Sums are abandoned once they exceed the k-th distance so far; of equal distances the first row
    is taken. "gower": the columns before `numbers` are numbers in units of their range, the others
    codes of categories; NaN is unknown.
    """
    y = np.ascontiguousarray(matrix("Y", Y))
    x = np.ascontiguousarray(matrix("X", X, like=y))
    index, distances = np.empty((len(x), k), np.int32), np.empty((len(x), k))
    work = float(len(x)) * len(y) * y.shape[1]
    kind = METRICS.index(metric)
    run(_core.metric_nearest, work, kind, float(p), int(numbers), x, y, index, distances)
    return distances, index


def metric_within(
    metric: str, X: Array, Y: Array | None, radius: float, *, p: float = 2.0, numbers: int = 0,
    by_distance: bool = False,
) -> RadiusNeighbours:  # fmt: skip
    """All rows of Y at most `radius` away; Y = None: of the other rows of X.

    The radius and the distances found are roots of squares and powers. "unequal" counts columns.
    """
    x = np.ascontiguousarray(matrix("X", X))
    y = x if Y is None else np.ascontiguousarray(matrix("Y", Y, like=x))
    work = float(len(x)) * len(y) * y.shape[1]
    kind = METRICS.index(metric)
    args = (kind, float(p), int(numbers), x, y, float(radius), Y is None, by_distance)
    return RadiusNeighbours(*run(_core.metric_within, work, *args))


def hashed_nearest(
    X: Array, Y: Array, codes_of_x: Array, codes_of_y: Array, candidates: int, k: int
) -> tuple[Array, Array]:
    """The k nearest in squared distance among the rows of Y whose codes differ least in their bits.

    Codes are (rows, words) uint64; `candidates` rows of Y are measured for each row of X. Distances
    (m, k) float64, nearest first, and positions (m, k) int32.
    """
    y = np.ascontiguousarray(matrix("Y", Y))
    x = np.ascontiguousarray(matrix("X", X, like=y))
    index, distances = np.empty((len(x), k), np.int32), np.empty((len(x), k))
    words = codes_of_y.shape[1]
    work = float(len(x)) * (len(y) * (words + 2.0) + candidates * y.shape[1])
    run(_core.hashed_nearest, work, x, y, np.ascontiguousarray(codes_of_x),
        np.ascontiguousarray(codes_of_y), candidates, index, distances)  # fmt: skip
    return distances, index

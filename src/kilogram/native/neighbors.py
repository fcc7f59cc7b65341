"""Nearest rows under a metric, one distance at a time, and by binary codes."""

from __future__ import annotations

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, run

#: Metrics by name, as numbered in native/src/neighbors/loops.hpp. The sums themselves are returned:
#: squares for "sqeuclidean", p-th powers for "powers", numbers of columns for "unequal".
METRICS = ("sqeuclidean", "cityblock", "chebyshev", "powers", "unequal", "gower")


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

"""The nearest rows of each row, and the lengths of shortest paths in a graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, run

_HEAP_WORK = 40  # what one step of a path costs, in multiplications


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


def shortest_paths(graph: scipy.sparse.csr_array, sources: Array) -> Array:
    """(m, n) float64: lengths of the shortest paths from the sources (m,), infinite if none."""
    n = graph.shape[0]
    sources = np.ascontiguousarray(sources, np.int64)
    out = np.empty((len(sources), n))
    run(
        _core.shortest_paths,
        float(len(sources)) * graph.nnz * _HEAP_WORK,
        np.ascontiguousarray(graph.indptr, np.int64),
        np.ascontiguousarray(graph.indices, np.int32),
        np.ascontiguousarray(graph.data, np.float64),
        sources,
        out,
    )
    return out

"""The lengths of shortest paths in a graph."""

from __future__ import annotations

import numpy as np
import scipy.sparse

import kilogram.native._core as _core
from kilogram.native.buffers import Array, run

_HEAP_WORK = 40  # multiplications that take as long as one step of a path: a move in a heap


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

"""Graphs of neighbours as sparse matrices, and the edges that connect their components.

neighbor_graph        one entry for each neighbour of a row; not symmetric
symmetric_graph       given edges, in both directions
connected_components  rows that a path connects
connecting_edges      the shortest edges that connect all components, so that every path exists
growth_dimension      how fast neighbourhoods grow with the number of steps
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from kilogram.arrays.namespace import to_numpy
from kilogram.solvers.neighbors.nearest import Neighbours, nearest


def neighbor_graph(values: np.ndarray, indices: np.ndarray, n: int) -> scipy.sparse.csr_array:
    """(m, n): row i holds values[i] (m, k) at indices[i] (m, k); zeros are entries too."""
    m, k = indices.shape
    start = k * np.arange(m + 1)
    return scipy.sparse.csr_array((values.ravel(), indices.ravel(), start), (m, n))


def symmetric_graph(
    a: np.ndarray, b: np.ndarray, length: np.ndarray, n: int
) -> scipy.sparse.csr_array:
    """Edges a - b in both directions, each once, of any length: 0 between copies too."""
    rows, columns = np.concatenate([a, b]).astype(np.int64), np.concatenate([b, a])
    first = np.unique(rows * n + columns, return_index=True)[1]  # by rows, then by columns
    start = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=n))])
    values = np.concatenate([length, length])[first]
    return scipy.sparse.csr_array((values, columns[first], start), (n, n))


def connected_components(A: Any) -> tuple[int, np.ndarray]:
    """How many parts no edge connects, and the part (n,) of each row."""
    count, labels = scipy.sparse.csgraph.connected_components(A, directed=False)
    return int(count), labels


def connecting_edges(
    X: Any, labels: np.ndarray, search: Callable[[Any, int, Any], Neighbours] = nearest
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges (from, to, length) that connect all parts: each part to the nearest row outside it.

    Boruvka's rounds: every part takes its shortest way out, and parts that meet become one.
    `search` finds neighbours as `nearest` does, for other distances than the Euclidean.
    """
    X, labels = to_numpy(X), np.array(labels)
    ends: list[tuple[int, int, float]] = []
    while (parts := np.unique(labels)).size > 1:
        found = [_shortest_way_out(X, labels == part, search) for part in parts]
        ends += found
        both = scipy.sparse.coo_array(
            (np.ones(len(found)), (labels[[e[0] for e in found]], labels[[e[1] for e in found]])),
            (int(parts[-1]) + 1,) * 2,
        )
        labels = connected_components(both)[1][labels]
    a, b, length = (np.array(column) for column in zip(*ends, strict=True))
    return a, b, length


def _shortest_way_out(X: Any, inside: np.ndarray, search: Any) -> tuple[int, int, float]:
    here, there = np.flatnonzero(inside), np.flatnonzero(~inside)
    found = search(X[there], 1, X[here])
    i = int(found.distances[:, 0].argmin())
    return int(here[i]), int(there[found.indices[i, 0]]), float(found.distances[i, 0])


def growth_dimension(A: scipy.sparse.csr_array) -> float:
    """d of a graph in which the rows within h steps grow like h^d: from 2 steps to 4."""
    n = A.shape[0]
    some = np.unique(np.linspace(0, n - 1, 32).astype(int))
    reached = scipy.sparse.csr_array(
        (np.ones(len(some)), (np.arange(len(some)), some)), (len(some), n)
    )
    steps = scipy.sparse.csr_array((np.ones(A.nnz), A.indices, A.indptr), A.shape)
    counts = []
    for _ in range(4):
        reached = reached @ steps + reached
        reached.data[:] = 1.0
        counts.append(reached.nnz / len(some))
    return float(np.log2(counts[3] / counts[1]))

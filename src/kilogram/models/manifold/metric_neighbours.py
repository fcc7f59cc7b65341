"""Neighbours of rows in any metric, by number or within a radius."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.memory import CACHED_ENTRIES
from kilogram.models.manifold.distances import check_distances, check_metric, row_distances
from kilogram.solvers.neighbors.nearest import Neighbours, nearest
from kilogram.solvers.neighbors.neighbor_graph import connecting_edges


@dataclass(frozen=True)
class MetricNeighbours:
    """Training rows and the distance by which others are near them.

    With the metric "precomputed" the rows are distances, (n, n), and new rows (m, n).
    """

    rows: Any
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None

    @classmethod
    def of(cls, rows: Any, metric: Any, p: float, metric_params: Any) -> MetricNeighbours:
        """The neighbours of scikit-learn's parameters: `p` belongs to the Minkowski distance."""
        check_metric(metric, metric_params)
        if isinstance(metric, str) and metric == "minkowski":
            if p in (1, 2) and not metric_params:
                metric = "cityblock" if p == 1 else "euclidean"
            else:
                metric_params = {"p": p} | dict(metric_params or {})
        if isinstance(metric, str) and metric == "precomputed":
            check_distances(rows)
        return cls(rows, metric, metric_params)

    def nearest(self, k: int, new: Any = None) -> Neighbours:
        """The k nearest rows of each row of `new`; None: of each training row, but for itself."""
        if self.metric == "euclidean":
            return nearest(self.rows, k, new)
        found = []
        for start, D in self._blocks(new):
            if new is None:
                D[np.arange(len(D)), start + np.arange(len(D))] = np.inf
            at = np.argsort(D, axis=1, kind="stable")[:, :k].astype(np.int32)
            found.append((np.take_along_axis(D, at, axis=1), at))
        return Neighbours(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def within(self, radius: float, new: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edges (from, to, length) to all rows at most `radius` away, but for the row itself."""
        found = []
        for start, D in self._blocks(new):
            near = radius >= D
            if new is None:
                near[np.arange(len(D)), start + np.arange(len(D))] = False
            i, j = np.nonzero(near)
            found.append((start + i, j, D[i, j]))
        a, b, length = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return a, b, length

    def connecting_edges(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edges (from, to, length) that connect all parts of the rows."""
        if self.metric == "euclidean":
            return connecting_edges(self.rows, labels)
        return connecting_edges(self._indexed(), labels, self._nearest_of)

    def _indexed(self) -> np.ndarray:
        return np.arange(self.rows.shape[0])[:, None]

    def _nearest_of(self, library: np.ndarray, k: int, new: np.ndarray) -> Neighbours:
        """The nearest among some training rows of some others, both given by their positions."""
        library, new = library[:, 0], new[:, 0]
        best = []
        step = max(1, CACHED_ENTRIES // max(1, len(library)))
        for a in range(0, len(new), step):
            D = self._distances(new[a : a + step], library)
            at = np.argsort(D, axis=1, kind="stable")[:, :k]
            best.append((np.take_along_axis(D, at, axis=1), at))
        return Neighbours(*(np.concatenate(parts) for parts in zip(*best, strict=True)))

    def _distances(self, of: np.ndarray, to: np.ndarray) -> np.ndarray:
        if self.metric == "precomputed":
            return np.asarray(self.rows[np.ix_(of, to)], dtype=np.float64)
        return np.asarray(
            row_distances(self.rows[of], self.rows[to], self.metric, self.metric_params), np.float64
        )

    def _blocks(self, new: Any) -> Any:
        """(first row, distances (m, n) to all training rows) of some rows of `new` at a time."""
        n = self.rows.shape[0]
        rows = self.rows if new is None else new
        step = max(1, CACHED_ENTRIES // max(1, n))
        for a in range(0, rows.shape[0], step):
            block = rows[a : a + step]
            if self.metric == "precomputed":
                yield a, np.array(block, dtype=np.float64)
            else:
                D = row_distances(block, self.rows, self.metric, self.metric_params)
                yield a, np.array(D, dtype=np.float64)

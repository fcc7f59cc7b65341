"""Linkage distances of new rows from the clusters of a cut tree, and constrained trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kilogram.arrays.memory import CACHED_ENTRIES
from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import take_rows
from kilogram.kernels import Kernel
from kilogram.native.linkage import MergeTree
from kilogram.solvers.linkage.linkage import MEANS
from kilogram.solvers.lloyd.containers import host
from kilogram.solvers.lloyd.pairwise_distances import Distance

SUM_ENTRIES = 2**18  # distances summed at once, 2 MiB: in float32 they are copied for that


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of rows, and the linkage distance of other rows from them.

    `rows` are the training rows, cluster by cluster, or the centres where the linkage is theirs.
    """

    linkage: str
    distance: Distance
    labels: np.ndarray
    order: np.ndarray  # training rows, cluster by cluster
    starts: np.ndarray
    weights: np.ndarray  # of the rows in that order
    totals: np.ndarray
    rows: Any

    @classmethod
    def of(
        cls,
        X: Any,
        w: np.ndarray | None,
        labels: np.ndarray,
        *,
        linkage: str,
        distance: Distance,
        leaves: np.ndarray,
    ) -> Clusters:
        """Of the rows X that are leaves of the tree, with weights w and labels."""
        u = np.ones(len(labels)) if w is None else w.astype(np.float64)
        order = np.argsort(labels, kind="stable")
        k = int(labels.max()) + 1
        starts = np.searchsorted(labels[order], np.arange(k))
        totals = np.bincount(labels, u, minlength=k)
        rows: Any = None
        if distance.given:
            if linkage == "medoid":
                order, starts = _medoids(distance, _dense(X), u, labels, k), np.arange(k)
        elif linkage in MEANS:
            rows = _means(X, u, labels, totals)
        elif linkage == "medoid":
            order, starts = _medoids(distance, X, u, labels, k), np.arange(k)
            rows = take_rows(X, order)
        else:
            rows = take_rows(X, order)
        columns = leaves[order] if distance.given else order
        return cls(linkage, distance, labels, columns, starts, u[order], totals, rows)

    def linked(self, X: Any) -> np.ndarray:
        """(n, k) distances on the host, in blocks of rows."""
        m = len(self.order) if self.rows is None else self.rows.shape[0]
        n, step = X.shape[0], max(1, CACHED_ENTRIES // m)
        parts = [self._linked(X[i : min(i + step, n), :]) for i in range(0, n, step)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.totals)))

    def _linked(self, X: Any) -> np.ndarray:
        if self.rows is None:
            D = host(_dense(X))[:, self.order]
        else:
            D = host(self.distance.between(X, self.rows))
        if self.linkage == "single":
            return np.asarray(np.minimum.reduceat(D, self.starts, axis=1))
        if self.linkage == "complete":
            return np.asarray(np.maximum.reduceat(D, self.starts, axis=1))
        if self.linkage == "average":
            return np.add.reduceat(D * self.weights, self.starts, axis=1) / self.totals
        if self.linkage == "ward":
            return D * np.sqrt(2.0 * self.totals / (self.totals + 1.0))
        return D


def _dense(X: Any) -> np.ndarray:
    """Given distances on the host; a sparse matrix of them names its zeros by leaving them out."""
    return to_numpy(X.toarray() if is_sparse(X) else X)


def check_cut(n_clusters: Any, distance_threshold: Any, linkage: str, metric: Any) -> None:
    """Exactly one way to cut the tree, and a metric that the linkage can use."""
    if (n_clusters is None) == (distance_threshold is None):
        raise ValueError(
            "Exactly one of n_clusters and distance_threshold has to be set, and the other needs "
            f"to be None, got {n_clusters!r} and {distance_threshold!r}."
        )
    named = isinstance(metric, str) and metric in ("euclidean", "l2")
    if linkage in MEANS and not named:
        raise ValueError(
            f"linkage={linkage!r} takes means of rows and needs metric='euclidean', got {metric!r}."
        )


def _means(X: Any, u: np.ndarray, labels: np.ndarray, totals: np.ndarray) -> np.ndarray:
    n, k = len(labels), len(totals)
    Z = sp.csr_array((u, (labels, np.arange(n))), shape=(k, n))
    sums = Z @ to_numpy(X)
    return np.asarray(sums.todense() if is_sparse(sums) else sums, np.float64) / totals[:, None]


def _medoids(distance: Distance, X: Any, u: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """The member of each cluster with the least sum of distances to the others."""
    found = []
    for c in range(k):
        own = np.flatnonzero(labels == c)
        step = max(1, SUM_ENTRIES // len(own))
        D = None if distance.given else distance.matrix(take_rows(X, own))
        sums = [
            (X[np.ix_(own[i : i + step], own)] if D is None else D[i : i + step]) @ u[own]
            for i in range(0, len(own), step)
        ]
        found.append(int(own[np.argmin(np.concatenate(sums))]))
    return np.asarray(found)


def constrained_tree(
    X: Any,
    w: np.ndarray | None,
    connectivity: Any,
    *,
    linkage: str,
    metric: Any,
    distance: Distance,
) -> tuple[MergeTree, int]:
    """The tree in which only connected clusters merge, by scikit-learn, and its components."""
    from sklearn.cluster import AgglomerativeClustering as Engine

    if w is not None or linkage in ("centroid", "medoid"):
        raise ValueError(
            "connectivity needs linkage='ward', 'complete', 'average' or 'single', and no "
            "sample_weight."
        )
    links = connectivity
    kernel = isinstance(metric, Kernel)  # which scikit-learn does not know
    engine = Engine(
        n_clusters=2,
        metric="precomputed" if kernel else metric,
        connectivity=links(to_numpy(X)) if callable(links) else links,
        linkage=linkage,
        compute_distances=True,
        compute_full_tree=True,
    )
    engine.fit(distance.matrix(X) if kernel else to_numpy(X))
    n = X.shape[0]
    weights = np.concatenate([np.ones(n), np.zeros(n - 1)])
    for t, (a, b) in enumerate(engine.children_):
        weights[n + t] = weights[a] + weights[b]
    children = np.asarray(engine.children_, dtype=np.int64)
    heights = np.asarray(engine.distances_, dtype=np.float64)
    return MergeTree(children, heights, weights), int(engine.n_connected_components_)

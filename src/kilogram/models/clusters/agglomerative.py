"""Agglomerative clustering: every row a cluster, and the two closest merge until one is left.

Linkages, the distance of clusters A and B (weights count as so many rows):

    single      min d(a, b)                      the nearest pair: follows chains
    complete    max d(a, b)                      the farthest pair: compact, may part close rows
    average     mean d(a, b)                     between the two
    centroid    |mean A - mean B|                the texts' distance of representatives ...
    medoid      d(medoid A, medoid B)            ... or of medoids, for any distance
    ward        sqrt(2 |A| |B| / (|A| + |B|)) |mean A - mean B|    what the sum of squares grows by

The tree (dendrogram) holds the answers for every number of clusters: cut it at a height, into k,
or at the widest step between successive heights. Single linkage is the minimum spanning tree with
its longest edges taken out. A new row belongs where its linkage to the clusters is least.
Single and Ward's linkage of Euclidean distances take n^2 d time and only the memory of the rows;
complete and average linkage of few columns keep the distances of the clusters that the first
mergers leave, often a tenth to a half of n^2; the others keep all of them.
References: Ward 1963; Lance and Williams 1967; Murtagh 1985.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kilogram.arrays.namespace import is_sparse, like
from kilogram.arrays.rows import is_streamed, map_rows, take_rows
from kilogram.base import Budget, Estimate, Estimator, Laws
from kilogram.models.clusters.agglomerative_answers import (
    Clusters,
    check_parameters,
    constrained,
)
from kilogram.models.clusters.centres import CentreMixin, host
from kilogram.operators.memory_plan import human_bytes, rates
from kilogram.solvers.cluster import tree
from kilogram.solvers.cluster.pairs import Distance
from kilogram.solvers.cluster.tree_room import square_bytes, tree_bytes, tree_road, usually_left
from kilogram.statistics.products import weight_unit

_TOLD = {
    "rows": "distances as they are asked for",
    "rounds": "distances of the clusters that the first mergers leave",
    "matrix": "all distances",
    "medoids": "all distances of rows and of clusters",
}


class AgglomerativeClustering(CentreMixin, Estimator):
    """Merge the closest clusters again and again: a tree of rows.

    Takes scikit-learn's parameters and gives its trees, with weights, all linkages of the texts,
    and answers for new rows. The largest cluster is label 0.

    Parameters
    ----------
    n_clusters : int, "gap" or None, default=2
        Where to cut the tree; "gap" cuts at the widest step between heights. None with
        `distance_threshold`.
    metric : str, Kernel or callable, default="euclidean"
        As in `KMedoids`; "precomputed" for distances. Ward's and centroid linkage need "euclidean".
    memory, compute_full_tree, compute_distances
        There for scikit-learn's signature: the whole tree with its distances is always kept.
    connectivity : array, sparse matrix, callable or None, default=None
        Rows that may merge, (n, n); scikit-learn's engine is used then.
    linkage : {"ward", "complete", "average", "single", "centroid", "medoid"}, default="ward"
        The distance of two clusters: what the sum of squares grows by (as a length), the farthest
        pair, the mean of all pairs, the nearest pair, or the distance of means or of medoids.
    distance_threshold : float or None, default=None
        Clusters at this distance or more are not merged.
    max_memory : int, str or None, default=None
        Most memory for a matrix of distances, where the linkage needs one. Complete and average
        linkage that may need more first count the rows that are sure to merge early.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The cluster of every training row.
    children_ : array of shape (n_leaves_ - 1, 2)
        Who merges: below n_leaves_ a row, n_leaves_ + t the result of merger t.
    distances_ : array of shape (n_leaves_ - 1,)
        At which distance.
    n_clusters_ : int
    n_leaves_ : int
    leaves_ : array of shape (n_leaves_,)
        The rows in the tree: those with a weight above 0.
    linkage_matrix_ : array of shape (n_leaves_ - 1, 4)
        The tree in SciPy's form, weights in the last column.
    n_connected_components_ : int
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X had any.

    See Also
    --------
    dendrogram : The picture of the tree.

    Examples
    --------
    >>> from kilogram import AgglomerativeClustering
    >>> rows = [[0.0], [1.0], [2.5], [10.0], [11.0]]
    >>> model = AgglomerativeClustering(2, linkage="single").fit(rows)
    >>> model.labels_.tolist(), model.distances_.tolist()
    ([0, 0, 0, 1, 1], [1.0, 1.0, 1.5, 7.5])
    >>> model.predict([[4.0], [9.0]]).tolist()
    [0, 1]
    """

    laws: ClassVar[Laws] = Laws(
        block="all rows meet each other: they must be in memory",
        example={"n_clusters": 3, "linkage": "average"},
        rtol=1e-6,
    )

    def __init__(
        self,
        n_clusters: Any = 2,
        *,
        metric: Any = "euclidean",
        memory: Any = None,
        connectivity: Any = None,
        compute_full_tree: Any = "auto",
        linkage: str = "ward",
        distance_threshold: float | None = None,
        compute_distances: bool = False,
        max_memory: int | str | None = None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.memory = memory
        self.connectivity = connectivity
        self.compute_full_tree = compute_full_tree
        self.linkage = linkage
        self.distance_threshold = distance_threshold
        self.compute_distances = compute_distances
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the tree of the rows X (n, d), or of distances (n, n), and cut it; y is ignored.

        Returns
        -------
        self
        """
        check_parameters(self)
        budget = Budget(None, self.max_memory)
        X, y_, w = self._enter(X, None, sample_weight, min_samples=2)
        if is_streamed(X):
            raise ValueError(
                "AgglomerativeClustering needs all rows in memory: cluster the centres of a KMeans "
                "with many clusters instead, with their counts_ as sample_weight."
            )
        if y is not None or y_ is not None:  # not used, but it must not belong to other rows
            check_consistent_length(X, y if y_ is None else y_)
        self.distance_ = Distance(self.metric).resolved(X)
        if self.distance_.euclidean:
            self._ensure_felt(X)
        u = None if w is None else host(w)
        self.leaves_ = np.arange(X.shape[0]) if u is None else np.flatnonzero(u > 0)
        rows, weights = self._of_leaves(X, u)
        self._grow(rows, weights, budget)
        self._ensure_finite(self.distances_, X)
        self._cut(rows, weights)
        self._label(X)
        return self

    def _of_leaves(self, X: Any, u: np.ndarray | None) -> tuple[Any, np.ndarray | None]:
        """The rows with a weight, and their weights."""
        if u is None or len(self.leaves_) == len(u):
            return X, u
        if len(self.leaves_) < 2:
            raise ValueError("only one row has a weight above 0: there is nothing to merge.")
        rows = take_rows(X, self.leaves_)
        return (rows[:, self.leaves_] if self.distance_.given else rows), u[self.leaves_]

    def _grow(self, rows: Any, w: np.ndarray | None, budget: Budget) -> None:
        if self.connectivity is None:
            unit = weight_unit(w)  # products of weights stay in range
            u = None if w is None else w / unit
            grown = tree.grow(rows, u, self.distance_, self.linkage, budget.bytes)
            taller = unit**0.5 if self.linkage == "ward" else 1.0
            heights, weights = grown.heights * taller, grown.weights * unit
            grown = grown._replace(heights=heights, weights=weights)
            self.n_connected_components_ = 1
        else:
            grown, self.n_connected_components_ = constrained(self, rows, w)
        self._tree = grown
        self.children_, self.distances_ = grown.children, grown.heights
        self.n_leaves_ = len(grown.heights) + 1

    @property
    def linkage_matrix_(self) -> np.ndarray:
        """The tree in SciPy's form, weights in the last column."""
        check_is_fitted(self)
        weights = self._tree.weights[self.n_leaves_ :]
        return np.column_stack([self.children_, self.distances_, weights])

    def _cut(self, rows: Any, w: np.ndarray | None) -> None:
        if self.n_clusters == "gap":
            k = tree.widest_gap(self.distances_)
        elif self.n_clusters is None:
            k = tree.above(self.distances_, float(self.distance_threshold or 0.0))
        else:
            k = int(self.n_clusters)
        if k > self.n_leaves_:
            raise ValueError(f"n_samples={self.n_leaves_} should be >= n_clusters={k}.")
        self.n_clusters_ = self._n_features_out = k
        found = tree.cut(self._tree, k)
        self._clusters = Clusters.of(self, rows, w, found)

    def _label(self, X: Any) -> None:
        """Rows of no weight get the cluster that is nearest to them."""
        labels = self._clusters.labels.astype(np.int64)
        if len(labels) < X.shape[0]:
            every = host(self._mapped(X)).argmin(axis=1)
            every[self.leaves_] = labels
            labels = every
        self.labels_ = labels if is_sparse(X) else like(labels, X)

    def predict(self, X: Any) -> Any:
        """The cluster nearest by the linkage of each row, (n,); of training rows see `labels_`."""
        check_is_fitted(self)
        return map_rows(partial(_nearest, clusters=self._clusters), self._enter(X, reset=False).X)

    def transform(self, X: Any) -> Any:
        """The linkage distance of each row, as a cluster of its own, from the clusters."""
        check_is_fitted(self)
        return self._mapped(self._enter(X, reset=False).X)

    def _mapped(self, X: Any) -> Any:
        return map_rows(partial(_linked, clusters=self._clusters), X)

    def cophenetic_correlation(self, X: Any) -> float:
        """How well heights in the tree follow the distances of the rows X it was grown from.

        The correlation, over all pairs of rows, of the distance with the height at which the two
        first meet: 1 where the distances are those of a tree.
        """
        from scipy.cluster.hierarchy import cophenet
        from scipy.spatial.distance import squareform

        check_is_fitted(self)
        rows = self._of_leaves(self._enter(X, reset=False).X, self._zeros(X))[0]
        D = np.asarray(self.distance_.matrix(rows), dtype=np.float64)
        if len(D) != self.n_leaves_:
            raise ValueError(f"the tree has {self.n_leaves_} leaves, X has {len(D)} rows.")
        return float(cophenet(self.linkage_matrix_, squareform(D, checks=False))[0])

    def _zeros(self, X: Any) -> np.ndarray | None:
        """Weights that say which rows of X are leaves, if not all are."""
        n = len(self.labels_)
        return None if n == self.n_leaves_ else np.isin(np.arange(n), self.leaves_).astype(float)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size, distance = 4 if dtype == "float32" else 8, Distance(self.metric)
        limit = Budget(None, self.max_memory).bytes
        road = tree_road(self.linkage, distance, (n, d), size, limit)
        work = n * n * (1.5 * d if road == "rows" else d / 2 + 10) / rates(size).multiply_adds
        told, reason, left = _TOLD[road], "", usually_left(n, d)
        if road == "rounds" and left < n:
            reason = (
                f"So much if no rows merge early; where they do, {left:,} clusters or fewer are "
                f"left, whose distances take {human_bytes(square_bytes(road, left, size))}."
            )
        needed = tree_bytes(road, distance, n, d, size)
        fits = square_bytes(road, n, size) <= limit
        return Estimate(type(self).__name__, n, d, told, work, needed, fits, reason)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags


def _nearest(block: Any, clusters: Clusters) -> Any:
    found = clusters.linked(block).argmin(axis=1)
    return found if is_sparse(block) else like(found, block)


def _linked(block: Any, clusters: Clusters) -> Any:
    found = clusters.linked(block)
    return found.astype(block.dtype) if is_sparse(block) else like(found, block)

"""Agglomerative clustering: every row a cluster, and the two closest merge until one is left.

Linkages, the distance of clusters A and B (weights count as so many rows):

    single      min d(a, b)                      the nearest pair: follows chains
    complete    max d(a, b)                      the farthest pair: compact, may part close rows
    average     mean d(a, b)                     between the two
    centroid    |mean A - mean B|                the texts' distance of representatives ...
    medoid      d(medoid A, medoid B)            ... or of medoids, for any distance
    ward        sqrt(2 |A| |B| / (|A| + |B|)) |mean A - mean B|    what the sum of squares grows by

The tree (dendrogram) contains the clusters for every number of them: cut it at a height, into k, or
at the widest gap between successive heights. Single linkage is the minimum spanning tree with
its longest edges taken out. A new row belongs where its linkage to the clusters is least.
Single and Ward's linkage of Euclidean distances take n^2 d time and only the memory of the rows;
complete and average linkage of few columns keep the distances of the clusters that the first
mergers leave, often a tenth to a half of n^2; the others keep all of them.
References: Ward 1963; Lance and Williams 1967; Murtagh 1985.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kilogram.arrays.memory import human_bytes
from kilogram.arrays.namespace import is_sparse, like
from kilogram.arrays.rows import is_streamed, map_rows, take_rows
from kilogram.base import Budget, Estimate, Estimator, Laws
from kilogram.base.clustering import CentreMixin
from kilogram.base.constraints import Constraint, Integer, Null, OneOf, Real
from kilogram.models.hierarchical.cut_tree import Clusters, check_cut, constrained_tree
from kilogram.native.linkage import MergeTree
from kilogram.operators.cost import rates
from kilogram.solvers.linkage import linkage as tree
from kilogram.solvers.linkage.memory import square_bytes, tree_bytes, tree_strategy, usually_left
from kilogram.solvers.lloyd.containers import host
from kilogram.solvers.lloyd.pairwise_distances import Distance
from kilogram.statistics.products import weight_unit

METHODS = {
    "rows": "distances computed when needed",
    "rounds": "distances of the clusters that the first mergers leave",
    "matrix": "all distances",
    "medoids": "all distances of rows and of clusters",
}


class AgglomerativeClustering(CentreMixin, Estimator):
    """Agglomerative hierarchical clustering: merge the closest clusters again and again.

    Takes scikit-learn's parameters and gives its trees; adds sample weights, centroid and medoid
    linkage, and predictions for new rows. The largest cluster is label 0.

    Parameters
    ----------
    n_clusters : int, "gap" or None, default=2
        Where to cut the tree; "gap" cuts at the widest gap between heights. None with
        `distance_threshold`.
    metric : str, Kernel or callable, default="euclidean"
        As in `KMedoids`; "precomputed" for distances. Ward's and centroid linkage need "euclidean".
    memory, compute_full_tree, compute_distances
        For compatibility with scikit-learn: the whole tree with its distances is always kept.
    connectivity : array, sparse matrix, callable or None, default=None
        Rows that may merge, (n, n); scikit-learn's implementation is used then.
    linkage : {"ward", "complete", "average", "single", "centroid", "medoid"}, default="ward"
        The distance of two clusters: what the sum of squares grows by (as a length), the farthest
        pair, the mean of all pairs, the nearest pair, or the distance of means or of medoids.
    distance_threshold : float or None, default=None
        Clusters at this distance or more are not merged.
    max_memory : int, str or None, default=None
        Memory limit for a matrix of distances, where the linkage needs one. Complete and average
        linkage that may need more first count the rows that are sure to merge early.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The cluster of every training row.
    children_ : array of shape (n_leaves_ - 1, 2)
        The merged clusters: below n_leaves_ a row, n_leaves_ + t the result of merger t.
    distances_ : array of shape (n_leaves_ - 1,)
        The distance of each merger.
    n_clusters_ : int
        Number of clusters found.
    n_leaves_ : int
        Number of leaves.
    leaves_ : array of shape (n_leaves_,)
        The rows in the tree: those with a weight above 0.
    linkage_matrix_ : array of shape (n_leaves_ - 1, 4)
        The tree in SciPy's form, weights in the last column.
    n_connected_components_ : int
        Number of components of the connectivity graph.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    dendrogram : Plot of the tree.

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

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_clusters": Integer(1) | OneOf("gap") | Null(),
        "linkage": OneOf(*tree.LINKAGES),
        "distance_threshold": Real(0) | Null(),
    }
    laws: ClassVar[Laws] = Laws(
        block="needs the distances of all pairs of rows in memory",
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
        check_cut(self.n_clusters, self.distance_threshold, self.linkage, self.metric)
        budget = Budget(None, self.max_memory)
        X, y_, w = self._validate(X, None, sample_weight, min_samples=2)
        if is_streamed(X):
            raise ValueError(
                "AgglomerativeClustering needs all rows in memory. Cluster the centres of a KMeans "
                "with many clusters instead, with their counts_ as sample_weight."
            )
        if y is not None or y_ is not None:  # not used, but it must have as many rows
            check_consistent_length(X, y if y_ is None else y_)
        distance = Distance(self.metric).resolved(X)
        if distance.euclidean:
            self._ensure_felt(X)
        u = None if w is None else host(w)
        leaves = np.arange(X.shape[0]) if u is None else np.flatnonzero(u > 0)
        rows, weights = _of_leaves(X, u, leaves, distance.given)
        grown, components = self._grow(rows, weights, distance, budget)
        self._ensure_finite(grown.heights, X)
        clusters = Clusters.of(
            rows,
            weights,
            tree.cut(grown, self._cut(grown.heights)),
            linkage=self.linkage,
            distance=distance,
            leaves=leaves,
        )
        labels = _all_labels(X, clusters, leaves)
        self.distance_, self.leaves_, self._tree, self._clusters = distance, leaves, grown, clusters
        self.children_, self.distances_ = grown.children, grown.heights
        self.n_leaves_, self.n_connected_components_ = len(grown.heights) + 1, components
        self.n_clusters_ = self._n_features_out = len(clusters.totals)
        self.labels_ = labels if is_sparse(X) else like(labels, X)
        return self

    def _grow(
        self, rows: Any, w: np.ndarray | None, distance: Distance, budget: Budget
    ) -> tuple[MergeTree, int]:
        """The tree of the leaves, and the number of its connected components."""
        if self.connectivity is not None:
            given = {"linkage": self.linkage, "metric": self.metric, "distance": distance}
            return constrained_tree(rows, w, self.connectivity, **given)
        unit = weight_unit(w)  # products of weights stay in range
        u = None if w is None else w / unit
        grown = tree.grow(rows, u, distance, self.linkage, budget.bytes)
        taller = unit**0.5 if self.linkage == "ward" else 1.0
        heights, weights = grown.heights * taller, grown.weights * unit
        return grown._replace(heights=heights, weights=weights), 1

    def _cut(self, heights: np.ndarray) -> int:
        """The number of clusters."""
        if self.n_clusters == "gap":
            return tree.widest_gap(heights)
        if self.n_clusters is None:
            return tree.cluster_count(heights, float(self.distance_threshold or 0.0))
        k = int(self.n_clusters)
        if k > len(heights) + 1:
            raise ValueError(f"n_samples={len(heights) + 1} should be >= n_clusters={k}.")
        return k

    @property
    def linkage_matrix_(self) -> np.ndarray:
        """The tree in SciPy's form, weights in the last column."""
        check_is_fitted(self)
        weights = self._tree.weights[self.n_leaves_ :]
        return np.column_stack([self.children_, self.distances_, weights])

    def predict(self, X: Any) -> Any:
        """The cluster nearest by the linkage of each row, (n,); of training rows see `labels_`."""
        check_is_fitted(self)
        return map_rows(
            partial(_nearest, clusters=self._clusters), self._validate(X, reset=False).X
        )

    def transform(self, X: Any) -> Any:
        """The linkage distance of each row, as a cluster of its own, from the clusters."""
        check_is_fitted(self)
        return self._mapped(self._validate(X, reset=False).X)

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
        X = self._validate(X, reset=False).X
        rows = _of_leaves(X, self._is_leaf(), self.leaves_, self.distance_.given)[0]
        D = np.asarray(self.distance_.matrix(rows), dtype=np.float64)
        if len(D) != self.n_leaves_:
            raise ValueError(f"the tree has {self.n_leaves_} leaves, X has {len(D)} rows.")
        return float(cophenet(self.linkage_matrix_, squareform(D, checks=False))[0])

    def _is_leaf(self) -> np.ndarray | None:
        """1 for the training rows that are leaves, else 0; None if all are."""
        n = len(self.labels_)
        return None if n == self.n_leaves_ else np.isin(np.arange(n), self.leaves_).astype(float)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size, distance = 4 if dtype == "float32" else 8, Distance(self.metric)
        limit = Budget(None, self.max_memory).bytes
        strategy = tree_strategy(self.linkage, distance, (n, d), size, limit)
        work = n * n * (1.5 * d if strategy == "rows" else d / 2 + 10) / rates(size).multiply_adds
        method, reason, left = METHODS[strategy], "", usually_left(n, d)
        if strategy == "rounds" and left < n:
            reason = (
                f"So much if no rows merge early; where they do, {left:,} clusters or fewer are "
                f"left, whose distances take {human_bytes(square_bytes(strategy, left, size))}."
            )
        needed = tree_bytes(strategy, distance, n, d, size)
        fits = square_bytes(strategy, n, size) <= limit
        return Estimate(type(self).__name__, n, d, method, work, needed, fits, reason)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags


def _of_leaves(
    X: Any, u: np.ndarray | None, leaves: np.ndarray, given: bool
) -> tuple[Any, np.ndarray | None]:
    """The rows with a weight u above 0, and their weights; of given distances the columns too."""
    if u is None or len(leaves) == len(u):
        return X, u
    if len(leaves) < 2:
        raise ValueError("Only one row has a weight above 0, at least 2 are required.")
    rows = take_rows(X, leaves)
    return (rows[:, leaves] if given else rows), u[leaves]


def _all_labels(X: Any, clusters: Clusters, leaves: np.ndarray) -> np.ndarray:
    """Labels of all rows: those without weight get the cluster that is nearest to them."""
    labels = clusters.labels.astype(np.int64)
    if len(labels) == X.shape[0]:
        return labels
    every: np.ndarray = host(map_rows(partial(_linked, clusters=clusters), X)).argmin(axis=1)
    every[leaves] = labels
    return every


def _nearest(block: Any, clusters: Clusters) -> Any:
    found = clusters.linked(block).argmin(axis=1)
    return found if is_sparse(block) else like(found, block)


def _linked(block: Any, clusters: Clusters) -> Any:
    found = clusters.linked(block)
    return found.astype(block.dtype) if is_sparse(block) else like(found, block)

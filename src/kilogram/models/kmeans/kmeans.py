"""K-means: k centres, and every row belongs to the nearest.

Objective    min_{m, c}  sum_i w_i |x_i - m_{c_i}|^2

The square matters: of all points the mean is the one that minimises squared distances (the median
minimises plain ones). Lloyd's two steps never raise it,

    c_i = argmin_c |x_i - m_c|^2            m_c = sum_{c_i = c} w_i x_i / sum_{c_i = c} w_i

and converge after finitely many, to a local minimum: hence k-means++ and several starts. An empty
cluster takes the row that lies farthest from its centre. As

    sum_i w_i |x_i - m|^2 = tr K - tr(L^1/2 Z'K Z L^1/2)     Z the memberships, L = diag(1 / W_c)

needs inner products only, the method has a kernel version, `KernelKMeans`. Rows and centres of
length 1 (`spherical`) cluster by the cosine. `partial_fit` moves centres by MacQueen's rule, the
running mean. References: Lloyd 1982; MacQueen 1967; Arthur and Vassilvitskii 2007; Bahmani et al.
2012.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import namespace, to_numpy
from kilogram.arrays.rows import map_rows, reduce_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, Twin, warn_if_unfinished
from kilogram.base.clustering import CentreMixin, check_row_count, warn_if_duplicates
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Function,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.operators.cost import rates
from kilogram.solvers.lloyd.cluster_sums import ClusterSums, nearest, squared_distances
from kilogram.solvers.lloyd.containers import like_block, unit_rows
from kilogram.solvers.lloyd.kmeans import (
    INITIALIZATIONS,
    KMeansSettings,
    KMeansSolution,
    count_starts,
    fit_kmeans,
    initial_centers,
    labels_and_inertia,
)
from kilogram.solvers.lloyd.lloyd import macqueen
from kilogram.solvers.lloyd.passes import memory_bytes
from kilogram.solvers.lloyd.row_summary import RowSummary, summarize_rows


class KMeans(CentreMixin, Estimator):
    """Partition rows into k clusters around their means.

    Minimises ``sum_i w_i |x_i - m_{c_i}|^2`` over centres m and labels c, to a local minimum.
    Takes scikit-learn's parameters and has its attributes; adds `partial_fit`, rows in blocks, Dask
    collections and device arrays.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "k-means||", "random", "farthest"}, callable or array, \
default="k-means++"
        Initial centres: see `solvers.lloyd.initialization`. An array (n_clusters, d) holds them; a
        callable gets X, n_clusters and random_state (a RandomState) and returns them. "farthest"
        is deterministic. For streaming input "k-means++" is "k-means||".
    n_init : "auto" or int, default="auto"
        Number of initialisations, of which the best is kept; "auto" is 10 for "random" and
        callables, else 1.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-4
        Converged when the squared movement of all centres is at most this times the mean variance
        of the features.
    verbose : int, default=0
        For compatibility with scikit-learn; progress is reported through callbacks.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.
    copy_x : bool, default=True
        For compatibility with scikit-learn; X is never changed.
    algorithm : {"lloyd", "elkan", "minibatch"}, default="lloyd"
        "lloyd" skips distances by the triangle inequality where that saves time, so "elkan" is the
        same.
        "minibatch" runs MacQueen's rule over batches of rows.
    spherical : bool, default=False
        Rows and centres are scaled to length 1: clusters by the cosine.
    batch_size : int, default=1024
        Number of rows per batch, for "minibatch".
    max_time : float or None, default=None
        Seconds after which the fit stops with the best centres so far.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, d)
        Centres of the clusters.
    labels_ : array of shape (n,)
        The cluster of every training row.
    inertia_ : float
        The objective; after `partial_fit` of the rows of that call. `objective_` is the same.
    n_iter_ : int
        Number of iterations.
    counts_ : array of shape (n_clusters,)
        Weight of the rows of each cluster so far; `partial_fit` goes on from it.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    KernelKMeans : The same in the space of a kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import KMeans
    >>> model = KMeans(2, random_state=0).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> np.sort(model.cluster_centers_.ravel())
    array([ 0.5, 10.5])
    >>> model.inertia_
    1.0
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_clusters": Integer(1),
        "init": OneOf(*INITIALIZATIONS) | Function() | ArrayLike(),
        "n_init": OneOf("auto") | Integer(1),
        "max_iter": Integer(1),
        "tol": Real(0),
        "random_state": RandomState(),
        "algorithm": OneOf("lloyd", "elkan", "minibatch"),
        "spherical": Boolean(),
        "batch_size": Integer(1),
        "max_time": Real(0) | Null(),
    }
    laws: ClassVar[Laws] = Laws(
        twin=Twin(
            "KernelKMeans", {"n_clusters": 3, "init": "farthest"}, {"init": "farthest", "tol": 0.0}
        ),
        partial_fit="MacQueen's rule: later rows are assigned to other centres, the order counts",
        objective=True,
        budget=True,
        example={"n_clusters": 3, "init": "farthest"},
        rtol=1e-6,
    )

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
        spherical: bool = False,
        batch_size: int = 1024,
        max_time: float | None = None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.spherical = spherical
        self.batch_size = batch_size
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centres of the rows X (n, d); y is ignored.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, None)
        X, y_, w = self._validate(X, None, sample_weight, finite=False, alone=True)
        check_row_count(X, y if y_ is None else y_, self.n_clusters)
        X, summary = self._summarized(X, w)
        self._ensure_felt(X, summary.variance)
        with ticking(self, "start", budget.deadline) as tick:
            found = fit_kmeans(
                X,
                w,
                self._settings(),
                as_generator(self.random_state),
                summary=summary,
                tick=tick,
                observed=hasattr(self, "_skl_callbacks"),
                deadline=budget.deadline,
            )
        self._store(found, summary)
        rows = np.bincount(to_numpy(self.labels_), minlength=self.n_clusters)
        warn_if_duplicates(int(np.count_nonzero(rows)), self.n_clusters)
        warn_if_unfinished(
            type(self).__name__, found.solution, "Raise max_iter, max_time or tol to let it finish."
        )
        return self

    def _settings(self) -> KMeansSettings:
        return KMeansSettings(
            int(self.n_clusters),
            self.init,
            count_starts(self.init, self.n_init),
            int(self.max_iter),
            float(self.tol),
            bool(self.spherical),
            self.algorithm == "minibatch",
            int(self.batch_size),
        )

    def _scaled(self, X: Any) -> Any:
        return map_rows(unit_rows, X) if self.spherical else X

    def _summarized(self, X: Any, w: Any) -> tuple[Any, RowSummary]:
        """The rows, scaled where the clustering is spherical, and their summary, if finite."""
        X = self._scaled(X)
        summary = summarize_rows(X, w)
        self._ensure_finite(summary.sizes, X)
        return X, summary

    def _store(self, found: KMeansSolution, summary: RowSummary) -> None:
        self._origin, self._centres = found.origin, found.centers
        self.cluster_centers_ = summary.put(found.centers.astype(summary.dtype))
        self.labels_, self.counts_ = found.labels, found.counts
        self.inertia_ = self.objective_ = found.inertia
        self.n_iter_ = found.solution.n_iter
        self._n_features_out = self.n_clusters

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the centres with the rows X by MacQueen's rule; the first call initialises them.

        The rows of one call are assigned to the centres as they are; row by row this is MacQueen's
        algorithm. The counts start at 0, so the first rows replace the initial centres. Where those
        are drawn from the rows, the first call needs at least n_clusters rows; with given centres
        (`init` an array) any number will do.
        """
        first = not hasattr(self, "cluster_centers_")
        if not first and len(self._centres) != self.n_clusters:
            raise ValueError(
                f"partial_fit continues with {len(self._centres)} centres, got n_clusters="
                f"{self.n_clusters}. Fit a clone of the model to start again."
            )
        X, y_, w = self._validate(X, None, sample_weight, finite=False, reset=first)
        X, summary = self._summarized(X, w)
        if first:
            given = not isinstance(self.init, str) and not callable(self.init)
            check_row_count(X, y if y_ is None else y_, 1 if given else self.n_clusters)
            rng = as_generator(self.random_state)
            C = initial_centers(X, w, self._settings(), summary, rng)
            origin, counts, n_iter = summary.origin, np.zeros(self.n_clusters), 0
        else:
            C, origin, counts, n_iter = self._centres, self._origin, self.counts_, self.n_iter_
        found = reduce_rows(partial(ClusterSums.of, C=C, origin=origin), X, w)
        C, counts = macqueen(found, C, counts, origin)
        C = unit_rows(C) if self.spherical else C
        labels, inertia = labels_and_inertia(X, w, C, origin)
        self._origin, self._centres, self.counts_ = origin, C, counts
        self.cluster_centers_ = summary.put(C.astype(summary.dtype))
        self.labels_, self.inertia_ = labels, inertia
        self.objective_, self.n_iter_ = inertia, n_iter + 1
        self._n_features_out = self.n_clusters
        return self

    def predict(self, X: Any) -> Any:
        """The nearest centre of each row, (n,)."""
        return self._mapped(_labels, X)

    def transform(self, X: Any) -> Any:
        """Distances from the centres, (n, n_clusters)."""
        return self._mapped(_distances, X)

    def objective(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The sum of squared distances of the rows from their nearest centres, weighted."""
        check_is_fitted(self)
        X, _, w = self._validate(X, None, sample_weight, reset=False)
        sums = partial(ClusterSums.of, C=self._centres, origin=self._origin)
        return float(reduce_rows(sums, self._scaled(X), w).inertia)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the objective: larger is better."""
        return -self.objective(X, y, sample_weight)

    def _mapped(self, f: Any, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        of_block = partial(f, C=self._centres, origin=self._origin)
        return map_rows(of_block, self._scaled(X))

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size = 4 if dtype == "float32" else 8
        work = 20.0 * n * d * self.n_clusters / rates(size).multiply_adds
        memory = size * n * d + 4 * n + memory_bytes(n, d, self.n_clusters, size)
        return self._costs(n, d, "20 iterations of Lloyd's algorithm", work, memory)


def _labels(block: Any, C: np.ndarray, origin: np.ndarray) -> Any:
    return like_block(nearest(block, C, origin)[0], block)


def _distances(block: Any, C: np.ndarray, origin: np.ndarray) -> Any:
    D = squared_distances(block, C, origin).T
    return like_block(namespace(D).sqrt(D), block)

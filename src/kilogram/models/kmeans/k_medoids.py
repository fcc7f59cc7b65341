"""K-medoids: k of the rows stand for all, under any distance.

Objective    min_{M, |M| = k}  sum_i w_i min_{m in M} d(x_i, x_m)

The centre of a cluster is one of its rows, the one with the least sum of distances to the others:
no mean is taken, so d may be any distance, between anything, and is not squared: an outlier counts
by how far away it is, and drags no centre. The alternation of the texts (assign, then the best
member) rests early; swaps, a medoid out and a row in wherever that lowers the sum, go on to a
minimum that no single swap can leave. The change of the sum for one row and all k medoids at once
takes n steps, so a sweep takes n^2, whatever k is.

All distances are kept, n^2 numbers. Where these do not fit, and for streams, samples of rows are
clustered and the medoids that serve all rows best are kept (CLARA); the fit warns about it.
References: Kaufman and Rousseeuw 1987, 1990; Schubert and Rousseeuw 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.rows import is_streamed, map_rows, reduce_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, warn_if_unfinished
from kilogram.base.clustering import CentreMixin, check_row_count, warn_if_duplicates
from kilogram.base.constraints import (
    ArrayLike,
    Constraint,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.models.kmeans.medoid_fits import (
    MedoidFit,
    MedoidSettings,
    block_distances,
    block_labels,
    block_total,
)
from kilogram.operators.cost import rates
from kilogram.solvers.lloyd.k_medoids import METHODS, STARTS
from kilogram.solvers.lloyd.pairwise_distances import Distance


class KMedoids(CentreMixin, Estimator):
    """Partition rows around k of them, the medoids, under any distance.

    Minimises ``sum_i w_i min_{m in M} d(x_i, x_m)`` over sets M of k rows, until no swap lowers it.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : str, Kernel or callable, default="euclidean"
        A name that scikit-learn's `pairwise_distances` knows, "precomputed" for X a matrix of
        distances, a kernel for the distance in its space, or a function of two rows.
    metric_params : dict or None, default=None
        More arguments of the metric.
    method : {"fasterpam", "pam", "alternate"}, default="fasterpam"
        "fasterpam" takes every swap that helps at once, "pam" the best one each time, for the same
        answer in any order of the rows; "alternate" is the texts' algorithm, faster and worse.
    init : {"k-medoids++", "build", "random"} or array of shape (k,), default="k-medoids++"
        Rows to begin with: drawn far from each other; "build" adds the row that helps most each
        time (n^2 k steps, no draw); at random; or their indices.
    n_init : "auto" or int, default="auto"
        Number of initialisations, of which the best is kept; "auto" is 1 for "build" and an array,
        else 3.
    max_iter : int, default=300
        Maximum number of sweeps per start.
    sample_size : "auto" or int, default="auto"
        Rows of a sample. "auto" takes all rows where the matrix of distances fits in max_memory,
        else max(2000, 40 + 10 k); an int samples always.
    n_draws : int, default=5
        Number of samples, where samples are drawn.
    max_memory : int, str or None, default=None
        Memory limit for the distances.
    max_time : float or None, default=None
        Time limit in seconds; the fit then stops with the best result so far.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.

    Attributes
    ----------
    medoid_indices_ : array of shape (n_clusters,)
        The rows that are medoids.
    cluster_centers_ : array of shape (n_clusters, d)
        Their values; None for given distances.
    labels_ : array of shape (n,)
        The cluster of every training row.
    inertia_ : float
        The objective: the sum of distances. `objective_` is the same.
    n_iter_ : int
        Number of sweeps of the best start.
    strategy_ : {"exact", "sampled"}
        "exact" if all rows were candidates, else "sampled".
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    KMeans : Means instead of medoids, squared Euclidean distances.
    KernelKMeans : Means in the space of a kernel.

    Examples
    --------
    >>> from kilogram import KMedoids
    >>> rows = [[0.0], [1.0], [2.0], [10.0], [11.0], [500.0]]
    >>> model = KMedoids(2, metric="manhattan", random_state=0).fit(rows[:5])
    >>> sorted(model.cluster_centers_.ravel().tolist())
    [1.0, 10.0]
    >>> model.inertia_
    3.0
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_clusters": Integer(1),
        "method": OneOf(*METHODS),
        "init": OneOf(*STARTS) | ArrayLike(),
        "n_init": OneOf("auto") | Integer(1),
        "max_iter": Integer(1),
        "sample_size": OneOf("auto") | Integer(1),
        "n_draws": Integer(1),
        "max_time": Real(0) | Null(),
        "random_state": RandomState(),
    }
    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget=True,
        example={"n_clusters": 3, "init": "build", "method": "pam"},
        budget_example={"init": "random", "random_state": 0},
        rtol=1e-6,
    )

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Any = "euclidean",
        metric_params: dict | None = None,
        method: str = "fasterpam",
        init: Any = "k-medoids++",
        n_init: Any = "auto",
        max_iter: int = 300,
        sample_size: Any = "auto",
        n_draws: int = 5,
        max_memory: int | str | None = None,
        max_time: float | None = None,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.method = method
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.sample_size = sample_size
        self.n_draws = n_draws
        self.max_memory = max_memory
        self.max_time = max_time
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the medoids of the rows X (n, d), or of distances (n, n); y is ignored.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, self.max_memory)
        X, y_, w = self._validate(X, None, sample_weight)
        check_row_count(X, y if y_ is None else y_, self.n_clusters)
        distance = Distance(self.metric, self.metric_params).resolved(X)
        fits = MedoidFit(X, w, distance, self._settings(), as_generator(self.random_state))
        with ticking(self, "sweep", budget.deadline) as tick:
            found = fits.run(tick, budget)
        self._ensure_finite(np.asarray([found.objective]), X)
        self._keep(X, fits, found)
        warn_if_unfinished(type(self).__name__, found, "Raise max_iter or max_time.")
        return self

    def _settings(self) -> MedoidSettings:
        return MedoidSettings(
            type(self).__name__,
            int(self.n_clusters),
            self.method,
            self.init,
            self.n_init,
            int(self.max_iter),
            self.sample_size,
            int(self.n_draws),
        )

    def _keep(self, X: Any, fits: MedoidFit, found: Any) -> None:
        self.distance_ = fits.distance
        self.medoid_indices_, self.strategy_ = found.value, fits.strategy
        self._medoids = fits.rows_of(found.value)
        self.cluster_centers_ = None if self.distance_.given else self._medoids
        labels = map_rows(self._at_medoids(block_labels), X)
        if is_streamed(X):
            labels = np.asarray(labels.compute() if hasattr(labels, "compute") else labels)
        self.labels_ = labels
        self.inertia_ = self.objective_ = float(found.objective)
        self.n_iter_ = found.n_iter
        self._n_features_out = self.n_clusters
        warn_if_duplicates(fits.distinct(labels), self.n_clusters)

    def predict(self, X: Any) -> Any:
        """The nearest medoid of each row, (n,); for given distances X is (n, n_train)."""
        return self._mapped(block_labels, X)

    def transform(self, X: Any) -> Any:
        """Distances from the medoids, (n, n_clusters)."""
        return self._mapped(block_distances, X)

    def objective(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The sum of distances of the rows from their nearest medoids, weighted."""
        check_is_fitted(self)
        X, _, w = self._validate(X, None, sample_weight, reset=False)
        return float(reduce_rows(self._at_medoids(block_total), X, w))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the objective: larger is better."""
        return -self.objective(X, y, sample_weight)

    def _at_medoids(self, f: Any) -> Any:
        return partial(f, medoids=self._medoids, distance=self.distance_)

    def _mapped(self, f: Any, X: Any) -> Any:
        check_is_fitted(self)
        return map_rows(self._at_medoids(f), self._validate(X, reset=False).X)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size = 4 if dtype == "float32" else 8
        work = (n * n * d / 2 + 10.0 * n * n) / rates(size).multiply_adds
        return self._costs(n, d, "all distances and 5 sweeps of swaps", work, size * n * n)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags

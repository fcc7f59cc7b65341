"""K-means: k centres, and every row belongs to the nearest.

Objective    min_{m, c}  sum_i w_i |x_i - m_{c_i}|^2

The square matters: of all points the mean is the one that minimises squared distances (the median
minimises plain ones). Lloyd's two steps never raise it,

    c_i = argmin_c |x_i - m_c|^2            m_c = sum_{c_i = c} w_i x_i / sum_{c_i = c} w_i

and end after finitely many, in a local minimum: hence k-means++ and several starts. An empty
cluster takes the row that lies farthest from its centre. As

    sum_i w_i |x_i - m|^2 = tr K - tr(L^1/2 Z'K Z L^1/2)     Z the memberships, L = diag(1 / W_c)

needs inner products only, the method has a kernel twin, `KernelKMeans`. Rows and centres of length
1 (`spherical`) cluster by the cosine. `partial_fit` moves centres by MacQueen's rule, the running
mean. References: Lloyd 1982; MacQueen 1967; Arthur and Vassilvitskii 2007; Bahmani et al. 2012.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import namespace, to_numpy
from kilogram.arrays.rows import map_rows, reduce_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, Twin, warn_if_unfinished
from kilogram.base.checks import is_whole
from kilogram.base.estimate import within
from kilogram.base.progress import ticking, with_callbacks
from kilogram.models.clusters.centres import (
    CentreMixin,
    answer_like,
    check_counts,
    check_rows,
    generator,
    start_count,
    unit_rows,
    warn_if_duplicates,
)
from kilogram.models.clusters.kmeans_fit import Fit, labels_and_inertia, spread, start
from kilogram.operators.memory_plan import rates
from kilogram.solvers.cluster.lloyd import macqueen
from kilogram.solvers.cluster.passes import room
from kilogram.solvers.cluster.sums import ClusterSums, nearest, squared_distances
from kilogram.solvers.solution import best_of

ALGORITHMS = ("lloyd", "elkan", "minibatch")


class KMeans(CentreMixin, Estimator):
    """Partition rows into k clusters around their means.

    Minimises ``sum_i w_i |x_i - m_{c_i}|^2`` over centres m and labels c, to a local minimum.
    Takes scikit-learn's parameters and gives its answers, with `partial_fit`, in blocks, on Dask
    and on device arrays.

    Parameters
    ----------
    n_clusters : int, default=8
    init : {"k-means++", "k-means||", "random", "farthest"}, callable or array, \
default="k-means++"
        Where to begin: see `kilogram.solvers.cluster.starts`. An array (n_clusters, d) holds the
        first centres; a callable gets X, n_clusters and random_state and returns them.
        "farthest" draws nothing. For streamed rows "k-means++" is "k-means||".
    n_init : "auto" or int, default="auto"
        Starts, of which the best is kept; "auto" is 10 for "random" and callables, else 1.
    max_iter : int, default=300
    tol : float, default=1e-4
        The centres rest when they move, squared and in all, by no more than this times the mean
        variance of the columns.
    verbose : int, default=0
        There for scikit-learn's signature; progress goes through callbacks.
    random_state : int, RandomState or None, default=None
    copy_x : bool, default=True
        There for scikit-learn's signature; X is never changed.
    algorithm : {"lloyd", "elkan", "minibatch"}, default="lloyd"
        "lloyd" leaves out distances by Elkan's inequality where that pays; "elkan" is the same.
        "minibatch" runs MacQueen's rule over batches of rows.
    spherical : bool, default=False
        Rows and centres are scaled to length 1: clusters by the cosine.
    batch_size : int, default=1024
        Rows of a batch, for "minibatch".
    max_time : float or None, default=None
        Seconds after which the fit stops with what it has.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, d)
    labels_ : array of shape (n,)
        The cluster of every training row.
    inertia_ : float
        The objective; after `partial_fit` of the rows of that call. `objective_` is the same.
    n_iter_ : int
    counts_ : array of shape (n_clusters,)
        Weight of the rows of each cluster so far; `partial_fit` goes on from it.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X had any.

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

    laws: ClassVar[Laws] = Laws(
        twin=Twin(
            "KernelKMeans", {"n_clusters": 3, "init": "farthest"}, {"init": "farthest", "tol": 0.0}
        ),
        partial_fit="MacQueen's rule: what comes later meets other centres, so the order counts",
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
        budget = self._checked()
        X, y_, w = self._enter(X, None, sample_weight, finite=False, alone=True)
        check_rows(self, X, y if y_ is None else y_)
        X = self._scaled(X)
        about = spread(X, w)
        self._ensure_finite(about.sizes, X)
        self._ensure_felt(X, about.variance)
        rng, fits, taken = generator(self.random_state), Fit(self, X, w, about), 0
        with ticking(self, "start", budget.deadline) as tick:
            for _ in range(start_count(self)):
                taken += 1
                late = fits.run(start(self, X, w, about, rng, budget.deadline), rng, tick)
                if late:
                    break
        self._keep(fits, X, w)
        found = best_of(fits.best, taken, start_count(self))
        warn_if_unfinished(
            type(self).__name__, found, "Raise max_iter, max_time or tol to let it finish."
        )
        return self

    def _checked(self) -> Budget:
        check_counts(self)
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {ALGORITHMS}, got {self.algorithm!r}.")
        if not is_whole(self.batch_size) or self.batch_size < 1:
            raise ValueError(
                f"batch_size must be an integer of at least 1, got {self.batch_size!r}."
            )
        return Budget(self.max_time, None)

    def _scaled(self, X: Any) -> Any:
        return map_rows(unit_rows, X) if self.spherical else X

    def _keep(self, fits: Fit, X: Any, w: Any) -> None:
        found, dtype = fits.best, fits.about.dtype
        self._origin = fits.about.origin
        self.cluster_centers_ = fits.about.put(found.value.astype(dtype))
        self._centres = found.value
        self.labels_, self.counts_ = fits.labels(found.value)
        self.inertia_ = self.objective_ = float(found.objective or 0.0)
        self.n_iter_ = found.n_iter
        self._n_features_out = self.n_clusters
        rows = np.bincount(to_numpy(self.labels_), minlength=self.n_clusters)
        warn_if_duplicates(int(np.count_nonzero(rows)), self.n_clusters)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Move the centres by the rows X, MacQueen's rule; the first call chooses where to begin.

        The rows of one call are assigned to the centres as they stand; row by row this is
        MacQueen's algorithm. The counts begin at 0: the first rows replace the start. Where the
        start is drawn from them, there must be as many as clusters; to given centres (`init` an
        array) any number may come.
        """
        self._checked()
        first = not hasattr(self, "cluster_centers_")
        if not first and len(self._centres) != self.n_clusters:
            raise ValueError(
                f"partial_fit goes on with {len(self._centres)} centres, and now n_clusters="
                f"{self.n_clusters}: fit a clone of the model to begin anew."
            )
        X, y_, w = self._enter(X, None, sample_weight, finite=False, reset=first)
        X = self._scaled(X)
        about = spread(X, w)
        self._ensure_finite(about.sizes, X)
        if first:
            given = not isinstance(self.init, str) and not callable(self.init)
            check_rows(self, X, y if y_ is None else y_, least=1 if given else None)
            self._origin = about.origin
            self._centres = start(self, X, w, about, generator(self.random_state))
            self.counts_, self.n_iter_ = np.zeros(self.n_clusters), 0
            self._n_features_out = self.n_clusters
        sums = partial(ClusterSums.of, C=self._centres, origin=self._origin)
        found = reduce_rows(sums, X, w)
        C, self.counts_ = macqueen(found, self._centres, self.counts_, self._origin)
        self._centres = unit_rows(C) if self.spherical else C
        self.cluster_centers_ = about.put(self._centres.astype(about.dtype))
        self.n_iter_ += 1
        told = labels_and_inertia(X, w, self._centres, self._origin)
        self.labels_, self.inertia_ = told
        self.objective_ = self.inertia_
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
        X, _, w = self._enter(X, None, sample_weight, reset=False)
        sums = partial(ClusterSums.of, C=self._centres, origin=self._origin)
        return float(reduce_rows(sums, self._scaled(X), w).inertia)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the objective: larger is better."""
        return -self.objective(X, y, sample_weight)

    def _mapped(self, f: Any, X: Any) -> Any:
        check_is_fitted(self)
        X = self._enter(X, reset=False).X
        told = partial(f, C=self._centres, origin=self._origin)
        return map_rows(told, self._scaled(X))

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size = 4 if dtype == "float32" else 8
        work = 20.0 * n * d * self.n_clusters / rates(size).multiply_adds
        memory = size * n * d + 4 * n + room(n, d, self.n_clusters, size)
        return within(self, n, d, "20 steps of Lloyd's algorithm", work, memory)


def _labels(block: Any, C: np.ndarray, origin: np.ndarray) -> Any:
    return answer_like(nearest(block, C, origin)[0], block)


def _distances(block: Any, C: np.ndarray, origin: np.ndarray) -> Any:
    D = squared_distances(block, C, origin).T
    return answer_like(namespace(D).sqrt(D), block)

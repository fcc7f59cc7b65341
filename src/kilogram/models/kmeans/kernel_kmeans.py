"""Kernel k-means: the kernel version of k-means, in n unknowns.

Objective    min_{Z, m}  sum_i w_i |phi(x_i) - m_{c_i}|^2  =  tr(W K) - tr(L^1/2 Z'W K W Z L^1/2)

The means live in the span of the rows, m_c = sum_{i in c} w_i phi(x_i) / W_c, so distances need
kernel values only,

    |phi(x) - m_c|^2 = k(x, x) - 2 sum_i a_ic k(x, x_i) + sum_ij a_ic a_jc K_ij

with a_ic = w_i / W_c for the members, and a pass is one product of K with n by k numbers, of which
only the rows that changed their cluster are made again; K is kept where its values are dear, and
made in cache where they are not. Under `Linear()` it is `KMeans`. Many rows: `approximation`, which
is `KMeans` on Nystroem or Fourier features. Z has one 1 in every row.
Reference: Dhillon, Guan and Kulis 2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, like
from kilogram.arrays.rows import is_streamed, map_rows
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
from kilogram.kernels import Precomputed, as_kernel, is_precomputed
from kilogram.kernels.row_pairs import cast, wide
from kilogram.kernels.white import without_noise
from kilogram.models.kmeans.kernel_initialization import (
    INITIALIZATIONS,
    check_given,
    feature_map,
    kernel_start,
)
from kilogram.models.kmeans.kmeans import KMeans
from kilogram.operators.cost import rates
from kilogram.operators.gram import Gram
from kilogram.solvers.lloyd import kernel_lloyd as trace
from kilogram.solvers.lloyd.containers import host, like_block
from kilogram.solvers.lloyd.kmeans import count_starts
from kilogram.solvers.solution import Solution, best_of


class KernelKMeans(CentreMixin, Estimator):
    """K-means in the space of a kernel.

    Minimises ``sum_i w_i |phi(x_i) - m_{c_i}|^2`` over the labels c, the centres m being the means
    of their rows in the space of the kernel: ``tr(W K) - tr(L^1/2 Z'W K W Z L^1/2)`` with the
    memberships Z.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : str, Kernel or callable, default="rbf"
        The kernel.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, as in scikit-learn.
    init : {"k-means++", "random", "farthest"} or array of shape (n,), default="k-means++"
        Initial centres: k-means++ in the kernel's space, rows drawn at random, or the rows farthest
        from each other. An array holds the initial label of every row.
    n_init : "auto" or int, default="auto"
        Number of initialisations, of which the best is kept; "auto" is 10 for "random", else 1.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=0.0
        Stop when the inertia falls by less than this fraction of itself; 0: when labels repeat.
    approximation : {None, "nystroem", "fourier"}, default=None
        For many rows: k-means on features of the kernel.
    n_features : int, default=500
        Number of features of the approximation.
    max_memory : int, str or None, default=None
        Memory limit for the kernel matrix; beyond it K is computed in blocks for every pass.
    max_time : float or None, default=None
        Seconds after which the fit stops with the best clusters so far.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The cluster of every training row.
    inertia_ : float
        The objective. `objective_` is the same.
    n_iter_ : int
        Number of iterations.
    dual_centers_ : array of shape (n, n_clusters)
        Centres as combinations of the training rows; not with an approximation.
    X_fit_ : training rows; not with an approximation.
    kernel_ : Kernel
        The kernel with its parameters resolved.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import kilogram as kg
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.metrics import adjusted_rand_score
    >>> X, y = make_circles(200, noise=0.05, factor=0.2, random_state=0)
    >>> model = kg.KernelKMeans(2, kernel=kg.Gaussian(sigma=0.5), n_init=10, random_state=0)
    >>> adjusted_rand_score(y, model.fit(X).labels_)
    1.0
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_clusters": Integer(1),
        "init": OneOf(*INITIALIZATIONS) | ArrayLike(),
        "n_init": OneOf("auto") | Integer(1),
        "max_iter": Integer(1),
        "tol": Real(0),
        "approximation": OneOf("nystroem", "fourier") | Null(),
        "n_features": Integer(1),
        "max_time": Real(0) | Null(),
        "random_state": RandomState(),
    }
    laws: ClassVar[Laws] = Laws(
        shift="the Gaussian kernel ignores a shift, others do not",
        block="the exact method needs the kernel matrix of all rows; see approximation",
        objective=True,
        budget=True,
        example={"n_clusters": 3, "init": "farthest", "kernel": "linear"},
        rtol=1e-6,
    )

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict | None = None,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 0.0,
        approximation: str | None = None,
        n_features: int = 500,
        max_memory: int | str | None = None,
        max_time: float | None = None,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.approximation = approximation
        self.n_features = n_features
        self.max_memory = max_memory
        self.max_time = max_time
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows X (n, d), or a kernel matrix if kernel="precomputed"; y is ignored.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, self.max_memory)
        X, y_, w = self._validate(X, None, sample_weight)
        check_row_count(X, y if y_ is None else y_, self.n_clusters)
        kernel = as_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )
        self._n_features_out = self.n_clusters
        if self.approximation is not None:
            return self._fit_features(X, w, kernel)
        if is_streamed(X):
            raise ValueError(
                "KernelKMeans needs all rows in memory for its kernel matrix: set "
                "approximation='nystroem' or 'fourier' for streaming input."
            )
        if isinstance(kernel, Precomputed):
            X = X.toarray() if is_sparse(X) else X
            check_given(X)
        else:
            self._ensure_squares(X, np.float64)
        self.kernel_ = kernel.resolve(X)
        self._fit_exact(X, w, budget)
        return self

    def _fit_exact(self, X: Any, w: Any, budget: Budget) -> None:
        rows, n, rng = wide(X), X.shape[0], as_generator(self.random_state)
        K = Gram(self.kernel_, rows, max_memory=self.max_memory, store=self._stores(rows))
        weights = np.ones(n) if w is None else host(w)
        space = trace.KernelSpace(
            K, host(K.diag()), weights, without_noise(self.kernel_) == self.kernel_
        )
        best: Any = Solution(None, 0, np.inf)
        taken = 0
        with ticking(self, "start", budget.deadline) as tick:
            for _ in range(count_starts(self.init, self.n_init)):
                taken += 1
                found: Any = trace.kernel_lloyd(
                    space,
                    kernel_start(space, self.init, int(self.n_clusters), rng),
                    max_iter=int(self.max_iter),
                    tol=float(self.tol),
                    tick=tick,
                )
                if best.value is None or found.objective < best.objective:
                    best = found
                if budget.expired:
                    break
        means, labels = best.value
        self.X_fit_, self.dual_centers_ = X, like(means.a, K.diag())
        self._squares = means.squares
        self.labels_ = like(labels.astype(np.int32), K.diag())
        self.inertia_ = self.objective_ = float(best.objective)
        self.n_iter_ = best.n_iter
        warn_if_duplicates(len(np.unique(labels)), self.n_clusters)
        best = best_of(best, taken, count_starts(self.init, self.n_init))
        warn_if_unfinished(type(self).__name__, best, "Raise max_iter, max_time or tol.")

    def _stores(self, X: Any) -> Any:
        """Whether K is kept, if it fits."""
        n, d = X.shape
        dear = trace.is_expensive(
            n, d, count_starts(self.init, self.n_init)
        ) or not self.kernel_.is_compiled(X)
        return "auto" if dear else False

    def _fit_features(self, X: Any, w: Any, kernel: Any) -> Self:
        if not isinstance(self.init, str):
            raise ValueError(
                "init as an array of labels needs approximation=None, got approximation="
                f"{self.approximation!r}."
            )
        same = ("init", "n_init", "max_iter", "tol", "max_time", "random_state")
        linear = KMeans(self.n_clusters, **{name: getattr(self, name) for name in same})
        basis = feature_map(kernel, self.approximation, self.n_features, self.random_state)
        self.map_ = basis.fit(X)
        self.kernel_ = self.map_.kernel_
        self.linear_ = linear.fit(map_rows(self.map_.transform, X), sample_weight=w)
        self.labels_, self.n_iter_ = linear.labels_, linear.n_iter_
        self.inertia_ = self.objective_ = linear.inertia_
        return self

    def predict(self, X: Any) -> Any:
        """The nearest centre of each row, (n,); of those equally near the first."""
        return self._mapped(_nearest, X)

    def transform(self, X: Any) -> Any:
        """Distances from the centres in the space of the kernel, (n, n_clusters)."""
        check_is_fitted(self)
        if isinstance(self.kernel_, Precomputed):
            raise ValueError(
                "transform needs k(x, x), which a precomputed kernel does not give. Use predict."
            )
        return self._mapped(_roots, X)

    def objective(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The sum of squared distances of the rows from their nearest centres, weighted."""
        w = self._validate(X, None, sample_weight, reset=False).w
        least = host(self.transform(X)).min(axis=1) ** 2
        return float(least.sum() if w is None else least @ host(w))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the objective: larger is better."""
        return -self.objective(X, y, sample_weight)

    def _mapped(self, f: Any, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        if self.approximation is not None:
            features, linear = map_rows(self.map_.transform, X), self.linear_
            return linear.predict(features) if f is _nearest else linear.transform(features)
        return map_rows(partial(self._of_block, f=f), X)

    def _of_block(self, block: Any, f: Any) -> Any:
        """f of k(x, x), K a and the squares of a block of rows, in its library and float type."""
        precise = wide(block)
        rows = cast(self.X_fit_, precise.dtype)
        itself = isinstance(self.kernel_, Precomputed)
        a = like(self.dual_centers_, precise) if not is_sparse(precise) else self.dual_centers_
        Ka = precise @ a if itself else self.kernel_.matmul(precise, rows, a)
        own = np.zeros(block.shape[0]) if itself else host(self.kernel_.diag(precise))
        return like_block(f(own, host(Ka), self._squares), block)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size, k, starts = (
            4 if dtype == "float32" else 8,
            self.n_clusters,
            count_starts(self.init, self.n_init),
        )
        dear = trace.is_expensive(n, d, starts)
        passes = 0.5 if dear else trace.PASSES * starts
        work = n * n * (passes * (d + trace.VALUE) + 2.0 * k) / rates(size).multiply_adds
        memory = 8 * n * n if dear else 64 * n * k
        return self._costs(n, d, "products with the kernel matrix", work, memory)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


def _nearest(own: np.ndarray, Ka: np.ndarray, squares: np.ndarray) -> np.ndarray:
    return trace.nearest(Ka, squares).astype(np.int32)


def _roots(own: np.ndarray, Ka: np.ndarray, squares: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(own[:, None] - 2 * Ka + squares, 0.0))

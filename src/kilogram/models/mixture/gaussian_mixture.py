r"""Gaussian mixtures: every row is drawn from one of k Gaussians, and which one is unknown.

Objective    max  (1/W) sum_i w_i log p(x_i),        p(x) = sum_c p_c N(x; m_c, C_c)

The likelihood is a product over rows, its logarithm a sum of logarithms of sums. EM maximises it:

    E    r_ic = p_c N(x_i; m_c, C_c) / p(x_i)             the responsibility of c for row i
    M    N_c = sum_i w_i r_ic      p_c = N_c / W      m_c = sum_i w_i r_ic x_i / N_c
         C_c = sum_i w_i r_ic (x_i - m_c)(x_i - m_c)' / N_c              about the new mean

Both are one pass over the rows in blocks that stay in cache, in logarithms, with additive sums
(`kilogram.statistics.mixture`); so Dask, files, weights and `partial_fit` are the same code. With
two components or more the likelihood has no maximum: a component on a single row can shrink for
ever. `reg_covar` on the diagonal, or better a `prior`, which counts as that many rows of the common
shape, prevents that. NaN is a missing value; it is integrated out exactly
(`kilogram.statistics.mixture_missing`). As C_c = s I with s -> 0 the responsibilities become the
labels of k-means, which initialises it. References: Dempster, Laird and Rubin 1977; Fraley and
Raftery 2007; Ghahramani and Jordan 1994; Cappe and Moulines 2009.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, warn_if_unfinished
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.models.mixture.initialization import (
    INITIALIZATIONS,
    MixtureSettings,
    covariance_shape,
    filled,
    initial_components,
)
from kilogram.models.mixture.prediction import MixturePredictions, check_row_count
from kilogram.operators.cost import rates
from kilogram.solvers.em.em import RunningMoments, em, moments_of, stepwise
from kilogram.solvers.em.m_step import Shape, regularised_components
from kilogram.solvers.lloyd.row_summary import RowSummary, summarize_rows
from kilogram.solvers.solution import best_of
from kilogram.statistics.mixture import KINDS, Components, MixtureSums, log_likelihood


class GaussianMixture(MixturePredictions, Estimator):
    """A density of k Gaussians, fitted by EM: soft clusters, each with its own covariance.

    Maximises ``sum_i w_i log sum_c p_c N(x_i; m_c, C_c)`` over weights, means and covariances.
    Takes scikit-learn's parameters and has its attributes; adds sample weights, missing values
    (NaN), a prior against collapse, `partial_fit`, rows in blocks, Dask and device arrays.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        One covariance matrix each, one for all, diagonal, or a multiple of the identity.
    tol : float, default=1e-3
        Converged when the mean log-likelihood of a row changes by less than this.
    reg_covar : float, default=1e-6
        Added to the diagonal of every covariance, in the squared units of the rows.
    max_iter : int, default=100
        Maximum number of iterations.
    n_init : int, default=1
        Starts, of which the most likely is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data", "farthest"}, \
default="kmeans"
        Initialisation: k-means, its k-means++ rows, random responsibilities, random rows;
        "farthest" is k-means from the rows farthest apart, which is deterministic.
    weights_init : array of shape (n_components,), default=None
        Initial weights of the components.
    means_init : array of shape (n_components, d), default=None
        Initial means of the components.
    precisions_init : array, default=None
        Inverse covariances in the shape of `precisions_`. Given values replace the initial ones.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.
    warm_start : bool, default=False
        Continue from the components of the last fit.
    verbose : int, default=0
        For compatibility with scikit-learn; progress is reported through callbacks.
    verbose_interval : int, default=10
        For compatibility with scikit-learn.
    prior : float or None, default=None
        An inverse Wishart prior on the covariances that counts as this many rows for each
        component, of the covariance of all rows over n_components^(2/d). A few rows are enough
        that no component collapses.
    learning_decay : float, default=0.7
        The t-th `partial_fit` moves the statistics by (t + 1)^-learning_decay; in (0.5, 1].
    max_time : float or None, default=None
        Seconds after which the fit stops with the best components so far.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
        Weights of the components; they sum to 1.
    means_ : array of shape (n_components, d)
        Means of the components.
    covariances_ : array of shape (n_components, d, d), (d, d), (n_components, d) or (n_components,)
        Covariances of the components, in the form of `covariance_type`.
    precisions_ : array of the same shape
        Inverse covariances of the components.
    precisions_cholesky_ : array of the same shape
        Upper triangles (or roots) U with U U' = precision.
    converged_ : bool
        Whether the fit converged.
    n_iter_ : int
        Number of iterations.
    lower_bound_ : float
        The mean log-likelihood of a row (and the prior's part) under the components as they are.
        `objective_` is minus this.
    lower_bounds_ : list of float
        The same before each iteration of the best start.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    KMeans : Hard clusters, round and of one size.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import GaussianMixture
    >>> rows = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> model = GaussianMixture(2, random_state=0).fit(rows)
    >>> np.sort(model.means_.ravel()).round(3)
    array([ 1., 11.])
    >>> model.predict_proba([[1.5]]).max().round(3)
    np.float64(1.0)
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1),
        "covariance_type": OneOf(*KINDS),
        "tol": Real(0, closed="left"),
        "reg_covar": Real(0, closed="left"),
        "max_iter": Integer(1),
        "n_init": Integer(1),
        "init_params": OneOf(*INITIALIZATIONS),
        "weights_init": ArrayLike() | Null(),
        "means_init": ArrayLike() | Null(),
        "precisions_init": ArrayLike() | Null(),
        "random_state": RandomState(),
        "warm_start": Boolean(),
        "prior": Real(0, closed="left") | Null(),
        "learning_decay": Real(0.5, 1, closed="right"),
        "max_time": Real(0) | Null(),
    }
    laws: ClassVar[Laws] = Laws(
        partial_fit="stepwise EM: later rows are weighed under other components, the order counts",
        objective=True,
        budget=True,
        example={"n_components": 2, "init_params": "farthest"},
        rtol=1e-6,
    )

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        prior: float | None = None,
        learning_decay: float = 0.7,
        max_time: float | None = None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.prior = prior
        self.learning_decay = learning_decay
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of the rows X (n, d), in which NaN is not seen; y is ignored.

        Returns
        -------
        self
        """
        budget, again = Budget(self.max_time, None), self.warm_start and hasattr(self, "weights_")
        if again:
            self._check_same(self.n_components, "warm_start=True")
        X, y_, w = self._validate(X, None, sample_weight, finite=False, reset=not again)
        check_row_count(X, y if y_ is None else y_, self.n_components)
        summary, complete = self._summarized(X, w)
        settings, rng = self._settings(), as_generator(self.random_state)
        shape = covariance_shape(settings, complete, w, summary)
        sums = partial(_sums, X=X, w=w)
        best: Any = None
        taken, wanted = 0, 1 if again else int(self.n_init)
        with ticking(self, "start", budget.deadline) as tick:
            for _ in range(wanted):
                taken += 1
                found = em(
                    sums,
                    self._components()
                    if again
                    else initial_components(
                        settings, complete, w, summary, shape, rng, budget.deadline
                    ),
                    shape,
                    max_iter=int(self.max_iter),
                    tol=float(self.tol),
                    tick=tick,
                    previous=self._last_bound() if again else None,
                )
                if best is None or found.objective < best.objective:
                    best = found
                if budget.expired:
                    break
        parts, bounds = best.value
        self._store(parts, summary, shape, X, w)
        self.lower_bounds_ = [np.float64(bound) for bound in bounds]
        self.converged_, self.n_iter_ = best.converged, best.n_iter
        warn_if_unfinished(
            type(self).__name__,
            best_of(best, taken, wanted),
            "Raise max_iter, max_time or tol to let it finish.",
        )
        return self

    def _settings(self) -> MixtureSettings:
        return MixtureSettings(
            int(self.n_components),
            self.covariance_type,
            float(self.reg_covar),
            self.init_params,
            0.0 if self.prior is None else float(self.prior),
            self.weights_init,
            self.means_init,
            self.precisions_init,
        )

    def _last_bound(self) -> float | None:
        """The bound of the last iteration: a fit that continues compares its first one with it."""
        bounds = getattr(self, "lower_bounds_", [])
        return bounds[-1] if len(bounds) else None

    def _summarized(self, X: Any, w: Any) -> tuple[RowSummary, Any]:
        """The summary of the rows, and the rows with means for NaN."""
        summary = summarize_rows(X, w)
        self._ensure_finite(np.where(np.isinf(summary.sizes), np.inf, summary.origin), X)
        self._ensure_felt(X, summary.variance)
        missing = bool(np.isnan(summary.sizes).any())
        if missing and not is_streamed(X):  # or squares that overflow, which look the same
            self._ensure_squares(filled(X, summary))
        return summary, filled(X, summary) if missing else X

    def _store(self, parts: Components, summary: RowSummary, shape: Shape, X: Any, w: Any) -> None:
        self._store_components(parts, summary)
        parts = self._components()  # rounded to the float type of the rows
        loglik, total = reduce_rows(partial(log_likelihood, parts=parts), X, w)
        self._shape = (shape.floor, shape.rows, shape.scale)
        self._moments = tuple(moments_of(parts))
        self._seen, self._calls = float(total), 1
        self.lower_bound_ = np.float64((float(loglik) + shape.log_prior(parts)) / float(total))
        self.objective_ = -self.lower_bound_
        self._n_features_out = int(self.n_components)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One iteration of online EM on the rows X; the first call also initialises it.

        The statistics of all rows so far move by a fraction that decreases with every call, so
        early batches, evaluated under rough components, are forgotten. After `fit` it continues
        from there.
        """
        budget = Budget(self.max_time, None)
        first = not hasattr(self, "means_")
        if not first:
            self._check_same(self.n_components, "partial_fit")
        X, y_, w = self._validate(X, None, sample_weight, finite=False, reset=first)
        summary, complete = self._summarized(X, w)
        if first:
            check_row_count(X, y if y_ is None else y_, self.n_components)
            settings, rng = self._settings(), as_generator(self.random_state)
            shape = covariance_shape(settings, complete, w, summary)
            old = initial_components(settings, complete, w, summary, shape, rng, budget.deadline)
            calls, seen = 0, 0.0
        else:
            shape, old = self._fitted_shape(), self._components()
            calls, seen = self._calls, self._seen
        found = _sums(old, X, w)
        fraction = float(calls + 1) ** -float(self.learning_decay)
        now = stepwise(None if first else RunningMoments(*self._moments), found, old, fraction)
        seen += found.total
        parts = regularised_components(now.N * seen, now.means, now.S * seen, seen, shape, old)
        self._shape = (shape.floor, shape.rows, shape.scale)
        self._calls, self._seen, self._moments = calls + 1, seen, tuple(now)
        self._n_features_out = int(self.n_components)
        self._store_components(parts, summary)
        self.lower_bound_ = np.float64((found.loglik + shape.log_prior(old)) / found.total)
        self.objective_ = -self.lower_bound_
        self.n_iter_, self.converged_ = self._calls, False
        return self

    def _fitted_shape(self) -> Shape:
        """Regularisation and prior of the covariances, as the rows of the fit determined them."""
        floor, rows, scale = self._shape
        return Shape(self._fitted_kind(), float(self.reg_covar), floor, rows, scale)

    def objective(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the mean log-likelihood of the rows, and minus the prior's part of it."""
        loglik, total = self._log_likelihood(X, sample_weight)
        return -(loglik + self._fitted_shape().log_prior(self._components())) / total

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size, k = 4 if dtype == "float32" else 8, int(self.n_components)
        each = d * d if self.covariance_type == "full" else 4 * d
        work = 20.0 * n * k * each / rates(size).multiply_adds
        return self._costs(n, d, "20 iterations of EM", work, size * n * d + 8 * 16 * k * d * d)


def _sums(parts: Components, X: Any, w: Any) -> MixtureSums:
    """One pass over the rows."""
    found: MixtureSums = reduce_rows(partial(MixtureSums.of, parts=parts), X, w)
    return found

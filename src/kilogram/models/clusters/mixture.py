r"""Mixtures of Gaussians: every row comes from one of k clouds, and no one says from which.

Objective    max  (1/W) sum_i w_i log p(x_i),        p(x) = sum_c p_c N(x; m_c, C_c)

The likelihood is a product over rows, its logarithm a sum of logarithms of sums, which EM climbs:

    E    r_ic = p_c N(x_i; m_c, C_c) / p(x_i)                            the share of c in row i
    M    N_c = sum_i w_i r_ic      p_c = N_c / W      m_c = sum_i w_i r_ic x_i / N_c
         C_c = sum_i w_i r_ic (x_i - m_c)(x_i - m_c)' / N_c              about the new mean

Both are one pass over the rows in blocks that stay in cache, in logarithms, with additive sums
(`kilogram.statistics.mixture`); so Dask, files, weights and `partial_fit` are the same code. With
two components or more the likelihood has no maximum: a component on a single row can shrink for
ever. `reg_covar` on the diagonal, or better a `prior`, which counts as that many rows of the common
shape, keeps it away. NaN stands for what was not seen; it is integrated out exactly
(`kilogram.statistics.mixture_missing`). As C_c = s I with s -> 0 the shares become the labels of
k-means, where it begins. References: Dempster, Laird and Rubin 1977; Fraley and Raftery 2007;
Ghahramani and Jordan 1994; Cappe and Moulines 2009.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.base import Estimate, Estimator, Laws, warn_if_unfinished
from kilogram.base.estimate import within
from kilogram.base.progress import ticking, with_callbacks
from kilogram.models.clusters.centres import generator
from kilogram.models.clusters.kmeans_fit import About, spread
from kilogram.models.clusters.mixture_answers import (
    MixtureAnswers,
    check_rows,
    check_same,
    checked,
    components_of,
    keep_components,
    kind_of,
)
from kilogram.models.clusters.mixture_start import filled, first_shape, start
from kilogram.operators.memory_plan import rates
from kilogram.solvers.mixture.em import Running, em, moments_of, stepwise
from kilogram.solvers.mixture.maximise import Shape, settled
from kilogram.solvers.solution import best_of
from kilogram.statistics.mixture import Components, MixtureSums, log_likelihood


class GaussianMixture(MixtureAnswers, Estimator):
    """A density of k Gaussians, fitted by EM; clusters with soft borders and shapes of their own.

    Maximises ``sum_i w_i log sum_c p_c N(x_i; m_c, C_c)`` over weights, means and covariances.
    Takes scikit-learn's parameters and gives its answers, with weights, missing values (NaN), a
    prior against collapse, `partial_fit`, and rows in blocks, on Dask and on device arrays.

    Parameters
    ----------
    n_components : int, default=1
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Each its own, one for all, axis-parallel, or round.
    tol : float, default=1e-3
        The fit ends when the mean log-likelihood of a row rises by less.
    reg_covar : float, default=1e-6
        Added to the diagonal of every covariance, in the squared units of the rows.
    max_iter : int, default=100
    n_init : int, default=1
        Starts, of which the most likely is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data", "farthest"}, \
default="kmeans"
        Where to begin: k-means, rows spread as for it, random shares, random rows; "farthest" is
        k-means from the rows farthest apart, which draws nothing. Rows go to the nearest centre.
    weights_init : array of shape (n_components,), default=None
    means_init : array of shape (n_components, d), default=None
    precisions_init : array, default=None
        Inverse covariances in the shape of `precisions_`. What is given stands in for the start's.
    random_state : int, RandomState or None, default=None
    warm_start : bool, default=False
        Go on from the components of the last fit.
    verbose : int, default=0
        There for scikit-learn's signature; progress goes through callbacks.
    verbose_interval : int, default=10
        There for scikit-learn's signature.
    prior : float or None, default=None
        An inverse Wishart prior on the covariances that counts as this many rows for each
        component, of the covariance of all rows over n_components^(2/d). A few rows are enough
        that no component collapses.
    learning_decay : float, default=0.7
        The t-th `partial_fit` moves the statistics by (t + 1)^-learning_decay; in (0.5, 1].
    max_time : float or None, default=None
        Seconds after which the fit stops with what it has.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
    means_ : array of shape (n_components, d)
    covariances_ : array of shape (n_components, d, d), (d, d), (n_components, d) or (n_components,)
    precisions_ : array of the same shape
        The inverse covariances.
    precisions_cholesky_ : array of the same shape
        Upper triangles (or roots) U with U U' = precision.
    converged_ : bool
    n_iter_ : int
    lower_bound_ : float
        The mean log-likelihood of a row (and the prior's part) under the components as they are.
        `objective_` is minus this.
    lower_bounds_ : list of float
        The same before each step of the best start.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X had any.

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

    laws: ClassVar[Laws] = Laws(
        partial_fit="stepwise EM: what comes later meets other components, so the order counts",
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
        budget, again = checked(self), self.warm_start and hasattr(self, "weights_")
        if again:
            check_same(self, "warm_start=True")
        X, y_, w = self._enter(X, None, sample_weight, finite=False, reset=not again)
        check_rows(self, X, y if y_ is None else y_)
        about, whole = self._known(X, w)
        shape, rng = first_shape(self, whole, w, about), generator(self.random_state)
        sums = partial(_sums, X=X, w=w)
        best: Any = None
        taken, wanted = 0, 1 if again else int(self.n_init)
        with ticking(self, "start", budget.deadline) as tick:
            for _ in range(wanted):
                taken += 1
                first = components_of(self) if again else None
                if first is None:
                    first = start(self, whole, w, about, shape, rng, budget)
                found = em(
                    sums, first, shape, max_iter=int(self.max_iter), tol=float(self.tol), tick=tick
                )
                if best is None or found.objective < best.objective:
                    best = found
                if budget.expired:
                    break
        parts, self.lower_bounds_ = best.value
        self._keep(parts, about, shape, X, w)
        self.converged_, self.n_iter_ = best.converged, best.n_iter
        best = best_of(best, taken, wanted)
        warn_if_unfinished(
            type(self).__name__, best, "Raise max_iter, max_time or tol to let it finish."
        )
        return self

    def _known(self, X: Any, w: Any) -> tuple[About, Any]:
        """What one pass tells of the rows, and the rows with means for NaN."""
        about = spread(X, w)
        self._ensure_finite(np.where(np.isinf(about.sizes), np.inf, about.origin), X)
        self._ensure_felt(X, about.variance)
        missing = bool(np.isnan(about.sizes).any())
        if missing and not is_streamed(X):  # or squares that overflow, which look the same
            self._ensure_squares(filled(X, about))
        return about, filled(X, about) if missing else X

    def _keep(self, parts: Components, about: About, shape: Shape, X: Any, w: Any) -> None:
        keep_components(self, parts, about)
        parts = components_of(self)
        loglik, total = reduce_rows(partial(log_likelihood, parts=parts), X, w)
        self._shape = (shape.floor, shape.rows, shape.scale)
        self._moments = tuple(moments_of(parts))
        self._seen, self._calls = float(total), 1
        self.lower_bound_ = (float(loglik) + shape.log_prior(parts)) / float(total)
        self.objective_ = -self.lower_bound_
        self._n_features_out = int(self.n_components)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One step of online EM on the rows X; the first call also chooses where to begin.

        The statistics of all rows so far move by a share that falls with every call, so early
        batches, met by rough components, are forgotten. After `fit` it goes on from there.
        """
        budget = checked(self)
        first = not hasattr(self, "means_")
        if not first:
            check_same(self, "partial_fit")
        X, y_, w = self._enter(X, None, sample_weight, finite=False, reset=first)
        about, whole = self._known(X, w)
        if first:
            check_rows(self, X, y if y_ is None else y_)
            shape = first_shape(self, whole, w, about)
            old = start(self, whole, w, about, shape, generator(self.random_state), budget)
            self._shape = (shape.floor, shape.rows, shape.scale)
            self._calls, self._seen, self._n_features_out = 0, 0.0, int(self.n_components)
        else:
            shape, old = self._known_shape(), components_of(self)
        found = _sums(old, X, w)
        share = float(self._calls + 1) ** -float(self.learning_decay)
        now = stepwise(None if first else Running(*self._moments), found, old, share)
        self._seen, self._calls = self._seen + found.total, self._calls + 1
        self._moments = tuple(now)
        N, S = now.N * self._seen, now.S * self._seen
        keep_components(self, settled(N, now.means, S, self._seen, shape, old), about)
        self.lower_bound_ = (found.loglik + shape.log_prior(old)) / found.total
        self.objective_ = -self.lower_bound_
        self.n_iter_, self.converged_ = self._calls, False
        return self

    def _known_shape(self) -> Shape:
        """What keeps the covariances from collapsing, as the rows of the fit set it."""
        floor, rows, scale = self._shape
        return Shape(kind_of(self), float(self.reg_covar), floor, rows, scale)

    def objective(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the mean log-likelihood of the rows, and minus the prior's part of it."""
        loglik, total = self._log_likelihood(X, sample_weight)
        return -(loglik + self._known_shape().log_prior(components_of(self))) / total

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size, k = 4 if dtype == "float32" else 8, int(self.n_components)
        each = d * d if self.covariance_type == "full" else 4 * d
        work = 20.0 * n * k * each / rates(size).multiply_adds
        return within(self, n, d, "20 steps of EM", work, size * n * d + 8 * 16 * k * d * d)


def _sums(parts: Components, X: Any, w: Any) -> MixtureSums:
    """One pass over the rows."""
    found: MixtureSums = reduce_rows(partial(MixtureSums.of, parts=parts), X, w)
    return found

"""Gaussian process regression.

Objective    max_theta  log p(y | X, theta) = -1/2 y'C^-1 y - 1/2 log |C| - n/2 log 2 pi

    f ~ GP(0, k_theta),   y_i = f(x_i) + e_i,   C = K + diag(noise)

    mean        mu(x) = k(x)'a,   a = C^-1 y                 kernel ridge regression
    covariance  k(x, x') - k(x)'C^-1 k(x')                   of the function
                plus the noise, for a new observation

theta are the kernel's parameters, found by the gradient of the likelihood (see
`solvers.gaussian_process.exact`); the noise is `alpha`, or `White` in the kernel and then found
too. C is factored once per evaluation, n^3 / 3 flops, and inverted in place, 2 n^3 / 3. Where C
does not fit in memory, inducing points (`solvers.gaussian_process.inducing`) or products with C
(`solvers.gaussian_process.iterative`) are used; `solvers` chooses. Everything is computed in
float64; predictions have the wider float type of X and of the training targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.linalg import NotPositiveDefinite
from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import is_streamed
from kilogram.base import Budget, Estimator, Laws
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
from kilogram.base.estimate import Estimate
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.base.regression_data import validate_regression_data
from kilogram.kernels import Gaussian, White
from kilogram.kernels.row_pairs import cast, wide
from kilogram.models.gaussian_process.fitting import (
    LikelihoodProblem,
    TargetScale,
    check_in_memory,
    observations,
    warn_about_search,
)
from kilogram.models.gaussian_process.kernel_translation import (
    named_kernel,
    prior_kernel,
    tuning_of,
)
from kilogram.models.gaussian_process.leave_one_out import LeaveOneOut, flat, leave_one_out
from kilogram.models.gaussian_process.posterior import Prior, draw, new_noise
from kilogram.models.gaussian_process.solvers import SolverChoice, problem_for_solver
from kilogram.operators.cost import rates


class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, Estimator):
    """Gaussian process regression, with kernel parameters of largest marginal likelihood.

    Drop-in for scikit-learn's: the same parameters, its kernels or Kilogram's. Rows must be in
    memory.

    Parameters
    ----------
    kernel : Kernel, str, a kernel of scikit-learn or None, default=None
        Covariance of the prior. Add `White()` for noise of unknown variance (duplicate rows,
        target included, do not drive it to 0; a warning reports them). None is
        `1.0 * Gaussian(1.0)`, not tuned.
    alpha : float or array of shape (n,), default=1e-10
        Variance of noise beside the kernel's, for all rows or for each.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        How parameters are tuned; None keeps them. A callable takes the function to minimise,
        `initial_theta` and `bounds`, and returns theta and the value there.
    n_restarts_optimizer : int, default=0
        Number of further starting points, drawn within the bounds.
    normalize_y : bool, default=False
        Standardise y first; predictions are in the units of y.
    copy_X_train : bool, default=True
        Keep a copy of the rows rather than the rows given.
    n_targets : int or None, default=None
        Outputs of the prior, for `predict` and `sample_y` before `fit`; None is 1.
    random_state : int, RandomState or None, default=None
        For the restarts and the inducing points.
    bounds : pair, "fixed", dict or None, default=None
        Bounds of the parameters of a Kilogram kernel: for all, or by path, as in
        `{"left__kernel__sigma": (0.1, 10), "right__noise": "fixed"}`; None is (1e-5, 1e5).
    solver : {"auto", "cholesky", "cg"}, default="auto"
        "cholesky" factors the covariance and raises if it does not fit in memory. "cg" needs
        products with it only: mean and variances of all rows by preconditioned conjugate gradients
        (variances by a solve per new row), parameters tuned on the bound of inducing points, the
        likelihood with an estimated determinant. "auto" is "cholesky" while it fits, then inducing
        points, with a warning.
    approximation : {None, "nystroem"}, default=None
        "nystroem": inducing points, for many rows.
    n_components : int, default=500
        Number of inducing points: rows at first, then optimised on the bound.
    max_time : float or None, default=None
        Seconds after which the best parameters found so far are used.
    max_memory : int, str or None, default=None
        Memory limit for the covariance, such as "4GiB".

    Attributes
    ----------
    kernel_ : kernel of the kind that was given
        The kernel with its fitted parameters.
    log_marginal_likelihood_value_ : float
        Its log-likelihood: exact ("cholesky"), a lower bound ("nystroem") or estimated ("cg").
    log_marginal_likelihood_error_ : float
        Standard error of the estimate; 0 where nothing is estimated.
    solver_ : str
        The solver used: "cholesky", "nystroem" or "cg".
    alpha_ : array of shape (n,) or (n, t)
        Coefficients of the mean; one per inducing point, if there are any.
    L_ : array of shape (n, n)
        Lower Cholesky factor of C, or of k(Z, Z) of inducing points Z; None for "cg".
    X_train_, y_train_ : the rows, and the targets after normalisation.
    inducing_points_ : array or None
        The inducing points, if any.
    n_iter_ : int
        Number of evaluations of the likelihood.
    converged_ : bool
        Whether the search ended by itself.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : names of the columns, if X had any.
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import numpy as np, kilogram as kg
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60)
    >>> model = kg.GaussianProcessRegressor(kg.Gaussian(1.0) + kg.White(0.1)).fit(X, y)
    >>> mean, std = model.predict([[1.5], [30.0]], return_std=True, noise=False)
    >>> std.round(1)  # small among the data, that of the prior far away
    array([0., 1.])
    >>> bool(0.05 < model.kernel_.right.noise ** 0.5 < 0.15)
    True
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": Real(0, closed="left") | ArrayLike(),
        "optimizer": OneOf("fmin_l_bfgs_b") | Function() | Null(),
        "n_restarts_optimizer": Integer(0),
        "normalize_y": Boolean(),
        "copy_X_train": Boolean(),
        "n_targets": Integer(1) | Null(),
        "random_state": RandomState(),
        "solver": OneOf("auto", "cholesky", "cg"),
        "approximation": OneOf("nystroem") | Null(),
        "n_components": Integer(1),
    }
    laws = Laws(
        block="the covariance matrix needs all rows in memory",
        budget=True,
        budget_example={"optimizer": "fmin_l_bfgs_b"},
        example={"kernel": 1.5 * Gaussian(2.0) + White(0.1), "alpha": 0.01, "optimizer": None},
    )

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = 1e-10,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        copy_X_train: bool = True,
        n_targets: int | None = None,
        random_state: Any = None,
        bounds: Any = None,
        solver: str = "auto",
        approximation: str | None = None,
        n_components: int = 500,
        max_time: float | None = None,
        max_memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.copy_X_train = copy_X_train
        self.n_targets = n_targets
        self.random_state = random_state
        self.bounds = bounds
        self.solver = solver
        self.approximation = approximation
        self.n_components = n_components
        self.max_time = max_time
        self.max_memory = max_memory

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GaussianProcessRegressor:
        """Tune the kernel on X (n, d) and y (n,) or (n, t), and condition the process on them.

        A weight divides the variance of the row's noise and counts it that often in the
        likelihood: an integer weight is the row given that often.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, self.max_memory)
        check_in_memory(type(self).__name__, X)
        rows = validate_regression_data(self, X, y, sample_weight)
        self._wide_targets = "float64" in str(rows.Y.dtype)
        data, self._scale = observations(rows, self.alpha, self.normalize_y, self.n_targets)
        tuning = tuning_of(self.kernel, self.bounds, data.X)
        choice = SolverChoice(
            type(self).__name__,
            self.solver,
            self.approximation,
            int(self.n_components),
            self.random_state,
            self.max_memory,
        )
        problem: Any = LikelihoodProblem(data, tuning)
        self.solver_, problem = problem_for_solver(choice, problem, budget.bytes)
        restarts, rng = int(self.n_restarts_optimizer), as_generator(self.random_state)
        with ticking(self, "likelihood", budget.deadline) as tick:
            solved = problem.solved(self.optimizer, restarts, rng, tick)
        self._problem, self._posterior, found = solved
        self._store(rows.X, found)
        warn_about_search(type(self).__name__, found, self._problem.tuning)
        return self

    def _store(self, X: Any, found: Any) -> None:
        posterior, data = self._posterior, self._problem.data
        self.kernel_ = named_kernel(self.kernel, self._problem.tuning)
        self.log_marginal_likelihood_value_ = np.float64(posterior.log_likelihood)
        self.log_marginal_likelihood_error_ = posterior.error
        self.alpha_, self.L_ = flat(posterior.a), posterior.L
        self.X_train_ = data.X
        if self.copy_X_train and data.X is X:
            self.X_train_ = X.copy() if is_sparse(X) else namespace(X).asarray(X, copy=True)
        self.y_train_, self.inducing_points_ = flat(data.Y), self._problem.Z
        self.n_iter_, self.converged_ = max(1, found.n_iter), found.converged

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        noise: bool | None = None,
    ) -> Any:
        """Mean at the rows of X (m, d), (m,) or (m, t); before `fit`, of the prior.

        Parameters
        ----------
        X : array-like or sparse matrix (m, d)
        return_std : bool
            Also the standard deviations, of the shape of the mean.
        return_cov : bool
            Also the covariance, (m, m) or (m, m, t).
        noise : bool or None
            The deviations are those of the function (False), of a new observation with the noise
            of the kernel and alpha (True), or as in scikit-learn with that of the kernel (None).
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        given = self._validate(X, reset=False).X
        given = np.asarray(given) if is_streamed(given) else given
        X = wide(given)
        dtype = X.dtype if getattr(self, "_wide_targets", False) else given.dtype
        process, scale = self._process(X)
        mean = cast(flat(process.mean(X) * scale.std + scale.mean), dtype)
        if not (return_std or return_cov):
            return mean
        extra = new_noise(process.kernel, X, noise, self.alpha)
        if return_cov:
            return mean, cast(flat(process.covariance(X, extra)[:, :, None] * scale.std**2), dtype)
        variance = process.variance(X, extra)
        std = namespace(variance).sqrt(variance)[:, None] * scale.std
        return mean, cast(flat(std), dtype)

    def _process(self, X: Any) -> tuple[Any, TargetScale]:
        """The posterior and the scale of y; before any fit, the prior."""
        if hasattr(self, "_posterior"):
            return self._posterior, self._scale
        prior = Prior(prior_kernel(self.kernel, X), self.n_targets or 1)
        return prior, TargetScale.of(prior.mean(X), None, False)

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, *, noise: bool | None = None
    ) -> Any:
        """Functions drawn at the rows of X, (m, n_samples) or (m, t, n_samples); see `predict`."""
        rng = as_generator(random_state)
        mean, covariance = self.predict(X, return_cov=True, noise=noise)
        if mean.ndim == 1:
            return draw(mean, covariance, n_samples, rng)
        drawn = [
            draw(mean[:, j], covariance[:, :, j], n_samples, rng) for j in range(mean.shape[1])
        ]
        return namespace(mean).stack(drawn, axis=1)

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """The log-likelihood at theta, the logarithms of the free parameters (None: those found),
        and its gradient if asked for; -inf where the covariance has no factor."""
        check_is_fitted(self, "kernel_")  # without it, a model that may predict before a fit passes
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        theta = np.asarray(theta, dtype=np.float64)
        try:
            value, gradient = self._problem.objective(theta)
        except NotPositiveDefinite:
            value, gradient = -np.inf, np.zeros_like(theta)
        value = np.float64(value)
        return (value, gradient) if eval_gradient else value

    def leave_one_out(self) -> LeaveOneOut:
        """Every training row predicted from the others (its own copies too, if it has any),
        parameters kept, in closed form: named arrays `mean`, `variance` (of an observation) and
        `log_density`."""
        check_is_fitted(self, "kernel_")
        if self.solver_ != "cholesky":
            raise ValueError(
                "leave_one_out needs the factor of the covariance: fit with solver='cholesky'."
            )
        return leave_one_out(self._posterior, self._problem.data, self._scale)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        m = n if self.approximation is None else min(n, self.n_components)
        evaluations = 1 if self.optimizer is None else 20 if m == n else 50
        work = evaluations * n * m * (m / 2 + d) / rates(8).multiply_adds
        method = "Cholesky factor and inverse" if m == n else f"{m} inducing points"
        return self._costs(n, d, method, work, 8.8 * m * m if m == n else 8 * (n + 4 * m) * m)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.sparse = True
        return tags

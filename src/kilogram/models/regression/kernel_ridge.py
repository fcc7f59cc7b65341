"""Kernel ridge regression: the twin of ridge.py in the coordinates of the rows.

Objective    min_f  sum_i w_i |y_i - f(x_i)|^2 + alpha |f|^2

    f(x) = sum_i a_i k(x, x_i) + b        (K + alpha W^-1) a = y - b 1,  sum_i a_i = 0 with b

Without `fit_intercept` b = 0, as in scikit-learn, and the second condition falls away. It is also
the mean of a Gaussian process with noise variance alpha. With the linear kernel and the offset on,
f is that of `Ridge`. dual.py has the algebra, kernel_plan.py the choice of the road by size.

References: Saunders, Gammerman and Vovk 1998; Rudi, Carratino and Rosasco 2017 (beyond memory).
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

from scipy.linalg import LinAlgWarning

from kilogram.arrays.namespace import is_numpy
from kilogram.arrays.rows import column_count, is_streamed, row_count
from kilogram.base import Budget, Estimate, Laws, warn_if_unfinished
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.warnings import announce_road
from kilogram.kernels import Kernel, Precomputed, as_kernel
from kilogram.models.features.random_maps import check_count, generator
from kilogram.models.regression import kernel_fit
from kilogram.models.regression.kernel_fit import Fit, Limits
from kilogram.models.regression.kernel_plan import APPROXIMATIONS, Ask, Plan, make_plan
from kilogram.models.regression.kernel_predictor import KernelPredictor
from kilogram.models.regression.targets import Rows, enter_gathered, enter_rows
from kilogram.solvers.linear.positive import SINGULAR, Precision

FEATURES = 1000  # of an approximation, unless said otherwise


class KernelRidge(KernelPredictor):
    """Ridge regression with a kernel, at any number of rows.

    Minimises ``sum_i w_i |y_i - f(x_i)|^2 + alpha |f|^2`` over the functions of a kernel. Takes
    scikit-learn's parameters and gives its answers. While the kernel matrix fits in memory the
    solution is exact; beyond, the road taken is announced before the work (`MemoryRoadWarning`).

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Strength of the penalty, at least 0; one for all targets or one each.
    kernel : str, Kernel or callable, default="linear"
        A name ("linear", "rbf", "poly", "laplacian", "sigmoid", "cosine", "chi2", "matern",
        "precomputed", ...), a kernel such as `Gaussian("median")` or `k1 + 2.0 * k2`, or a
        function of two rows that returns a number.
    gamma : float, default=None
        Rate of a kernel given by name; None is the kernel's default, 1 / d for most.
    degree : float, default=3
        Degree of a polynomial kernel given by name.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels given by name.
    kernel_params : dict, default=None
        Keyword arguments of a callable kernel.
    fit_intercept : bool, default=False
        Fit an offset that is not penalised. With it and the linear kernel the model is `Ridge`.
    solver : {"auto", "cholesky", "cg", "falkon"}, default="auto"
        "cholesky" factors K + alpha I (in float32 with refinement to float64 accuracy where that
        pays) and refuses if it does not fit in memory; "cg" runs preconditioned conjugate
        gradients on the same equations; "falkon" solves for `n_components` centres. "auto" is
        exact while K fits: by conjugate gradients to the accuracy of a factor where alpha makes
        them quick, else by "cholesky"; beyond, it is "falkon", announced.
    approximation : {None, "nystroem", "fourier"}, default=None
        Work on features instead: `n_components` landmarks drawn from the rows, or random Fourier
        features of a stationary kernel. One pass over rows in any container, Dask included.
    n_components : int, default=None
        Number of centres, landmarks or random features; None is 1000 for an approximation, and
        5 sqrt(n) centres, or as many as memory allows, for "falkon".
    tol : float, default=None
        Relative residual at which the iteration ends; None is 1e-6 for "cg" and 1e-3 for "falkon",
        whose objective is then within about tol^2 of its minimum.
    max_iter : int, default=None
        Most steps of "cg" (10 n) and "falkon" (200).
    max_time : float, default=None
        Seconds after which an iterative solver stops, with a usable model and a warning.
    max_memory : int or str, default=None
        Bytes that may be used, such as "4GiB"; None is a share of the free memory.
    random_state : int, RandomState or None, default=None
        Seed of the draws of centres, landmarks and features.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, n_targets)
        Coefficients a of the rows, or of the centres where there are fewer.
    X_fit_ : {array, sparse matrix} of shape (n, d)
        The rows of `fit` (their kernel matrix if precomputed), or the centres.
    coef_ : array of shape (n_components,) or (n_components, n_targets)
        With `approximation="fourier"`: the coefficients of the features `features_`.
    intercept_ : float or array of shape (n_targets,)
        The offset; 0.0 without one.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    solver_ : str
        The road taken: "cholesky", "cg", "falkon", "nystroem" or "fourier".
    n_iter_ : int
        Steps taken, of refinement for "cholesky".
    converged_ : bool
        Whether the tolerance was met.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had any.

    See Also
    --------
    Ridge : The linear twin.
    KernelRidgeCV : The penalty, and the kernel, chosen by exact leave-one-out.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import Gaussian, KernelRidge
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelRidge(alpha=1e-3, kernel=Gaussian(1.0)).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    """

    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget=True,
        example={"kernel": "rbf", "gamma": 0.2, "alpha": 0.5},
        budget_example={"solver": "cg"},
    )

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        fit_intercept: bool = False,
        solver: str = "auto",
        approximation: str | None = None,
        n_components: int | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        max_time: float | None = None,
        max_memory: int | str | None = None,
        random_state: Any = None,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.approximation = approximation
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.max_memory = max_memory
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            With a precomputed kernel its matrix (n, n).
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, self.max_memory)
        kernel = self._kernel()
        rows = enter_rows(self, X, y, sample_weight)
        with ticking(self, "step", budget.deadline) as tick:
            limits = kernel_fit.Limits(self.tol, self.max_iter, tick, budget.deadline)
            fit = self._walk(kernel, rows, limits)
        self._keep(fit, rows.X)
        if SINGULAR in fit.found.message:
            warnings.warn(f"KernelRidge: {fit.found.message}", LinAlgWarning, stacklevel=2)
        warn_if_unfinished(
            "KernelRidge", fit.found, "Raise max_time or max_iter, or choose a larger alpha or tol."
        )
        return self

    def _kernel(self) -> Kernel:
        """The kernel meant by the parameters."""
        if self.approximation not in APPROXIMATIONS:
            raise ValueError(
                f"approximation must be one of {APPROXIMATIONS}, got {self.approximation!r}."
            )
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        return as_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )

    def _walk(self, kernel: Kernel, rows: Rows, limits: Limits) -> Fit:
        """Choose the road, say so where it was not asked for, and take it."""
        if self.approximation is not None:
            return self._on_features(kernel, rows, self.approximation, self.n_components)
        plan = make_plan(self._ask(kernel, rows.X))
        if plan.said:
            announce_road("KernelRidge", plan.said)
        if plan.name == "moments":
            return self._on_features(kernel, rows, "nystroem", plan.centres)
        rows = enter_gathered(self, rows)
        if not isinstance(kernel, Precomputed):
            self._ensure_squares(rows.X)
        self.kernel_ = kernel.resolve(rows.X)
        return self._in_memory(plan, rows, limits)

    def _in_memory(self, plan: Plan, rows: Rows, limits: Limits) -> Fit:
        problem = (self.kernel_, rows, self.alpha, bool(self.fit_intercept))
        rng = generator(self.random_state)
        self.solver_ = plan.solver
        if plan.name == "cg":
            return kernel_fit.by_products(
                *problem, max_memory=self.max_memory, rng=rng, limits=limits
            )
        if plan.name == "falkon":
            return kernel_fit.on_centres(
                *problem, m=plan.centres, stored=plan.stored, rng=rng, limits=limits
            )
        precision: Precision = "lean" if plan.name == "lean" else "auto"
        fit = kernel_fit.exact(*problem, precision, self.solver == "auto", limits.callback)
        self.solver_ = fit.found.road or self.solver_
        return fit

    def _on_features(self, kernel: Kernel, rows: Rows, name: str, m: int | None) -> Fit:
        self.kernel_ = kernel.resolve(rows.X)
        self.solver_ = name
        walk = kernel_fit.landmarks if name == "nystroem" else kernel_fit.fourier
        return walk(
            self.kernel_,
            rows,
            self.alpha,
            bool(self.fit_intercept),
            m=FEATURES if m is None else m,
            rng=generator(self.random_state),
            ensure_finite=lambda statistic: self._ensure_finite(statistic, rows.X),
        )

    def _ask(self, kernel: Kernel, X: Any) -> Ask:
        return Ask(
            row_count(X),
            column_count(X),
            getattr(X, "dtype", "float64"),
            kernel,
            self.solver,
            self.max_memory,
            self.max_time,
            self.n_components,
            numpy=is_numpy(X) or is_streamed(X),
            streamed=is_streamed(X),
        )

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        kernel = self._kernel()
        ask = Ask(
            n,
            d,
            dtype,
            kernel,
            self.solver if self.approximation is None else "falkon",
            self.max_memory,
            None,
            self.n_components if self.approximation is None else self.n_components or FEATURES,
            numpy=True,
            streamed=self.approximation is not None,
        )
        plan = make_plan(ask)
        road = self.approximation or plan.solver
        return Estimate(
            "KernelRidge",
            n,
            d,
            road,
            plan.seconds,
            plan.road.bytes,
            plan.road.fits,
            plan.said or plan.road.reason + ".",
        )

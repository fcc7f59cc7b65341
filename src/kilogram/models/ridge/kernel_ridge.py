"""Kernel ridge regression: the kernel version of ridge.py, in n unknowns.

Objective    min_f  sum_i w_i |y_i - f(x_i)|^2 + alpha |f|^2

    f(x) = sum_i a_i k(x, x_i) + b        (K + alpha W^-1) a = y - b 1,  sum_i a_i = 0 with b

Without `fit_intercept` b = 0, as in scikit-learn, and there is no second condition. It is also the
mean of a Gaussian process with noise variance alpha. With the linear kernel and `fit_intercept`, f
is that of `Ridge`. A fit chooses a solver by size (kernel_solver_choice.py) and calls it
(kernel_solvers.py).

References: Saunders, Gammerman and Vovk 1998; Rudi, Carratino and Rosasco 2017 (beyond memory).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from scipy.linalg import LinAlgWarning

from kilogram.arrays.namespace import is_numpy
from kilogram.arrays.rows import column_count, is_streamed, row_count
from kilogram.base import Budget, Estimate, Laws, warn_if_unfinished
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
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.base.warnings import warn_memory_fallback
from kilogram.kernels import Kernel, Precomputed, as_kernel
from kilogram.models.ridge.kernel_predictor import KernelPredictor
from kilogram.models.ridge.kernel_solver_choice import KernelSize, choose_solver
from kilogram.models.ridge.kernel_solvers import KernelProblem, solve_kernel_ridge
from kilogram.solvers.least_squares.data import in_one_precision
from kilogram.solvers.linear.positive_definite import SINGULAR


class KernelRidge(KernelPredictor):
    """Ridge regression with a kernel, for any number of rows.

    Minimises ``sum_i w_i |y_i - f(x_i)|^2 + alpha |f|^2`` over the functions of a kernel. Takes
    scikit-learn's parameters and gives its predictions. While the kernel matrix fits in memory the
    solution is exact; beyond, a `MemoryFallbackWarning` names the solver used instead.

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
        is faster) and raises MemoryError if it does not fit in memory; "cg" runs preconditioned
        conjugate gradients on the same equations; "falkon" solves for `n_components` centres.
        "auto" is exact while K fits: by conjugate gradients to the accuracy of a factor where alpha
        makes them quick, else by "cholesky"; beyond, it is "falkon", with a warning.
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
        Maximum number of iterations of "cg" (None: 10 n) and "falkon" (None: 200).
    max_time : float, default=None
        Seconds after which an iterative solver stops, with a usable model and a warning; a solver
        that can be stopped is chosen if factoring K would take longer.
    max_memory : int or str, default=None
        Bytes that may be used, such as "4GiB"; None is a fraction of the free memory.
    random_state : int, RandomState or None, default=None
        Seed of the centres, landmarks and random features.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, n_targets)
        Coefficients a of the rows, or of the centres where there are fewer.
    X_fit_ : {array, sparse matrix} of shape (n, d)
        The rows of `fit` (their kernel matrix if precomputed), or the centres.
    coef_ : array of shape (n_components,) or (n_components, n_targets)
        With `approximation="fourier"`: the coefficients of the features `features_`.
    intercept_ : float or array of shape (n_targets,)
        Intercept; 0.0 without one.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    solver_ : str
        The solver used: "cholesky", "cg", "falkon", "nystroem" or "fourier".
    n_iter_ : int
        Number of iterations, of refinement for "cholesky".
    converged_ : bool
        Whether the tolerance was reached.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    Ridge : The linear version.
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
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": Real(0) | ArrayLike(),
        "fit_intercept": Boolean(),
        "solver": OneOf("auto", "cholesky", "cg", "falkon"),
        "approximation": Null() | OneOf("nystroem", "fourier"),
        "n_components": Integer(1) | Null(),
        "tol": Real(0) | Null(),
        "max_iter": Integer(0) | Null(),
        "random_state": RandomState(),
    }

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
        budget, kernel = Budget(self.max_time, self.max_memory), self._kernel()
        rows = in_one_precision(validate_regression_data(self, X, y, sample_weight))
        plan = choose_solver(self._size(kernel, rows.X))
        if plan.reason:
            warn_memory_fallback("KernelRidge", plan.reason)
        if plan.name not in ("nystroem", "fourier"):
            rows = in_one_precision(gather_regression_data(self, rows))
            if not isinstance(kernel, Precomputed):
                self._ensure_squares(rows.X)
        kernel = kernel.resolve(rows.X)
        with ticking(self, "iteration", budget.deadline) as tick:
            problem = KernelProblem(
                kernel,
                rows,
                self.alpha,
                bool(self.fit_intercept),
                as_generator(self.random_state),
                self.tol,
                self.max_iter,
                self.max_memory,
                tick,
                budget.deadline,
                ensure_finite=lambda statistic: self._ensure_finite(statistic, rows.X),
            )
            fit = solve_kernel_ridge(problem, plan)
        self._store(fit, kernel, rows)
        self.solver_ = fit.solver
        if SINGULAR in fit.found.message:
            warnings.warn(f"KernelRidge: {fit.found.message}", LinAlgWarning, stacklevel=2)
        warn_if_unfinished(
            "KernelRidge", fit.found, "Raise max_time or max_iter, or choose a larger alpha or tol."
        )
        return self

    def _kernel(self) -> Kernel:
        """The kernel given by the parameters."""
        return as_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )

    def _size(self, kernel: Kernel, X: Any) -> KernelSize:
        return KernelSize(
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
            approximation=self.approximation,
        )

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size = KernelSize(
            n,
            d,
            dtype,
            self._kernel(),
            self.solver,
            self.max_memory,
            None,
            self.n_components,
            numpy=True,
            approximation=self.approximation,
        )
        plan = choose_solver(size)
        storage = plan.storage
        reason = plan.reason or storage.reason + "."
        return Estimate(
            "KernelRidge", n, d, plan.solver, plan.seconds, storage.bytes, storage.fits, reason
        )

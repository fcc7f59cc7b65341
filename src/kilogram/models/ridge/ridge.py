"""Ridge regression; its kernel version is in kernel_ridge.py.

Objective    min_f  sum_i w_i |y_i - f(x_i)|^2 + alpha |f|^2

Primal       f(x) = <x, W> + b               (X_c'X_c + alpha I) W = X_c'Y_c        d equations
Dual         f(x) = sum_i a_i k(x_i, x) + b  (K_c + alpha I) a = y_c                n equations

With k(x, y) = <x, y> the two are one function: W = X_c'a. The offset b is not penalised: with it,
rows and targets are centred with their weighted means (X_c, y_c); without it they are taken as
they are. alpha = 0 is least squares, of smallest norm where the columns are dependent.

X_c'X_c and X_c'Y_c are moments: sums over rows, so one block, many blocks, `partial_fit` and a
Dask cluster reach the same W by the same code. `solvers.least_squares.ridge` chooses the solver.

References: Hoerl and Kennard 1970; Saunders, Gammerman and Vovk 1998.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from kilogram.arrays.namespace import is_sparse
from kilogram.arrays.rows import is_streamed
from kilogram.base import Estimate, Laws, Twin, warn_if_unfinished
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
from kilogram.base.linear import LinearPredictor
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.regression_data import validate_regression_data
from kilogram.operators.cost import rates
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.least_squares.ridge import (
    SOLVERS,
    RidgeFit,
    RidgeProblem,
    check_solver,
    joint_moments,
    solve_moments,
    solve_ridge,
)
from kilogram.statistics import JointMoments


class Ridge(LinearPredictor):
    """Linear least squares with a penalty on the length of the coefficients.

    Minimises ``sum_i w_i |y_i - <x_i, W> - b|^2 + alpha |W|^2``; the offset b is not penalised.
    With a `penalty_matrix` G the penalty is ``alpha |G W|^2`` (Tikhonov).
    Takes scikit-learn's parameters and gives its predictions, from one pass over the rows, for
    arrays of any library of the array API, sparse matrices, data frames, memory maps, Parquet
    files, iterables of blocks and Dask collections.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Strength of the penalty, at least 0; one for all targets or one each.
    fit_intercept : bool, default=True
        Fit the offset b. Without it the rows are taken as centred.
    copy_X : bool, default=True
        If False, a dense X may be overwritten (used when it has fewer rows than columns).
    max_iter : int, default=None
        Most steps of the iterative solvers ("sparse_cg", "lsqr", "lbfgs").
    tol : float, default=1e-4
        Tolerance of the iterative solvers: the gradient relative to its start. Others are exact.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, \
default="auto"
        All reach the same optimum.

        - "auto": "cholesky", or "sparse_cg" where X is sparse with thousands of rows and columns;
        - "cholesky": the normal equations of the smaller side, d or n; if columns turn out
          dependent, "svd" is used, and `solver_` names it;
        - "svd": a QR of the rows, block by block, and the SVD of its triangle; the most accurate;
        - "sparse_cg", "lsqr": conjugate gradients on the least-squares problem (the iterates of
          LSQR), which only multiply with X;
        - "sag", "saga": names of scikit-learn's stochastic solvers; the same optimum is found
          directly, as with "auto";
        - "lbfgs": only with `positive=True`, as in scikit-learn.
    positive : bool, default=False
        Whether to restrict the coefficients to be at least 0.
    random_state : int, RandomState or None, default=None
        For compatibility with scikit-learn: no solver here draws random numbers.
    penalty_matrix : array-like or sparse matrix of shape (m, d), default=None
        G of the penalty ``alpha |G W|^2`` (Tikhonov); None: the identity. Differences of neighbours
        (``np.diff(np.eye(d), axis=0)``) make the coefficients smooth, a diagonal weighs them. The
        rank may be less than d; where several W are optimal, the smallest. Solved in d unknowns,
        not by "sparse_cg" and "lsqr".

    Attributes
    ----------
    coef_ : array of shape (d,) or (n_targets, d)
        Coefficients W.
    intercept_ : float or array of shape (n_targets,)
        Intercept b; 0.0 without one.
    n_iter_ : int
        Number of iterations; 1 for a direct solution.
    solver_ : str
        The solver that found the solution.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    KernelRidge : The kernel version: the same objective with any kernel.
    RidgeCV : The penalty chosen by exact leave-one-out.

    Examples
    --------
    >>> from kilogram import Ridge
    >>> model = Ridge(alpha=1.0).fit([[-1.0], [1.0]], [-1.0, 1.0])
    >>> model.coef_.round(3)  # 2 / (2 + alpha)
    array([0.667])
    >>> model.predict([[3.0]]).round(3)
    array([2.])
    """

    moments_: JointMoments
    laws: ClassVar[Laws] = Laws(
        twin=Twin("KernelRidge", kernel_params={"fit_intercept": True}),
        partial_fit=True,
        objective=True,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": Real(0) | ArrayLike(),
        "fit_intercept": Boolean(),
        "copy_X": Boolean(),
        "max_iter": Integer(1) | Null(),
        "tol": Real(0),
        "solver": OneOf(*SOLVERS),
        "positive": Boolean(),
        "random_state": RandomState(),
        "penalty_matrix": ArrayLike() | Null(),
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
        penalty_matrix: Any = None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.penalty_matrix = penalty_matrix

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            An iterable of blocks may hold tuples (X, y) or (X, y, weights).
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        check_solver(
            self.solver,
            positive=self.positive,
            sparse=is_sparse(X),
            streamed=is_streamed(X),
            matrix=self.penalty_matrix is not None,
        )
        rows = validate_regression_data(self, X, y, sample_weight, finite=False)
        with ticking(self, "iteration", None) as tick:
            fit = solve_ridge(self._problem(rows, tick))
        self._store(fit, rows)
        self.__dict__.pop("moments_", None)  # they belong to rows of earlier calls
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those seen by earlier calls of `partial_fit` and fit them all.

        Only the moments of the rows are kept (`moments_`), so any number of rows may pass.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        first = self._begins_anew("moments_", "coef_")
        rows = validate_regression_data(self, X, y, sample_weight, finite=False, reset=first)
        new, flat = joint_moments(rows)
        self._ensure_finite(new.scatter, rows.X)
        moments: JointMoments = new if first else self.moments_ + new
        self._store(solve_moments(self._problem(rows), moments, flat), rows)
        self.moments_ = moments
        return self

    def _problem(self, rows: RegressionData, callback: Any = None) -> RidgeProblem:
        return RidgeProblem(
            rows,
            self.alpha,
            self.fit_intercept,
            self.positive,
            self.solver,
            self.tol,
            self.max_iter,
            ensure_finite=lambda statistic: self._ensure_finite(statistic, rows.X),
            overwrite=not self.copy_X,
            callback=callback,
            penalty_matrix=self.penalty_matrix,
        )

    def _store(self, fit: RidgeFit, rows: RegressionData) -> None:
        found = fit.found
        self._store_linear(found.value, rows, flat=fit.flat)
        self.n_iter_, self.solver_, self.objective_ = found.n_iter, fit.solver, found.objective
        warn_if_unfinished("Ridge", found, "Raise max_iter or tol, or use solver='cholesky'.")

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size, side = 4 if dtype == "float32" else 8, min(n, d)
        if self.penalty_matrix is not None:
            side = d
        solver = "moments of the columns" if side == d else "inner products of the rows"
        work = n * d * side / 2 + side**3 / 6
        # only a triangle of the products is computed
        return self._costs(n, d, solver, work / rates(size).multiply_adds, 8.0 * 3 * side**2)

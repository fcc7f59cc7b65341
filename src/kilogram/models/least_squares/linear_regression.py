"""Linear least squares; `models.ridge` has the same with a penalty.

Objective    min_W,b  sum_i w_i |y_i - <x_i, W> - b|^2

Stationary where the residuals are orthogonal to the columns, X_c'(Y_c - X_c W) = 0: the normal
equations. Where columns depend on one another many W do equally well; the one of smallest norm is
given. The solvers (`solvers.least_squares`) differ in cost and accuracy. With kappa the condition
number of the centred columns, each scaled to length one:

    cholesky   X_c'X_c = L L'           n d^2            error ~ kappa^2 eps, one pass over the rows
    qr         X_c = Q R                2 n d^2          kappa eps, one more pass
    svd        X_c = U s V'             2 n d^2 + d^3    the same, and for dependent columns
    lsqr       products with X, X'      4 nnz an iteration    sparse or implicit X

X_c'X_c, X_c'Y_c and R are sums over rows, so one block, many blocks, `partial_fit`, its inverse
`forget` and a Dask cluster reach the same W by the same code.

References: Gauss 1809; Golub and Van Loan, Matrix Computations, chapter 5; Paige and Saunders 1982.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.utils.validation import check_consistent_length

from kilogram.arrays.rows import is_streamed
from kilogram.arrays.threads import blas_threads, n_threads
from kilogram.base import Estimate, Laws, warn_if_unfinished
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Integer,
    Null,
    OneOf,
    Real,
)
from kilogram.base.fitted import check_is_fitted
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.regression_data import validate_regression_data, weighted_objective
from kilogram.models.least_squares.coefficient_table import CoefficientTable, coefficient_table
from kilogram.models.least_squares.updates import MomentPredictor
from kilogram.operators.cost import rates
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.least_squares.factorizations import LeastSquaresFit
from kilogram.solvers.least_squares.least_squares import (
    SOLVERS,
    check_solver,
    solve_least_squares,
)
from kilogram.solvers.least_squares.ridge import RidgeProblem


class LinearRegression(MomentPredictor):
    """Linear least squares, by a solver that suits the data.

    Minimises ``sum_i w_i |y_i - <x_i, W> - b|^2``; where columns are dependent, or there are more
    columns than rows, the solution of smallest norm. Takes scikit-learn's parameters and gives its
    predictions, for arrays of any library of the array API, sparse matrices, data frames, memory
    maps, Parquet files, iterables of blocks, Dask collections and `scipy` linear operators.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Fit the offset b. Without it the rows are taken as centred.
    copy_X : bool, default=True
        If False, a dense X may be overwritten (used when it has fewer rows than columns).
    tol : float, default=1e-6
        On dense data, singular values of X below `tol` times the largest are set to zero, as in
        `scipy.linalg.lstsq` and scikit-learn >= 1.9; here they are those of the centred columns
        scaled to length one, so that units of measurement do not decide. Use 0 for data that are
        exact to all their digits. For "lsqr" the tolerance of its gradient, relative to the sizes
        of X and the residuals.
    n_jobs : int or None, default=None
        Threads of the linear algebra; None leaves the setting as it is, -1 uses all.
    positive : bool, default=False
        Whether to restrict the coefficients to be at least 0.
    solver : {"auto", "cholesky", "qr", "svd", "lsqr"}, default="auto"
        All reach the same optimum; `solver_` is the one used.

        - "auto": "qr" for small tables; "cholesky" for others, unless their columns are close to
          dependent; then "qr", or "svd" if they are dependent. "lsqr" for operators, where X is
          sparse with thousands of rows and columns, and where it is sparse and long if "lsqr" ends,
          at a hundredth of `tol`, before "cholesky" would;
        - "cholesky": the normal equations of the smaller side, d or n; "svd" if they are
          singular;
        - "qr": a QR of the rows, block by block; "svd" where columns are dependent;
        - "svd": the SVD of that triangle;
        - "lsqr": only multiplies with X and its transpose.

    Attributes
    ----------
    coef_ : array of shape (d,) or (n_targets, d)
        Coefficients W.
    intercept_ : float or array of shape (n_targets,)
        Intercept b; 0.0 without one.
    solver_ : str
        The solver used: "cholesky", "qr", "svd", "lsqr", or "positive".
    rank_ : int
        Number of singular values above `tol` of X, centred if there is an intercept; for "lsqr"
        the largest possible.
    condition_ : float
        Largest by smallest singular value of the (centred) columns, each scaled to length one; of
        the rows as they are where there are fewer rows than columns. Estimated for "cholesky" and
        "lsqr".
    n_iter_ : int
        Number of iterations; 1 for a direct solution.
    objective_ : float
        The weighted sum of squared residuals.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    Ridge : The same with a penalty on the coefficients.
    GeneralizedLeastSquares : Errors that are correlated, or of known variances.
    ReweightedLeastSquares : Errors of unknown variances.
    TotalLeastSquares : Errors in X as well.

    Examples
    --------
    >>> from kilogram import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(6)
    array([7.])
    >>> model.solver_, model.rank_
    ('qr', 1)
    """

    laws: ClassVar[Laws] = Laws(partial_fit=True, objective=True)
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "fit_intercept": Boolean(),
        "copy_X": Boolean(),
        "tol": Real(0),
        "n_jobs": Null() | Integer(1) | Integer(high=-1),
        "positive": Boolean(),
        "solver": OneOf(*SOLVERS),
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
        solver: str = "auto",
    ):
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive
        self.solver = solver

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, operator, Dask or streamed rows of shape (n, d)
            An iterable of blocks may hold tuples (X, y) or (X, y, weights).
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        operator = isinstance(X, LinearOperator)
        check_solver(
            self.solver, positive=self.positive, operator=operator, streamed=is_streamed(X)
        )
        rows = (
            self._validate_operator(X, y, sample_weight)
            if operator
            else validate_regression_data(self, X, y, sample_weight, finite=False)
        )
        threads = nullcontext() if self.n_jobs is None else blas_threads(_threads(self.n_jobs))
        with threads, ticking(self, "iteration", None) as tick:
            found, flat = solve_least_squares(self._problem(rows, tick))
        self._store(found, flat, rows)
        self.__dict__.pop("moments_", None)  # they belong to rows of earlier calls
        return self

    def coefficients(
        self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any
    ) -> CoefficientTable:
        """Standard errors, t, p and confidence intervals of the coefficients.

        Parameters
        ----------
        X, y, sample_weight :
            The rows the model was fitted on.
        **params :
            `kind`, `level`, `weights`, `n_bootstrap`, `random_state` of `coefficient_table`.

        Returns
        -------
        CoefficientTable
        """
        return coefficient_table(self, X, y, sample_weight, **params)

    def predict(self, X: Any) -> Any:
        """Predict the targets of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, operator, Dask or streamed rows of shape (n, d)

        Returns
        -------
        y : array of shape (n,) or (n, t)
            Lazy if X is a Dask collection or comes in blocks.
        """
        if not isinstance(X, LinearOperator):
            return super().predict(X)
        check_is_fitted(self)
        return X @ np.asarray(self.coef_).T + self.intercept_

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """sum_i w_i |y_i - f(x_i)|^2 of the fitted model on these rows."""
        check_is_fitted(self)
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        f = self.predict(rows.X)
        return weighted_objective(rows.Y - (f[:, None] if f.ndim == 1 else f), rows.w, [])

    def _validate_operator(self, X: LinearOperator, y: Any, sample_weight: Any) -> RegressionData:
        """Validate y and weights against the shape of an operator; its entries are unknown."""
        rows = validate_regression_data(self, np.zeros((X.shape[0], 1)), y, sample_weight)
        check_consistent_length(np.empty(X.shape[0]), rows.Y)
        self.n_features_in_ = X.shape[1]
        return rows._replace(X=X)

    def _problem(self, rows: RegressionData, callback: Any = None) -> RidgeProblem:
        return RidgeProblem(
            rows,
            0.0,
            self.fit_intercept,
            self.positive,
            self.solver,
            self.tol,
            None,
            ensure_finite=lambda statistic: self._ensure_finite(statistic, rows.X),
            overwrite=not self.copy_X,
            callback=callback,
        )

    def _store(self, fit: LeastSquaresFit, flat: bool, rows: RegressionData) -> None:
        found = fit.found
        self._store_linear(found.value, rows, flat=flat)
        if not flat and self.coef_.ndim == 1:  # one column of targets stays a column, unlike Ridge
            self.coef_ = self.coef_[None, :]
        self.n_iter_, self.solver_ = found.n_iter, fit.solver
        self.rank_, self.condition_ = fit.rank, fit.condition
        self.objective_ = found.objective
        warn_if_unfinished(type(self).__name__, found, "Lower tol, or use solver='auto'.")

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size, side = 4 if dtype == "float32" else 8, min(n, d)
        solver = "moments of the columns" if n >= d else "inner products of the rows"
        work = n * d * side / 2 + side**3 / 6
        return self._costs(n, d, solver, work / rates(size).multiply_adds, 8.0 * 3 * side**2)


def _threads(n_jobs: int) -> int:
    """Threads given by scikit-learn's n_jobs: -1 is all, -2 all but one."""
    n_jobs = int(n_jobs)
    return n_jobs if n_jobs > 0 else max(1, n_threads() + 1 + n_jobs)

"""Generalised least squares: errors of known variances and correlations.

Objective    min_W,b  (Y - X W - 1 b')' S^-1 (Y - X W - 1 b')          S the errors' covariance

With S = L L' the rows L^-1 [1, X, Y] have errors that are independent and of variance 1, and
least squares of them is the best linear unbiased estimator (Aitken). Everything needed is

    G = [1, X, Y]' S^-1 [1, X, Y]

the moments of X and Y with "weight" 1'S^-1 1 and means 1'S^-1 X / 1'S^-1 1. Three kinds of S:

    vector     variances sigma_i^2: weights 1 / sigma_i^2, one pass over rows of any container
    matrix     Cholesky factor; the whitened rows then go through QR, so kappa(X) is not squared
    operator   S known by its products: S^-1 [1, X, Y] by conjugate gradients

Reference: Aitken 1935.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, solve_triangular
from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed
from kilogram.base import Laws, warn_if_unfinished
from kilogram.base.constraints import Boolean, Constraint, Real
from kilogram.base.linear import LinearPredictor
from kilogram.base.regression_data import validate_regression_data
from kilogram.solvers.least_squares import factorizations as factors
from kilogram.solvers.least_squares.data import RegressionData, wide_floats
from kilogram.solvers.least_squares.factorizations import LeastSquaresFit
from kilogram.solvers.least_squares.least_squares import solve_least_squares, solve_moments
from kilogram.solvers.least_squares.normal_equations import Normal
from kilogram.solvers.least_squares.ridge import RidgeProblem
from kilogram.solvers.linear.cg import cg
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments, Triangle


def whitened_moments(G: Any, d: int) -> JointMoments:
    """The moments of X and Y in G = [1, X, Y]' S^-1 [1, X, Y]."""
    weight = float(G[0, 0])
    m = G[0, 1:] / weight
    C = G[1:, 1:] - weight * (m[:, None] * m[None, :])
    return JointMoments(weight, m[:d], C[:d, :d], m[d:], C[:d, d:], C[d:, d:])


def by_factor(A: Any, S: Any, d: int, fit_intercept: bool) -> LeastSquaresFit:
    """From A = [1, X, Y] and a stored covariance S (n, n)."""
    xp = namespace(A)
    try:
        L = cholesky(S)
    except NotPositiveDefinite as error:
        raise ValueError(
            "the covariance of the errors is not positive definite: its leading minor of order "
            f"{error.order} is not positive. Add a small variance to its diagonal."
        ) from error
    A = solve_triangular(L, A)
    moments = whitened_moments(A.T @ A, d)
    normal = Normal.of(moments, fit_intercept)
    means = xp.concat([normal.mean_x, normal.mean_y])
    R = Triangle.of(A[:, 1:] - A[:, :1] * means[None, :]).R
    floor = factors.rounding(normal, moments.weight)
    return factors.from_triangle(normal, R, moments.weight, floor)


def by_products(
    A: Any, S: Any, d: int, fit_intercept: bool, tol: float
) -> tuple[LeastSquaresFit, Solution]:
    """Solution from A = [1, X, Y] and products with S."""
    solved = cg(S, A, tol=tol)
    fit = solve_moments(whitened_moments(A.T @ solved.value, d), fit_intercept)
    return fit, solved


class GeneralizedLeastSquares(LinearPredictor):
    """Linear regression whose errors have a known covariance.

    Minimises ``r' S^-1 r`` for the residuals r of every target. With equal variances and no
    correlations it is `LinearRegression`.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit the intercept b.
    tol : float, default=1e-10
        Tolerance of the conjugate gradients with a covariance given as an operator.

    Attributes
    ----------
    coef_ : array of shape (d,) or (n_targets, d)
        Coefficients W.
    intercept_ : float or array of shape (n_targets,)
        Intercept b; 0.0 without one.
    rank_ : int
        Number of independent columns.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    ReweightedLeastSquares : Variances that are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import GeneralizedLeastSquares
    >>> x, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 5.0])
    >>> exact = GeneralizedLeastSquares().fit(x, y, covariance=[1e-9, 1e-9, 1.0])
    >>> exact.predict([[2.0]]).round(3)  # the third row hardly counts
    array([2.])
    """

    laws: ClassVar[Laws] = Laws(
        weight="the covariance of the errors takes the place of weights",
        objective=True,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "fit_intercept": Boolean(),
        "tol": Real(0),
    }

    def __init__(self, *, fit_intercept: bool = True, tol: float = 1e-10):
        self.fit_intercept = fit_intercept
        self.tol = tol

    def fit(self, X: Any, y: Any = None, covariance: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            Streaming rows need a covariance of None or variances.
        y : array-like of shape (n,) or (n, n_targets)
        covariance : array-like of shape (n,) or (n, n), sparse or operator, default=None
            Variances of the errors, their covariance matrix, or a SciPy LinearOperator that
            multiplies with it; None is the identity.

        Returns
        -------
        self
        """
        covariance = _as_given(covariance)
        whole = _is_whole(covariance)
        weights = None if whole or covariance is None else _precisions(covariance)
        rows = validate_regression_data(self, X, y, weights, finite=whole)
        if whole:
            fit = self._fit_full_covariance(rows, covariance)
        else:
            fit, flat = solve_least_squares(self._problem(rows))
            rows = rows._replace(flat=flat)
        self._store_linear(fit.found.value, rows, flat=rows.flat)
        self.rank_, self.objective_ = fit.rank, fit.found.objective
        return self

    def objective(self, X: Any, y: Any, covariance: Any = None) -> float:
        """r' S^-1 r, summed over the targets, of the fitted model on these rows."""
        rows = validate_regression_data(self, X, y, None, reset=False)
        f = self.predict(rows.X)
        r = to_numpy(rows.Y - (f[:, None] if f.ndim == 1 else f)).astype(np.float64)
        covariance = _as_given(covariance)
        if covariance is None:
            return float(np.sum(r * r))
        if not _is_whole(covariance):
            return float(np.sum(r * r * _precisions(covariance)[:, None]))
        if isinstance(covariance, LinearOperator):
            return float(np.sum(r * cg(covariance, r, tol=self.tol).value))
        half = solve_triangular(cholesky(np.asarray(covariance, dtype=np.float64)), r)
        return float(np.sum(half * half))

    def _fit_full_covariance(self, rows: RegressionData, covariance: Any) -> LeastSquaresFit:
        if is_streamed(rows.X):
            raise ValueError(
                "a covariance between rows needs all of them in memory; streaming "
                "input takes variances: one number per row."
            )
        n, d = rows.X.shape
        if tuple(covariance.shape) != (n, n):
            raise ValueError(
                f"covariance has shape {tuple(covariance.shape)}; {n} rows need ({n}, {n}), or "
                f"({n},) for variances."
            )
        X = wide_floats(rows.X.toarray() if is_sparse(rows.X) else rows.X)
        xp = namespace(X)
        A = xp.concat([xp.ones_like(X[:, :1]), X, wide_floats(rows.Y)], axis=1)
        if isinstance(covariance, LinearOperator):
            fit, solved = by_products(A, covariance, d, self.fit_intercept, self.tol)
            warn_if_unfinished(
                type(self).__name__, solved, "Raise tol, or give the covariance as a matrix."
            )
            return fit
        S = like(covariance, A)
        if not bool(xp.all(xp.isfinite(S))) or float(xp.max(xp.abs(S - S.T))) > 1e-8 * float(
            xp.max(xp.abs(S))
        ):
            raise ValueError("the covariance of the errors must be finite and symmetric.")
        return by_factor(A, S, d, self.fit_intercept)

    def _problem(self, rows: RegressionData) -> RidgeProblem:
        return RidgeProblem(
            rows,
            0.0,
            self.fit_intercept,
            positive=False,
            solver="auto",
            tol=0.0,  # self.tol is that of conjugate gradients
            max_iter=None,
            ensure_finite=lambda statistic: self._ensure_finite(statistic, rows.X),
        )


def _as_given(covariance: Any) -> Any:
    """Lists as arrays; a sparse matrix is multiplied with, like an operator."""
    if is_sparse(covariance):
        return aslinearoperator(covariance)
    return np.asarray(covariance) if isinstance(covariance, list) else covariance


def _is_whole(covariance: Any) -> bool:
    """A matrix or an operator, rather than None or variances."""
    return isinstance(covariance, LinearOperator) or np.ndim(covariance) == 2


def _precisions(variances: Any) -> Any:
    """1 / sigma_i^2."""
    v = np.asarray(to_numpy(variances), dtype=np.float64)
    if v.ndim != 1 or not (np.isfinite(v) & (v > 0)).all():
        raise ValueError(
            "covariance must be variances above 0 (n,), a matrix (n, n) or an operator; got "
            f"an array of shape {v.shape}, smallest value {v.min() if v.size else None}."
        )
    return 1.0 / v

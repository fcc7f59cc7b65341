"""Robust regression: the influence of every row is bounded, unlike in least squares.

Huber        min_{W, b, sigma}  sum_i w_i (sigma + H((y_i - f(x_i)) / sigma) sigma) + alpha |W|^2
             H(z) = z^2 for |z| <= epsilon, else 2 epsilon |z| - epsilon^2
quantile     min_{W, b}  sum_i w_i rho(y_i - f(x_i)) + alpha (sum_i w_i) |W|_1
             rho(r) = q r for r > 0, (q - 1) r below; q = 1/2 is half the absolute deviation

Both are convex. The lectures solve them by iteratively reweighted least squares, with weights 1
for |r| <= epsilon sigma and epsilon sigma / |r| beyond (psi / r, not rho / r^2 as printed), and
1 / |r| for absolute deviations: many iterations, and for the latter without convergence. Here
Huber's loss, which is piecewise quadratic, takes a few Newton iterations from sums over the rows
(solvers/newton/clipped_loss.py), and quantiles are solved as the linear program they are
(solvers/interior_point/quantile.py).

sigma is found with the coefficients (Huber's proposal 2, as scikit-learn does), or by the median of
the absolute residuals, or given. epsilon = 1.35 keeps 95 % of the efficiency at normal errors. As
epsilon grows the fit tends to least squares, as it goes to 0 to least absolute deviations. A
bounded influence does not help against rows of high leverage: they need RANSAC or a redescending
loss.

References: Huber 1964, 1981; Koenker and Bassett 1978.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import column_count, is_streamed
from kilogram.base import Estimate, Laws, warn_if_unfinished
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Integer,
    OneOf,
    Real,
)
from kilogram.base.linear import LinearPredictor
from kilogram.base.regression_data import validate_regression_data
from kilogram.models.robust.huber_solver import HuberProblem, huber_fit, huber_losses
from kilogram.operators.cost import rates
from kilogram.solvers.least_squares.data import RegressionData, in_one_precision
from kilogram.solvers.least_squares.ridge import joint_moments
from kilogram.solvers.solution import Solution


class RobustPredictor(LinearPredictor):
    """One target, W, b, the number of iterations and the objective."""

    _copies: ClassVar[int]  # of the products of the columns at the peak of memory, as measured

    def _validate_target(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> RegressionData:
        """Validated data with one target, if the products of the columns fit in memory."""
        rows = validate_regression_data(self, X, y, sample_weight, **checks)
        if rows.flat is False:
            column_or_1d(to_numpy(rows.Y), warn=True)
        d = column_count(rows.X)
        self._ensure_memory(self._copies * 8 * d * d, f"the products of {d} columns, {d} by {d},")
        return in_one_precision(rows)

    def _store(self, found: Solution, rows: RegressionData) -> None:
        W, b = found.value
        self._store_linear((np.asarray(W)[:, None], np.array([b])), rows, flat=True)
        self.n_iter_, self.objective_ = max(1, found.n_iter), found.objective
        warn_if_unfinished(type(self).__name__, found, "Raise max_iter or tol.")

    def _residuals(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """y - f(x) and the weights of rows in memory."""
        check_is_fitted(self)
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        r = np.asarray(to_numpy(rows.Y)[:, 0] - to_numpy(self.predict(rows.X)), dtype=np.float64)
        return r, np.ones(len(r)) if rows.w is None else to_numpy(rows.w).astype(np.float64)

    def _coefficients(self) -> np.ndarray:
        return np.asarray(to_numpy(self.coef_), dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


class HuberRegressor(RobustPredictor):
    """Linear regression with Huber's loss: the influence of outliers is bounded.

    Minimises ``sum_i w_i (sigma + H(r_i / sigma) sigma) + alpha |W|^2`` with Huber's loss H over
    the coefficients and, unless it is given, the scale sigma. Takes scikit-learn's parameters and
    reaches its optimum; `scale` and `max_memory` are Kilogram's.

    Parameters
    ----------
    epsilon : float, default=1.35
        Residual, in units of sigma, at which the loss turns from quadratic to linear; above 0.
    max_iter : int, default=100
        Maximum number of passes over the rows.
    alpha : float, default=0.0001
        Strength of the penalty on |W|^2, at least 0.
    warm_start : bool, default=False
        Start from the coefficients and the scale of the previous fit.
    fit_intercept : bool, default=True
        Whether to fit the intercept b.
    tol : float, default=1e-5
        The iterations end when the predicted relative decrease of the objective is below tol^3
        (at least 1e-15).
    scale : {"joint", "mad"} or float, default="joint"
        sigma: found with the coefficients (epsilon of 1 or more); 1.4826 times the median absolute
        residual of such a fit with epsilon 1.35, then fixed; or given.
    max_memory : int, str or None, default=None
        Bytes ("4GiB") that the products of the columns, d by d, may take; MemoryError beyond.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Coefficients W.
    intercept_ : float
        Intercept b; 0.0 without one.
    scale_ : float
        Scale sigma of the residuals.
    outliers_ : ndarray of shape (n,)
        True for rows with |r| > epsilon sigma; only for rows in memory.
    n_iter_ : int
        Number of passes over the rows.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    QuantileRegressor : Absolute deviations and other quantiles.
    LinearRegression : Squares all the way.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import HuberRegressor
    >>> x = np.arange(10.0)[:, None]
    >>> y = 2 * x[:, 0] + 1 + 0.1 * (-1) ** np.arange(10)
    >>> y[3] = 100.0
    >>> HuberRegressor().fit(x, y).coef_.round(1)
    array([2.])
    """

    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget="at most max_iter passes over the rows",
        rtol=1e-6,
    )
    _copies = 12

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int = 100,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-5,
        scale: str | float = "joint",
        max_memory: int | str | None = None,
    ):
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.scale = scale
        self.max_memory = max_memory

    scale_: float
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "epsilon": Real(0, closed="neither"),
        "max_iter": Integer(1),
        "alpha": Real(0, closed="left"),
        "warm_start": Boolean(),
        "fit_intercept": Boolean(),
        "tol": Real(0, closed="left"),
        "scale": OneOf("joint", "mad") | Real(0, closed="neither"),
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit coefficients and scale.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            Read once in every pass.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        if self.scale == "joint" and self.epsilon < 1:
            raise ValueError(
                f"epsilon must be a float of at least 1 with scale='joint', got {self.epsilon!r}: "
                "the scale that fits best would be 0. Raise it, or use scale='mad' or a number."
            )
        rows = self._validate_target(X, y, sample_weight, finite=False)
        moments, _ = joint_moments(rows)
        self._ensure_finite(moments.scatter, rows.X)
        self._ensure_target(moments.scatter_y)
        problem = HuberProblem(
            rows,
            float(self.epsilon),
            float(self.alpha),
            bool(self.fit_intercept),
            self.scale,
            float(self.tol),
            int(self.max_iter),
        )
        start = None
        if self.warm_start and hasattr(self, "scale_"):
            start = self._coefficients(), float(self.intercept_), float(self.scale_)
        found, scale = huber_fit(problem, moments, start)
        self._store(found, rows)
        self.scale_ = np.float64(scale)
        self.__dict__.pop("outliers_", None)
        if not is_streamed(rows.X):
            r = to_numpy(rows.Y)[:, 0] - to_numpy(self.predict(rows.X))
            self.outliers_ = np.abs(r) > self.epsilon * scale
        return self

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """sum_i w_i (sigma + H(r_i / sigma) sigma) + alpha |W|^2 on these rows."""
        r, w = self._residuals(X, y, sample_weight)
        W = self._coefficients()
        return float(w @ huber_losses(r, self.scale_, self.epsilon) + self.alpha * (W @ W))

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 10.0 * (n * d * d / 2 + d**3)
        seconds = work / rates(4 if dtype == "float32" else 8).multiply_adds
        size = 8.0 * self._copies * d * d + 40 * n
        return self._costs(n, d, "about ten passes for moments", seconds, size)

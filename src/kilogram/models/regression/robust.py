"""Robust regression: no row pulls harder than a bound; least_squares.py tells the unbounded pull.

Huber        min_{W, b, sigma}  sum_i w_i (sigma + H((y_i - f(x_i)) / sigma) sigma) + alpha |W|^2
             H(z) = z^2 for |z| <= epsilon, else 2 epsilon |z| - epsilon^2
quantile     min_{W, b}  sum_i w_i rho(y_i - f(x_i)) + alpha (sum_i w_i) |W|_1
             rho(r) = q r for r > 0, (q - 1) r below; q = 1/2 is half the absolute deviation

Both are convex. The lectures solve them by weighted least squares again and again, with weights 1
within the bend and epsilon sigma / |r| beyond (psi / r, not rho / r^2 as printed), and 1 / |r| for
absolute deviations: many rounds, and for the latter never quite there. Here Huber's loss, which is
piecewise quadratic, takes a few Newton steps from sums over the rows (solvers/smooth/clipped.py),
and quantiles are the linear program they are (solvers/smooth/pinball.py).

sigma is found with the coefficients (Huber's proposal 2, as scikit-learn does), or by the median of
the absolute residuals, or given. epsilon = 1.35 keeps 95 % of the efficiency at normal errors. As
epsilon grows the fit tends to least squares, as it goes to 0 to least absolute deviations. Bounded
pull does not help against rows that are far out in X: leverage needs RANSAC or a redescending loss.

References: Huber 1964, 1981; Koenker and Bassett 1978.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kilogram.arrays.memory import parse_memory
from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import column_count, is_streamed
from kilogram.base import Estimate, Laws, warn_if_unfinished
from kilogram.base.checks import number
from kilogram.base.estimate import ensure_room, within
from kilogram.models.regression.ridge import LinearPredictor
from kilogram.models.regression.roads import Answer
from kilogram.models.regression.robust_fit import huber_fit, huber_losses, is_scale
from kilogram.models.regression.targets import Rows, enter_rows
from kilogram.operators.memory_plan import rates
from kilogram.solvers.solution import Solution


class RobustPredictor(LinearPredictor):
    """What both remember: one target, W, b, how many steps, the objective."""

    _copies: ClassVar[int]  # of the products of the columns at the peak, as measured

    def _enter_target(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> Rows:
        rows = enter_rows(self, X, y, sample_weight, **checks)
        if rows.flat is False:
            column_or_1d(to_numpy(rows.Y), warn=True)
        d = column_count(rows.X)
        ensure_room(self, self._copies * 8 * d * d, f"the products of {d} columns, {d} by {d},")
        return rows

    def _remember(self, found: Solution, rows: Rows) -> None:
        W, b = found.value
        solution = Solution((np.asarray(W)[:, None], np.array([b])))
        self._keep(Answer(solution, "", True), rows.X)
        self.n_iter_, self.objective_ = max(1, found.n_iter), found.objective
        warn_if_unfinished(type(self).__name__, found, "Raise max_iter or tol.")

    def _residuals(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """y - f(x) and the weights of rows in memory."""
        check_is_fitted(self)
        rows = enter_rows(self, X, y, sample_weight, reset=False)
        r = np.asarray(to_numpy(rows.Y)[:, 0] - to_numpy(self.predict(rows.X)), dtype=np.float64)
        return r, np.ones(len(r)) if rows.w is None else to_numpy(rows.w).astype(np.float64)

    def _coefficients(self) -> np.ndarray:
        return np.asarray(to_numpy(self.coef_), dtype=np.float64)

    def _check_numbers(self) -> None:
        me: Any = self
        for name in ("alpha", "tol"):
            if not 0 <= number(getattr(me, name)) < np.inf:
                raise ValueError(f"{name} must be a number >= 0, got {getattr(me, name)!r}.")
        if not number(me.max_iter) >= 1:
            raise ValueError(f"max_iter must be at least 1, got {me.max_iter!r}.")
        parse_memory(me.max_memory)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


class HuberRegressor(RobustPredictor):
    """Linear regression in which far rows pull no harder than those at the bend.

    Minimises ``sum_i w_i (sigma + H(r_i / sigma) sigma) + alpha |W|^2`` with Huber's loss H over
    the coefficients and, unless it is given, the scale sigma. Takes scikit-learn's parameters and
    reaches its optimum; `scale` and `max_memory` are Kilogram's.

    Parameters
    ----------
    epsilon : float, default=1.35
        Where the loss turns from a square to a line, in units of sigma; above 0.
    max_iter : int, default=100
        Most passes over the rows.
    alpha : float, default=0.0001
        Strength of the penalty on |W|^2, at least 0.
    warm_start : bool, default=False
        Start from the coefficients and the scale of the previous fit.
    fit_intercept : bool, default=True
        Fit the offset b.
    tol : float, default=1e-5
        The passes end when a step promises to lower the objective by less than tol^3 (at least
        1e-15) of it.
    scale : {"joint", "mad"} or float, default="joint"
        sigma: found with the coefficients (epsilon of 1 or more); 1.4826 times the median absolute
        residual of such a fit with epsilon 1.35, then held; or given.
    max_memory : int, str or None, default=None
        Bytes ("4GiB") that the products of the columns, d by d, may take; MemoryError beyond.

    Attributes
    ----------
    coef_ : array of shape (d,)
        W.
    intercept_ : float
        b; 0.0 without an intercept.
    scale_ : float
        sigma.
    outliers_ : ndarray of shape (n,)
        True for rows beyond the bend; only for rows in memory.
    n_iter_ : int
        Passes over the rows.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had any.

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
        budget="a few passes over the rows, of which max_iter is the most",
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
        self._check_numbers()
        self._check_bend()
        rows = self._enter_target(X, y, sample_weight, finite=False)
        start = None
        if self.warm_start and hasattr(self, "scale_"):
            start = self._coefficients(), float(self.intercept_), self.scale_
        found, self.scale_ = huber_fit(self, rows, start)
        self._remember(found, rows)
        self.__dict__.pop("outliers_", None)
        if not is_streamed(rows.X):
            r, _ = self._residuals(rows.X, rows.Y, None)
            self.outliers_ = np.abs(r) > self.epsilon * self.scale_
        return self

    def _check_bend(self) -> None:
        if not 0 < number(self.epsilon) < np.inf:
            raise ValueError(f"epsilon must be a number above 0, got {self.epsilon!r}.")
        if not is_scale(self.scale):
            raise ValueError(
                f"scale must be 'joint', 'mad' or a number above 0, got {self.scale!r}."
            )
        if self.scale == "joint" and self.epsilon < 1:
            raise ValueError(
                f"epsilon={self.epsilon!r} is below 1: then the scale that fits best is 0. Raise "
                "it, or use scale='mad' or a number."
            )

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """sum_i w_i (sigma + H(r_i / sigma) sigma) + alpha |W|^2 on these rows."""
        r, w = self._residuals(X, y, sample_weight)
        W = self._coefficients()
        return float(w @ huber_losses(r, self.scale_, self.epsilon) + self.alpha * (W @ W))

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 10.0 * (n * d * d / 2 + d**3)
        seconds = work / rates(4 if dtype == "float32" else 8).multiply_adds
        size = 8.0 * self._copies * d * d + 40 * n
        return within(self, n, d, "about ten passes for moments", seconds, size)

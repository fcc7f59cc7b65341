"""Regression for a quantile of the target; robust.py tells its page.

Objective    min_{W, b}  sum_i w_i rho(y_i - f(x_i)) + alpha (sum_i w_i) |W|_1
             rho(r) = q r for r > 0, (q - 1) r below

q = 1/2 is least absolute deviations. A linear program: solvers/smooth/pinball.py.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import take_rows
from kilogram.base import Estimate, Laws
from kilogram.base.checks import number
from kilogram.base.estimate import within
from kilogram.models.regression.robust import RobustPredictor
from kilogram.models.regression.targets import enter_gathered
from kilogram.operators.memory_plan import rates
from kilogram.solvers.smooth.pinball import pinball


class QuantileRegressor(RobustPredictor):
    """Linear regression for a quantile of the target: the median is least absolute deviations.

    Minimises ``sum_i w_i rho(r_i) + alpha (sum_i w_i) |W|_1`` with the pinball loss rho, to which
    scikit-learn's is proportional. The solution passes through as many rows as it has unknowns.

    Parameters
    ----------
    quantile : float, default=0.5
        Between 0 and 1: the share of rows that shall lie below the fit.
    alpha : float, default=1.0
        Strength of the penalty on the sum of |W_j|; 0 for none.
    fit_intercept : bool, default=True
        Fit the offset b, which is not penalised.
    tol : float, default=1e-9
        Largest duality gap at the end, relative to the objective.
    max_iter : int, default=100
        Most steps of the interior point; about 20 suffice.
    max_memory : int, str or None, default=None
        Bytes ("4GiB") that the products of the columns, d by d, may take; MemoryError beyond.

    Attributes
    ----------
    coef_ : array of shape (d,)
        W.
    intercept_ : float
        b; 0.0 without an intercept.
    n_iter_ : int
        Steps of the interior point.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had any.

    See Also
    --------
    HuberRegressor : Squares for small residuals.

    Examples
    --------
    >>> from kilogram import QuantileRegressor
    >>> x = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> model = QuantileRegressor(alpha=0).fit(x, [1.0, 2.0, 30.0, 4.0, 5.0])
    >>> model.predict([[5.0]]).round(6)
    array([6.])
    """

    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget="about 20 steps, of which max_iter is the most",
        example={"alpha": 0.01},
        rtol=1e-6,
    )
    _copies = 6

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-9,
        max_iter: int = 100,
        max_memory: int | str | None = None,
    ):
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            Rows that come in blocks are gathered: the program has an unknown for every row.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        self._check_numbers()
        if not 0 < number(self.quantile) < 1:
            raise ValueError(f"quantile must lie between 0 and 1, got {self.quantile!r}.")
        rows = enter_gathered(self, self._enter_target(X, y, sample_weight))
        self._ensure_squares(rows.X)
        target = np.asarray(to_numpy(rows.Y), dtype=np.float64)[:, 0]
        v, counted = np.ones(len(target)), rows.X
        if rows.w is not None:
            v = np.asarray(to_numpy(rows.w), dtype=np.float64)
            at = np.flatnonzero(v > 0)
            if len(at) < len(v):
                v, target, counted = v[at], target[at], take_rows(rows.X, at)
        found = pinball(
            counted,
            target,
            v,
            float(self.quantile),
            lasso=float(self.alpha) * float(v.sum()),
            fit_intercept=self.fit_intercept,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        self._remember(found, rows)
        return self

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """sum_i w_i rho(r_i) + alpha (sum_i w_i) |W|_1 on these rows."""
        r, w = self._residuals(X, y, sample_weight)
        losses = np.maximum(self.quantile * r, (self.quantile - 1.0) * r)
        return float(w @ losses + self.alpha * w.sum() * np.abs(self._coefficients()).sum())

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 20.0 * (n * d * d / 2 + d**3 + 200 * n)
        seconds = work / rates(8).multiply_adds
        size = 8.0 * (20 * n + self._copies * d * d)
        return within(self, n, d, "an interior point, about 20 steps", seconds, size)

"""Quantile regression; huber.py has the other robust loss.

Objective    min_{W, b}  sum_i w_i rho(y_i - f(x_i)) + alpha (sum_i w_i) |W|_1
             rho(r) = q r for r > 0, (q - 1) r below

q = 1/2 is least absolute deviations. A linear program: solvers/interior_point/quantile.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import take_rows
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import Boolean, Constraint, Dictionary, Integer, Null, OneOf, Real
from kilogram.base.regression_data import gather_regression_data
from kilogram.models.robust.huber import RobustPredictor
from kilogram.operators.cost import rates
from kilogram.solvers.interior_point.quantile import quantile_program

#: Solvers of linear programmes that scikit-learn's class takes by name.
SOLVERS = ("highs", "highs-ds", "highs-ipm", "interior-point", "revised simplex")


class QuantileRegressor(RobustPredictor):
    """Linear regression for a quantile of the target: the median is least absolute deviations.

    Minimises ``sum_i w_i rho(r_i) + alpha (sum_i w_i) |W|_1`` with the pinball loss rho, to which
    scikit-learn's is proportional. The solution interpolates as many rows as it has unknowns.

    Parameters
    ----------
    quantile : float, default=0.5
        Between 0 and 1: the fraction of rows below the fit.
    alpha : float, default=1.0
        Strength of the penalty on the sum of |W_j|; 0 for none.
    fit_intercept : bool, default=True
        Fit the offset b, which is not penalised.
    solver : str, default="highs"
        For compatibility with scikit-learn: its solvers' names ("highs", "highs-ds", "highs-ipm",
        "interior-point", "revised simplex") lead to the same method and the same optimum.
    solver_options : dict or None, default=None
        For compatibility with scikit-learn; there is nothing to set.
    tol : float, default=1e-9
        Largest duality gap at the end, relative to the objective.
    max_iter : int, default=100
        Maximum number of iterations of the interior point method; about 20 suffice.
    max_memory : int, str or None, default=None
        Bytes ("4GiB") that the products of the columns, d by d, may take; MemoryError beyond.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Coefficients W.
    intercept_ : float
        Intercept b; 0.0 without one.
    n_iter_ : int
        Number of iterations of the interior point method.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

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
        budget="at most max_iter iterations, usually about 20",
        example={"alpha": 0.01},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "quantile": Real(0, 1, closed="neither"),
        "alpha": Real(0, closed="left"),
        "fit_intercept": Boolean(),
        "solver": OneOf(*SOLVERS),
        "solver_options": Dictionary() | Null(),
        "tol": Real(0, closed="left"),
        "max_iter": Integer(1),
    }
    _copies = 6

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "highs",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-9,
        max_iter: int = 100,
        max_memory: int | str | None = None,
    ):
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            Streaming rows are gathered: the program has an unknown for every row.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        rows = gather_regression_data(self, self._validate_target(X, y, sample_weight))
        self._ensure_squares(rows.X)
        target = np.asarray(to_numpy(rows.Y), dtype=np.float64)[:, 0]
        v, counted = np.ones(len(target)), rows.X
        if rows.w is not None:
            v = np.asarray(to_numpy(rows.w), dtype=np.float64)
            at = np.flatnonzero(v > 0)
            if len(at) < len(v):
                v, target, counted = v[at], target[at], take_rows(rows.X, at)
        # no slope of the loss is steeper: a larger penalty gives the same zeros
        enough = 2.0 * _steepest_slope(counted, v)
        found = quantile_program(
            counted,
            target,
            v,
            float(self.quantile),
            lasso=min(float(self.alpha) * float(v.sum()), enough),
            fit_intercept=self.fit_intercept,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        self._store(found, rows)
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
        return self._costs(n, d, "an interior point, about 20 iterations", seconds, size)


def _steepest_slope(X: Any, v: np.ndarray) -> float:
    """A bound on the change of the weighted loss per unit of any coefficient."""
    if is_sparse(X):
        return float((abs(X).T @ v).max())
    xp = namespace(X)
    return float(xp.max(xp.abs(X).T @ like(v, X)))

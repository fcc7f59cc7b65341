"""Sparse regression with concave penalties: large coefficients are not shrunk.

    min_{b, c}  1/(2 W) sum_i w_i (y_i - <x_i, b> - c)^2 + sum_j P(s_j b_j)      W = sum_i w_i

    mcp    P(t) = alpha |t| - t^2 / (2 gamma)  up to |t| = gamma alpha, constant beyond
    scad   P'(t) = alpha up to alpha, then falls linearly to 0 at gamma alpha
    l1     P(t) = alpha |t|, the lasso

s_j is the standard deviation of feature j: features are compared on one scale, on which the
objective is convex in every single coefficient. It is not convex as a whole: the solution is the
stationary point that warm starts reach from the empty model, along decreasing alphas.

References: Fan and Li 2001 (SCAD); Zhang 2010 (MCP); Breheny and Huang 2011.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from kilogram.base import Budget, Estimate, Laws, warn_if_unfinished
from kilogram.base.constraints import Boolean, Integer, Null, OneOf, Real
from kilogram.base.linear import LinearPredictor
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.regression_data import validate_regression_data
from kilogram.functions.penalties import penalty_slope
from kilogram.models.sparse.problem import designs_of
from kilogram.operators.cost import rates
from kilogram.solvers.coordinate.designs import Design, ScaledDesign
from kilogram.solvers.coordinate.elastic_net import (
    ElasticNetOptions,
    PathPoint,
    elastic_net_path,
    strength_max,
)
from kilogram.solvers.solution import Solution

Array = np.ndarray[Any, np.dtype[Any]]

#: Alphas from the empty model to the one asked for: our choice, ratios of 1.4 over three decades.
WARM_STARTS = 20


class ConcaveRegressor(LinearPredictor):
    """Linear regression with the MCP or SCAD penalty: sparse, without shrinking large effects.

    Minimises ``1/(2 W) sum_i w_i (y_i - f(x_i))^2 + sum_j P(s_j b_j)``, where s_j is the standard
    deviation of feature j and P rises like ``alpha |t|`` at 0 and is constant for large t. The
    lasso biases large coefficients towards 0 and keeps irrelevant features to make up for it;
    these penalties do not.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty at 0, above 0.
    penalty : {"mcp", "scad", "l1"}, default="mcp"
        The minimax concave penalty, the smoothly clipped absolute deviation, or the lasso's.
    gamma : float, default=3.0
        Where the penalty becomes constant, in units of alpha; above 1 for "mcp", above 2 for
        "scad" (3.7 is customary). As it grows the penalty tends to the lasso's.
    fit_intercept : bool, default=True
        Fit an intercept that is not penalised.
    max_iter : int, default=1000
        Maximum number of epochs of coordinate descent for one alpha.
    tol : float, default=1e-6
        Largest violation of the optimality conditions at the end, in units of the standard
        deviation of y.
    max_time : float or None, default=None
        Seconds after which the fit stops on its way to alpha and reports it.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (n_targets, d)
        Coefficients of the features.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept of the decision or regression function.
    violation_ : float
        Largest distance of the gradient to the (negative) subdifferential of the penalty, in units
        of the standard deviation of y, over all targets.
    n_iter_ : int or list of int
        Number of epochs for the last alpha.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    Lasso : The convex penalty.
    OrthogonalMatchingPursuit : A given number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import ConcaveRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> y = 2 * X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=100)
    >>> ConcaveRegressor(alpha=0.2).fit(X, y).coef_.round(1)
    array([ 2., -1.,  0.,  0.,  0.])
    """

    laws: ClassVar[Laws] = Laws(
        budget="a few epochs of coordinate descent for each of the warm starts",
        textbook="the texts do not have concave penalties; tested by optimality conditions",
        example={"alpha": 0.05, "tol": 1e-10},
        rtol=1e-5,
    )
    parameter_constraints: ClassVar = {
        "alpha": Real(0, closed="neither"),
        "penalty": OneOf("mcp", "scad", "l1"),
        "gamma": Real(1, closed="neither"),
        "fit_intercept": Boolean(),
        "max_iter": Integer(1),
        "tol": Real(0, closed="neither"),
        "max_time": Real(0, closed="neither") | Null(),
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        penalty: str = "mcp",
        gamma: float = 3.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        max_time: float | None = None,
    ):
        self.alpha = alpha
        self.penalty = penalty
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        budget = Budget(self.max_time)
        rows = validate_regression_data(self, X, y, sample_weight)
        if self.penalty == "scad" and not self.gamma > 2:
            raise ValueError(
                f"gamma must be a float greater than 2 with penalty='scad', got {self.gamma}."
            )
        designs, flat = designs_of(rows, bool(self.fit_intercept))
        found: list[tuple[Array, PathPoint, float, bool]] = []
        with ticking(self, "alpha", budget.deadline) as tick:
            for design, _ in designs:
                found.append(self._solve(design, tick))
        W = np.stack([coef for coef, _, _, _ in found], axis=1)
        b = np.array([c.intercept(W[:, t]) for t, (_, c) in enumerate(designs)])
        self._store_linear((W, b), rows, flat=flat)
        self.n_iter_ = found[0][1].n_iter if flat else [point.n_iter for _, point, _, _ in found]
        self.violation_ = max(violation for _, _, violation, _ in found)
        complete = all(done and point.converged for _, point, _, done in found)
        message = f"the optimality conditions are missed by {self.violation_:.2g}."
        epochs = max(point.n_iter for _, point, _, _ in found)
        warn_if_unfinished(
            type(self).__name__,
            Solution(None, epochs, converged=complete, message=message),
            "Raise max_iter, tol or max_time.",
        )
        return self

    def _solve(self, design: Design, tick: Any) -> tuple[Array, PathPoint, float, bool]:
        """Coefficients, the last point, its violation, and whether alpha was reached."""
        scale = np.where(design.norms > 0, design.norms, 1.0)
        scaled = ScaledDesign(design, scale)
        alpha = float(self.alpha)
        # moves of coordinate descent are accepted below 1e-3 sqrt(tol) |y|
        options = ElasticNetOptions(
            penalty=str(self.penalty), gamma=float(self.gamma), max_iter=int(self.max_iter),
            tol=(1e2 * float(self.tol)) ** 2,
        )  # fmt: skip
        top = max(strength_max(scaled, None, False), alpha)
        strengths = [(a, 0.0) for a in np.geomspace(top, alpha, WARM_STARTS).tolist()]
        points = elastic_net_path(scaled, strengths, options, tick=tick)
        coef = points[-1].coef
        deviation = float(np.sqrt(design.yy)) or 1.0
        violation = self._violation(scaled, coef) / deviation
        return coef / scale, points[-1], violation, len(points) == len(strengths)

    def _violation(self, design: Design, b: Array) -> float:
        """The largest distance of the correlations to the subdifferential of the penalty."""
        support = np.flatnonzero(b)
        c, _ = design.correlations(b[support], support, None)
        alpha, size = float(self.alpha), np.abs(b)
        slope = penalty_slope(size, alpha, float(self.gamma), str(self.penalty))
        inside = np.maximum(np.abs(c) - alpha, 0.0)
        return float(np.where(b == 0, inside, np.abs(c - slope * np.sign(b))).max(initial=0.0))

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        seconds = 60.0 * n * d / rates(4 if dtype == "float32" else 8).multiply_adds
        return self._costs(n, d, "coordinate descent", seconds, 8.0 * n * d)

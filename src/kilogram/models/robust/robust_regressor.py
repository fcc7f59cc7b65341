"""Regression by M-, S- and MM-estimates (m_estimation.py has the mathematics)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from kilogram.base import Estimate, Laws
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.random_state import as_generator
from kilogram.functions.m_losses import LOSSES, constant_of_breakdown, constant_of_efficiency
from kilogram.models.robust.in_memory_predictor import DENSE, DRAWN, InMemoryPredictor
from kilogram.models.robust.m_estimation import (
    MFit,
    Weighted,
    iterate,
    m_covariance,
    m_estimate,
    mm_covariance,
    s_estimate,
)
from kilogram.operators.cost import rates
from kilogram.solvers.solution import Solution

Array = np.ndarray


class RobustRegressor(InMemoryPredictor):
    """Linear regression by M-, S- or MM-estimation, with standard errors.

    ``method="mm"`` minimises ``sum_i w_i rho(r_i / s)`` from an S-estimate whose scale s it keeps:
    up to half of the rows may be arbitrary (`breakdown`), in y or in X, and at normal errors the
    variance is that of least squares divided by `efficiency`. ``"s"`` minimises the robust scale s
    of the residuals itself: the same breakdown, 29 % efficiency. ``"m"`` is reweighted least
    squares with s = 1.4826 median |r|: no starts, but one row of high leverage can move it.

    Parameters
    ----------
    method : {"mm", "s", "m"}, default="mm"
        The MM-, S- or M-estimate.
    loss : {"biweight", "huber", "hampel", "andrews", "welsch", "cauchy"}, default="biweight"
        rho. "huber" and "cauchy" are unbounded and for ``method="m"`` only.
    tuning : float or None, default=None
        Constant of the loss of "m" and "mm"; None: from `efficiency`.
    efficiency : float, default=0.95
        Efficiency at normal errors of "m" and "mm".
    breakdown : float, default=0.5
        Breakdown point of "s" and "mm": the fraction of bad rows they resist, at most 0.5.
    n_starts : int, default=500
        Subsets of "s" and "mm"; all subsets if there are fewer. Of p unknowns and a fraction e of
        bad rows, one in (1 - e)^-p subsets is clean.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    tol : float, default=1e-9
        The iterations end when no coefficient (of standardised features) changes by more than tol
        scales.
    max_iter : int, default=500
        Largest number of weighted fits of one iteration.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed or generator for the subsets.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Coefficients of the features.
    intercept_ : float
        Intercept of the decision or regression function.
    scale_ : float
        s, the robust standard deviation of the residuals; 0 for an exact fit of most rows.
    weights_ : ndarray of shape (n,)
        psi(z) / z of every row at z = r / s, between 0 (left out) and 1.
    outliers_ : ndarray of shape (n,)
        True for rows with |r| > 2.5 s.
    tuning_ : float
        Tuning constant of the loss.
    breakdown_point_ : float
        Fraction of rows that may be arbitrary without moving the fit arbitrarily: at most
        `breakdown`, less where rows are few for the unknowns; 0 for "m", which leverage breaks.
    covariance_ : ndarray or None
        Of (intercept, coefficients); None for an exact fit.
    n_iter_ : int
        Number of iterations.
    objective_ : float
        ``sum_i w_i rho(r_i / s)``; for "s" the scale.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    HuberRegressor : Convex, for many rows, also out of core.
    LeastTrimmedSquares : Squares of the best half of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import RobustRegressor
    >>> x = np.arange(20.0)[:, None]
    >>> y = 2 * x[:, 0] + 1 + 0.1 * (-1) ** np.arange(20)
    >>> y[12:] = -50.0
    >>> RobustRegressor(random_state=0).fit(x, y).coef_.round(2)
    array([2.])
    """

    laws: ClassVar[Laws] = Laws(
        weight=DRAWN + "; a repeated row is drawn twice as often",
        sparse=DENSE,
        textbook="the notes print Huber's regression only; tests compare method='m' with it",
        budget="at most max_iter weighted fits of a few starts",
        example={"random_state": 0},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "method": OneOf("mm", "s", "m"),
        "loss": OneOf(*LOSSES),
        "tuning": Real(0, closed="neither") | Null(),
        "efficiency": Real(0.65, 1, closed="neither"),
        "breakdown": Real(0, 0.5, closed="right"),
        "n_starts": Integer(1),
        "fit_intercept": Boolean(),
        "tol": Real(0, closed="left"),
        "max_iter": Integer(1),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        method: str = "mm",
        *,
        loss: str = "biweight",
        tuning: float | None = None,
        efficiency: float = 0.95,
        breakdown: float = 0.5,
        n_starts: int = 500,
        fit_intercept: bool = True,
        tol: float = 1e-9,
        max_iter: int = 500,
        random_state: Any = None,
    ):
        self.method = method
        self.loss = loss
        self.tuning = tuning
        self.efficiency = efficiency
        self.breakdown = breakdown
        self.n_starts = n_starts
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients and the scale.

        Parameters
        ----------
        X : array-like, data frame, Dask or streamed rows of shape (n, d)
            Streaming rows are gathered.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            A row of weight 2 counts as two rows.

        Returns
        -------
        self
        """
        loss = LOSSES[self.loss]
        if self.method != "m" and not loss.bounded:
            raise ValueError(
                f"loss must be bounded for method={self.method!r}, got {self.loss!r}. Use "
                "'biweight', 'hampel', 'andrews' or 'welsch', or method='m'."
            )
        host = self._gathered(X, y, sample_weight)
        design = self._standardise(host)
        rows = Weighted(design.Q, host.y, host.v)
        found, covariance, c = self._estimates(rows)
        self.tuning_ = c
        if self.method == "s":
            value = found.scale
        else:
            z = np.abs(rows.residuals(found.theta)) / (found.scale or 1.0)
            value = float(rows.v @ loss.rho(z, c))
        why = "" if found.settled else "the coefficients still change."
        self._keep(Solution(found.theta, found.n_iter, value, found.settled, why), host, design)
        self.scale_ = found.scale
        self.covariance_ = None if covariance is None else design.covariance(covariance)
        self._degrees = rows.total - design.rank
        r = self._all_residuals(host)
        z = np.abs(r) / found.scale if found.scale > 0 else np.where(np.abs(r) > rows.floor, 1e9, 0)
        self.weights_, self.outliers_ = loss.weight(z, c), z > 2.5
        usable = max(1.0 - design.rank / rows.total, 0.0)
        self.breakdown_point_ = 0.0 if self.method == "m" else float(self.breakdown) * usable
        return self

    def _estimates(self, rows: Weighted) -> tuple[MFit, Array | None, float]:
        """The fit, the covariance of theta and the constant of the loss."""
        loss, tol, most = LOSSES[self.loss], float(self.tol), int(self.max_iter)
        c = self.tuning or constant_of_efficiency(self.loss, float(self.efficiency))
        free = rows.total > rows.Q.shape[1]
        if self.method == "m":
            found = m_estimate(rows, loss, float(c), tol, most)
            exact = found.scale == 0.0 or not free
            return found, None if exact else m_covariance(rows, loss, float(c), found), float(c)
        b = float(self.breakdown)
        chi, rng = constant_of_breakdown(self.loss, b), as_generator(self.random_state)
        first = s_estimate(rows, loss, chi, b, int(self.n_starts), rng, tol, most)
        c, found = (chi, first) if self.method == "s" else (float(c), first)
        if self.method == "mm" and first.scale > 0:
            found = iterate(rows, loss, c, first, fixed=True, tol=tol, max_iter=most)
        exact = found.scale == 0.0 or not free
        return found, None if exact else mm_covariance(rows, loss, c, found, chi, b, first), c

    def _kind(self) -> str:
        return f"{self.method.upper()}-estimate, {self.loss}: robust"

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        starts = 1.0 if self.method == "m" else 30.0 * self.n_starts * min(n, 1500) / max(n, 1)
        seconds = (100.0 + starts) * n * (d + 1) ** 2 / rates(8).multiply_adds
        size = 8.0 * (6 * n * (d + 1) + 4 * 2**22)
        return self._costs(n, d, f"{self.method} by weighted fits", seconds, size)

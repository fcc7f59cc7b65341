"""Least trimmed squares: least squares of the best part of the rows (concentration.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import scipy.stats

from kilogram.base import Estimate, Laws
from kilogram.base.constraints import Boolean, Constraint, Integer, Null, RandomState, Real
from kilogram.base.random_state import as_generator
from kilogram.models.robust.concentration import trimmed_squares
from kilogram.models.robust.in_memory_predictor import DENSE, DRAWN, InMemoryPredictor
from kilogram.models.robust.subsets import weighted_fit
from kilogram.operators.cost import rates
from kilogram.solvers.solution import Solution

CUT = 2.2414027276049464  # the normal quantile of 0.9875: 2.5 % of good rows lie beyond


def trimmed_factor(fraction: float) -> float:
    """Standard deviation of a normal divided by that of its central part of this fraction."""
    if fraction >= 1.0:
        return 1.0
    q = float(scipy.stats.norm.ppf(0.5 * (1.0 + fraction)))
    return float(1.0 / np.sqrt(1.0 - 2.0 * q * scipy.stats.norm.pdf(q) / fraction))


class LeastTrimmedSquares(InMemoryPredictor):
    """Linear regression by least trimmed squares, with a reweighted second fit.

    Minimises ``sum of the h smallest r_i^2``: the other n - h rows may be arbitrary, in y or in X.
    The result is then improved by least squares of all rows whose residual is less than 2.24
    robust standard deviations, which has standard errors. `RobustRegressor` is more efficient.

    Parameters
    ----------
    support_fraction : float or None, default=None
        h / n, in [0.5, 1]; None: h = (n + p + 1) // 2 for p unknowns, the largest breakdown point.
    reweight : bool, default=True
        Fit again without the outliers; False keeps the raw fit.
    n_starts : int, default=500
        Subsets from which concentration steps start; all subsets if there are fewer.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    max_iter : int, default=100
        Largest number of concentration steps from one start.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed or generator for the subsets.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Coefficients of the features.
    intercept_ : float
        Intercept of the decision or regression function.
    raw_coef_ : ndarray of shape (d,)
        Coefficients of the fit to the h rows alone.
    raw_intercept_ : float
        Intercept before reweighting.
    raw_scale_ : float
        Standard deviation from the h smallest squares, consistent for normal errors.
    scale_ : float
        Standard deviation of the residuals of the rows kept.
    support_ : ndarray of shape (n,)
        True for the h rows.
    outliers_ : ndarray of shape (n,)
        True for rows beyond 2.24 raw standard deviations of the raw fit.
    breakdown_point_ : float
        (n - h + 1) / n, at most one half.
    covariance_ : ndarray or None
        Of (intercept, coefficients); None for an exact fit or with ``reweight=False``.
    n_iter_ : int
        Concentration steps of the best start.
    objective_ : float
        The sum of the h smallest squares.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    RobustRegressor : MM-estimates; the same breakdown point, 95 % efficiency.
    MinCovDet : The same idea for a covariance matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import LeastTrimmedSquares
    >>> x = np.arange(20.0)[:, None]
    >>> y = 2 * x[:, 0] + 1 + 0.1 * (-1) ** np.arange(20)
    >>> y[12:] = -50.0
    >>> LeastTrimmedSquares(random_state=0).fit(x, y).coef_.round(2)
    array([2.])
    """

    laws: ClassVar[Laws] = Laws(
        weight="takes no weights: h counts rows",
        permutation=DRAWN,
        sparse=DENSE,
        textbook="no text prints it (Rousseeuw and Van Driessen 2006)",
        budget="at most max_iter concentration steps of a few starts",
        example={"random_state": 0},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "support_fraction": Real(0.5, 1) | Null(),
        "reweight": Boolean(),
        "n_starts": Integer(1),
        "fit_intercept": Boolean(),
        "max_iter": Integer(1),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        *,
        support_fraction: float | None = None,
        reweight: bool = True,
        n_starts: int = 500,
        fit_intercept: bool = True,
        max_iter: int = 100,
        random_state: Any = None,
    ):
        self.support_fraction = support_fraction
        self.reweight = reweight
        self.n_starts = n_starts
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the best h rows, then fit the rows near that fit.

        Parameters
        ----------
        X : array-like, data frame, Dask or streamed rows of shape (n, d)
            Streaming rows are gathered.
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        host = self._gathered(X, y)
        design = self._standardise(host)
        n, p = design.Q.shape
        most = (n + p + 1) // 2 if self.support_fraction is None else self.support_fraction * n
        h = min(n, max(round(most), min(p, n), 1))
        rng = as_generator(self.random_state)
        theta, kept, value, steps = trimmed_squares(
            design.Q, host.y, h, int(self.n_starts), rng, int(self.max_iter)
        )
        r = host.y - design.Q @ theta
        scale = float(np.sqrt(value / h)) * trimmed_factor(h / n)
        floor = 1e-12 * float(np.abs(host.y).max(initial=0.0))
        far = np.abs(r) > max(CUT * scale, floor)
        raw_coef, raw_intercept = design.coefficients(theta)
        self.raw_coef_, self.raw_intercept_ = raw_coef, raw_intercept + host.centre
        self.raw_scale_ = scale if scale > floor else 0.0
        self.support_, self.outliers_ = kept, far
        self.breakdown_point_ = min((n - h + 1) / n, 0.5)
        self.covariance_, self.scale_ = None, self.raw_scale_
        if self.reweight:
            near = ~far
            A, t = design.Q[near], host.y[near]
            theta = weighted_fit(A, t, np.ones(len(t)))
            self._degrees = float(len(t) - p)
            if len(t) > p and self.raw_scale_ > 0:
                squares = float(np.sum((t - A @ theta) ** 2)) / self._degrees
                self.scale_ = float(np.sqrt(squares)) * trimmed_factor(0.975)
                bread = np.linalg.pinv(A.T @ A, hermitian=True)
                self.covariance_ = design.covariance(self.scale_**2 * bread)
        settled = steps < self.max_iter
        why = "" if settled else "the rows kept still change."
        self._keep(Solution(theta, steps, value, settled, why), host, design)
        return self

    def _kind(self) -> str:
        return "least trimmed squares, reweighted: classical"

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        starts = 3.0 * self.n_starts * min(n, 1500) / max(n, 1)
        seconds = (100.0 + starts) * n * (d + 20) ** 2 / rates(8).multiply_adds
        size = 8.0 * (6 * n * (d + 1) + 4 * 2**22)
        return self._costs(n, d, "concentration steps", seconds, size)

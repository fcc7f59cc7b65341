"""Theil-Sen regression: the spatial median of fits to small subsets.

With one feature and pairs of rows it is the median of slopes. The spatial median minimises the sum
of distances to the fits; Weiszfeld's iteration with the step of Vardi and Zhang where an
iterate lies on a fit.

References: Theil 1950; Sen 1968; Dang, Peng, Wang and Zhang 2009; Vardi and Zhang 2000.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any, ClassVar, Self

import numpy as np

from kilogram.base import Estimate, Laws, warn_if_unfinished
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
from kilogram.models.robust.in_memory_predictor import DENSE, DRAWN, InMemoryPredictor
from kilogram.models.robust.subsets import draw_subsets, subset_fits
from kilogram.operators.cost import rates
from kilogram.solvers.solution import Solution

Array = np.ndarray
ON_A_POINT = 1e-12  # distances below, relative to the spread, are 0: some thousand eps


def spatial_median(P: Array, tol: float, max_iter: int) -> tuple[Array, int, bool]:
    """The point (r,) of smallest sum of distances to the rows of P, iterations, convergence."""
    if P.shape[1] == 1:
        return np.median(P, axis=0), 1, True
    x = np.median(P, axis=0)  # the mean may be far off: some fits are nearly singular
    for t in range(1, max_iter + 1):
        D = P - x
        distance = np.sqrt((D * D).sum(axis=1))
        typical = float(np.median(distance))
        off = distance > ON_A_POINT * typical
        if not off.any():
            return x, t, True
        w = 1.0 / distance[off]
        pull = w @ D[off]
        on = len(P) - int(off.sum())
        size = float(np.linalg.norm(pull))
        if size <= on:
            return x, t, True
        step = (1.0 - on / size) * pull / w.sum()
        x = x + step
        if np.linalg.norm(step) <= tol * typical:
            return x, t, True
    return x, max_iter, False


def breakdown_point(n: int, k: int) -> float:
    """Of spatial medians of fits to k of n rows: half of the subsets are clean up to it."""
    return float(1 - (0.5 ** (1 / k) * (n - k + 1) + k - 1) / n)


class TheilSenRegressor(InMemoryPredictor):
    """Theil-Sen regression: robust, without a tuning constant, for few features.

    The spatial median of the least squares fits to many small subsets of rows. Takes
    scikit-learn's parameters.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    max_subpopulation : int or float, default=1e4
        Subsets drawn; all subsets if there are fewer.
    n_subsamples : int or None, default=None
        Rows of a subset: between the number of unknowns (None, the most robust) and n (least
        squares).
    max_iter : int, default=300
        Maximum number of iterations of the spatial median.
    tol : float, default=1e-3
        They end when a step is less than tol times the median distance to the fits.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed or generator for the subsets.
    n_jobs : int or None, default=None
        Accepted for scikit-learn's sake; the fits are solved in batches by one call.
    verbose : bool, default=False
        Print what will be done.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Coefficients of the features.
    intercept_ : float
        Intercept of the decision or regression function.
    breakdown_ : float
        Fraction of outliers that the fit resists.
    n_iter_ : int
        Number of iterations.
    n_subpopulation_ : int
        Number of subsets used.
    scale_ : float
        Scale of the residuals, 1.4826 median |r|.
    outliers_ : ndarray of shape (n,)
        True for rows with |r| > 2.5 scale_.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    RobustRegressor : MM-estimates: a higher breakdown point for more features.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import TheilSenRegressor
    >>> x = np.arange(10.0)[:, None]
    >>> y = 2 * x[:, 0] + 1
    >>> y[3] = 100.0
    >>> TheilSenRegressor(random_state=0).fit(x, y).coef_.round(6)
    array([2.])
    """

    laws: ClassVar[Laws] = Laws(
        weight="takes no weights, as scikit-learn's",
        shift="the spatial median of intercepts and slopes depends on the origin of X",
        permutation=DRAWN,
        sparse=DENSE,
        textbook="no text prints it (Theil 1950, Sen 1968)",
        budget="at most max_iter iterations over the fits",
        example={"random_state": 0, "max_subpopulation": 2000, "tol": 1e-9, "max_iter": 10_000},
        rtol=1e-5,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "fit_intercept": Boolean(),
        "max_subpopulation": Real(1, closed="left"),
        "n_subsamples": Integer(1) | Null(),
        "max_iter": Integer(0),
        "tol": Real(0, closed="left"),
        "random_state": RandomState(),
        "n_jobs": Integer() | Null(),
        "verbose": Boolean() | OneOf(0, 1),
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        max_subpopulation: float = 1e4,
        n_subsamples: int | None = None,
        max_iter: int = 300,
        tol: float = 1e-3,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.fit_intercept = fit_intercept
        self.max_subpopulation = max_subpopulation
        self.n_subsamples = n_subsamples
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the spatial median of the fits to subsets.

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
        n, d = host.X.shape
        k = self._subset_size(n, d)
        count = int(max(1, min(self.max_subpopulation, comb(n, k))))
        if self.verbose:
            print(f"Breakdown point: {breakdown_point(n, k):.3g}; subsets of {k} rows: {count}")
        design = self._standardise(host)
        k = k if self.n_subsamples is not None else min(k, max(design.rank, 1))
        rng = as_generator(self.random_state)
        subsets = draw_subsets(n, k, count, rng)
        fits = subset_fits(design.Q, host.y, subsets) @ design.back.T
        if not len(fits):
            raise ValueError(
                "All subsets of rows are singular: most rows are equal. Raise n_subsamples."
            )
        full, steps, settled = spatial_median(fits, float(self.tol), int(self.max_iter))
        found = Solution(full, max(steps, 1), None, settled, "" if settled else "it still moves.")
        W, b = (full[1:], float(full[0]) + host.centre) if self.fit_intercept else (full, 0.0)
        self._store(Solution((W, b), found.n_iter), host.rows)
        warn_if_unfinished("TheilSenRegressor", found, "Raise max_iter or tol.")
        self.breakdown_, self.n_subpopulation_ = breakdown_point(n, k), len(fits)
        self.__dict__.pop("objective_", None)
        r = np.abs(self._all_residuals(host))
        self.scale_ = 1.482602218505602 * float(np.median(r))
        self.outliers_, self.covariance_ = r > max(2.5 * self.scale_, 1e-12 * r.max()), None
        return self

    def _subset_size(self, n: int, d: int) -> int:
        """Rows of a subset, with scikit-learn's conditions."""
        unknowns = d + bool(self.fit_intercept)
        if self.n_subsamples is None:
            return min(unknowns, n)
        k = int(self.n_subsamples)
        if k > n:
            raise ValueError(
                f"Invalid parameter since n_subsamples > n_samples ({k} > {n}). Lower n_subsamples."
            )
        if n >= d and unknowns > k:
            raise ValueError(
                f"Invalid parameter since n_features{'+1' * bool(self.fit_intercept)} > "
                f"n_subsamples ({unknowns} > {k}). Raise n_subsamples."
            )
        if n < d and k != n:
            raise ValueError(
                f"Invalid parameter since n_subsamples != n_samples ({k} != {n}) while "
                "n_samples < n_features."
            )
        return k

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = float(self.max_subpopulation) * ((d + 1) ** 3 + 300.0 * (d + 1)) + n * d * d
        size = 8.0 * (6 * n * (d + 1) + 4 * self.max_subpopulation * (d + 1))
        return self._costs(n, d, "fits to subsets", work / rates(8).multiply_adds, size)

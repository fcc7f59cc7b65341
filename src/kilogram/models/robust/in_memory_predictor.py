"""Robust linear fits that need all rows in memory, in float64 on the host."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.base.coefficient_table import CoefficientTable, table_of
from kilogram.base.constraints import Real, check_parameter
from kilogram.base.regression_data import gather_regression_data
from kilogram.models.robust.huber import RobustPredictor
from kilogram.models.robust.standardised import StandardisedRows, standardise
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.solution import Solution

Array = np.ndarray
DRAWN = "subsets of rows are drawn by their position"
DENSE = "subsets and medians of dense rows; sparse rows are refused"


class HostRows(NamedTuple):
    """Rows as given, and those of positive weight in float64."""

    rows: RegressionData
    X: Array
    y: Array
    v: Array
    #: Subtracted from the targets, which may lie far from 0; part of the intercept.
    centre: float


class InMemoryPredictor(RobustPredictor):
    """A robust linear fit of rows in memory: standardised coordinates, errors of coefficients."""

    _copies = 6
    covariance_: Any
    scale_: float

    def _gathered(self, X: Any, y: Any, sample_weight: Any = None) -> HostRows:
        rows = gather_regression_data(self, self._validate_target(X, y, sample_weight))
        if is_sparse(rows.X):
            raise TypeError(
                f"Sparse data was passed for X, but {type(self).__name__} needs dense data. "
                "Use '.toarray()' to convert to a dense numpy array."
            )
        self._ensure_squares(rows.X)
        A = np.asarray(to_numpy(rows.X), dtype=np.float64)
        t = np.asarray(to_numpy(rows.Y), dtype=np.float64)[:, 0]
        if float(np.abs(t).max(initial=0.0)) > 1e150:
            self._ensure_target(np.array([np.inf]))
        centre = float(np.median(t)) if self.fit_intercept else 0.0
        t = t - centre
        if rows.w is None:
            return HostRows(rows, A, t, np.ones(len(t)), centre)
        v = np.asarray(to_numpy(rows.w), dtype=np.float64)
        on = v > 0
        return HostRows(rows, A[on], t[on], v[on], centre)

    def _keep(self, found: Solution, host: HostRows, design: StandardisedRows) -> None:
        """Store theta of the solution as `coef_` and `intercept_`."""
        W, b = design.coefficients(found.value)
        self._store(replace(found, value=(W, b + host.centre)), host.rows)

    def _standardise(self, host: HostRows) -> StandardisedRows:
        return standardise(host.X, bool(self.fit_intercept))

    def _all_residuals(self, host: HostRows) -> Array:
        """Residuals of all rows given, in float64."""
        X = np.asarray(to_numpy(host.rows.X), dtype=np.float64)
        y = np.asarray(to_numpy(host.rows.Y), dtype=np.float64)[:, 0]
        return y - (X @ self._coefficients() + float(self.intercept_))

    def summary(self, level: float = 0.95) -> CoefficientTable:
        """Coefficients with standard errors, t, p and confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Confidence of the intervals.

        Returns
        -------
        CoefficientTable
        """
        check_parameter("level", level, Real(0, 1, closed="neither"))
        coefficients = self._coefficients()
        names = [str(n) for n in getattr(self, "feature_names_in_", [])]
        names = names or [f"x{j}" for j in range(len(coefficients))]
        if self.fit_intercept:
            names, coefficients = ["intercept", *names], np.append(self.intercept_, coefficients)
        if self.covariance_ is None:
            raise ValueError(
                f"{type(self).__name__}: this fit has no standard errors (Theil-Sen and raw "
                "trimmed fits have none; nor has an exact fit, or one without degrees of freedom)."
            )
        table = table_of(
            tuple(names), coefficients[:, None], self.covariance_[None], np.array([self.scale_]),
            self._kind(), level, self._degrees,
        )  # fmt: skip
        return table.of_one_target()

    _degrees: float

    def _kind(self) -> str:
        return "robust"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

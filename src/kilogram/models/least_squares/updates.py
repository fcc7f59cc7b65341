"""Least squares with rows added and removed: only the moments of the rows are stored.

Moments are a value with `+` and `-` (statistics/moments.py): rows added by `partial_fit` can be
removed by `forget`, for a moving window. From moments alone the condition number is squared; where
columns are dependent the solution of smallest norm keeps half the digits.
"""

from __future__ import annotations

from typing import Any, Self

from kilogram.arrays.namespace import is_sparse
from kilogram.base.linear import LinearPredictor
from kilogram.base.regression_data import validate_regression_data
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.least_squares.factorizations import LeastSquaresFit
from kilogram.solvers.least_squares.least_squares import positive_moments, solve_moments
from kilogram.solvers.least_squares.ridge import RidgeProblem, joint_moments
from kilogram.statistics import JointMoments


class MomentPredictor(LinearPredictor):
    """A least-squares estimator with `partial_fit` and `forget`."""

    positive: bool
    moments_: JointMoments

    def _problem(self, rows: RegressionData, callback: Any = None) -> RidgeProblem:
        raise NotImplementedError

    def _store(self, fit: LeastSquaresFit, flat: bool, rows: RegressionData) -> None:
        raise NotImplementedError

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those seen by earlier calls of `partial_fit` and fit them all.

        Only the moments of the rows are kept (`moments_`), so any number of rows may pass.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        first = self._begins_anew("moments_", "coef_")
        rows, new, flat = self._moments_of(X, y, sample_weight, reset=first)
        return self._refit(rows, flat, new if first else self.moments_ + new)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove rows that earlier calls of `partial_fit` added, and fit the others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows among those added, with the targets and weights they were added with.
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
            The relative error grows with the scatter of all rows over that of those that remain.
        """
        if not hasattr(self, "moments_"):
            raise ValueError(
                "forget removes rows that partial_fit added, and there are none. "
                "Add the rows with partial_fit instead of fit."
            )
        rows, old, flat = self._moments_of(X, y, sample_weight, reset=False)
        left = self.moments_.weight - old.weight
        if left <= 1e-12 * self.moments_.weight:
            raise ValueError(
                f"forget would remove rows of weight {old.weight:g} from {self.moments_.weight:g}, "
                "and none would remain. Use fit for new rows instead."
            )
        return self._refit(rows, flat, self.moments_ - old)

    def _moments_of(
        self, X: Any, y: Any, w: Any, *, reset: bool
    ) -> tuple[RegressionData, JointMoments, bool]:
        rows = validate_regression_data(self, X, y, w, finite=False, reset=reset)
        new, flat = joint_moments(rows)
        self._ensure_finite(new.scatter, rows.X)
        return rows, new, flat

    def _refit(self, rows: RegressionData, flat: bool, moments: JointMoments) -> Self:
        sparse, problem = is_sparse(rows.X), self._problem(rows)
        if self.positive:
            found = positive_moments(problem, moments, sparse=sparse)
        else:
            found = solve_moments(moments, self.fit_intercept, sparse=sparse, tol=problem.tol)
        self._store(found, flat, rows)
        self.moments_ = moments
        return self

"""Least squares as rows come and go: only the moments of the rows are kept.

Moments are a value with `+` and `-` (statistics/moments.py): rows added by `partial_fit` can be
taken back by `forget`, for a window that moves with the data. From moments alone the condition
number is squared; where columns are dependent the solution of smallest norm keeps half the digits.
"""

from __future__ import annotations

from typing import Any, Self

from kilogram.arrays.namespace import is_sparse
from kilogram.base.warnings import begins_anew
from kilogram.models.regression.least_squares_factors import Fit
from kilogram.models.regression.least_squares_roads import positive_moments, solve_moments
from kilogram.models.regression.ridge import LinearPredictor
from kilogram.models.regression.roads import Problem, joint_moments
from kilogram.models.regression.targets import Rows, enter_rows
from kilogram.statistics import JointMoments


class MomentPredictor(LinearPredictor):
    """A least-squares estimator that rows can be added to and taken from."""

    fit_intercept: bool
    positive: bool

    def _problem(self, rows: Rows, callback: Any = None) -> Problem:
        raise NotImplementedError

    def _remember(self, fit: Fit, flat: bool, X: Any) -> None:
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
        first = begins_anew(self, "moments_", "coef_")
        rows, new, flat = self._moments_of(X, y, sample_weight, reset=first)
        self.moments_: JointMoments = new if first else self.moments_ + new
        return self._refit(rows, flat)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows back that earlier calls of `partial_fit` added, and fit the others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows among those added, with the targets and weights they were added with.
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
            Digits are lost as the scatter of all rows to that of those that remain.
        """
        if not hasattr(self, "moments_"):
            raise ValueError(
                "there is nothing to forget: only rows added by partial_fit can be taken back. "
                "Add the rows with partial_fit instead of fit."
            )
        rows, old, flat = self._moments_of(X, y, sample_weight, reset=False)
        left = self.moments_.weight - old.weight
        if left <= 1e-12 * self.moments_.weight:
            raise ValueError(
                f"forget was given rows of weight {old.weight:g}, of {self.moments_.weight:g} "
                "seen: none would remain. Begin anew with fit instead."
            )
        self.moments_ = self.moments_ - old
        return self._refit(rows, flat)

    def _moments_of(
        self, X: Any, y: Any, w: Any, *, reset: bool
    ) -> tuple[Rows, JointMoments, bool]:
        rows = enter_rows(self, X, y, w, finite=False, reset=reset)
        new, flat = joint_moments(rows)
        self._ensure_finite(new.scatter, rows.X)
        return rows, new, flat

    def _refit(self, rows: Rows, flat: bool) -> Self:
        sparse = is_sparse(rows.X)
        if self.positive:
            found = positive_moments(self._problem(rows), self.moments_, sparse=sparse)
        else:
            found = solve_moments(self.moments_, self.fit_intercept, sparse=sparse)
        self._remember(found, flat, rows.X)
        return self

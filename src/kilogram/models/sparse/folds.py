"""Rows of a cross-validation, and the designs of its training rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.base.folds import split_rows
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.models.sparse.problem import Centring, from_moments, from_rows, prefers_moments
from kilogram.solvers.coordinate.designs import Design
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.statistics import JointMoments

Array = np.ndarray[Any, np.dtype[Any]]


class RegressionRows(NamedTuple):
    """Rows in memory of one target, y (n,), or of several together, y (n, t)."""

    X: Any
    y: Array
    w: Array | None

    def part(self, rows: Array) -> RegressionRows:
        return RegressionRows(self.X[rows], self.y[rows], None if self.w is None else self.w[rows])

    def squared_errors(self, coefs: Array, intercepts: Array) -> Array:
        """The mean squared errors (k,) of k models: coefficients (p, k) and intercepts (k,).

        Of several targets k is their number, and there is one model for each.
        """
        return self.mean_squares(self.residuals(coefs, intercepts))

    def residuals(self, coefs: Array, intercepts: Array) -> Array:
        """(m, k) of k models."""
        y = self.y if self.y.ndim == 2 else self.y[:, None]
        return np.asarray(y - (self.X @ coefs + intercepts))

    def mean_squares(self, residuals: Array) -> Array:
        """The weighted means (k,) of squared residuals (m, k)."""
        # rows without weight: their fold has no weight in the mean either
        weights = self.w if self.w is None or self.w.sum() > 0 else None
        return np.asarray(np.average(residuals**2, axis=0, weights=weights))

    def fold_weights(self, folds: list[tuple[Array, Array]]) -> list[float] | None:
        """1 for each fold, as in scikit-learn; 0 where the rows left out have no weight at all."""
        if self.w is None:
            return None
        weights = [float(self.w[test].sum() > 0) for _, test in folds]
        return weights if sum(weights) > 0 else None


def split_folds(cv: Any, data: RegressionRows) -> list[tuple[Array, Array]]:
    """The rows of each fold, for training and left out, as `cv` asks for."""
    return split_rows(cv, data.X, data.y)


def fold_data(
    estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any, *, joint: bool = False
) -> tuple[RegressionRows, RegressionData]:
    """Validated rows in memory, of one target unless `joint`; streaming rows are gathered."""
    rows = validate_regression_data(estimator, X, y, sample_weight, min_samples=2)
    rows = gather_regression_data(estimator, rows)
    Y = np.asarray(to_numpy(rows.Y), dtype=np.float64)
    if rows.flat is False and not joint:
        column_or_1d(Y, warn=True)
    w = None if rows.w is None else np.asarray(to_numpy(rows.w), dtype=np.float64)
    Z = rows.X.tocsr() if is_sparse(rows.X) else to_numpy(rows.X)
    return RegressionRows(Z, Y if joint else Y[:, 0], w), rows


class FoldDesigns:
    """The design of all rows, and of all rows but those of a fold."""

    def __init__(self, data: RegressionRows, fit_intercept: bool):
        self.data, self.fit_intercept = data, fit_intercept
        self.target = 0 if data.y.ndim == 1 else None
        self.total = self._moments(data) if prefers_moments(data.X) else None

    @staticmethod
    def _moments(data: RegressionRows) -> JointMoments:
        return JointMoments.of(data.X, data.y.reshape(len(data.y), -1), data.w)

    def whole(self) -> tuple[Design, Centring]:
        if self.total is not None:
            return from_moments(self.total, self.target, self.fit_intercept)
        return from_rows(*self.data, self.fit_intercept)

    def without(self, train: Array, test: Array) -> tuple[Design, Centring]:
        """The training rows of a fold, by subtraction where train and test are all rows."""
        rest = len(train) + len(test) == len(self.data.y)
        if self.total is not None and rest and len(test) <= len(train):
            moments = self.total - self._moments(self.data.part(test))
            return from_moments(moments, self.target, self.fit_intercept)
        part = self.data.part(train)
        if self.total is not None:
            return from_moments(self._moments(part), self.target, self.fit_intercept)
        return from_rows(*part, self.fit_intercept)

"""R^2 with the variance of all training rows, and the same of absolute errors.

Both are defined for folds of one row too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


@dataclass(frozen=True)
class VarianceScore:
    """A scorer: 1 - mean squared error / variance; the mean over folds is that of all rows."""

    variance: float

    @classmethod
    def of(cls, y: np.ndarray) -> VarianceScore:
        return cls(float(np.var(y)) or 1.0)

    def __call__(self, model: BaseEstimator, X: Any, y: Any) -> float:
        return 1.0 - float(np.mean((np.asarray(y) - model.predict(X)) ** 2)) / self.variance


@dataclass(frozen=True)
class AbsoluteScore:
    """A scorer: 1 - mean absolute error / mean distance of all training rows from their median."""

    distance: float

    @classmethod
    def of(cls, y: np.ndarray) -> AbsoluteScore:
        return cls(float(np.mean(np.abs(y - np.median(y)))) or 1.0)

    def __call__(self, model: BaseEstimator, X: Any, y: Any) -> float:
        return 1.0 - float(np.mean(np.abs(np.asarray(y) - model.predict(X)))) / self.distance

"""Measures of predicted numbers.

    R^2        1 - sum (y - f)^2 / sum (y - mean y)^2     below 0: worse than the mean
    adjusted   1 - (1 - R^2) (n - 1) / (n - d - 1)        on training rows, d coefficients
    r^2        squared correlation                        blind to offset and scale of f

R^2 equals r^2 only on the training rows of a least-squares fit with intercept.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def r_squared(y: ArrayLike, f: ArrayLike) -> float:
    """Fraction of the spread of y that f explains; NaN where y has none.

    Examples
    --------
    >>> from kilogram.evaluation import r_squared
    >>> r_squared([1.0, 2.0, 3.0], [1.0, 2.0, 2.0])
    0.5
    """
    y, f = np.asarray(y, dtype=float), np.asarray(f, dtype=float)
    spread = float(np.sum((y - y.mean()) ** 2))
    return 1 - float(np.sum((y - f) ** 2)) / spread if spread > 0 else math.nan


def adjusted_r_squared(y: ArrayLike, f: ArrayLike, coefficients: int) -> float:
    """R^2 corrected for the degrees of freedom of `coefficients` slopes and an intercept.

    Examples
    --------
    >>> from kilogram.evaluation import adjusted_r_squared
    >>> round(adjusted_r_squared([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 3.0], coefficients=1), 2)
    0.7
    """
    n = len(np.asarray(y))
    if n <= coefficients + 1:
        raise ValueError(
            f"Adjusted R^2 needs more than coefficients + 1 = {coefficients + 1} rows, got {n}."
        )
    return 1 - (1 - r_squared(y, f)) * (n - 1) / (n - coefficients - 1)


def squared_correlation(y: ArrayLike, f: ArrayLike) -> float:
    """r^2 of truth and prediction.

    Examples
    --------
    >>> from kilogram.evaluation import squared_correlation
    >>> round(squared_correlation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]), 6)  # a scale costs nothing
    1.0
    """
    return float(np.corrcoef(np.asarray(y, float), np.asarray(f, float))[0, 1] ** 2)


def root_mean_squared_error(y: ArrayLike, f: ArrayLike) -> float:
    """Square root of the mean squared error: in the units of y.

    Examples
    --------
    >>> from kilogram.evaluation import root_mean_squared_error
    >>> root_mean_squared_error([0.0, 0.0], [3.0, -3.0])
    3.0
    """
    return math.sqrt(float(np.mean((np.asarray(y, float) - np.asarray(f, float)) ** 2)))

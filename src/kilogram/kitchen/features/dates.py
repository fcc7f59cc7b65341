"""What a moment says, from its days since 1970: how late it is, and where in its circles it stands.

    days          the number itself, for what grows or fades
    year          sin and cos of the day in the year     where the rows span most of one
    week          sin and cos of the day in the week     where they hold eight days or more
    day           sin and cos of the time of day         where they are not all at midnight

A circle is two numbers, so that 31 December lies beside 1 January. Which circles are used is
decided on the rows that are learnt from.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kilogram.kitchen.features.direct_transform import validate_cells

YEAR, WEEK, DAY = 365.2425, 7.0, 1.0


class DateParts(TransformerMixin, BaseEstimator):
    """Columns of days since 1970 as numbers and circles; missing dates stay missing.

    Parameters
    ----------
    circles : bool, default=True
        Add year, week and day where the rows span them; False keeps the days alone.
    """

    def __init__(self, circles: bool = True):
        self.circles = circles

    def fit(self, X: Any, y: Any = None) -> Self:
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.periods_ = [_periods(column[np.isfinite(column)]) if self.circles else []
                         for column in X.T]  # fmt: skip
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "periods_")
        X = validate_cells(self, X)
        parts = []
        for column, periods in zip(X.T, self.periods_, strict=True):
            parts.append(column)
            for period in periods:
                turn = 2.0 * np.pi * column / period
                parts += [np.sin(turn), np.cos(turn)]
        return np.column_stack(parts)


def _periods(days: np.ndarray) -> list[float]:
    """The circles that these moments go round."""
    if not days.size:
        return []
    found = []
    if np.ptp(days) > 0.75 * YEAR:
        found.append(YEAR)
    if np.unique(np.floor(days)).size > 7:
        found.append(WEEK)
    if np.any(days != np.floor(days)):
        found.append(DAY)
    return found

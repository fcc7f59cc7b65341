"""Parameters of trees that are a number of rows or features, or a fraction of them."""

from __future__ import annotations

import math
from numbers import Integral
from numbers import Real as RealNumber
from typing import Any

from kilogram.base.constraints import Constraint, Integer, Null, OneOf


class Fraction(Constraint):
    """A float in (0, 1]; integers are counts and no fractions."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, Integral) or not isinstance(value, RealNumber):
            return False
        return 0 < float(value) <= 1

    def describe(self) -> str:
        return "a float in (0, 1]"


MAX_FEATURES: Constraint = Integer(1) | Fraction() | OneOf("sqrt", "log2") | Null()


def features_per_split(max_features: float | str | None, n_features: int) -> int:
    """The number of features that a split considers, at least 1."""
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        root = math.sqrt if max_features == "sqrt" else math.log2
        return max(int(root(n_features)), 1)
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(int(max_features * n_features), 1)


def number_of_rows(value: float, n_samples: int, least: int) -> int:
    """A number of rows that is given as such or as a fraction of all rows."""
    if isinstance(value, Integral):
        return int(value)
    return max(math.ceil(value * n_samples), least)

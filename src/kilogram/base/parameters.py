"""Parameters that must be numbers, or True or False."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from kilogram.arrays.namespace import to_numpy


def number(value: Any) -> float:
    """The value as a float; NaN, which passes no comparison, for what is no number at all.

    So `if not number(tol) >= 0` refuses text and lists in the same words as a negative number.
    """
    return float(value) if isinstance(value, Real) else float("nan")


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, of Python or of NumPy; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_flag(value: Any) -> bool:
    """Whether it is True or False, of Python or of NumPy; words and numbers are neither."""
    return isinstance(value, (bool, np.bool_))


def numbers(value: Any, name: str) -> np.ndarray:
    """The value as an array of floats; what is no number and no list of them is named."""
    try:
        host = to_numpy(value) if hasattr(value, "shape") else value
        return np.asarray(host, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {value!r}.") from None

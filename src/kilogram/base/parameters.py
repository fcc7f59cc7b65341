"""Parameters that are arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.namespace import to_numpy


def numbers(value: Any, name: str) -> np.ndarray:
    """The value as an array of floats; what is no number and no list of them is named."""
    try:
        host = to_numpy(value) if hasattr(value, "shape") else value
        return np.asarray(host, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {value!r}.") from None

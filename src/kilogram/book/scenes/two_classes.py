"""What the scenes of classes share: legends, signs and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.book.drawing import (
    fresh_points,
    percent,
)
from kilogram.book.scene import Points

SIDES = (("c0", "class 0"), ("c1", "class 1"))


def signs(data: Points) -> np.ndarray:
    return np.where(data.labels > 0, 1.0, -1.0)


def errors(model: BaseEstimator, data: Points) -> list[tuple[str, Any]]:
    """Training error, and the error on fresh points around the reader's."""
    X, y = fresh_points(data)
    return [
        ("training error", percent(float(np.mean(model.predict(data.xy) != data.labels)))),
        ("error on fresh points", percent(float(np.mean(model.predict(X) != y)))),
    ]

"""Losses of online linear classifiers: value and slope in f for a label y = +-1.

perceptron    max(0, -y f)           non-zero slope for misclassified rows (and f = 0) only
hinge         max(0, 1 - y f)
squared       (y - f)^2 / 2          Adaline; also penalises y f > 1
tanh          -y tanh f              bounded, so robust to outliers; not convex
log           log(1 + exp(-y f))     logistic regression
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Loss(NamedTuple):
    """value(y, f) and slope(y, f) = dvalue/df."""

    value: Callable[[Array, Array], Array]
    slope: Callable[[Array, Array], Array]


def _error_probability(y: Array, f: Array) -> Array:
    e = np.exp(-np.abs(f))
    return np.where(y * f > 0, e, 1.0) / (1.0 + e)


LOSSES: dict[str, Loss] = {
    "perceptron": Loss(
        lambda y, f: np.maximum(-y * f, 0.0), lambda y, f: np.where(y * f > 0, 0.0, -y)
    ),
    "hinge": Loss(
        lambda y, f: np.maximum(1.0 - y * f, 0.0), lambda y, f: np.where(y * f > 1, 0.0, -y)
    ),
    "squared": Loss(lambda y, f: 0.5 * (y - f) ** 2, lambda y, f: f - y),
    "tanh": Loss(lambda y, f: -y * np.tanh(f), lambda y, f: -y * (1.0 - np.tanh(f) ** 2)),
    "log": Loss(lambda y, f: np.logaddexp(0.0, -y * f), lambda y, f: -y * _error_probability(y, f)),
}

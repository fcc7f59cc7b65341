"""Calibration of predicted probabilities: reliability diagram, ECE and Brier score.

    reliability  bins of rows by p; in each, mean p and the observed frequency
    ECE          sum over bins of (rows / n) |frequency - mean p|
    Brier        mean (p - y)^2, which is  reliability - resolution + uncertainty  of the bins,
                 up to the spread of p inside them

A constant p equal to the base rate has ECE 0 and no use: resolution shows the difference.
Reference: A. Murphy, A new vector partition of the probability score, J. Appl. Meteorology, 1973.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from kilogram.evaluation.short_repr import ShortRepr


@dataclass(frozen=True)
class Bin:
    """Rows with similar p: how many, their mean p, and the observed frequency."""

    count: int
    predicted: float
    observed: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Reliability(ShortRepr):
    """The bins that hold rows, and the parts of the Brier score."""

    bins: tuple[Bin, ...]
    brier: float
    base_rate: float

    @property
    def _weights(self) -> np.ndarray:
        counts = np.array([b.count for b in self.bins], dtype=float)
        return counts / counts.sum()

    @property
    def calibration_error(self) -> float:
        """ECE."""
        gaps = [abs(b.observed - b.predicted) for b in self.bins]
        return float(self._weights @ gaps)

    @property
    def reliability(self) -> float:
        """Mean squared gap of the bins: 0 is calibrated."""
        return float(self._weights @ [(b.observed - b.predicted) ** 2 for b in self.bins])

    @property
    def resolution(self) -> float:
        """Spread of what came true between the bins: 0 is useless."""
        return float(self._weights @ [(b.observed - self.base_rate) ** 2 for b in self.bins])

    @property
    def uncertainty(self) -> float:
        return self.base_rate * (1 - self.base_rate)


def reliability(
    y: ArrayLike,
    p: ArrayLike,
    *,
    bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    confidence: float = 0.95,
) -> Reliability:
    """Reliability table of the probabilities `p` that `y`, 0 or 1, is 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import kilogram as kg
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> from kilogram.evaluation import reliability
    >>> p = kg.GaussianNB().fit(X[:300], y[:300]).predict_proba(X[300:])[:, 1]
    >>> len(reliability(y[300:], p, bins=4, strategy="uniform").bins)
    4
    """
    truth, predicted = _checked(y, p)
    at = np.linspace(0, 1, bins + 1)
    edges = np.unique(np.quantile(predicted, at)) if strategy == "quantile" else at
    place = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, max(len(edges) - 2, 0))
    found = []
    for k in np.unique(place):
        here = place == k
        low, high = wilson(float(truth[here].sum()), int(here.sum()), confidence)
        found.append(Bin(int(here.sum()), predicted[here].mean(), truth[here].mean(), low, high))
    return Reliability(tuple(found), brier(truth, predicted), float(truth.mean()))


def brier(y: ArrayLike, p: ArrayLike) -> float:
    """Mean (p - y)^2; for (n, classes) probabilities the sum over classes, with y as positions.

    Examples
    --------
    >>> from kilogram.evaluation import brier
    >>> round(brier([0, 1, 1], [0.2, 0.7, 0.9]), 4)
    0.0467
    """
    P = np.asarray(p, dtype=float)
    if P.ndim == 2:
        return float(np.mean(np.sum((P - np.eye(P.shape[1])[np.asarray(y, dtype=int)]) ** 2, 1)))
    truth, predicted = _checked(y, p)
    return float(np.mean((predicted - truth) ** 2))


def wilson(hits: float, count: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a proportion.

    Examples
    --------
    >>> from kilogram.evaluation import wilson
    >>> low, high = wilson(48, 50)
    >>> round(low, 3), round(high, 3)
    (0.865, 0.989)
    """
    if count <= 0:
        return 0.0, 1.0
    z = float(stats.norm.ppf((1 + confidence) / 2))
    rate, shrink = hits / count, 1 + z * z / count
    middle = (rate + z * z / (2 * count)) / shrink
    half = z / shrink * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def _checked(y: ArrayLike, p: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    truth, predicted = np.asarray(y, dtype=float), np.asarray(p, dtype=float)
    if truth.shape != predicted.shape or truth.ndim != 1 or not truth.size:
        raise ValueError(
            f"y and p must have the same shape (n,), got {truth.shape} and {predicted.shape}."
        )
    if not np.all((predicted >= 0) & (predicted <= 1)):
        raise ValueError("p must be floats in [0, 1]; calibrate decision values first.")
    if not np.all((truth == 0) | (truth == 1)):
        raise ValueError(
            "y must hold 0 and 1: whether the event predicted with probability p occurred."
        )
    return truth, predicted

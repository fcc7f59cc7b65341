"""Training rows nearest to a given one.

Distance is that of the features the model gets, in units of the median distance from a training row
to its nearest neighbour. Trees get columns on different scales and with missing values: there every
feature is standardised, and missing values count as the mean. The rows come from the model file (a
sample) or from the training table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kilogram.functions.distances import squared_distances
from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.out_of_distribution import dense
from kilogram.kitchen.artifact.uncertainty import features

UNSCALED = ("trees", "boosting")  # recipes whose features are as in the table, gaps included
MAX_USUAL = 300  # a median of as many is known to 7 % of the spread
MAX_ROWS = 50_000  # training rows searched, as many as `kg cook` takes: bounds the time


@dataclass(frozen=True)
class Neighbour:
    """A training row: cells, truth, and how far it is in usual distances."""

    cells: np.ndarray
    truth: float
    distance: float


def nearest(
    model: Model, X: np.ndarray, training: tuple[np.ndarray, np.ndarray], count: int
) -> list[list[Neighbour]]:
    """`count` neighbours of each row of X, nearest first; rows equal to it in all are left out."""
    T, y = (part[:MAX_ROWS] for part in training)
    Z, F = dense(features(model.pipeline, X)), dense(features(model.pipeline, T))
    if model.about.get("recipe") in UNSCALED or not np.isfinite(F).all():
        Z, F = on_one_scale(Z, F)
    unit = typical_distance(F)
    D = np.sqrt(np.maximum(squared_distances(Z, F), 0.0))
    found = []
    for i in range(len(X)):
        order = [j for j in np.argsort(D[i], kind="stable")[: count + 5] if not _equal(X[i], T[j])]
        found.append([Neighbour(T[j], float(y[j]), float(D[i, j] / unit)) for j in order[:count]])
    return found


def on_one_scale(Z: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Z and F standardised with the means and deviations of F; missing values are at the mean."""
    known = np.isfinite(F)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, F, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, F - mean, 0.0) ** 2).sum(axis=0) / count)
    spread = np.where(spread > 0, spread, 1.0)
    return tuple(np.where(np.isfinite(A), (A - mean) / spread, 0.0) for A in (Z, F))  # type: ignore[return-value]


def typical_distance(F: np.ndarray) -> float:
    """The median distance from a training row to the next."""
    few = F[:MAX_USUAL]
    if len(few) < 2:
        return 1.0
    D = squared_distances(few, few)
    np.fill_diagonal(D, np.inf)
    return float(np.sqrt(max(np.median(D.min(axis=1)), 0.0))) or 1.0


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return all(p == q or (p != p and q != q) for p, q in zip(a, b, strict=True))

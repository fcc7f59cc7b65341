"""Weighted counts of classes, as a value with `+`.

    counts[c] = sum_{i: y_i = c} w_i

The classes of two sets of rows may differ; their sum has the union of both, in sorted order.
Labels live on the host whatever the device of the rows, so counts are NumPy arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import to_numpy


@dataclass(frozen=True, eq=False)
class Counts:
    """Sorted classes (c,) and the total weight of each (c,), float64."""

    classes: Any
    counts: Any

    @classmethod
    def of(cls, y: Any, w: Any = None) -> Counts:
        """Counts of the labels y (n,), with weights w (n,)."""
        weights = None if w is None else np.asarray(to_numpy(w), dtype=np.float64)
        return cls(*_summed(to_numpy(y), weights))

    def __add__(self, other: Counts | int) -> Counts:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, Counts):
            return NotImplemented
        labels = np.concatenate([self.classes, other.classes])
        return Counts(*_summed(labels, np.concatenate([self.counts, other.counts])))

    __radd__ = __add__

    @property
    def weight(self) -> float:
        """The total weight of all classes."""
        return float(self.counts.sum())

    def priors(self) -> np.ndarray:
        """counts / weight."""
        return self.counts / self.counts.sum()


def _summed(labels: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    classes, codes = np.unique(labels, return_inverse=True)
    counts = np.bincount(codes.ravel(), weights=weights, minlength=classes.size)
    return classes, counts.astype(np.float64)

"""The interface of kernel rows for block SMO, and the rows of a matrix in memory.

    square   K[W, W] for the points W of a block
    add      g += K[:, W] delta for those that changed

Sums are float64 everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

import numpy as np

from kilogram.native.svm import add_rows, square_of

Array = np.ndarray
# Runs of consecutive points up to which a square is copied block by block: 16 blocks at most.
FEW_RUNS = 4


class KernelRows(ABC):
    """Rows of the kernel matrix of n points."""

    n: int
    #: The most points whose square may be kept beside the rows.
    reach: int = 2**31
    #: The most points whose whole matrix is worth computing at once, and the most in a block.
    whole: int = 2**31
    block_limit: int = 2**31
    #: Whether rows are rounded to float32 although the points are float64.
    rounded = False

    @abstractmethod
    def square(self, points: Array) -> Array:
        """K[points, points], (q, q), float32 or float64, C-contiguous; until the next call."""

    @abstractmethod
    def add(self, points: Array, delta: Array, g: Array, again: Array | None = None) -> None:
        """g (n,) += K[:, points] delta; `again` marks points likely to be needed again."""

    @abstractmethod
    def diag(self) -> Array:
        """K[i, i], (n,)."""


def affordable(limit: int, size: int) -> int:
    """The number of points whose square of `size`-byte values takes a quarter of the limit."""
    return int((limit / (4 * size)) ** 0.5)


class StoredRows(KernelRows):
    """A matrix K (n, n) in memory."""

    def __init__(self, K: Array):
        self.K = np.ascontiguousarray(K, dtype=K.dtype if K.dtype == np.float32 else np.float64)
        self.n = K.shape[0]

    def square(self, points: Array) -> Array:
        m = points.shape[0]
        breaks = np.flatnonzero(points[1:] != points[:-1] + 1) + 1
        if len(breaks) >= FEW_RUNS or m == 0:
            return square_of(self.K, points)
        if len(breaks) == 0 and m == self.n:
            return self.K
        return self._patches(points, [slice(a, b) for a, b in pairwise([0, *breaks.tolist(), m])])

    def _patches(self, points: Array, runs: list[slice]) -> Array:
        """The square of points in runs of consecutive ones, as those of two classes are."""
        out = np.empty((points.shape[0], points.shape[0]), dtype=self.K.dtype)
        at = [slice(int(points[r.start]), int(points[r.stop - 1]) + 1) for r in runs]
        for rows, from_rows in zip(runs, at, strict=True):
            for columns, from_columns in zip(runs, at, strict=True):
                out[rows, columns] = self.K[from_rows, from_columns]
        return out

    def add(self, points: Array, delta: Array, g: Array, again: Array | None = None) -> None:
        add_rows(self.K, points, delta, g)

    def diag(self) -> Array:
        return np.diagonal(self.K).astype(np.float64)

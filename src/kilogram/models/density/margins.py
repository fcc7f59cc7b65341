"""Histograms of single columns as densities, distribution functions and their inverses.

F_j is piecewise linear: over a bin it rises by the mass of the bin. Every bin has some mass, so
F_j has an inverse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kilogram.statistics.class_histograms import ColumnBins


@dataclass(frozen=True, eq=False)
class Margins:
    """Histograms of the columns of one class: first edges, widths and masses of their bins.

    masses has one more bin at either end, for values beyond the range of the training data.
    """

    starts: np.ndarray
    widths: np.ndarray
    masses: list[np.ndarray]
    endless: bool  # beyond the outer bins their height continues: no class is ruled out there

    @classmethod
    def of(
        cls, bins: ColumnBins, log_densities: list[np.ndarray], c: int, *, endless: bool
    ) -> Margins:
        """Margins of class c, from the log densities (n_classes, bins) of every column."""
        masses = [
            np.exp(table[c] + np.log(width))
            for table, width in zip(log_densities, bins.widths, strict=True)
        ]
        return cls(bins.starts, bins.widths, masses, endless)

    def _places(self, X: np.ndarray, j: int) -> np.ndarray:
        """Where the values of column j lie, in bins; the outer one below is from 0 to 1."""
        return (X[:, j] - self.starts[j]) / self.widths[j] + 1

    def log_density(self, X: np.ndarray) -> np.ndarray:
        """sum_j log p_j(x_j), (n,)."""
        total = np.zeros(len(X))
        for j, mass in enumerate(self.masses):
            place = self._places(X, j)
            at = np.clip(np.floor(place), 0, len(mass) - 1).astype(np.int64)
            ends = (at == len(mass) - 1) & (place <= len(mass) - 1 + 1e-9)
            at = np.where(ends, len(mass) - 2, at)  # the last inner bin holds its right end
            found = np.log(mass[at]) - np.log(self.widths[j])
            outside = (place < 0) | (place > len(mass))
            total += found if self.endless else np.where(outside, -np.inf, found)
        return total

    def cdf(self, X: np.ndarray) -> np.ndarray:
        """F_j(x_j), (n, d)."""
        U = np.empty(X.shape)
        for j, mass in enumerate(self.masses):
            place = self._places(X, j)
            U[:, j] = np.interp(place, np.arange(len(mass) + 1), _cumulated(mass))
        return U

    def quantiles(self, U: np.ndarray) -> np.ndarray:
        """F_j^-1(u_j), (n, d)."""
        X = np.empty(U.shape)
        for j, mass in enumerate(self.masses):
            place = np.interp(U[:, j], _cumulated(mass), np.arange(len(mass) + 1))
            X[:, j] = self.starts[j] + self.widths[j] * (place - 1)
        return X


def _cumulated(mass: np.ndarray) -> np.ndarray:
    reached = np.concatenate([np.zeros(1), np.cumsum(mass)])
    return reached / reached[-1]

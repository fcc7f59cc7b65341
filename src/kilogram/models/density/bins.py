"""A grid of bins over d columns, and the counts of those that hold a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.base.host_rows import rows_of_positive_weight


@dataclass(frozen=True, eq=False)
class BinGrid:
    """starts, widths, numbers and ends, all (d,), of the bins of every column."""

    starts: np.ndarray
    widths: np.ndarray
    numbers: np.ndarray
    ends: np.ndarray

    @classmethod
    def over(cls, low: np.ndarray, high: np.ndarray, numbers: np.ndarray) -> BinGrid:
        """Bins over the ranges; a column without one gets width 1 around its value."""
        if float(np.log2(numbers).sum()) >= 62:
            raise ValueError(
                f"{len(numbers)} columns with up to {int(numbers.max())} bins each make more bins "
                "than can be counted; take fewer columns, fewer bins, or a DensityTree."
            )
        flat = low == high
        start, end = np.where(flat, low - 0.5, low), np.where(flat, low + 0.5, high)
        return cls(start, np.where(flat, 1.0, end - start) / numbers, numbers, end)

    @property
    def log_volume(self) -> float:
        """log of the volume of one bin."""
        return float(np.log(self.widths).sum())

    @property
    def log_cells(self) -> float:
        """log of the number of bins."""
        return float(np.log(self.numbers).sum())

    def edges(self) -> list[np.ndarray]:
        """The edges of the bins of every column."""
        return [
            np.append(start + width * np.arange(L), end)
            for start, width, L, end in zip(
                self.starts, self.widths, self.numbers, self.ends, strict=True
            )
        ]

    def places(self, X: np.ndarray) -> np.ndarray:
        """The bin of every value (n, d), -1 outside."""
        at = np.floor((X - self.starts) / self.widths)
        inside = (self.starts <= X) & (self.ends >= X)
        at = np.where(inside, np.clip(at, 0, self.numbers - 1), -1)  # the last holds its end
        return at.astype(np.int64)

    def cells(self, X: np.ndarray) -> np.ndarray:
        """The bin of every row (n,), -1 outside."""
        at = self.places(X)
        inside = (at >= 0).all(axis=1)
        cell = np.ravel_multi_index(np.maximum(at, 0).T, tuple(self.numbers))
        return np.where(inside, cell, -1)


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Bins that hold a row, sorted, and the weight in each; additive."""

    cells: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, X: Any, w: Any = None, *, grid: BinGrid) -> CellCounts:
        """Bins of rows X (n, d) with weights (n,) or None."""
        rows, weights = rows_of_positive_weight(X, w)
        cells, at = np.unique(grid.cells(rows), return_inverse=True)
        found = np.bincount(at, weights=weights, minlength=len(cells)).astype(np.float64)
        return cls(cells[cells >= 0], found[cells >= 0])

    def __add__(self, other: CellCounts) -> CellCounts:
        both = np.concatenate([self.cells, other.cells])
        cells, at = np.unique(both, return_inverse=True)
        counts = np.bincount(at, np.concatenate([self.counts, other.counts]), len(cells))
        return CellCounts(cells, counts)

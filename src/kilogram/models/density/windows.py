"""Which rows a query has to visit: windows of rows sorted by strips.

A kernel that ends at |u| = 1 needs, of rows cut into strips of width 1 along one column and sorted
within each by another, three strips and in each the rows within 1: 6 of the pi area of the disc.
The two columns are those of the widest range. With one column there is one strip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kilogram.native.density import ColumnMajorRows


@dataclass(frozen=True, eq=False)
class Windows:
    """Rows in units of the bandwidth, sorted; `keys` are strip * width + place, increasing."""

    rows: ColumnMajorRows
    keys: np.ndarray
    axes: tuple[int, int]  # column that is cut into strips (-1: none), column that is sorted
    low: tuple[float, float]
    strips: int
    width: float  # of a strip in keys: more than any place

    @classmethod
    def of(cls, Y: np.ndarray, w: np.ndarray) -> Windows:
        """Windows of rows (n, d)."""
        low, high = Y.min(axis=0), Y.max(axis=0)
        wide = np.argsort(low - high, kind="stable")
        cut, along = (-1, int(wide[0])) if Y.shape[1] == 1 else (int(wide[0]), int(wide[1]))
        spans = high - low
        strips = 1 if cut < 0 else int(min(np.floor(spans[cut]) + 1, 2.0**24))
        if strips > 2**23:
            cut, strips = -1, 1  # rows far apart: too many strips to be of use
        width = float(spans[along]) + 4.0
        low_cut = 0.0 if cut < 0 else float(low[cut])
        keys = Y[:, along] - low[along]
        if cut >= 0:
            keys = keys + width * np.floor(Y[:, cut] - low_cut)
        order = np.argsort(keys, kind="stable")
        return cls(
            ColumnMajorRows.of(Y[order], w[order]),
            keys[order],
            (cut, along),
            (low_cut, float(low[along])),
            strips,
            width,
        )

    def around(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and last rows (m, windows) that may lie within 1 of the queries."""
        cut, along = self.axes
        slack = 1.0 + 8 * np.finfo(float).eps * self.strips * self.width  # rounding of the keys
        place = np.clip(Q[:, along] - self.low[1], -2.0, self.width - 2.0)[:, None]
        strip = np.zeros((len(Q), 1))
        if cut >= 0:
            here = np.clip(np.floor(Q[:, cut] - self.low[0]), -2.0, self.strips + 1.0)
            strip = here[:, None] + np.array([-1.0, 0.0, 1.0])
        base = strip * self.width + place
        inside = (strip >= 0) & (strip < self.strips)
        # a window must not reach into the next strip: rows there have their own window
        first = np.maximum(base - slack, strip * self.width - 0.5)
        last = np.minimum(base + slack, (strip + 1) * self.width - 2.0)
        lo = np.searchsorted(self.keys, first, side="left")
        hi = np.searchsorted(self.keys, last, side="right")
        return lo, np.where(inside, np.maximum(hi, lo), lo)

    def all_rows(self, m: int) -> tuple[np.ndarray, np.ndarray]:
        """The window that holds all rows, for m queries."""
        return np.zeros((m, 1), np.int64), np.full((m, 1), self.rows.n, np.int64)

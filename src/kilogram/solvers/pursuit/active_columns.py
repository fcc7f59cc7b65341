"""Columns chosen one after another, with the Cholesky factor of their Gram matrix.

R'R = G[A, A] is the triangle of a QR decomposition of the chosen columns: a column that enters
adds a row to it, one that leaves has it made anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtrs

from kilogram.solvers.coordinate.designs import Design

Array = np.ndarray[Any, np.dtype[Any]]

#: What is left of a squared length, relative to it, that counts as dependent on the others: six
#: digits of the length.
DEPENDENT = 1e-12


class ActiveColumns:
    """The chosen columns of a design, in the order of their entry."""

    def __init__(self, design: Design):
        self.design = design
        single = getattr(getattr(design, "X", None), "dtype", None) == np.float32
        self.dependent = 1e-5 if single else DEPENDENT
        self.columns: list[int] = []
        self._L = np.zeros((16, 16))

    @property
    def size(self) -> int:
        return len(self.columns)

    @property
    def L(self) -> Array:
        """The lower triangle, R'."""
        return self._L[: self.size, : self.size]

    def add(self, column: int) -> bool:
        """Whether the column is independent of the chosen ones; then it is one of them."""
        k, new = self.size, np.array([column])
        square = float(self.design.gram(new, new)[0, 0])
        cross = self.design.gram(np.array(self.columns, dtype=np.int64), new)[:, 0] if k else None
        row = np.empty(0) if cross is None else self._solve_lower(cross)
        rest = square - float(row @ row)
        if not rest > self.dependent * square:
            return False
        if k == len(self._L):
            grown = np.zeros((2 * k, 2 * k))
            grown[:k, :k] = self._L
            self._L = grown
        self._L[k, :k], self._L[k, k] = row, np.sqrt(rest)
        self.columns.append(column)
        return True

    def remove(self, column: int) -> None:
        place = self.columns.index(column)
        rows = np.delete(self.L, place, axis=0)  # rows @ rows.T is the Gram matrix that remains
        self.columns.pop(place)
        R = np.asarray(np.linalg.qr(rows.T, mode="r"))
        self._L[: self.size, : self.size] = (R * np.where(np.diagonal(R) < 0, -1.0, 1.0)[:, None]).T

    def solve(self, q: Array) -> Array:
        """G[A, A]^-1 q."""
        return self._solve_lower(self._solve_lower(q), trans=1)

    def _solve_lower(self, q: Array, trans: int = 0) -> Array:
        """L^-1 q, or L'^-1 q; LAPACK itself, because SciPy's checks take longer than the work."""
        found, _ = dtrtrs(self.L, q, lower=1, trans=trans)
        return np.asarray(found)

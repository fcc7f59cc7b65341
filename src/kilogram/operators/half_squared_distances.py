"""-D^2 / 2, entry by entry, for stored distances D: the kernel of classical scaling, uncopied."""

from __future__ import annotations

from typing import Any

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import namespace
from kilogram.arrays.rows import row_slices
from kilogram.operators.operator import Operator, rows_at


def half_squares(D: Any) -> Any:
    """-D^2 / 2."""
    out = D * D
    out *= -0.5
    return out


class HalfSquaredDistances(Operator):
    """-D^2 / 2 of distances D (m, n), squared block by block in every product."""

    def __init__(self, D: Any):
        self.D = D

    @property
    def shape(self) -> tuple[int, int]:
        return self.D.shape

    @property
    def dtype(self) -> Any:
        return self.D.dtype

    @property
    def T(self) -> HalfSquaredDistances:
        return HalfSquaredDistances(self.D.T)

    def __matmul__(self, V: Any) -> Any:
        slices = row_slices(self.D, self.D.shape[1], BLOCK_ENTRIES)
        parts = [half_squares(self.D[some, :]) @ V for some in slices]
        return namespace(V).concat(parts, axis=0)

    def rows(self, i: Any) -> Any:
        return half_squares(rows_at(self.D, i))

    def diag(self) -> Any:
        return half_squares(namespace(self.D).linalg.diagonal(self.D))

    def dense(self) -> Any:
        return half_squares(self.D)

"""diag(r) A diag(r): a symmetric map with its rows and columns rescaled, as a graph by degrees."""

from __future__ import annotations

from typing import Any

from kilogram.operators.operator import Operator, picked


class Rescaled(Operator):
    """diag(r) A diag(r) for a symmetric operator A (n, n) and r (n,)."""

    def __init__(self, A: Any, r: Any):
        self.A, self.r = A, r

    @property
    def shape(self) -> tuple[int, int]:
        return self.A.shape

    @property
    def dtype(self) -> Any:
        return self.A.dtype

    @property
    def T(self) -> Rescaled:
        return self

    def __matmul__(self, V: Any) -> Any:
        if V.ndim == 1:
            return self.r * (self.A @ (self.r * V))
        return self.r[:, None] * (self.A @ (self.r[:, None] * V))

    def rows(self, i: Any) -> Any:
        own = self.r[i] if isinstance(i, slice) else picked(self.r[:, None], i)[:, 0]
        return own[:, None] * self.A.rows(i) * self.r[None, :]

    def diag(self) -> Any:
        return self.r**2 * self.A.diag()

    def dense(self) -> Any:
        return self.r[:, None] * self.A.dense() * self.r[None, :]

"""diag(s) A diag(s): rows and columns of a symmetric map rescaled, as by degrees or weights."""

from __future__ import annotations

from typing import Any

from kilogram.operators.operator import Operator, rows_at


class DiagonallyScaled(Operator):
    """diag(s) A diag(s) for a symmetric A (n, n), anything with `@` and a shape, and s (n,)."""

    def __init__(self, A: Any, s: Any):
        self.A, self.s = A, s

    @property
    def shape(self) -> tuple[int, int]:
        return self.A.shape

    @property
    def dtype(self) -> Any:
        return self.A.dtype

    @property
    def T(self) -> DiagonallyScaled:
        return self

    def __matmul__(self, V: Any) -> Any:
        s = self.s if V.ndim == 1 else self.s[:, None]
        return s * (self.A @ (s * V))

    def rows(self, i: Any) -> Any:
        own = self.s[i] if isinstance(i, slice) else rows_at(self.s[:, None], i)[:, 0]
        return own[:, None] * self.A.rows(i) * self.s[None, :]

    def diag(self) -> Any:
        return self.s**2 * self.A.diag()

    def dense(self) -> Any:
        return self.s[:, None] * self.A.dense() * self.s[None, :]


def scaled(A: Any, s: Any) -> Any:
    """diag(s) A diag(s); A itself where s is None, as for rows without weights."""
    return A if s is None else DiagonallyScaled(A, s)

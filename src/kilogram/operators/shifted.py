"""A plus a multiple of the identity, A + alpha I: a kernel matrix with a ridge penalty."""

from __future__ import annotations

from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.operators.operator import Operator


class Shifted(Operator):
    """A + alpha I for a square A, anything with `@` and a shape.

    alpha is a number, or one number for each column of the matrices it is multiplied with (t,):
    column j of `Shifted(A, alpha) @ V` is (A + alpha_j I) v_j. Rows, diagonal and entries are
    those of one matrix and need a number.
    """

    def __init__(self, A: Any, alpha: Any):
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"only a square operator can be shifted, got shape {A.shape}")
        self.A = A
        self.alpha = alpha

    @property
    def shape(self) -> tuple[int, int]:
        return self.A.shape

    @property
    def dtype(self) -> Any:
        return self.A.dtype

    @property
    def T(self) -> Shifted:
        return Shifted(self.A.T, self.alpha)

    def __matmul__(self, V: Any) -> Any:
        return self.A @ V + self.alpha * V

    def rows(self, i: Any) -> Any:
        n = self.shape[0]
        out = self.A.rows(i)
        xp = namespace(out)
        at = range(*i.indices(n)) if isinstance(i, slice) else i
        on_diagonal = (
            xp.asarray(list(at), device=out.device)[:, None]
            == xp.arange(n, device=out.device)[None, :]
        )
        return out + self._one_alpha() * xp.astype(on_diagonal, out.dtype)

    def diag(self) -> Any:
        return self.A.diag() + self._one_alpha()

    def dense(self) -> Any:
        return self.rows(slice(None))

    def _one_alpha(self) -> float:
        if getattr(self.alpha, "ndim", 0):
            raise ValueError(
                f"one matrix has one alpha, got {self.alpha.shape[0]} of them: only products "
                "with as many columns take one each."
            )
        return float(self.alpha)

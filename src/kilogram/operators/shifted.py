"""A plus a multiple of the identity, A + alpha I or A + diag(alpha): the ridge of a kernel."""

from __future__ import annotations

from typing import Any

from kilogram.arrays.namespace import like, namespace
from kilogram.operators.operator import Operator


class Shifted(Operator):
    """A + alpha I for a number alpha, A + diag(alpha) for a vector (n,)."""

    def __init__(self, A: Any, alpha: Any):
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"only a square operator can be shifted, got shape {A.shape}")
        if getattr(alpha, "ndim", 0) == 1 and alpha.shape[0] != A.shape[0]:
            raise ValueError(f"alpha has {alpha.shape[0]} entries for {A.shape[0]} rows")
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
        per_row = getattr(self.alpha, "ndim", 0) == 1 and V.ndim == 2
        return self.A @ V + (self.alpha[:, None] if per_row else self.alpha) * V

    def rows(self, i: Any) -> Any:
        n = self.shape[0]
        out = self.A.rows(i)
        xp = namespace(out)
        at = range(*i.indices(n)) if isinstance(i, slice) else i
        on_diagonal = (
            xp.asarray(list(at), device=out.device)[:, None]
            == xp.arange(n, device=out.device)[None, :]
        )
        added = self._alphas(out)[None, :] * xp.astype(on_diagonal, out.dtype)
        return out + added

    def diag(self) -> Any:
        return self.A.diag() + self.alpha

    def dense(self) -> Any:
        return self.rows(slice(None))

    def _alphas(self, ref: Any) -> Any:
        """alpha as a vector (n,) beside ref."""
        if getattr(self.alpha, "ndim", 0) == 1:
            return like(self.alpha, ref)
        return namespace(ref).full(self.shape[0], self.alpha, dtype=ref.dtype, device=ref.device)

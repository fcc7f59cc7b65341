"""Phi Phi' as a linear map: the kernel matrix of a finite feature map, never formed.

(Phi Phi') V = Phi (Phi' V)      O(n r) a column instead of O(n^2)
"""

from __future__ import annotations

from typing import Any

from kilogram.functions.distances import inner, squared_norms
from kilogram.operators.operator import Operator, picked


class LowRank(Operator):
    """Phi Psi', (n, m), from features Phi (n, r) and Psi (m, r); Psi = Phi when None."""

    def __init__(self, Phi: Any, Psi: Any = None):
        if Psi is not None and Phi.shape[1] != Psi.shape[1]:
            raise ValueError(f"features of different length: {Phi.shape[1]} and {Psi.shape[1]}")
        self.Phi = Phi
        self.Psi = Psi

    @property
    def shape(self) -> tuple[int, int]:
        return self.Phi.shape[0], (self.Phi if self.Psi is None else self.Psi).shape[0]

    @property
    def dtype(self) -> Any:
        return self.Phi.dtype

    @property
    def T(self) -> LowRank:
        return self if self.Psi is None else LowRank(self.Psi, self.Phi)

    def __matmul__(self, V: Any) -> Any:
        return self.Phi @ ((self.Phi if self.Psi is None else self.Psi).T @ V)

    def rows(self, i: Any) -> Any:
        return inner(picked(self.Phi, i), self.Phi if self.Psi is None else self.Psi)

    def diag(self) -> Any:
        if self.Psi is not None:
            raise ValueError("a map between different rows has no diagonal")
        return squared_norms(self.Phi)

    def dense(self) -> Any:
        return inner(self.Phi, self.Psi)

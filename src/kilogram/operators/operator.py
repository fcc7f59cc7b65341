"""A matrix as a linear map: what solvers may ask of it, whether or not its entries are stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from kilogram.arrays.namespace import is_sparse, namespace


class OutOfTime(Exception):
    """A product was not finished before the deadline of its operator; solvers stop on it."""


class Operator(ABC):
    """A linear map (n, m): products, some rows, the diagonal; all entries only by `dense()`."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(n, m)."""

    @property
    @abstractmethod
    def dtype(self) -> Any:
        """The type of its entries."""

    @property
    @abstractmethod
    def T(self) -> Operator:
        """The transposed map."""

    @abstractmethod
    def __matmul__(self, V: Any) -> Any:
        """A V for V of shape (m,) or (m, t)."""

    @abstractmethod
    def rows(self, i: Any) -> Any:
        """The rows A[i] for a slice or a sequence of positions, (len(i), m)."""

    @abstractmethod
    def diag(self) -> Any:
        """The diagonal of a square map, (n,)."""

    @abstractmethod
    def dense(self) -> Any:
        """All entries, (n, m)."""

    def __repr__(self) -> str:
        n, m = self.shape
        return f"{type(self).__name__}({n} x {m}, {self.dtype})"


def rows_at(X: Any, i: Any) -> Any:
    """The rows of X at a slice or at positions."""
    if isinstance(i, slice) or is_sparse(X):
        return X[i] if is_sparse(X) else X[i, :]
    xp = namespace(X)
    return xp.take(X, xp.asarray(i, device=X.device), axis=0)

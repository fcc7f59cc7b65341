"""The Gram matrix K = k(X, Y) as a linear map, stored while it fits and recomputed beyond.

    stored     K V is one matrix product; K is computed once, on first use
    blocked    K V is computed tile by tile and no tile is kept: memory of X, time of K per product

`kilogram.operators.memory_plan.choose_road` decides between the two; `Gram.road` says what it
decided and why.
"""

from __future__ import annotations

from typing import Any, Literal

from kilogram.arrays.namespace import namespace
from kilogram.kernels import Kernel, Precomputed
from kilogram.kernels.pairs import as_pair
from kilogram.operators.memory_plan import Road, choose_road
from kilogram.operators.operator import Operator, picked

ROWS_AT_ONCE = 256


class Gram(Operator):
    """k(X, Y), (n, m); k(X, X) when Y is None.

    Parameters
    ----------
    kernel : Kernel
        With numbers for parameters (`kernel.resolve(X)`).
    X, Y : arrays (n, d), (m, d)
        Y = None stands for X and makes the matrix symmetric.
    max_memory : int, str or None
        Bytes the matrix may take, such as "4GiB"; None is a share of what is free.
    store : "auto", True or False
        Whether K is stored; "auto" stores it if it fits. True refuses with MemoryError if not.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        Y: Any = None,
        *,
        max_memory: int | str | None = None,
        store: Literal["auto"] | bool = "auto",
    ):
        self.kernel = kernel
        self.X, self.Y = (X, Y) if _is_matrix_itself(kernel) else as_pair(X, Y)
        self.max_memory = max_memory
        n, m = self.shape
        width = self.X.shape[1]
        self.road: Road = choose_road(n, width, self.dtype, columns=m, max_memory=max_memory)
        if store is True and not self.road.stores:
            raise MemoryError(f"the kernel matrix was to be stored, but {self.road.reason}")
        self.stores = self.road.stores if store == "auto" else bool(store)
        self._K: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        n = self.X.shape[0]
        if _is_matrix_itself(self.kernel):
            return n, self.X.shape[1]
        return n, (n if self.Y is None else self.Y.shape[0])

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    @property
    def T(self) -> Gram:
        if self.Y is None:
            return self
        if _is_matrix_itself(self.kernel):
            return Gram(self.kernel, self.X.T, self.X, max_memory=self.max_memory)
        flipped = Gram(self.kernel, self.Y, self.X, max_memory=self.max_memory, store=False)
        flipped.stores = self.stores
        flipped._K = None if self._K is None else self._K.T
        return flipped

    def __matmul__(self, V: Any) -> Any:
        symmetric = self.Y is None and not _is_matrix_itself(self.kernel)
        if self.stores and symmetric and V.ndim == 2:
            # K = K', and BLAS is up to 1.5 times faster with the thin matrix on the left
            return (V.T @ self.dense()).T
        if self.stores:
            return self.dense() @ V
        return self.kernel.matmul(self.X, self.Y, V)

    def by_rows_of(self, i: Any, V: Any) -> Any:
        """k(X, X[i]) V for some rows i of a symmetric K and V (len(i), t), by these rows alone.

        Noise on the diagonal (`White`) belongs to no pair of tables and is left out unless K is
        stored.
        """
        if not self.stores and not _is_matrix_itself(self.kernel):
            return self.kernel.matmul(self.X, picked(self.X, i), V)
        K: Any = self.dense()
        total: Any = 0.0
        for start in range(0, len(i), ROWS_AT_ONCE):  # they are copied, so never many of them
            some = i[start : start + ROWS_AT_ONCE]
            total = total + V[start : start + len(some), :].T @ picked(K, some)
        return total.T

    def rows(self, i: Any) -> Any:
        if self._K is not None:
            return picked(self._K, i)
        if _is_matrix_itself(self.kernel):
            return picked(self.X, i)
        return self.kernel(picked(self.X, i), self.X if self.Y is None else self.Y)

    def diag(self) -> Any:
        if self._K is not None:
            return namespace(self._K).linalg.diagonal(self._K)
        return self.kernel.diag(self.X)

    def dense(self) -> Any:
        """K; kept for the next product if this Gram stores, computed anew otherwise."""
        if self._K is not None:
            return self._K
        K = self.kernel(self.X, self.Y)
        if self.stores:
            self._K = K
        return K


def _is_matrix_itself(kernel: Kernel) -> bool:
    return isinstance(kernel, Precomputed)

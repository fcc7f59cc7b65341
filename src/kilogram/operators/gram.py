"""The Gram matrix K = k(X, Y) as a linear map, stored while it fits and recomputed beyond.

    stored     K V is one matrix product; K is computed once, on first use
    blocked    K V is computed tile by tile and no tile is kept: memory of X, time of K per product

`kilogram.operators.memory_plan.plan_storage` decides between the two; `Gram.plan` is its decision
with the reason.
"""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np

from kilogram.arrays.namespace import is_numpy, namespace
from kilogram.kernels import Kernel, Precomputed
from kilogram.kernels.row_pairs import as_pair
from kilogram.operators.memory_plan import StoragePlan, plan_storage
from kilogram.operators.operator import Operator, OutOfTime, rows_at

# Rows of a kernel block: enough for the speed of a matrix product, 2 kB a column.
ROWS_AT_ONCE = 256
BAND_ENTRIES = 2**23  # entries of K computed between two looks at the clock: some 0.1 s


class Gram(Operator):
    """k(X, Y), (n, m); k(X, X) when Y is None.

    Parameters
    ----------
    kernel : Kernel
        With numbers for parameters (`kernel.resolve(X)`).
    X, Y : arrays (n, d), (m, d)
        Y = None stands for X and makes the matrix symmetric.
    max_memory : int, str or None
        Bytes the matrix may take, such as "4GiB"; None is a fraction of what is free.
    store : "auto", True or False
        Whether K is stored; "auto" stores it if it fits. True refuses with MemoryError if not.
    deadline : float or None
        Time of `time.perf_counter` after which computing a NumPy K raises OutOfTime.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        Y: Any = None,
        *,
        max_memory: int | str | None = None,
        store: Literal["auto"] | bool = "auto",
        deadline: float | None = None,
    ):
        self.kernel = kernel
        self.X, self.Y = (X, Y) if _is_matrix_itself(kernel) else as_pair(X, Y)
        self.max_memory, self.deadline = max_memory, deadline
        n, m = self.shape
        width = self.X.shape[1]
        self.plan: StoragePlan = plan_storage(
            n, width, self.dtype, columns=m, max_memory=max_memory
        )
        if store is True and not self.plan.stores:
            raise MemoryError(f"store=True, but {self.plan.reason}")
        self.stores = self.plan.stores if store == "auto" else bool(store)
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
        if self.deadline is not None and symmetric and self.kernel.is_compiled(self.X):
            return self._product_in_bands(V)
        return self.kernel.matmul(self.X, self.Y, V)

    def product(self, V: Any) -> Any:
        """K V without a deadline: of a stored K, or one more pass over its blocks."""
        return self @ V if self._K is not None else self.kernel.matmul(self.X, self.Y, V)

    def by_rows_of(self, i: Any, V: Any) -> Any:
        """k(X, X[i]) V for some rows i of a symmetric K and V (len(i), t), by these rows alone.

        Noise on the diagonal (`White`) belongs to no pair of tables and is left out unless K is
        stored.
        """
        if not self.stores and not _is_matrix_itself(self.kernel):
            return self.kernel.matmul(self.X, rows_at(self.X, i), V)
        K: Any = self.dense()
        total: Any = 0.0
        for start in range(0, len(i), ROWS_AT_ONCE):  # they are copied, so never many of them
            some = i[start : start + ROWS_AT_ONCE]
            total = total + V[start : start + len(some), :].T @ rows_at(K, some)
        return total.T

    def rows(self, i: Any) -> Any:
        if self._K is not None:
            return rows_at(self._K, i)
        if _is_matrix_itself(self.kernel):
            return rows_at(self.X, i)
        return self.kernel(rows_at(self.X, i), self.X if self.Y is None else self.Y)

    def diag(self) -> Any:
        if self._K is not None:
            return namespace(self._K).linalg.diagonal(self._K)
        return self.kernel.diag(self.X)

    def dense(self) -> Any:
        """K; kept for the next product if this Gram stores, computed anew otherwise."""
        if self._K is not None:
            return self._K
        timed = self.deadline is not None and self.Y is None and is_numpy(self.X)
        K = self._in_bands() if timed else self.kernel(self.X, self.Y)
        if self.stores:
            self._K = K
        return K

    def _in_bands(self) -> Any:
        """k(X, X) of NumPy rows, some rows of its lower half at a time, while there is time."""
        if _is_matrix_itself(self.kernel):
            return self.kernel(self.X)
        n = self.X.shape[0]
        K, step = np.empty((n, n), dtype=self.dtype), max(1, BAND_ENTRIES // n)
        for start in range(0, n, step):
            self._check_time()
            band = slice(start, min(start + step, n))
            K[band, : band.stop] = self.kernel(self.X[band], self.X[: band.stop])
            K[:start, band] = K[band, :start].T
        K[np.diag_indices(n)] = self.kernel.diag(self.X)  # noise on the diagonal (`White`) too
        return K

    def _product_in_bands(self, V: Any) -> Any:
        """k(X, X) V of NumPy rows without storing K, some of its rows at a time."""
        n, found = self.X.shape[0], []
        step = max(1, BAND_ENTRIES // n)
        for start in range(0, n, step):
            self._check_time()
            found.append(self.kernel.matmul(self.X[start : start + step], self.X, V))
        return np.concatenate(found, axis=0)

    def _check_time(self) -> None:
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            raise OutOfTime


def _is_matrix_itself(kernel: Kernel) -> bool:
    return isinstance(kernel, Precomputed)

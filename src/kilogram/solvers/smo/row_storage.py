"""The kernel rows of block SMO: small squares K[W, W], and g += K[:, W] delta.

    StoredRows   K is in memory: given, or small enough to be computed at once
    NativeRows   dense NumPy rows and a compiled kernel
    BitRows      the same, rows of zeros and ones
    ArrayRows    any other kernel or container: sparse, callable, arrays of another library, whose
                 rows are computed and kept on their device

Sums are float64 everywhere. Rows may be computed and kept in float32 (`single`), where the caller
expects the rounding error to stay below the tolerance; it checks afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, to_numpy
from kilogram.kernels import Kernel, Precomputed
from kilogram.operators.operator import rows_at
from kilogram.solvers.smo.compiled_rows import NARROW, WIDE_WHOLE, compiled_rows
from kilogram.solvers.smo.stored_rows import Array, KernelRows, StoredRows, affordable

WHOLE = 2048  # points up to which K is computed at once: 32 MiB, and no row is computed twice
# Rows computed at once outside the compiled kernels: enough for the speed of products.
ROWS_AT_ONCE = 1024


class ArrayRows(KernelRows):
    """k(X, X) by the kernel's own formula, in the library and on the device of X.

    Rows are kept in the blocks they were computed in, and the oldest blocks are dropped when memory
    is full: the library need not support writes. Only squares and sums are copied to the host.
    """

    def __init__(self, kernel: Kernel, X: Any, limit: int):
        self.kernel, self.X, self.n = kernel, X, X.shape[0]
        size = 4 if "float32" in str(X.dtype) else 8
        self.reach = affordable(limit, size)
        self.capacity = max(1, limit // (size * self.n))
        self.blocks: dict[int, Any] = {}
        self.block = np.full(self.n, -1, dtype=np.int64)  # the block that holds a point's row,
        self.place = np.zeros(self.n, dtype=np.int64)  # and where in it
        self.count = self.filled = 0

    def square(self, points: Array) -> Array:
        A = rows_at(self.X, points)
        K = to_numpy(self.kernel(A, None))
        return np.ascontiguousarray(K, dtype=K.dtype if K.dtype == np.float32 else np.float64)

    def add(self, points: Array, delta: Array, g: Array, again: Array | None = None) -> None:
        total = None
        holds = self.block[points]
        for name in np.unique(holds[holds >= 0]):
            here = np.nonzero(holds == name)[0]
            weights = np.zeros(self.blocks[int(name)].shape[0])
            weights[self.place[points[here]]] = delta[here]
            total = _plus(total, _weighted(self.blocks[int(name)], weights))
        new = np.nonzero(holds < 0)[0]
        for at in range(0, new.shape[0], ROWS_AT_ONCE):
            part = new[at : at + ROWS_AT_ONCE]
            K = self.kernel(rows_at(self.X, points[part]), self.X)
            total = _plus(total, _weighted(K, delta[part]))
            self._keep(points[part], K)
        if total is not None:
            g += to_numpy(total).astype(np.float64)

    def _keep(self, points: Array, K: Any) -> None:
        """Keep the rows just computed, and drop the oldest blocks where they are too many."""
        if points.shape[0] > self.capacity:
            return
        while self.filled + points.shape[0] > self.capacity:
            oldest = next(iter(self.blocks))
            self.filled -= self.blocks.pop(oldest).shape[0]
            self.block[self.block == oldest] = -1
        self.blocks[self.count] = K
        self.block[points], self.place[points] = self.count, np.arange(points.shape[0])
        self.count, self.filled = self.count + 1, self.filled + points.shape[0]

    def diag(self) -> Array:
        return to_numpy(self.kernel.diag(self.X)).astype(np.float64)


def _weighted(K: Any, delta: Array) -> Any:
    """delta' K on K's device."""
    if is_numpy(K):
        return delta @ K.astype(np.float64, copy=False)
    return like(delta, K) @ K


def _plus(total: Any, more: Any) -> Any:
    return more if total is None else total + more


def kernel_rows(
    kernel: Kernel, X: Any, *, limit: int, single: bool = False, shared: bool = False
) -> KernelRows:
    """The rows of k(X, X), keeping at most `limit` bytes of them; `shared` by several machines."""
    if isinstance(kernel, Precomputed):
        return StoredRows(to_numpy(kernel(X)))
    n, d = X.shape
    if n <= (WHOLE if shared else whole_up_to(kernel, X)):
        return StoredRows(to_numpy(kernel(X, None)))
    if is_sparse(X) and dense_is_cheaper(X, limit):
        X = X.toarray()
    if kernel.native(d) is None or not is_numpy(X):
        return ArrayRows(kernel, X, limit)
    return compiled_rows(kernel, X, limit, single)


def whole_up_to(kernel: Kernel, X: Any) -> int:
    """The number of points up to which K is computed at once for a single machine."""
    wide = is_numpy(X) and X.shape[1] > NARROW and kernel.native(X.shape[1]) is not None
    return min(WHOLE, WIDE_WHOLE) if wide else WHOLE


def dense_is_cheaper(X: Any, limit: int) -> bool:
    """Above a density of 1 %, dense products of these rows are faster than sparse ones."""
    n, d = X.shape
    return X.nnz > 0.01 * n * d and 8 * n * d < limit // 4

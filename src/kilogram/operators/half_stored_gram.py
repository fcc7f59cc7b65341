"""k(X, X) with only its lower half in memory: half the bytes, and every entry read once a product.

For NumPy rows and kernels with a compiled loop. A product with a few columns is bound by reading
the half, so it costs the same for one column as for a whole vector of them (8 in float32).
"""

from __future__ import annotations

from typing import Any

from kilogram.arrays.interruptible import run_interruptible
from kilogram.kernels import Kernel
from kilogram.native import half_matmul, half_size, kernel_half
from kilogram.operators.operator import Operator, rows_at


class HalfGram(Operator):
    """k(X, X) (n, n), symmetric; `kernel.is_compiled(X)` must hold."""

    def __init__(self, kernel: Kernel, X: Any):
        plan = kernel.native(X.shape[1])
        if plan is None:
            raise ValueError(f"{kernel!r} has no compiled loop; use Gram")
        self.kernel, self.X = kernel, X
        kind, params = plan
        n, d = X.shape
        self._half = run_interruptible(kernel_half, kind, X, params, work=0.5 * n * n * (d + 16.0))

    @property
    def shape(self) -> tuple[int, int]:
        n = self.X.shape[0]
        return n, n

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    @property
    def T(self) -> HalfGram:
        return self

    def __matmul__(self, V: Any) -> Any:
        outputs = 1 if V.ndim == 1 else V.shape[1]
        work = float(self.X.shape[0]) ** 2 * outputs
        return run_interruptible(half_matmul, self._half, V, work=work)

    def rows(self, i: Any) -> Any:
        return self.kernel(rows_at(self.X, i), self.X)

    def diag(self) -> Any:
        return self.kernel.diag(self.X)

    def dense(self) -> Any:
        return self.kernel(self.X)


def half_bytes(n: int, itemsize: int = 8) -> int:
    """Memory of the stored half of a matrix of order n."""
    return half_size(n) * itemsize

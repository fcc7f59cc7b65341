"""S K S for a kernel matrix K = k(X, X): dense, half-stored, or recomputed at every product.

S = diag(scale) holds the square roots of the sample weights. A solver needs products `@` only; what
may be factored in float32 also has `single()`. `operators.Shifted` adds alpha I.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, namespace
from kilogram.kernels import FromCallable, Kernel, Precomputed
from kilogram.operators import scaled

# Rows of K in one panel of the lower half: at the speed of products, 5 % above the half for 10 000
# rows.
PANEL = 512


def scaled_gram(kernel: Kernel, X: Any, scale: Any) -> Any:
    """S k(X, X) S as a new array that may be overwritten, in C order if it is NumPy's."""
    K = kernel(X)
    if isinstance(kernel, Precomputed | FromCallable):  # theirs may be the user's own array
        K = K.copy(order="C") if is_numpy(K) else namespace(K).asarray(K, copy=True)
    if scale is None:
        return K
    if is_numpy(K):
        K *= scale[:, None]
        K *= scale[None, :]
        return K
    return scale[:, None] * K * scale[None, :]


def add_diagonal(K: Any, alpha: float) -> Any:
    """K + alpha I, in place where the library allows it without a second matrix."""
    n = K.shape[0]
    if is_numpy(K):
        K[np.diag_indices(n)] += alpha  # a reshape would copy a K that is not in C order
        return K
    xp = namespace(K)
    return K + alpha * xp.eye(n, dtype=K.dtype, device=K.device)


def single_rows(kernel: Kernel, X: Any) -> Any:
    """X in float32, for float32 kernel values: about its mean if the kernel is stationary."""
    xp = namespace(X)
    if kernel.stationary:
        X = X - xp.mean(X, axis=0)  # an offset would take the digits that float32 has
    return xp.astype(X, xp.float32)


@dataclass(frozen=True, eq=False)
class HalfStored:
    """The lower half of S K S in float64: a panel of rows ends at the column of its last row."""

    panels: tuple[Any, ...]
    source: Recomputed

    @classmethod
    def of(cls, kernel: Kernel, X: Any, scale: Any) -> HalfStored:
        n, panels = X.shape[0], []
        for start in range(0, n, PANEL):
            stop = min(start + PANEL, n)
            if isinstance(kernel, Precomputed):
                P = X[start:stop, :stop].copy()
            else:
                P = kernel(X[start:stop], X[:stop])
            if scale is not None:
                P = P * scale[start:stop, None]
                P *= scale[None, :stop]
            panels.append(P)
        return cls(tuple(panels), Recomputed(kernel, X, scale))

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    def __matmul__(self, V: Any) -> Any:
        out, stop = namespace(V).zeros_like(V), 0
        for P in self.panels:
            start, stop = stop, stop + P.shape[0]
            out[start:stop] += P @ V[:stop]
            out[:start] += P[:, :start].T @ V[start:stop]
        return out

    def single(self) -> Any:
        """The matrix in float32; a factor reads its lower half only."""
        if self.source.kernel.is_compiled(self.source.X):
            return self.source.single()
        xp, n = namespace(self.panels[0]), self.panels[-1].shape[1]
        F, stop = xp.empty((n, n), dtype=xp.float32), 0
        for P in self.panels:
            start, stop = stop, stop + P.shape[0]
            F[start:stop, :stop] = P
        return F


@dataclass(frozen=True, eq=False)
class Recomputed:
    """S K S without its entries: K is recomputed for every product."""

    kernel: Kernel
    X: Any
    scale: Any

    @property
    def shape(self) -> tuple[int, int]:
        n = self.X.shape[0]
        return n, n

    def __matmul__(self, V: Any) -> Any:
        return scaled(_Products(self.kernel, self.X), self.scale) @ V

    def single(self) -> Any:
        xp = namespace(self.X)
        K = self.kernel(single_rows(self.kernel, self.X))
        if self.scale is not None:
            s = xp.astype(self.scale, xp.float32)
            K *= s[:, None]
            K *= s[None, :]
        return K


@dataclass(frozen=True, eq=False)
class _Products:
    """k(X, X) V, by the kernel's own loop."""

    kernel: Kernel
    X: Any

    def __matmul__(self, V: Any) -> Any:
        return self.kernel.matmul(self.X, None, V)

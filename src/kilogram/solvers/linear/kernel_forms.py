"""S K S + alpha I for a kernel matrix K = k(X, X): written out, held by halves, or made anew.

S = diag(scale) carries the roots of sample weights. Whatever solves the system sees a matrix with
`@`; those that may be factored in float32 also have `single()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.arrays.namespace import is_numpy, namespace
from kilogram.kernels import FromCallable, Kernel, Precomputed

PANEL = 512  # rows of K in one panel of the lower half


def scaled_gram(kernel: Kernel, X: Any, scale: Any) -> Any:
    """S k(X, X) S as an array of its own, free to be overwritten."""
    K = kernel(X)
    if isinstance(kernel, Precomputed | FromCallable):  # theirs may be the user's own array
        K = namespace(K).asarray(K, copy=True)
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
        K.reshape(-1)[:: n + 1] += alpha
        return K
    xp = namespace(K)
    return K + alpha * xp.eye(n, dtype=K.dtype, device=K.device)


def single_rows(kernel: Kernel, X: Any) -> Any:
    """X in float32, for float32 kernel values: about its mean where the kernel cannot tell."""
    xp = namespace(X)
    if kernel.stationary:
        X = X - xp.mean(X, axis=0)  # an offset would take the digits that float32 has
    return xp.astype(X, xp.float32)


@dataclass(frozen=True, eq=False)
class HalfStored:
    """The lower half of S K S in float64: panel i holds its rows up to their own last column."""

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
class Weighted:
    """S A S for anything with `@`."""

    A: Any
    scale: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.A.shape

    def __matmul__(self, V: Any) -> Any:
        if self.scale is None:
            return self.A @ V
        s = self.scale[:, None]
        return s * (self.A @ (s * V))


@dataclass(frozen=True, eq=False)
class Recomputed:
    """S K S known by its kernel only."""

    kernel: Kernel
    X: Any
    scale: Any

    def __matmul__(self, V: Any) -> Any:
        if self.scale is None:
            return self.kernel.matmul(self.X, None, V)
        s = self.scale[:, None]
        return s * self.kernel.matmul(self.X, None, s * V)

    def single(self) -> Any:
        xp = namespace(self.X)
        K = self.kernel(single_rows(self.kernel, self.X))
        if self.scale is not None:
            s = xp.astype(self.scale, xp.float32)
            K *= s[:, None]
            K *= s[None, :]
        return K


@dataclass(frozen=True, eq=False)
class Ridged:
    """K + alpha I, with one alpha for all columns it is applied to, or one each (t,)."""

    K: Any
    alpha: Any

    def __matmul__(self, V: Any) -> Any:
        return self.K @ V + self.alpha * V

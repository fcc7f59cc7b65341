"""Kernel ridge regression on m centres instead of n rows: m unknowns, K of n x m.

    f(x) = sum_j c_j k(x, z_j) + b,   z_1 .. z_m among the rows

    min_c,b  sum_i w_i |y_i - f(x_i)|^2 + alpha c'K_mm c

    H c = g,   H = N + alpha K_mm,   N = K_nm' W K_nm,   g = K_nm' W y

With an unpenalised offset, N loses its constant direction: N - u u' / W and g - u mean(y), where
u = K_nm' w and W = sum_i w_i; then b = mean(y) - u'c / W.

H is as ill-conditioned as kernel matrices are. With L L' = K_mm and P P' = (W / m) L'L + alpha I,
which is what N would be if the centres stood for all rows, the unknowns c = L'^-1 P'^-1 v make it

    P^-1 (L^-1 N L'^-1 + alpha I) P'^-1 v = P^-1 L^-1 g

well conditioned: some tens of conjugate gradient iterations, each one pass over K_nm. With every
row a centre the solution is that of the full problem.

Reference: Rudi, Carratino and Rosasco, FALKON: an optimal large scale kernel method, NIPS 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from kilogram import native
from kilogram.arrays.linalg import cholesky, solve_triangular
from kilogram.arrays.namespace import is_numpy, namespace
from kilogram.arrays.rows import reduce_rows, row_blocks
from kilogram.kernels import Kernel
from kilogram.solvers.linear.cg import Tick, cg
from kilogram.solvers.linear.nystroem_preconditioner import jittered_factor
from kilogram.solvers.solution import Solution

# Rows of K_nm projected at once, their sums kept in float64: float32 adds up 4 096 with six digits.
ROWS = 4096


class KernelColumns(Protocol):
    """K_nm with weights: the products that the iteration needs."""

    def normal(self, V: Any) -> Any:
        """K_nm' W K_nm V, (m, t)."""

    def project(self, Y: Any) -> Any:
        """K_nm' W Y, (m, t)."""


@dataclass(frozen=True, eq=False)
class StoredColumns:
    """K_nm as an array (n, m), possibly of float32; weights w (n,) or None."""

    K: Any
    w: Any

    def normal(self, V: Any) -> Any:
        if is_numpy(self.K):
            found = native.normal_matmul(self.K, V.astype(self.K.dtype), self.w)
            return found.astype(V.dtype)
        U = self.K @ V
        return self.K.T @ (U if self.w is None else self.w[:, None] * U)

    def project(self, Y: Any) -> Any:
        return reduce_rows(_projected(Y.dtype), self.K, Y, self.w, block_rows=ROWS)


def _projected(dtype: Any) -> Any:
    def statistic(K: Any, Y: Any, w: Any = None) -> Any:
        xp = namespace(K)
        Y = xp.astype(Y if w is None else w[:, None] * Y, K.dtype, copy=False)
        return xp.astype(K.T @ Y, dtype, copy=False)

    return statistic


@dataclass(frozen=True, eq=False)
class StreamedColumns:
    """K_nm recomputed, tile by tile, at every product."""

    kernel: Kernel
    X: Any
    Z: Any
    w: Any

    def normal(self, V: Any) -> Any:
        plan = self.kernel.native(self.Z.shape[1])
        if plan is not None and is_numpy(self.X):
            kind, params = plan
            V_ = V.astype(self.X.dtype)
            found = native.kernel_normal_matmul(kind, self.X, self.Z, params, V_, self.w)
            return found.astype(V.dtype)

        def statistic(X: Any, w: Any = None) -> Any:
            return StoredColumns(self.kernel(X, self.Z), w).normal(V)

        rows = max(256, 2**22 // self.Z.shape[0])
        return reduce_rows(statistic, self.X, self.w, block_rows=rows)

    def project(self, Y: Any) -> Any:
        rows, total = max(256, 2**22 // self.Z.shape[0]), None
        for X, Yb, w in row_blocks(self.X, Y, self.w, block_rows=rows):
            part = StoredColumns(self.kernel(X, self.Z), w).project(Yb)
            total = part if total is None else total + part
        return total


@dataclass(frozen=True, eq=False)
class _PreconditionedSystem:
    """The preconditioned matrix above, as a linear map of v (m, t)."""

    columns: KernelColumns
    L: Any
    P: Any
    alpha: float
    u: Any
    weight: float

    def centres(self, v: Any) -> Any:
        """c = L'^-1 P'^-1 v."""
        return solve_triangular(
            self.L, solve_triangular(self.P, v, transposed=True), transposed=True
        )

    def __matmul__(self, v: Any) -> Any:
        inner = solve_triangular(self.P, v, transposed=True)
        c = solve_triangular(self.L, inner, transposed=True)
        N = self.columns.normal(c)
        if self.u is not None:
            N = N - self.u @ (self.u.T @ c) / self.weight
        back = solve_triangular(self.L, N) + self.alpha * inner
        return solve_triangular(self.P, back)


def falkon(
    columns: KernelColumns,
    K_mm: Any,
    Y: Any,
    w: Any,
    alpha: float,
    *,
    fit_intercept: bool,
    tol: float = 1e-3,
    max_iter: int | None = None,
    callback: Tick | None = None,
    deadline: float | None = None,
) -> Solution:
    """Solution with value (c (m, t), b (t,)) for targets Y (n, t) and one alpha.

    At a residual of `tol` in the preconditioned unknowns the objective is within about tol^2 of
    what there was to gain.
    """
    xp = namespace(Y)
    ones = xp.ones((Y.shape[0], 1), dtype=Y.dtype, device=Y.device)
    v = ones if w is None else w[:, None]
    weight = float(xp.sum(v))
    mean = xp.sum(v * Y, axis=0) / weight if fit_intercept else xp.zeros_like(Y[0, :])
    R = Y - mean
    # both projections in one pass over K_nm
    g = columns.project(xp.concat([R, ones], axis=1) if fit_intercept else R)
    g, u = (g[:, :-1], g[:, -1:]) if fit_intercept else (g, None)
    L = jittered_factor(K_mm)
    m = L.shape[0]
    eye = xp.eye(m, dtype=L.dtype, device=L.device)
    P = cholesky((weight / m) * (L.T @ L) + alpha * eye, overwrite=True)
    system = _PreconditionedSystem(columns, L, P, alpha, u, weight)
    rhs = solve_triangular(P, solve_triangular(L, g))
    limit = 200 if max_iter is None else max_iter
    found = cg(system, rhs, tol=tol, max_iter=limit, callback=callback, deadline=deadline)
    c = system.centres(found.value)
    b = mean if u is None else mean - (u.T @ c)[0, :] / weight
    # cg minimises v'Av / 2 - v'rhs; twice that and the squares of the targets is the objective
    value = float(xp.sum(v * R * R)) + 2.0 * float(found.objective or 0.0)
    return Solution((c, b), max(1, found.n_iter), value, found.converged, found.message)

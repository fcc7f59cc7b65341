"""The exact solution of (S K S + alpha I) Z = B for a kernel matrix K = k(X, X).

S = diag(scale) holds the square roots of the sample weights; alpha is one number per column of B.
Three methods of the same accuracy, with their memory in units of one float64 K:

    double     L L' = S K S + alpha I in float64, in place                                   1.0
    mixed      L L' in float32, at twice the speed, and then conjugate gradients on the float64
               system with L as preconditioner: a few products with K bring back the digits.
               K stored as the float64 panels of its lower half, L in float32, from rows in
               float32 (cheaper to recompute than to convert)                                1.0
    lean       mixed, with K recomputed at every product                                     0.5

Where alpha is not tiny beside the tail of the spectrum, the last two need no factor: a rough solve
by conjugate gradients on the float32 matrix (float32_cg.py) serves in its place and costs n^2. They
try it first, and factor when it is slow.

With M = (L L')^-1, M (S K S + alpha I) = I + E where |E| is about 6e-8 |K| / alpha times a modest
growth in n: while that is below one half, each iteration gains at least a few bits. When float32
breaks down or the iterations stall, "double" is used and the message reports it. A matrix that is
not positive definite (under a function that is no kernel) is solved as it is, by L D L'. One that
is singular to working precision (alpha = 0 and repeated rows) has a factor that is rounding, and a
solution that is large where it should cancel: detected by its residual, it is replaced by the one
of least squares, from the eigenvectors.

Reference: Higham and Pranesh, Exploiting lower precision arithmetic in solving symmetric positive
definite linear systems, SISC 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from kilogram.arrays.linalg import (
    NotPositiveDefinite,
    cholesky,
    cholesky_solve,
    eigh,
    solve_symmetric,
)
from kilogram.arrays.namespace import is_numpy, namespace
from kilogram.kernels import Kernel
from kilogram.operators import Shifted
from kilogram.solvers.linear.cg import Tick, cg
from kilogram.solvers.linear.float32_cg import SingleIteration
from kilogram.solvers.linear.ridged_gram import (
    HalfStored,
    Recomputed,
    add_diagonal,
    scaled_gram,
)
from kilogram.solvers.solution import Solution

Precision = Literal["auto", "double", "mixed", "lean"]

MIXED_FROM = 1500  # rows; measured against double: 1.2 times at 1000, 1.3 at 1500, 1.6 at 3000
# columns of X per row up to which three products with a recomputed K are a tenth of the factor's
# flops: less than the first touch of the memory for a stored K
LEAN_RATIO = 1 / 90
# Different alphas from which one eigendecomposition beats as many factorisations: measured at 13,
# 23 and 38 alphas for 300, 1 000 and 2 000 rows.
EIGEN_FROM = 12
EIGEN_PER_ROW = 1 / 50
SINGULAR = "K + alpha I is not positive definite"
LOST = 0.01  # relative residual from which a factored solution is rounding: no two digits are left
REFINED = 1e-13  # relative residual at which refinement ends: what a float64 factor gives
# Reduction of the residual per iteration up to which plain refinement is used: three digits each.
WORTH = 1e-3
PATIENCE = 40  # iterations of refinement after which "double" is cheaper


def solve_positive(
    kernel: Kernel,
    X: Any,
    B: Any,
    alpha: Any,
    *,
    scale: Any = None,
    precision: Precision = "auto",
    iterate: bool = True,
    callback: Tick | None = None,
) -> Solution:
    """Z (n, t) for B (n, t), a sequence of t penalties alpha, and scale (n,) or None.

    `iterate` lets "mixed" and "lean" try conjugate gradients before they factor.
    """
    different = sorted(set(alpha))
    if len(different) >= max(EIGEN_FROM, EIGEN_PER_ROW * B.shape[0]):
        return _by_eigenvectors(kernel, X, B, alpha, scale, "one decomposition for all alphas.")
    if precision == "auto":
        precision = _fastest(kernel, X, B)
    why = ""
    if precision != "double":
        K = Recomputed(kernel, X, scale) if precision == "lean" else HalfStored.of(kernel, X, scale)
        found, why = _mixed(K, B, alpha, iterate and kernel.is_compiled(X), callback)
        if found is not None:
            return found
    found = _solve_each(_double(kernel, X, scale), B, alpha)
    return replace(found, message=f"{why}{found.message}")


def _fastest(kernel: Kernel, X: Any, B: Any) -> Precision:
    n, t = B.shape
    if not (is_numpy(B) and B.dtype == "float64" and n >= MIXED_FROM):
        return "double"
    cheap = X.shape[1] + t <= LEAN_RATIO * n
    return "lean" if cheap and kernel.is_compiled(X) else "mixed"


def _mixed(
    K: Any, B: Any, alpha: Any, iterate: bool, callback: Tick | None
) -> tuple[Solution | None, str]:
    """By "mixed" or "lean": a Solution, or None and the reason."""
    try:
        found = _solve_each(lambda R, a: _refined(K, R, a, iterate, callback), B, alpha)
    except NotPositiveDefinite as broken:
        return None, f"float32 broke down at order {broken.order}; solved in float64. "
    if found.converged:
        return found, ""
    return None, f"float32 refinement stalled ({found.message}); solved in float64. "


def _solve_each(solve: Callable[[Any, float], Solution], B: Any, alpha: Any) -> Solution:
    """solve(columns of B, their common alpha) for every different alpha, put back in order."""
    xp = namespace(B)
    if len(set(alpha)) == 1:
        return solve(B, alpha[0])
    Z, steps, good, message, names = [None] * len(alpha), 0, True, "", set()
    for a in sorted(set(alpha)):
        mine = [j for j, other in enumerate(alpha) if other == a]
        found = solve(xp.stack([B[:, j] for j in mine], axis=1), a)
        for k, j in enumerate(mine):
            Z[j] = found.value[:, k]
        steps, good = max(steps, found.n_iter), good and found.converged
        message = message or found.message
        names.add(found.method)
    method = names.pop() if len(names) == 1 else ""
    return Solution(xp.stack(Z, axis=1), steps, None, good, message, method)


def _double(kernel: Kernel, X: Any, scale: Any) -> Callable[[Any, float], Solution]:
    """In the precision of the data: factor in place, solve; eigenvectors if K is singular."""

    def solve(B: Any, alpha: float) -> Solution:
        A = add_diagonal(scaled_gram(kernel, X, scale), alpha)
        trace = float(namespace(A).linalg.trace(A))
        try:
            Z = cholesky_solve(cholesky(A, overwrite=True), B)
        except NotPositiveDefinite as broken:
            why = f"{SINGULAR}: its minor of order {broken.order} is not; solved by "
            return _indefinite(kernel, X, B, alpha, scale, why)
        if _is_rounding(Recomputed(kernel, X, scale), Z, B, alpha, trace):
            why = f"{SINGULAR} to working precision; solved by least squares."
            return _by_eigenvectors(kernel, X, B, [alpha] * B.shape[1], scale, why)
        return Solution(Z, 1)

    return solve


def _indefinite(kernel: Kernel, X: Any, B: Any, alpha: float, scale: Any, why: str) -> Solution:
    """The stationary point under a function that is no kernel; least squares where it is not one.

    A factor L D L' takes a ninth of the time of the eigenvectors.
    """
    Z = solve_symmetric(add_diagonal(scaled_gram(kernel, X, scale), alpha), B)
    if Z is not None:
        return Solution(Z, 1, None, True, why + "a factor of indefinite matrices.")
    return _by_eigenvectors(kernel, X, B, [alpha] * B.shape[1], scale, why + "least squares.")


def _is_rounding(K: Any, Z: Any, B: Any, alpha: float, trace: float) -> bool:
    """Whether (K + alpha I) Z is far from B; K is recomputed only if the sizes make it possible."""
    xp = namespace(B)
    size = float(xp.max(xp.abs(B)))
    if not float(xp.finfo(B.dtype).eps) * trace * float(xp.max(xp.abs(Z))) > LOST * size:
        return False
    far = xp.linalg.vector_norm(B - Shifted(K, alpha) @ Z, axis=0)
    return bool(xp.any(far > LOST * xp.linalg.vector_norm(B, axis=0)))


def _refined(K: Any, B: Any, alpha: float, iterate: bool, callback: Tick | None) -> Solution:
    """For one alpha: rough solves in float32, by products or by a factor, and refinement."""
    A = Shifted(K, alpha)
    if iterate:
        source = getattr(K, "source", K)
        rough = SingleIteration.if_faster(source.kernel, source.X, source.scale, alpha, B.shape[1])
        found = None if rough is None else _refine(A, B, rough.solve, callback)
        if found is not None and found.converged:
            return replace(found, method="cg")
    factor = SingleFactor(cholesky(add_diagonal(K.single(), alpha), overwrite=True))
    found = _refine(A, B, lambda R: Solution(factor @ R), callback)
    if found.converged:
        return found
    # the factor float32 allows is poor: conjugate gradients go on from there
    return cg(
        A,
        B,
        x0=found.value,
        preconditioner=factor,
        tol=REFINED,
        max_iter=PATIENCE,
        callback=callback,
    )


def _refine(A: Any, B: Any, rough: Callable[[Any], Solution], callback: Tick | None) -> Solution:
    """Z += rough(B - A Z) until the residual is REFINED; not converged if it shrinks too slowly.

    It shrinks by about the same factor in every iteration, so two residuals predict the third,
    whose product with K is saved.
    """
    xp = namespace(B)
    size = xp.linalg.vector_norm(B, axis=0)
    size = xp.where(size > 0, size, xp.ones_like(size))
    found, before = rough(B), 1.0
    Z = found.value
    for step in range(1, PATIENCE):
        if not found.converged or (callback is not None and callback(step, None)):
            break
        R = B - A @ Z
        far = float(xp.max(xp.linalg.vector_norm(R, axis=0) / size))
        rate, before = far / before, far
        if far <= REFINED:
            return Solution(Z, step)
        if not rate <= WORTH:  # NaN is not below it either
            break
        found = rough(R)
        Z = Z + found.value
        if step > 1 and far * rate <= REFINED and found.converged:
            return Solution(Z, step)
    return Solution(Z, step, None, False)


def _by_eigenvectors(kernel: Kernel, X: Any, B: Any, alpha: Any, scale: Any, why: str) -> Solution:
    """Z = Q (l + alpha)^-1 Q'B, without the directions in which l + alpha is rounding."""
    xp = namespace(B)
    l, Q = eigh(scaled_gram(kernel, X, scale))
    shifted = l[:, None] + xp.asarray(list(alpha), dtype=B.dtype, device=l.device)[None, :]
    size = xp.max(xp.abs(shifted), axis=0, keepdims=True)
    kept = xp.abs(shifted) > size * l.shape[0] * float(xp.finfo(l.dtype).eps)
    inverse = xp.where(kept, 1.0 / xp.where(kept, shifted, xp.ones_like(shifted)), 0.0 * shifted)
    return Solution(Q @ (inverse * (Q.T @ B)), 1, None, True, why)


@dataclass(frozen=True, eq=False)
class SingleFactor:
    """(L L')^-1 for a float32 factor L, applied to float64 columns."""

    L: Any

    def __matmul__(self, R: Any) -> Any:
        xp = namespace(R)
        size = xp.linalg.vector_norm(R, axis=0)
        size = xp.where(size > 0, size, xp.ones_like(size))  # float32 has a short range
        Z = cholesky_solve(self.L, xp.astype(R / size, xp.float32))
        return xp.astype(Z, R.dtype) * size

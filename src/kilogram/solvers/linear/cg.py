"""Conjugate gradients for a positive definite A, many right-hand sides at once.

Objective    min_X  1/2 <X, A X> - <B, X>       whose gradient is A X - B

    R = B - A X,  Z = M R,  P = Z
    repeat   s = <R, Z> / <P, A P>
             X = X + s P,   R = R - s A P,   Z = M R
             P = Z + (<R, Z>_new / <R, Z>_old) P

Every column is a problem of its own, with its own step lengths; they share the products with A,
which are what costs. M approximates the inverse of A. After k iterations the error in the A-norm
has shrunk by 2 ((sqrt c - 1) / (sqrt c + 1))^k with c the condition number of M A, whence the
preconditioners.

Reference: Golub and Van Loan, Matrix Computations, 4th ed., section 11.5.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.operators.operator import OutOfTime
from kilogram.solvers.solution import Solution

Tick = Callable[[int, float | None], bool]


def cg(
    A: Any,
    B: Any,
    *,
    x0: Any = None,
    preconditioner: Any = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback: Tick | None = None,
    deadline: float | None = None,
) -> Solution:
    """Solve A X = B, B of shape (n,) or (n, t), until |B - A X| <= tol |B| in every column.

    A and `preconditioner` are anything with `@`. `callback(step, objective)` may return True to
    stop; `deadline` is a time of `time.perf_counter`. The best X so far is always returned.
    """
    xp = namespace(B)
    flat = B.ndim == 1
    B = B[:, None] if flat else B
    X = xp.zeros_like(B) if x0 is None else xp.reshape(x0, B.shape)
    R = B - A @ X if x0 is not None else B
    Z = R if preconditioner is None else preconditioner @ R
    P, rz = Z, xp.sum(R * Z, axis=0)
    goal = tol * xp.linalg.vector_norm(B, axis=0)
    limit = 10 * B.shape[0] if max_iter is None else max_iter
    step, why = 0, ""
    while bool(xp.any(open_ := xp.linalg.vector_norm(R, axis=0) > goal)):
        why = out_of_budget(step, limit, deadline)
        if not why and callback is not None and callback(step, _objective(X, B, R, xp)):
            why = "stopped by max_time or by a callback."
        if why:
            break
        try:
            Q = A @ P
        except OutOfTime:
            why = "max_time was reached."
            break
        curvature = xp.sum(P * Q, axis=0)
        if not bool(xp.all(~open_ | (curvature > 0))):  # NaN is not above zero either
            why = "the matrix is not positive definite."
            break
        # a column that is solved stays where it is
        s = xp.where(open_, rz / xp.where(open_, curvature, xp.ones_like(rz)), xp.zeros_like(rz))
        X, R = X + s * P, R - s * Q
        Z = R if preconditioner is None else preconditioner @ R
        old, rz = rz, xp.sum(R * Z, axis=0)
        P = Z + xp.where(open_, rz / xp.where(open_, old, xp.ones_like(old)), 0.0 * rz) * P
        step += 1
    converged = not why
    message = "" if converged else f"{why} {_how_far(R, B, xp)}"
    value = X[:, 0] if flat else X
    return Solution(value, step, _objective(X, B, R, xp), converged, message)


def _objective(X: Any, B: Any, R: Any, xp: Any) -> float:
    """1/2 <X, A X> - <B, X> with A X = B - R."""
    return float(-0.5 * xp.sum(X * (B + R)))


def out_of_budget(step: int, limit: int, deadline: float | None) -> str:
    """Why an iterative solver must stop now, as a sentence; empty while it may go on."""
    if step >= limit:
        return f"max_iter={limit} was reached."
    if deadline is not None and time.perf_counter() >= deadline:
        return "max_time was reached."
    return ""


def _how_far(R: Any, B: Any, xp: Any) -> str:
    norms = xp.linalg.vector_norm(B, axis=0)
    ratio = xp.linalg.vector_norm(R, axis=0) / xp.where(norms > 0, norms, xp.ones_like(norms))
    return f"The relative residual is {float(xp.max(ratio)):.1e}."

"""Conjugate gradients on the least-squares problem itself: A is only ever multiplied.

Objective    min_X  |B - A X|^2 + sum_j alpha_j |x_j|^2        (column j has its own penalty)

    R = B - A X,  G = A'R - alpha X,  Z = M G,  P = Z
    repeat   s = <G, Z> / (|A P|^2 + alpha |P|^2)
             X = X + s P,   R = R - s A P,   G = A'R - alpha X
             P = Z + (<G, Z>_new / <G, Z>_old) P

In exact arithmetic these are the iterates of LSQR, and of conjugate gradients on the normal
equations; keeping R itself, rather than A'R, is what keeps the accuracy (Bjorck, Numerical Methods
for Least Squares Problems, section 7.4). M divides by the diagonal of A'A + alpha I where that is
given: columns of very different length (word counts) would otherwise cost hundreds of iterations.
"""

from __future__ import annotations

from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.solvers.linear.cg import Tick, out_of_budget
from kilogram.solvers.solution import Solution


def cgls(
    A: Any,
    B: Any,
    alpha: Any,
    *,
    squared_columns: Any = None,
    preconditioned: bool = True,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback: Tick | None = None,
    deadline: float | None = None,
) -> Solution:
    """X (d, t) for A with `@` and `.T @`, B (n, t), alpha (t,), until |G| <= tol |A'B|.

    `squared_columns` (d,) are the squared lengths of A's columns, for the preconditioner and for
    the rounding of the gradient. Without the preconditioner the iterates stay in the row space of
    A, and the limit for alpha = 0 is the solution of smallest norm.
    """
    xp = namespace(B)
    G = A.T @ B
    goal = tol * xp.linalg.vector_norm(G, axis=0)
    M = _inverse_diagonal(squared_columns if preconditioned else None, alpha, G, xp)
    X, R, P = xp.zeros_like(G), B, M * G
    gz = xp.sum(G * P, axis=0)
    size = 0.0 if squared_columns is None else float(xp.sum(squared_columns)) ** 0.5
    limit = 10 * max(A.shape) if max_iter is None else max_iter
    step, why = 0, ""
    while bool(xp.any(open_ := _open(G, R, X, goal, size, alpha, xp))):
        why = out_of_budget(step, limit, deadline)
        if not why and callback is not None and callback(step, _objective(X, R, alpha, xp)):
            why = "stopped by max_time or by a callback."
        if why:
            break
        Q = A @ P
        curvature = xp.sum(Q * Q, axis=0) + alpha * xp.sum(P * P, axis=0)
        going = open_ & (curvature > 0)  # a column that is solved stays where it is
        s = xp.where(going, gz / xp.where(going, curvature, xp.ones_like(gz)), xp.zeros_like(gz))
        X, R = X + s * P, R - s * Q
        G = A.T @ R - alpha * X
        Z = M * G
        old, gz = gz, xp.sum(G * Z, axis=0)
        P = Z + xp.where(going, gz / xp.where(going, old, xp.ones_like(old)), 0.0 * gz) * P
        step += 1
    message = f"{why} {_how_far(G, goal, tol, xp)}" if why else ""
    return Solution(X, step, _objective(X, R, alpha, xp), not why, message)


def _open(G: Any, R: Any, X: Any, goal: Any, size: float, alpha: Any, xp: Any) -> Any:
    """Columns (t,) whose gradient is above the goal and above its own rounding."""
    norm = xp.linalg.vector_norm
    eps = 4.0 * float(xp.finfo(G.dtype).eps)
    floor = eps * (size * norm(R, axis=0) + alpha * norm(X, axis=0))
    length = norm(G, axis=0)
    return (length > goal) & (length > floor)


def _objective(X: Any, R: Any, alpha: Any, xp: Any) -> float:
    return float(xp.sum(R * R) + xp.sum(alpha * xp.sum(X * X, axis=0)))


def _inverse_diagonal(squared_columns: Any, alpha: Any, G: Any, xp: Any) -> Any:
    """1 / diag(A'A + alpha I), (d, t); ones without the diagonal or for an empty column."""
    if squared_columns is None:
        return xp.ones_like(G)
    diagonal = squared_columns[:, None] + alpha[None, :]
    return 1.0 / xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal))


def _how_far(G: Any, goal: Any, tol: float, xp: Any) -> str:
    ratio = tol * xp.linalg.vector_norm(G, axis=0) / xp.where(goal > 0, goal, xp.ones_like(goal))
    return f"The relative gradient is {float(xp.max(ratio)):.1e}."

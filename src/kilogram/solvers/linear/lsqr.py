"""LSQR: least squares from products with A and A' alone, many right-hand sides at once.

Objective    min_x |b - A x|^2, and among its minimisers the x of smallest norm

Golub and Kahan build two orthonormal bases, one product with A and one with A' at a time:

    beta_1 u_1 = b,                           alpha_1 v_1 = A'u_1
    beta_k+1 u_k+1 = A v_k - alpha_k u_k,     alpha_k+1 v_k+1 = A'u_k+1 - beta_k+1 v_k

so A V_k = U_k+1 B_k with B_k (k + 1, k) lower bidiagonal: alpha_k on the diagonal, beta_k+1 below.
x_k = V_k y_k with y_k the solution of min |beta_1 e_1 - B_k y|; one rotation per step turns B_k
into an upper bidiagonal R_k, and x_k follows from x_k-1 by one vector w_k. Only the last u, v, w
are kept. Every x_k lies in the row space of A, so the limit is the solution of smallest norm; a
preconditioner would change that norm, and there is none here.

Reference: Paige and Saunders 1982.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.solvers.linear.cg import Tick, out_of_budget
from kilogram.solvers.solution import Solution


@dataclass(frozen=True, eq=False)
class LSQRSolution:
    """X (d, t), the estimated condition number of A, and the sizes |r| of the residuals (t,)."""

    X: Any
    condition: float
    residuals: Any


def lsqr(
    A: Any,
    B: Any,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback: Tick | None = None,
    deadline: float | None = None,
) -> Solution:
    """Value LSQRSolution for A with `@` and `.T @` and B (n, t).

    A column is done when |A'r| <= tol |A| |r| (least squares), or |r| <= tol (|b| + |A| |x|)
    (solvable equations), or when the condition number seen so far leaves no digits.
    """
    xp = namespace(B)
    norm = xp.linalg.vector_norm
    U, beta = _unit(B, xp)
    V, alpha = _unit(A.T @ U, xp)
    X, W = xp.zeros_like(V), V
    phi_bar, rho_bar, size_b = beta, alpha, beta
    size_A, spread = xp.zeros_like(beta), xp.zeros_like(beta)
    open_ = alpha * beta > 0
    limit = 4 * max(A.shape) if max_iter is None else max_iter
    digits = 1.0 / float(xp.finfo(B.dtype).eps)
    step, why = 0, ""
    while bool(xp.any(open_)):
        why = out_of_budget(step, limit, deadline)
        if not why and callback is not None and callback(step, float(xp.sum(phi_bar**2))):
            why = "stopped by max_time or by a callback."
        if why:
            break
        U, beta = _unit(A @ V - alpha * U, xp)
        size_A = size_A + alpha**2 + beta**2
        V, alpha = _unit(A.T @ U - beta * V, xp)
        rho = xp.sqrt(rho_bar**2 + beta**2)  # the rotation that takes beta out of the last row
        c, s = _safe_ratio(rho_bar, rho, xp), _safe_ratio(beta, rho, xp)
        theta, rho_bar, phi, phi_left = s * alpha, -c * alpha, c * phi_bar, s * phi_bar
        D = _safe_ratio(W, rho, xp)
        X = xp.where(open_, X + phi * D, X)
        spread = spread + xp.where(open_, norm(D, axis=0) ** 2, 0.0 * spread)
        W = V - theta * D
        phi_bar = xp.where(open_, phi_left, phi_bar)
        A_size = xp.sqrt(size_A)
        flat = xp.abs(phi_bar * alpha * c) <= tol * A_size * phi_bar
        solved = phi_bar <= tol * (size_b + A_size * norm(X, axis=0))
        open_ = open_ & ~(flat | solved | (A_size * xp.sqrt(spread) > digits))
        step += 1
    condition = float(xp.max(xp.sqrt(size_A) * xp.sqrt(spread))) if step else 1.0
    message = f"{why} The residual is {float(xp.max(phi_bar)):.3g}." if why else ""
    value = LSQRSolution(X, condition, phi_bar)
    return Solution(value, step, float(xp.sum(phi_bar**2)), not why, message)


def _unit(X: Any, xp: Any) -> tuple[Any, Any]:
    """The columns at length one, and their lengths; a column of zeros stays."""
    lengths = xp.linalg.vector_norm(X, axis=0)
    return _safe_ratio(X, lengths, xp), lengths


def _safe_ratio(a: Any, b: Any, xp: Any) -> Any:
    """a / b column by column, 0 where b is 0."""
    return xp.where(b > 0, a / xp.where(b > 0, b, xp.ones_like(b)), 0.0 * a)

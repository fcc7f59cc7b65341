"""Kernel ridge regression (cookbook ch. 23, algorithm 22; closed-form leave-one-out, C.3).

    min_f  sum_i (y_i - f(x_i))^2 + lambda |f|^2,    f(x) = sum_i alpha_i k(x, x_i)

With |f|^2 = alpha'K alpha the minimum is at (K + lambda I) alpha = y. It is the mean of a Gaussian
process with noise variance lambda. There is no offset: centre y if its mean is not 0.

Leave-one-out, all lambdas from one eigendecomposition K = U diag(l) U':
    S = K (K + lambda I)^-1,   S_ii = sum_j U_ij^2 l_j / (l_j + lambda),
    error(lambda) = (1/N) sum_i ((y_i - [S y]_i) / (1 - S_ii))^2.

Rows are data points; K = k(X, X). Also in: first_encounter ch. 10, lecture_notes L15.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from kilogram.textbook.state import Array, States, begin


def kernel_ridge(K: Array, y: Array, lam: float) -> States:
    """Algorithm 22: dual coefficients alpha (N,) or (N, T); predict with k(x, X) @ alpha."""
    yield (s := begin("1 kernel matrix", K=K, y=y))
    L = np.linalg.cholesky(K + lam * np.eye(len(K)))
    yield (s := s.then("2 K + lambda I = L L'", L=L))
    alpha = solve_triangular(L, solve_triangular(L, y, lower=True), lower=True, trans="T")
    objective = float(np.sum((y - K @ alpha) ** 2) + lam * np.sum(alpha * (K @ alpha)))
    yield (s := s.then("3 forward and backward", objective, alpha=alpha))
    return s


def leave_one_out(K: Array, y: Array, lambdas: Array) -> States:
    """C.3: the leave-one-out error of every lambda; the last state holds the best one."""
    l, U = np.linalg.eigh(K)
    yield (s := begin("1 K = U diag(l) U'", l=l, U=U, Uy=U.T @ y))
    errors = []
    for lam in lambdas:
        shrink = l / (l + lam)
        residual = y - U @ (shrink * s["Uy"])
        left_out = residual / (1 - U**2 @ shrink)
        errors.append(float(np.mean(left_out**2)))
        yield (s := s.then(f"2 lambda = {lam:g}", errors[-1], left_out=left_out))
    best = int(np.argmin(errors))
    yield (s := s.then("3 the smallest error", errors[best], errors=errors, lam=lambdas[best]))
    return s


def norm_constrained(K: Array, y: Array, B: float, *, tol: float = 1e-12) -> States:
    """min |y - K alpha|^2 s.t. |w| <= B (first_encounter 10.8-10.14): the lambda that meets B.

    For every lambda the dual is maximal at alpha = (K + lambda I)^-1 y; |w| falls as lambda grows,
    so halving an interval finds the lambda where |w| = B. K must be invertible.
    """

    def at(lam: float) -> tuple[Array, float, float]:
        alpha = np.linalg.solve(K + lam * np.eye(len(K)), y)
        dual = (
            -(lam**2) * alpha @ alpha + 2 * lam * alpha @ y - lam * alpha @ K @ alpha - lam * B**2
        )
        return alpha, float(np.sqrt(alpha @ K @ alpha)), float(dual)

    alpha, norm, dual = at(0.0)
    yield (s := begin("lambda = 0", dual, alpha=alpha, norm=norm, lam=0.0))
    if norm <= B:  # the constraint sleeps
        return s
    low, high = 0.0, float(np.linalg.norm(y) ** 2 / B**2)  # lambda |w|^2 <= |y|^2 at the solution
    while high - low > tol * high:
        lam = (low + high) / 2
        alpha, norm, dual = at(lam)
        low, high = (lam, high) if norm > B else (low, lam)
        yield (s := s.then(f"lambda = {lam:.6g}", dual, alpha=alpha, norm=norm, lam=lam))
    return s

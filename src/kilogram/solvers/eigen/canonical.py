"""Canonical pairs: the directions in which two views agree.

    max_{A, B}  tr(A' C_xy B)     s.t.   A'(C_x + alpha_x I) A = I,   B'(C_y + alpha_y I) B = I

Whitening turns it into one SVD (Bjoerck and Golub 1973): with T_x'(C_x + alpha_x I) T_x = I,

    T_x' C_xy T_y = P diag(s) Q',      A = T_x P,      B = T_y Q.

Three ways to compute the same pairs:

    from_moments    C_x, C_xy, C_y of one pass over the rows; squares the condition number
    from_rows       orthonormal bases of the centred rows; keeps it
    from_smoothers  n unknowns: T_x T_x' is known only as R = K (K + c I)^-1, the ridge smoother
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, eigh, solve_triangular, svd
from kilogram.arrays.namespace import namespace
from kilogram.arrays.threads import one_team

ALL_EQUAL = (
    "the rows of a view are all equal in the features of its kernel: there is nothing to "
    "correlate. Use other columns, or a kernel that tells the rows apart."
)


class CanonicalPairs(NamedTuple):
    """Directions A (d_x, k) and B (d_y, k), and the values s (k,) of the objective."""

    A: Any
    B: Any
    s: Any


def from_moments(
    C_x: Any,
    C_xy: Any,
    C_y: Any,
    k: int,
    alpha: tuple[float, float] = (0.0, 0.0),
    *,
    factors: tuple[Any, Any] = (None, None),
) -> CanonicalPairs:
    """Pairs from covariances; directions without variance are left out, not divided by.

    `alpha` are the penalties of the two views, `factors` safe Cholesky factors of their penalised
    covariances, each None where there is none or the caller has not tried.
    """
    T_x, T_y = whitener(C_x, alpha[0], factors[0]), whitener(C_y, alpha[1], factors[1])
    P, s, Qt = svd(T_x.T @ C_xy @ T_y)
    return CanonicalPairs(T_x @ P[:, :k], T_y @ Qt[:k, :].T, s[:k])


def whitener(C: Any, alpha: float = 0.0, L: Any = None) -> Any:
    """T (d, r) with T'(C + alpha I) T = I, r the rank; L the factor of C + alpha I if known."""
    xp = namespace(C)
    d = C.shape[0]
    if alpha:
        C = C + alpha * xp.eye(d, dtype=C.dtype, device=C.device)
    L = safe_factor(C) if L is None else L
    if L is not None:  # d^3/3, against 9 d^3 of the eigenvectors
        return solve_triangular(L, xp.eye(d, dtype=C.dtype, device=C.device)).T
    values, vectors = eigh(C)
    kept = int(xp.sum(xp.astype(values > d * _eps(C) * values[0], xp.int64)))
    return vectors[:, :kept] / xp.sqrt(values[:kept])


def safe_factor(C: Any) -> Any:
    """The Cholesky factor of C, or None where its pivots span more than half of the digits."""
    xp = namespace(C)
    try:
        L = cholesky(C)
    except NotPositiveDefinite:
        return None
    pivots = xp.linalg.diagonal(L) ** 2
    return L if float(xp.min(pivots)) > _eps(C) ** 0.5 * float(xp.max(pivots)) else None


def from_rows(X: Any, Y: Any, k: int) -> CanonicalPairs:
    """Pairs (alpha = 0) of centred rows, weighted by the roots of weights that sum to one."""
    (U_x, T_x), (U_y, T_y) = _basis(X), _basis(Y)
    P, s, Qt = svd(U_x.T @ U_y)
    return CanonicalPairs(T_x @ P[:, :k], T_y @ Qt[:k, :].T, s[:k])


def _basis(X: Any) -> tuple[Any, Any]:
    """U (n, r) orthonormal and T (d, r) with U = X T."""
    xp = namespace(X)
    U, s, Vt = svd(X)
    kept = int(xp.sum(xp.astype(s > max(X.shape) * _eps(X) * s[0], xp.int64)))
    return U[:, :kept], Vt[:kept, :].T / s[:kept]


def _eps(C: Any) -> float:
    return float(namespace(C).finfo(C.dtype).eps)


Smoother = Callable[[Any], Any]


class SmootherPairs(NamedTuple):
    """V_x, V_y (n, k) with V_x' R_x V_x = I, values s (k,), iterations, the last change of s."""

    V_x: Any
    V_y: Any
    s: Any
    n_iter: int
    change: float
    converged: bool


def from_smoothers(
    R_x: Smoother,
    R_y: Smoother,
    start: Any,
    k: int,
    *,
    tol: float = 1e-8,
    max_iter: int = 60,
    tick: Callable[[int, float | None], bool] | None = None,
) -> SmootherPairs:
    """Leading pairs of R_y R_x v = s^2 v, self-adjoint in the inner product <u, R_x v>.

    A block Krylov space Q grows from `start` (n, b); in it the small problem
    (R_x Q)' R_y (R_x Q) c = s^2 (Q' R_x Q) c is solved by one Cholesky factor and one eigh.
    """
    xp = namespace(start)
    Q, RQ, H_parts = None, None, None
    block, old, step, change, exhausted = start, xp.zeros_like(start[0, :]), 0, float("inf"), False
    for step in range(1, max_iter + 1):
        with one_team(block.shape[1]):
            block = _orthonormal(block, Q)
        exhausted = block.shape[1] == 0  # Q is invariant: the small problem is the whole one
        if exhausted:
            break
        R_block = R_x(block)
        image = R_y(R_block)
        Q = _joined_columns(Q, block)
        RQ, H_parts = _joined_columns(RQ, R_block), _joined_columns(H_parts, image)
        with one_team(Q.shape[1]):
            s, coefficients = _small_problem(Q, RQ, H_parts)
        new = xp.concat([s, xp.zeros_like(start[0, :])])[:k]  # the space may yet be too small
        change = float(xp.max(xp.abs(new - old[:k])))
        old, block = new, image
        stop = tick is not None and tick(step, float(xp.sum(new)))
        if change <= tol or stop:
            break
    if Q is None:
        raise ValueError(ALL_EQUAL)
    k = min(k, s.shape[0])  # an invariant space may be smaller
    V_x = Q @ coefficients[:, :k]
    s = xp.sqrt(xp.clip(s[:k], min=float(xp.finfo(s.dtype).smallest_normal)))
    done = exhausted or change <= tol
    return SmootherPairs(V_x, (RQ @ coefficients[:, :k]) / s, s, step, change, done)


def _small_problem(Q: Any, RQ: Any, image: Any) -> tuple[Any, Any]:
    """s^2, largest first, and coefficients C with C'(Q'R Q)C = I."""
    G, H = Q.T @ RQ, RQ.T @ image
    T = whitener((G + G.T) / 2)
    values, vectors = eigh(T.T @ ((H + H.T) / 2) @ T)
    return namespace(values).clip(values, min=0.0, max=1.0), T @ vectors


def _orthonormal(block: Any, Q: Any) -> Any:
    """The part of the block outside Q, orthonormal; twice is enough."""
    xp = namespace(block)
    for _ in range(2):
        if Q is not None:
            block = block - Q @ (Q.T @ block)
        if block.shape[1] == 0:
            break
        U, s, _ = svd(block)
        kept = s > max(1e-10 * float(s[0]), 1e-300)
        block = U[:, : int(xp.sum(xp.astype(kept, xp.int64)))]
    return block


def _joined_columns(left: Any, right: Any) -> Any:
    return right if left is None else namespace(right).concat([left, right], axis=1)

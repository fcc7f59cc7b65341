"""Least squares from sums over the rows: rank, condition number and coefficients.

Objective    min_W  |Y_c - X_c W|^2, and among its minimisers the W of smallest norm

Columns are first scaled to length one, D = diag(1 / |x_j|): a unit of measurement then changes
neither the rank nor the accuracy. With X_c D = U s V' the rank r is the number of s above rounding
and above `tol` times the largest,

    W = D V_r s_r^-1 U_r'Y  -  N (N'N)^-1 N' (...)          N = D V_0, the null space of X_c

where the second term, for columns that are dependent to rounding, makes the norm smallest in the
units of the user. Directions cut by `tol` alone are left out and not projected. The same from three
statistics:

    moments     X_c'X_c = L L' (Cholesky), condition number estimated from L: one pass over rows
    triangle    X_c = Q R, back-substitution in R, or its SVD: one more pass, kappa is not squared
    spectrum    eigenvectors of X_c'X_c, where the rows cannot be read again

A column whose deviations are the rounding of its mean is constant: its coefficient is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.arrays.linalg import (
    NotPositiveDefinite,
    cholesky,
    cholesky_solve,
    eigh,
    qr,
    solve_triangular,
)
from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import reduce_rows
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.least_squares.normal_equations import Normal
from kilogram.solvers.solution import Solution
from kilogram.statistics import Triangle

ROUGH = 1e6  # condition number of X_c'X_c up to which its Cholesky factor keeps ten digits
LAST = 1e13  # the same if the rows cannot be read again
PANEL_ENTRIES = 2**23  # entries of a sparse table made dense at once: 64 MiB


@dataclass(frozen=True, eq=False)
class LeastSquaresFit:
    """The Solution ((W, b), ...), its solver, the rank and condition number of scaled columns."""

    found: Solution
    solver: str
    rank: int
    condition: float


def rounding(normal: Normal, weight: float, *, sparse: bool = False, squared: bool = True) -> Any:
    """Squared lengths (d,) below which a centred column is the rounding of its mean.

    Sparse rows are summed about zero: their means are rougher, and in the scatter, `squared`, eps
    of the mean's square is left of a constant column, not the square of eps.
    """
    eps = float(namespace(normal.S).finfo(normal.S.dtype).eps)
    if sparse and squared:
        return 64.0 * eps * weight * normal.mean_x**2
    return weight * ((4096.0 if sparse else 16.0) * eps * normal.mean_x) ** 2


def scales(squared: Any, floor: Any) -> Any:
    """1 / |x_j|, and 0 for columns that do not vary."""
    xp = namespace(squared)
    varies = squared > floor
    return xp.where(varies, 1.0 / xp.sqrt(xp.where(varies, squared, xp.ones_like(squared))), 0.0)


def from_moments(normal: Normal, floor: Any, *, rough: float = ROUGH) -> LeastSquaresFit | None:
    """By Cholesky; None if the condition number of X_c'X_c is above `rough`."""
    xp = namespace(normal.S)
    D = scales(xp.linalg.diagonal(normal.S), floor)
    A = _correlations(normal.S, D)
    try:
        L = cholesky(A)
    except NotPositiveDefinite:
        return None
    kappa = condition_of(A, L)
    if not kappa <= rough:
        return None
    W = D[:, None] * cholesky_solve(L, D[:, None] * normal.C)
    found = normal.solution(W, [0.0] * W.shape[1])
    return LeastSquaresFit(found, "cholesky", int(xp.sum(xp.astype(D > 0, xp.int64))), kappa**0.5)


def _correlations(S: Any, D: Any) -> Any:
    """D S D, with 1 on the diagonal for constant columns: their equation is w_j = 0."""
    return D[:, None] * S * D[None, :] + _constant(D, S)


def _constant(D: Any, like: Any) -> Any:
    """diag(1 where a column is constant), which keeps such columns out of the null space."""
    xp = namespace(D)
    one = xp.eye(D.shape[0], dtype=like.dtype, device=like.device)
    return xp.astype(D == 0, like.dtype)[:, None] * one


def condition_of(A: Any, L: Any, steps: int = 4) -> float:
    """lambda_max / lambda_min of A = L L', estimated by a few power and inverse iterations.

    Inverse iteration finds a small lambda_min at once, which is when the estimate matters.
    """
    xp = namespace(A)
    d = A.shape[0]
    start = xp.cos(xp.arange(1, d + 1, dtype=A.dtype, device=A.device) ** 2)[:, None]
    high = low = start
    largest = smallest = 1.0
    for _ in range(steps):
        high = A @ (high / xp.linalg.vector_norm(high))
        low = cholesky_solve(L, low / xp.linalg.vector_norm(low))
        largest, smallest = (float(xp.linalg.vector_norm(v)) for v in (high, low))
    return largest * smallest


def triangle_of(normal: Normal, rows: RegressionData) -> Any:
    """R (k, d + t) of the centred rows [X_c, Y_c], in one pass over them."""
    mean_x, mean_y = normal.mean_x, normal.mean_y

    def statistic(X: Any, Y: Any, w: Any = None) -> Triangle:
        xp = namespace(Y)
        Y = Y if Y.ndim == 2 else xp.reshape(Y, (-1, 1))
        X = X.toarray() if is_sparse(X) else X
        return Triangle.joint(X - mean_x, Y - mean_y, w)

    block = PANEL_ENTRIES // max(1, mean_x.shape[0]) if is_sparse(rows.X) else None
    return reduce_rows(statistic, rows.X, rows.Y, rows.w, block_rows=block and max(256, block)).R


def from_triangle(
    normal: Normal, R: Any, weight: float, floor: Any, *, by_svd: bool = False, tol: float = 0.0
) -> LeastSquaresFit:
    """By back-substitution in R, or by its SVD (`by_svd`, or if columns are dependent).

    Singular values of the scaled columns below `tol` times the largest are set to zero.
    """
    xp = namespace(R)
    d = normal.mean_x.shape[0]
    Rx, C = R[:, :d], R[:, d:]
    D = scales(xp.linalg.vector_norm(Rx, axis=0) ** 2, floor)
    A = xp.concat([Rx * D[None, :], _constant(D, R)], axis=0)
    U, s, Vt = xp.linalg.svd(A, full_matrices=False)  # (k + d, d): V is whole
    off = float(xp.max(D * xp.abs(normal.mean_x))) * weight**0.5  # means in units of the columns
    tolerance = 8.0 * float(xp.finfo(R.dtype).eps) * max(d, 32) * max(1.0, off)
    whole = int(xp.sum(xp.astype(s > tolerance * s[0], xp.int64)))
    rank = min(whole, int(xp.sum(xp.astype(s > tol * s[0], xp.int64))))
    constant = int(xp.sum(xp.astype(D == 0, xp.int64)))
    if rank == d and not constant and not by_svd:
        W, name = _back(Rx[:d, :], C[:d, :]), "qr"
    else:
        scores = (U[: Rx.shape[0], :rank].T @ C) / s[:rank][:, None]
        V, name = Vt.T, "svd"
        W = _smallest(D[:, None] * (V[:, :rank] @ scores), D, V[:, whole:])
    rest = C - Rx @ W
    found = Solution((W, normal.mean_y - normal.mean_x @ W), 1, float(xp.sum(rest * rest)))
    return LeastSquaresFit(found, name, rank - constant, _ratio(s, rank))


def from_spectrum(normal: Normal, floor: Any, *, tol: float = 0.0) -> LeastSquaresFit:
    """From the eigenvectors of X_c'X_c: half the digits of the triangle; `tol` as there."""
    xp = namespace(normal.S)
    D = scales(xp.linalg.diagonal(normal.S), floor)
    l, V = eigh(_correlations(normal.S, D))
    eps = float(xp.finfo(l.dtype).eps)
    whole = int(xp.sum(xp.astype(l > 64.0 * max(l.shape[0], 32) * eps * l[0], xp.int64)))
    rank = min(whole, int(xp.sum(xp.astype(l > tol * tol * l[0], xp.int64))))
    scores = (V[:, :rank].T @ (D[:, None] * normal.C)) / l[:rank][:, None]
    W = _smallest(D[:, None] * (V[:, :rank] @ scores), D, V[:, whole:])
    found = normal.solution(W, [0.0] * W.shape[1])
    constant = int(xp.sum(xp.astype(D == 0, xp.int64)))
    return LeastSquaresFit(found, "svd", rank - constant, _ratio(l, rank) ** 0.5)


def _ratio(s: Any, rank: int) -> float:
    return float(s[0] / s[rank - 1]) if rank else 1.0


def _back(R: Any, C: Any) -> Any:
    """R^-1 C, R upper."""
    return solve_triangular(namespace(R).matrix_transpose(R), C, transposed=True)


def _smallest(W: Any, D: Any, V: Any) -> Any:
    """W less its part in the null space, spanned by D V."""
    if not V.shape[1]:
        return W
    xp = namespace(W)
    # entries of columns outside the null space are rounding, which D would magnify
    tiny = 64.0 * float(xp.finfo(V.dtype).eps) * max(V.shape[0], 32) ** 0.5
    Q, _ = qr(D[:, None] * xp.where(xp.abs(V) > tiny, V, 0.0 * V))
    return W - Q @ (Q.T @ W)

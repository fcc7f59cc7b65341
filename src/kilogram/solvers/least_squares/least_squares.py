"""The choice of a solver for a least-squares problem.

operator X; sparse, n and d large      LSQR: products with X and X' only; also a long sparse X,
                                         if that ends before X'X would be computed
streaming rows, or n >= d              moments (Cholesky); triangle (QR) if the problem is small or
                                         the columns are close to dependent, its SVD if they are
n < d                                  Cholesky of the rows' inner products, SVD if they depend
`partial_fit`                          moments, spectrum if the columns are dependent

factorizations.py has the solvers in d unknowns. In n unknowns the centred K = X_c X_c' is always
singular: K 1 = 0 (K s = 0 with s = sqrt(w)). Y_c is orthogonal to s too, so K + c s s' has the same
solution and a Cholesky factor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scipy.sparse.linalg import LinearOperator

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, cholesky_solve, svd
from kilogram.arrays.namespace import is_array, is_sparse, namespace
from kilogram.arrays.rows import is_streamed
from kilogram.solvers.least_squares import factorizations as factors
from kilogram.solvers.least_squares import normal_equations as primal
from kilogram.solvers.least_squares.data import RegressionData, in_one_precision, wide_floats
from kilogram.solvers.least_squares.factorizations import LAST, ROUGH, LeastSquaresFit
from kilogram.solvers.least_squares.normal_equations import CentredColumns, Normal
from kilogram.solvers.least_squares.ridge import (
    DIRECT,
    RidgeProblem,
    centred,
    inner_products,
    joint_moments,
    weighted_means,
)
from kilogram.solvers.least_squares.ridge_path import weighted_only
from kilogram.solvers.linear.lsqr import lsqr
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments

SOLVERS = ("auto", "cholesky", "qr", "svd", "lsqr")
SMALL = 2**20  # n (d + t)^2 up to which QR takes less than a millisecond
DENSE = 2**27  # entries up to which a sparse X may be made dense: 1 GiB
RACE = 4e6  # multiply-adds of a sparse X'X, some 10 ms, beyond which LSQR is tried first
PER_STEP = 0.15  # measured time of an entry of X in an LSQR iteration, in multiply-adds of X'X
QR_FLOPS = 1e12  # n d^2 beyond which a sparse X is solved by LSQR: a dense QR takes a minute
CHECKED = 1e9  # n d^2 up to which an LSQR solution is checked by the condition number: 0.2 s
UNRELIABLE = 0.01  # condition number times `tol`: relative error of LSQR that is worth a warning


def check_solver(solver: str, *, positive: bool, operator: bool, streamed: bool) -> None:
    """Refuse combinations of parameters that have no solver."""
    if positive and solver not in ("auto", "cholesky"):
        raise ValueError(
            f"positive=True is solved from the moments: use solver='auto', not {solver!r}."
        )
    if operator and (positive or solver not in ("auto", "lsqr")):
        raise ValueError(
            "an operator X is only multiplied: use solver='auto' or 'lsqr' and positive=False."
        )
    if solver == "lsqr" and streamed:
        raise ValueError(
            "solver='lsqr' multiplies with X many times and needs it in memory: use "
            "solver='auto' for streaming input."
        )


def solve_least_squares(p: RidgeProblem) -> tuple[LeastSquaresFit, bool]:
    """The fit by `p.solver`, or by one that suits the rows; whether y is one-dimensional."""
    X = p.rows.X
    if isinstance(X, LinearOperator):
        return _products(p)
    if is_streamed(X) or p.positive:
        return _tall(p)
    n, d = X.shape
    if p.solver == "lsqr" or (p.solver == "auto" and _only_products(X)):
        return _products(p)
    raced = _lsqr_in_time(p) if p.solver == "auto" and is_sparse(X) and n >= d else None
    if raced is not None:
        return raced
    return _tall(p) if n >= d else _wide(p)


def _lsqr_in_time(p: RidgeProblem) -> tuple[LeastSquaresFit, bool] | None:
    """LSQR for the time that X'X would take; None if it did not converge, or X'X is quick."""
    X = p.rows.X
    n, entries = X.shape[0], float(X.nnz)
    products = entries * entries / n
    if products < RACE:
        return None
    steps = int(products / (PER_STEP * entries))
    found = _products(replace(p, tol=0.01 * p.tol, max_iter=steps, callback=None))
    return found if found[0].found.converged else None


def _only_products(X: Any) -> bool:
    """Whether a sparse X is too large to factor, in d or in n unknowns."""
    if not is_sparse(X):
        return False
    n, d = X.shape
    return min(n, d) > DIRECT or (n < d and n * d > DENSE)


def _tall(p: RidgeProblem) -> tuple[LeastSquaresFit, bool]:
    moments, flat = joint_moments(p.rows)
    p.ensure_finite(moments.scatter)
    normal, sparse = Normal.of(moments, p.fit_intercept), is_sparse(p.rows.X)
    floor = factors.rounding(normal, moments.weight, sparse=sparse)
    if p.positive:
        return _positive(p, normal, floor), flat
    found = None
    if p.solver == "cholesky" or (p.solver == "auto" and not _is_small(p.rows)):
        found = factors.from_moments(normal, floor, rough=_largest_condition(p))
    if found is None and p.solver == "auto" and sparse and _too_long(p.rows.X):
        return _products(p)
    if found is None and p.solver in ("auto", "cholesky") and getattr(p.rows.X, "once", False):
        found = solve_moments(moments, p.fit_intercept, tol=p.tol)  # no second pass
    if found is None:
        floor = factors.rounding(normal, moments.weight, sparse=sparse, squared=False)
        R = factors.triangle_of(normal, p.rows)
        by_svd = p.solver == "svd"
        found = factors.from_triangle(normal, R, moments.weight, floor, by_svd=by_svd, tol=p.tol)
    return found, flat


def _largest_condition(p: RidgeProblem) -> float:
    """Condition number of X_c'X_c up to which its factor is used: `tol` cuts nothing below it."""
    kept = LAST if p.solver == "cholesky" else ROUGH
    return min(kept, p.tol**-2) if p.tol > 0 else kept


def _is_small(rows: RegressionData) -> bool:
    """Whether a dense QR of [X, Y] is quick."""
    if is_streamed(rows.X) or is_sparse(rows.X):
        return False
    n, d = rows.X.shape
    return n * (d + rows.Y.shape[1]) ** 2 <= SMALL


def _too_long(X: Any) -> bool:
    return float(X.shape[0]) * X.shape[1] ** 2 > QR_FLOPS


def _positive(p: RidgeProblem, normal: Normal, floor: Any) -> LeastSquaresFit:
    """W >= 0 from the normal equations; rank and condition number are those of X."""
    alpha = [0.0] * normal.C.shape[1]
    found = primal.positive(normal, alpha, tol=1e-3 * p.tol, max_iter=p.max_iter)
    free = factors.from_moments(normal, floor, rough=LAST) or factors.from_spectrum(normal, floor)
    return LeastSquaresFit(found, "positive", free.rank, free.condition)


def solve_moments(
    moments: JointMoments, fit_intercept: bool, *, sparse: bool = False, tol: float = 0.0
) -> LeastSquaresFit:
    """From moments alone; `tol` as in `factorizations.from_triangle`."""
    normal = Normal.of(moments, fit_intercept)
    floor = factors.rounding(normal, moments.weight, sparse=sparse)
    rough = 1.0 / (64.0 * float(namespace(normal.S).finfo(normal.S.dtype).eps))
    rough = min(rough, LAST, tol**-2) if tol > 0 else min(rough, LAST)
    found = factors.from_moments(normal, floor, rough=rough)
    return found or factors.from_spectrum(normal, floor, tol=tol)


def positive_moments(
    p: RidgeProblem, moments: JointMoments, *, sparse: bool = False
) -> LeastSquaresFit:
    """Least squares with W >= 0, from moments."""
    normal = Normal.of(moments, p.fit_intercept)
    return _positive(p, normal, factors.rounding(normal, moments.weight, sparse=sparse))


def _products(p: RidgeProblem) -> tuple[LeastSquaresFit, bool]:
    rows = in_one_precision(p.rows)
    X, Y, _, flat = rows
    mean_x, mean_y, s = weighted_means(rows, p.fit_intercept, p.ensure_finite)
    A = CentredColumns(X, mean_x, s)
    B = Y - mean_y if s is None else s[:, None] * (Y - mean_y)
    found = lsqr(A, B, tol=p.tol, max_iter=p.max_iter, callback=p.callback)
    W = found.value.X
    value = (W, mean_y - mean_x @ W)
    solution = replace(found, value=value, n_iter=max(1, found.n_iter))
    if solution.converged:
        solution = _checked(solution, A, p)
    return LeastSquaresFit(solution, "lsqr", min(X.shape), found.value.condition), bool(flat)


def _checked(found: Solution, A: CentredColumns, p: RidgeProblem) -> Solution:
    """Not converged where `tol` leaves the coefficients undetermined.

    LSQR's relative error is up to `tol` times the condition number of X, which its own estimate
    shows only after many iterations; of a dense X of moderate size it is computed.
    """
    n, d = A.shape
    dense = is_array(A.X) and not is_sparse(A.X)
    if not dense or float(n) * d * min(n, d) > CHECKED:
        return found
    xp = namespace(A.X)
    s = xp.linalg.svdvals(centred(A.X, A.mean, A.s, overwrite=False))
    kept = s > s[0] * max(n, d) * float(xp.finfo(s.dtype).eps)  # the others are dependent columns
    rank = int(xp.sum(xp.astype(kept, xp.int64)))
    condition = float(s[0] / s[rank - 1]) if rank else 1.0
    if condition * p.tol <= UNRELIABLE:
        return found
    why = f"the condition number of X, {condition:.1e}, is too large for tol={p.tol:g}."
    return replace(found, converged=False, message=why)


def _wide(p: RidgeProblem) -> tuple[LeastSquaresFit, bool]:
    rows, flat = p.rows, bool(p.rows.flat)
    if rows.w is not None:
        rows = weighted_only(rows)
    rows = rows._replace(X=wide_floats(rows.X), Y=wide_floats(rows.Y))
    mean_x, mean_y, s = weighted_means(rows, p.fit_intercept, p.ensure_finite)
    A: Any = CentredColumns(rows.X, mean_x, s)
    if not is_sparse(rows.X):
        A = centred(rows.X, mean_x, s, overwrite=p.overwrite)
    B = rows.Y - mean_y if s is None else s[:, None] * (rows.Y - mean_y)
    found = None
    if p.solver in ("auto", "cholesky"):
        found = _inner(A, B, s, p)
    if found is None:
        dense = centred(rows.X.toarray(), mean_x, s, overwrite=True) if is_sparse(rows.X) else A
        found = _by_svd(dense, B, p.tol)
    W, name, rank, condition = found
    R = B - A @ W
    value = float(namespace(R).sum(R * R))
    return LeastSquaresFit(
        Solution((W, mean_y - mean_x @ W), 1, value), name, rank, condition
    ), flat


def _inner(A: Any, B: Any, s: Any, p: RidgeProblem) -> tuple[Any, str, int, float] | None:
    """W = A'K^-1 B, the solution of smallest norm; None if rows are close to dependent."""
    xp = namespace(B)
    K = inner_products(A)
    n = K.shape[0]
    if p.fit_intercept:
        one = xp.ones_like(B[:, 0]) if s is None else s
        one = one / xp.linalg.vector_norm(one)
        K = K + (float(xp.sum(xp.linalg.diagonal(K))) / n) * (one[:, None] * one[None, :])
    try:
        L = cholesky(K)
    except NotPositiveDefinite:
        return None
    kappa = factors.condition_of(K, L)
    if not kappa <= _largest_condition(p):
        return None
    return A.T @ cholesky_solve(L, B), "cholesky", n - int(p.fit_intercept), kappa**0.5


def _by_svd(A: Any, B: Any, tol: float) -> tuple[Any, str, int, float]:
    xp = namespace(A)
    U, s, Vt = svd(A)
    cut = max(max(A.shape) * float(xp.finfo(s.dtype).eps), tol)
    rank = int(xp.sum(xp.astype(s > s[0] * cut, xp.int64)))
    W = Vt[:rank, :].T @ ((U[:, :rank].T @ B) / s[:rank][:, None])
    return W, "svd", rank, float(s[0] / s[rank - 1]) if rank else 1.0

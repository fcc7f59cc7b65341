"""Which road a least-squares problem takes.

operator X; sparse, n and d large      LSQR: products with X and X' only; also a long sparse X,
                                         if that ends before X'X would
rows in blocks, or n >= d              moments (Cholesky); triangle (QR) if the problem is small or
                                         the columns are close to dependent, its SVD if they are
n < d                                  Cholesky of the rows' inner products, SVD if they depend
rows gone (`partial_fit`)              moments, spectrum if the columns are dependent

least_squares_factors.py tells the roads over columns. In the n coordinates of the rows the centred
K = X_c X_c' never has an inverse: K 1 = 0 (K s = 0 with s = sqrt(w)). Y_c is orthogonal to s too,
so K + c s s' has the same solution and a Cholesky factor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scipy.sparse.linalg import LinearOperator

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, cholesky_solve, svd
from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import is_streamed
from kilogram.models.regression import least_squares_factors as factors
from kilogram.models.regression import primal
from kilogram.models.regression.least_squares_factors import LAST, ROUGH, Fit
from kilogram.models.regression.linear_path import weighted_only, wide_floats
from kilogram.models.regression.primal import CentredColumns, Normal
from kilogram.models.regression.roads import (
    DIRECT,
    Problem,
    centred,
    inner_products,
    joint_moments,
    weighted_means,
)
from kilogram.models.regression.targets import Rows
from kilogram.solvers.linear.lsqr import lsqr
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments

SOLVERS = ("auto", "cholesky", "qr", "svd", "lsqr")
SMALL = 2**20  # n (d + t)^2 up to which QR takes no time worth saving
DENSE = 2**27  # entries up to which a sparse table may be made dense
RACE = 4e6  # products in X'X of a sparse table beyond which LSQR is tried first
PER_STEP = 0.15  # time of an entry of X in one LSQR step, in products of X'X
QR_FLOPS = 1e12  # n d^2 beyond which a sparse table is left to LSQR rather than factored dense


def check_solver(solver: str, *, positive: bool, operator: bool, streamed: bool) -> None:
    """The combinations that cannot be served, each with what to do instead."""
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}, got {solver!r}.")
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
            "solver='lsqr' multiplies with X many times; rows that come in blocks are solved from "
            "one pass: use solver='auto'."
        )


def solve_least_squares(p: Problem) -> tuple[Fit, bool]:
    """The fit by the road that suits the rows and the solver asked for; whether y had one axis."""
    X = p.rows.X
    if isinstance(X, LinearOperator):
        return _products(p)
    if is_streamed(X) or p.positive:
        return _tall(p)
    n, d = X.shape
    if p.solver == "lsqr" or (p.solver == "auto" and _only_products(X)):
        return _products(p)
    raced = _raced(p) if p.solver == "auto" and is_sparse(X) and n >= d else None
    if raced is not None:
        return raced
    return _tall(p) if n >= d else _wide(p)


def _raced(p: Problem) -> tuple[Fit, bool] | None:
    """LSQR for as many steps as X'X would take time; None if it needs more, or that is short."""
    X = p.rows.X
    n, entries = X.shape[0], float(X.nnz)
    products = entries * entries / n
    if products < RACE:
        return None
    steps = int(products / (PER_STEP * entries))
    found = _products(replace(p, tol=0.01 * p.tol, max_iter=steps, callback=None))
    return found if found[0].found.converged else None


def _only_products(X: Any) -> bool:
    """A sparse table too large to factor: its columns, or its rows where they are fewer."""
    if not is_sparse(X):
        return False
    n, d = X.shape
    return min(n, d) > DIRECT or (n < d and n * d > DENSE)


def _tall(p: Problem) -> tuple[Fit, bool]:
    moments, flat = joint_moments(p.rows)
    p.ensure_finite(moments.scatter)
    normal, sparse = Normal.of(moments, p.fit_intercept), is_sparse(p.rows.X)
    floor = factors.rounding(normal, moments.weight, sparse=sparse)
    if p.positive:
        return _positive(p, normal, floor), flat
    found = None
    if p.solver == "cholesky" or (p.solver == "auto" and not _is_small(p.rows)):
        rough = LAST if p.solver == "cholesky" else ROUGH
        found = factors.from_moments(normal, floor, rough=rough)
    if found is None and p.solver == "auto" and sparse and _too_long(p.rows.X):
        return _products(p)
    if found is None and p.solver in ("auto", "cholesky") and getattr(p.rows.X, "once", False):
        found = solve_moments(moments, p.fit_intercept)  # an iterator has no second pass
    if found is None:
        floor = factors.rounding(normal, moments.weight, sparse=sparse, squared=False)
        R = factors.triangle_of(normal, p.rows)
        by_svd = p.solver == "svd"
        found = factors.from_triangle(normal, R, moments.weight, floor, by_svd=by_svd)
    return found, flat


def _is_small(rows: Rows) -> bool:
    """A dense table whose QR, targets beside it, takes no time."""
    if is_streamed(rows.X) or is_sparse(rows.X):
        return False
    n, d = rows.X.shape
    return n * (d + rows.Y.shape[1]) ** 2 <= SMALL


def _too_long(X: Any) -> bool:
    return float(X.shape[0]) * X.shape[1] ** 2 > QR_FLOPS


def _positive(p: Problem, normal: Normal, floor: Any) -> Fit:
    """W >= 0 from the normal equations; the rank and condition are those of the columns."""
    alpha = [0.0] * normal.C.shape[1]
    found = primal.positive(normal, alpha, tol=1e-3 * p.tol, max_iter=p.max_iter)
    free = factors.from_moments(normal, floor, rough=LAST) or factors.from_spectrum(normal, floor)
    return Fit(found, "positive", free.rank, free.condition)


def solve_moments(moments: JointMoments, fit_intercept: bool, *, sparse: bool = False) -> Fit:
    """From moments alone: the rows are gone."""
    normal = Normal.of(moments, fit_intercept)
    floor = factors.rounding(normal, moments.weight, sparse=sparse)
    rough = 1.0 / (64.0 * float(namespace(normal.S).finfo(normal.S.dtype).eps))
    found = factors.from_moments(normal, floor, rough=min(rough, LAST))
    return found or factors.from_spectrum(normal, floor)


def positive_moments(p: Problem, moments: JointMoments, *, sparse: bool = False) -> Fit:
    """The same with W >= 0."""
    normal = Normal.of(moments, p.fit_intercept)
    return _positive(p, normal, factors.rounding(normal, moments.weight, sparse=sparse))


def _products(p: Problem) -> tuple[Fit, bool]:
    X, Y, _, flat = p.rows
    mean_x, mean_y, s = weighted_means(p.rows, p.fit_intercept, p.ensure_finite)
    A = CentredColumns(X, mean_x, s)
    B = Y - mean_y if s is None else s[:, None] * (Y - mean_y)
    found = lsqr(A, B, tol=p.tol, max_iter=p.max_iter, callback=p.callback)
    W = found.value.X
    value = (W, mean_y - mean_x @ W)
    found_ = replace(found, value=value, n_iter=max(1, found.n_iter))
    return Fit(found_, "lsqr", min(X.shape), found.value.condition), bool(flat)


def _wide(p: Problem) -> tuple[Fit, bool]:
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
        found = _by_svd(dense, B)
    W, name, rank, condition = found
    R = B - A @ W
    value = float(namespace(R).sum(R * R))
    return Fit(Solution((W, mean_y - mean_x @ W), 1, value), name, rank, condition), flat


def _inner(A: Any, B: Any, s: Any, p: Problem) -> tuple[Any, str, int, float] | None:
    """W = A'K^-1 B, the smallest of the solutions; None where rows are close to dependent."""
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
    if not kappa <= (LAST if p.solver == "cholesky" else ROUGH):
        return None
    return A.T @ cholesky_solve(L, B), "cholesky", n - int(p.fit_intercept), kappa**0.5


def _by_svd(A: Any, B: Any) -> tuple[Any, str, int, float]:
    xp = namespace(A)
    U, s, Vt = svd(A)
    eps = float(xp.finfo(s.dtype).eps)
    rank = int(xp.sum(xp.astype(s > s[0] * max(A.shape) * eps, xp.int64)))
    W = Vt[:rank, :].T @ ((U[:, :rank].T @ B) / s[:rank][:, None])
    return W, "svd", rank, float(s[0] / s[rank - 1]) if rank else 1.0

"""The choice of a solver for ridge regression, and the one in n unknowns.

streaming rows, or n >= d      moments (normal_equations.py), triangle if columns are dependent
n < d, dense                   dual: (K + alpha I) A = Y_c with K = X_c X_c', W = X_c'A
sparse, both n and d large     products (normal_equations.py)
a penalty matrix               moments, triangle if the problem is singular (tikhonov.py)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, cholesky_solve
from kilogram.arrays.namespace import is_array, is_numpy, is_sparse, namespace, sum_dtype
from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.solvers.least_squares import normal_equations as primal
from kilogram.solvers.least_squares import tikhonov
from kilogram.solvers.least_squares.data import RegressionData, check_alpha, in_one_precision
from kilogram.solvers.least_squares.factorizations import triangle_of
from kilogram.solvers.least_squares.normal_equations import CentredColumns, Normal, by_alpha
from kilogram.solvers.linear.cg import Tick
from kilogram.solvers.linear.ridged_gram import add_diagonal
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments

SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")
DIRECT = 4000  # unknowns up to which a sparse problem is factored: measured to take a second


@dataclass(frozen=True, eq=False)
class RidgeProblem:
    """One ridge regression: data, penalties, and the parameters of the solver."""

    rows: RegressionData
    alpha: Any
    fit_intercept: bool
    positive: bool
    solver: str
    tol: float
    max_iter: int | None
    #: Raises a ValueError when a sum over the rows is not finite.
    ensure_finite: Callable[[Any], None]
    overwrite: bool = False
    callback: Tick | None = None
    #: G of the penalty alpha |G W|^2; None: alpha |W|^2.
    penalty_matrix: Any = None


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """The Solution ((W, b), ...), the solver that found it, whether y is one-dimensional."""

    found: Solution
    solver: str
    flat: bool


def solve_ridge(p: RidgeProblem) -> RidgeFit:
    """Solve by `p.solver`, or by the one that suits the rows for "auto"."""
    X = p.rows.X
    if p.positive or p.penalty_matrix is not None or is_streamed(X):
        return _moments(p)
    n, d = X.shape
    if p.solver in ("sparse_cg", "lsqr"):
        return _products(p)
    if p.solver == "auto" and is_sparse(X) and min(n, d) > DIRECT:
        return _products(p)
    if n >= d:
        return _moments(p)
    return _wide(p)


def check_solver(
    solver: str, *, positive: bool, sparse: bool, streamed: bool, matrix: bool = False
) -> None:
    """Refuse combinations of parameters that have no solver."""
    if positive and solver not in ("auto", "lbfgs"):
        raise ValueError(
            f"solver={solver!r} does not support positive fitting. Please set the solver to "
            "'auto' or 'lbfgs', or set `positive=False`."
        )
    if solver == "lbfgs" and not positive:
        raise ValueError(
            "'lbfgs' solver can be used only when positive=True. Please use another solver."
        )
    if solver == "svd" and sparse:
        raise ValueError("solver='svd' needs a dense X: use 'auto', 'cholesky' or 'sparse_cg'.")
    if solver in ("sparse_cg", "lsqr") and matrix:
        raise ValueError(
            f"solver={solver!r} does not support penalty_matrix: use 'auto', 'cholesky' or 'svd'."
        )
    if solver in ("sparse_cg", "lsqr") and streamed:
        raise ValueError(
            f"solver={solver!r} multiplies with X many times and needs it in memory: use "
            "solver='auto' for streaming input."
        )


def joint_moments(rows: RegressionData) -> tuple[JointMoments, bool]:
    """The moments of X and y in one pass over the rows, and whether y is one-dimensional."""
    seen = [rows.flat]

    def statistic(X: Any, Y: Any, w: Any = None) -> JointMoments:
        if seen[0] is None:
            seen[0] = Y.ndim == 1
        return JointMoments.of(X, Y, w)

    moments = reduce_rows(statistic, rows.X, rows.Y, rows.w)
    return moments, bool(seen[0])


def _moments(p: RidgeProblem) -> RidgeFit:
    """One pass for the moments; one more for the triangle if the columns are dependent."""
    moments, flat = joint_moments(p.rows)
    p.ensure_finite(moments.scatter)
    normal = Normal.of(moments, p.fit_intercept)
    alpha = check_alpha(p.alpha, normal.C.shape[1])
    # an iterator has no second pass
    once = p.solver != "svd" and getattr(p.rows.X, "once", False)
    if p.penalty_matrix is not None:
        return _tikhonov(p, normal, alpha, flat, rows_left=not once)
    found = None if p.solver == "svd" else _factored(p, normal, alpha, flat)
    if found is not None:
        return found
    if once:
        return RidgeFit(primal.from_spectrum(normal, alpha), "svd", flat)
    rows = (p.rows.X, p.rows.Y, p.rows.w)
    return RidgeFit(primal.from_triangle(normal, rows, alpha), "svd", flat)


def solve_moments(p: RidgeProblem, moments: JointMoments, flat: bool) -> RidgeFit:
    """From moments alone: the rows are gone, and their triangle with them."""
    normal = Normal.of(moments, p.fit_intercept)
    alpha = check_alpha(p.alpha, normal.C.shape[1])
    if p.penalty_matrix is not None:
        return _tikhonov(p, normal, alpha, flat, rows_left=False)
    found = _factored(p, normal, alpha, flat)
    return found or RidgeFit(primal.from_spectrum(normal, alpha), "svd", flat)


def _factored(
    p: RidgeProblem, normal: Normal, alpha: Sequence[float], flat: bool
) -> RidgeFit | None:
    """By Cholesky, or with positive coefficients; None where the columns are dependent."""
    if p.positive:
        found = primal.positive(normal, alpha, tol=p.tol, max_iter=p.max_iter)
        return RidgeFit(found, "lbfgs", flat)
    single = is_array(p.rows.X) and "float32" in str(p.rows.X.dtype)
    dependent = primal.DEPENDENT_SINGLE if single else primal.DEPENDENT
    try:
        found = primal.from_moments(normal, alpha, dependent=dependent)
        return RidgeFit(found, "cholesky", flat)
    except NotPositiveDefinite:
        return None


def _tikhonov(
    p: RidgeProblem, normal: Normal, alpha: Sequence[float], flat: bool, *, rows_left: bool
) -> RidgeFit:
    """With the penalty alpha |G W|^2; `rows_left`: there may be one more pass over the rows."""
    G = tikhonov.check_penalty_matrix(p.penalty_matrix, normal.S)
    parts: list[RidgeFit] = []
    R = None
    for a, at, part in tikhonov.penalized(normal, alpha, G):
        none = [0.0] * part.C.shape[1]  # the penalty is in part.S
        direct = p.solver == "svd" and rows_left
        found = None if direct else _factored(p, part, none, flat)
        if found is None and rows_left:
            R = triangle_of(normal, p.rows) if R is None else R
            found = RidgeFit(tikhonov.from_stacked(part, R, at, a, G), "svd", flat)
        parts.append(found or RidgeFit(primal.from_spectrum(part, none), "svd", flat))
    worst = "svd" if any(f.solver == "svd" for f in parts) else parts[0].solver
    return RidgeFit(tikhonov.join_targets([f.found for f in parts]), worst, flat)


def weighted_means(
    rows: RegressionData, fit_intercept: bool, ensure_finite: Callable[[Any], None]
) -> tuple[Any, Any, Any]:
    """Weighted means of X and Y (zeros without an intercept), and the roots of the weights."""
    X, Y, w, _ = rows
    xp = namespace(Y)
    dtype = sum_dtype(Y, xp)
    v = xp.ones(Y.shape[0], dtype=dtype, device=Y.device) if w is None else xp.astype(w, dtype)
    v = v / xp.sum(v)
    mean_x = v @ xp.astype(X, dtype, copy=False) if is_array(X) else X.T @ v
    ensure_finite(mean_x)
    mean_y = v @ xp.astype(Y, dtype, copy=False)
    keep = 1.0 if fit_intercept else 0.0
    s = None if w is None else xp.sqrt(w)
    return xp.astype(keep * mean_x, Y.dtype), xp.astype(keep * mean_y, Y.dtype), s


def _products(p: RidgeProblem) -> RidgeFit:
    rows = in_one_precision(p.rows)
    X, Y, _, flat = rows
    mean_x, mean_y, s = weighted_means(rows, p.fit_intercept, p.ensure_finite)
    found = primal.from_products(
        CentredColumns(X, mean_x, s),
        Y,
        mean_y,
        check_alpha(p.alpha, Y.shape[1]),
        tol=p.tol,
        max_iter=p.max_iter,
        callback=p.callback,
    )
    return RidgeFit(found, "sparse_cg", bool(flat))


def _wide(p: RidgeProblem) -> RidgeFit:
    """Fewer rows than columns: factor the n x n matrix of inner products."""
    rows = in_one_precision(p.rows)
    X, Y, _, flat = rows
    xp = namespace(Y)
    mean_x, mean_y, s = weighted_means(rows, p.fit_intercept, p.ensure_finite)
    alpha = check_alpha(p.alpha, Y.shape[1])
    A: Any = CentredColumns(X, mean_x, s)
    if not is_sparse(X):
        A = centred(X, mean_x, s, overwrite=p.overwrite)
    B = Y - mean_y if s is None else s[:, None] * (Y - mean_y)
    W, name = None, "cholesky"
    if p.solver != "svd":
        with suppress(NotPositiveDefinite):  # dependent rows: the SVD keeps the digits K has lost
            W = A.T @ _dual(inner_products(A), B, alpha)
    if W is None:
        A = centred(X.toarray(), mean_x, s, overwrite=True) if is_sparse(X) else A
        W, name = primal.least_squares(A, B, alpha), "svd"
    R = B - A @ W
    value = float(xp.sum(R * R)) + primal.penalty(W, alpha)
    return RidgeFit(Solution((W, mean_y - mean_x @ W), 1, value), name, bool(flat))


def centred(X: Any, mean: Any, s: Any, *, overwrite: bool) -> Any:
    """diag(s) (X - 1 m'), in X itself if it may be overwritten."""
    if overwrite and is_numpy(X) and X.flags.writeable:
        X -= mean
        if s is not None:
            X *= s[:, None]
        return X
    return X - mean if s is None else s[:, None] * (X - mean)


def inner_products(A: Any) -> Any:
    """A A' for a dense A, or for the centred columns of a sparse X without writing them out."""
    if not isinstance(A, CentredColumns):
        return A @ A.T
    X, m = A.X, A.mean
    K = (X @ X.T).toarray()
    along = X @ m
    K += (m @ m) - along[:, None] - along[None, :]
    return K if A.s is None else A.s[:, None] * K * A.s[None, :]


def _dual(K: Any, B: Any, alpha: Sequence[float]) -> Any:
    """(K + alpha I)^-1 B, with one alpha per column of B."""
    xp = namespace(K)

    def solve(columns: Any, a: float) -> Any:
        shifted = add_diagonal(xp.asarray(K, copy=True), a)
        whole = xp.linalg.diagonal(shifted) * 1.0
        L = cholesky(shifted, overwrite=True)
        primal.refuse_dependent(L, whole)
        return cholesky_solve(L, columns)

    return by_alpha(solve, B, alpha)

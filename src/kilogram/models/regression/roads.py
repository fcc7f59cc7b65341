"""Which road a ridge regression takes, and the two roads in the n coordinates of the rows.

rows in blocks, or n >= d      moments (primal.py), triangle if the columns are dependent
n < d, dense                   dual: (K + alpha I) A = Y_c with K = X_c X_c', W = X_c'A
sparse, both n and d large     products (primal.py)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, cholesky_solve
from kilogram.arrays.namespace import is_array, is_numpy, is_sparse, namespace, sum_dtype
from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.models.regression import primal
from kilogram.models.regression.primal import CentredColumns, Normal, by_alpha
from kilogram.models.regression.targets import Rows, check_alpha
from kilogram.solvers.linear.cg import Tick
from kilogram.solvers.linear.kernel_forms import add_diagonal
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments

SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")
DIRECT = 4000  # unknowns up to which a sparse problem is factored: exact, and within a second


@dataclass(frozen=True, eq=False)
class Problem:
    """One ridge regression: the rows, the penalties as given, and what is asked of the solution."""

    rows: Rows
    alpha: Any
    fit_intercept: bool
    positive: bool
    solver: str
    tol: float
    max_iter: int | None
    #: Raises the user's error when a sum over the rows is not finite.
    ensure_finite: Callable[[Any], None]
    overwrite: bool = False
    callback: Tick | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """The Solution ((W, b), ...), the name of the solver that found it, the shape of y."""

    found: Solution
    solver: str
    flat: bool


def solve_ridge(p: Problem) -> Answer:
    """Take the road that fits the rows and the solver asked for."""
    X = p.rows.X
    if p.positive or is_streamed(X):
        return _moments(p)
    n, d = X.shape
    if p.solver in ("sparse_cg", "lsqr"):
        return _products(p)
    if p.solver == "auto" and is_sparse(X) and min(n, d) > DIRECT:
        return _products(p)
    if n >= d:
        return _moments(p)
    return _wide(p)


def check_solver(solver: str, *, positive: bool, sparse: bool, streamed: bool) -> None:
    """The combinations that cannot be served, each with what to do instead."""
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}, got {solver!r}.")
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
    if solver in ("sparse_cg", "lsqr") and streamed:
        raise ValueError(
            f"solver={solver!r} multiplies with X in memory many times; rows that come in blocks "
            "are solved from one pass: use solver='auto'."
        )


def joint_moments(rows: Rows) -> tuple[JointMoments, bool]:
    """The moments of one pass, and whether the targets had a single axis."""
    seen = [rows.flat]

    def statistic(X: Any, Y: Any, w: Any = None) -> JointMoments:
        if seen[0] is None:
            seen[0] = Y.ndim == 1
        return JointMoments.of(X, Y, w)

    moments = reduce_rows(statistic, rows.X, rows.Y, rows.w)
    return moments, bool(seen[0])


def _moments(p: Problem) -> Answer:
    """One pass for the moments; one more for the triangle if the columns are dependent."""
    moments, flat = joint_moments(p.rows)
    p.ensure_finite(moments.scatter)
    normal = Normal.of(moments, p.fit_intercept)
    alpha = check_alpha(p.alpha, normal.C.shape[1])
    answer = None if p.solver == "svd" else _factored(p, normal, alpha, flat)
    if answer is None:
        found = primal.from_triangle(normal, (p.rows.X, p.rows.Y, p.rows.w), alpha)
        answer = Answer(found, "svd", flat)
    return answer


def solve_moments(p: Problem, moments: JointMoments, flat: bool) -> Answer:
    """From moments alone: the rows are gone, and their triangle with them."""
    normal = Normal.of(moments, p.fit_intercept)
    alpha = check_alpha(p.alpha, normal.C.shape[1])
    answer = _factored(p, normal, alpha, flat)
    return answer or Answer(primal.from_spectrum(normal, alpha), "svd", flat)


def _factored(p: Problem, normal: Normal, alpha: Sequence[float], flat: bool) -> Answer | None:
    """The positive or the Cholesky road; None where the columns are dependent."""
    if p.positive:
        found = primal.positive(normal, alpha, tol=p.tol, max_iter=p.max_iter)
        return Answer(found, "lbfgs", flat)
    try:
        return Answer(primal.from_moments(normal, alpha), "cholesky", flat)
    except NotPositiveDefinite:
        return None


def weighted_means(
    rows: Rows, fit_intercept: bool, ensure_finite: Callable[[Any], None]
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


def _products(p: Problem) -> Answer:
    X, Y, _, flat = p.rows
    mean_x, mean_y, s = weighted_means(p.rows, p.fit_intercept, p.ensure_finite)
    found = primal.from_products(
        CentredColumns(X, mean_x, s),
        Y,
        mean_y,
        check_alpha(p.alpha, Y.shape[1]),
        tol=p.tol,
        max_iter=p.max_iter,
        callback=p.callback,
    )
    return Answer(found, "sparse_cg", bool(flat))


def _wide(p: Problem) -> Answer:
    """Fewer rows than columns: factor the n x n matrix of inner products."""
    X, Y, _, flat = p.rows
    xp = namespace(Y)
    mean_x, mean_y, s = weighted_means(p.rows, p.fit_intercept, p.ensure_finite)
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
    return Answer(Solution((W, mean_y - mean_x @ W), 1, value), name, bool(flat))


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
    """(K + alpha I)^-1 B, column by column's alpha."""
    xp = namespace(K)

    def solve(columns: Any, a: float) -> Any:
        shifted = add_diagonal(xp.asarray(K, copy=True), a)
        whole = xp.linalg.diagonal(shifted) * 1.0
        L = cholesky(shifted, overwrite=True)
        primal.refuse_dependent(L, whole)
        return cholesky_solve(L, columns)

    return by_alpha(solve, B, alpha)

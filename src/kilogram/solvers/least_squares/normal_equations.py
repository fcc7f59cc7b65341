"""Ridge regression in d unknowns: the normal equations (S + alpha I) W = C and their solvers.

    moments     S = X_c'X_c and C = X_c'Y_c from one pass over the rows, then a Cholesky factor
    triangle    [X_c, Y_c] = Q R from one more pass, then the SVD of R_x: the condition number is
                not squared. Used when the factor shows columns that are almost dependent
    spectrum    the eigenvectors of S, where there is no second pass over the rows (`partial_fit`)
    products    conjugate gradients that only multiply with X: large sparse tables stay sparse
    positive    W >= 0: projected quasi-Newton steps, then the exact solution on the support found

X_c, Y_c are centred with weighted means if there is an intercept, b = mean_y - mean_x W. Without
one the same formulas hold with means of zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.optimize import minimize

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, cholesky_solve, eigh, svd
from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import reduce_rows
from kilogram.solvers.linear.cg import Tick
from kilogram.solvers.linear.cgls import cgls
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments, Triangle

# Fraction of a column's squared length that its predecessors do not explain, below which the
# solution by Cholesky has lost more than half its digits; sums of float32 rows have fewer
DEPENDENT = 1e-9
DEPENDENT_SINGLE = 2.5e-4


def by_alpha(solve: Callable[[Any, float], Any], C: Any, alpha: Sequence[float]) -> Any:
    """solve(columns of C, their common alpha), each different alpha once, back in order."""
    if len(set(alpha)) == 1:
        return solve(C, alpha[0])
    xp = namespace(C)
    found: list[Any] = [None] * len(alpha)
    for a in sorted(set(alpha)):
        mine = [j for j, other in enumerate(alpha) if other == a]
        W = solve(xp.stack([C[:, j] for j in mine], axis=1), a)
        for k, j in enumerate(mine):
            found[j] = W[:, k]
    return xp.stack(found, axis=1)


@dataclass(frozen=True, eq=False)
class Normal:
    """The normal equations: S (d, d), C (d, t), the squared lengths of Y's columns, the means."""

    S: Any
    C: Any
    squares: Any
    mean_x: Any
    mean_y: Any

    @classmethod
    def of(cls, m: JointMoments, fit_intercept: bool) -> Normal:
        xp = namespace(m.scatter)
        squares = xp.linalg.diagonal(m.scatter_y)
        if fit_intercept:
            return cls(m.scatter, m.cross, squares, m.mean, m.mean_y)
        x, y = m.mean, m.mean_y
        S = m.scatter + m.weight * (x[:, None] * x[None, :])
        C = m.cross + m.weight * (x[:, None] * y[None, :])
        return cls(S, C, squares + m.weight * y * y, 0.0 * x, 0.0 * y)

    def solution(self, W: Any, alpha: Sequence[float], n_iter: int = 1, **status: Any) -> Solution:
        """W with its intercept, and the objective sum_i w_i |y_i - f(x_i)|^2 + alpha |W|^2."""
        xp = namespace(W)
        loss = self.squares - xp.sum(W * (2.0 * self.C - self.S @ W), axis=0)
        loss = xp.where(loss > 0, loss, xp.zeros_like(loss))  # differences of like numbers
        value = float(xp.sum(loss)) + penalty(W, alpha)
        return Solution((W, self.mean_y - self.mean_x @ W), n_iter, value, **status)


def penalty(W: Any, alpha: Sequence[float], G: Any = None) -> float:
    """sum_j alpha_j |w_j|^2, or alpha_j |G w_j|^2."""
    xp = namespace(W)
    V = W if G is None else G @ W
    lengths = xp.sum(V * V, axis=0)
    return sum(a * float(lengths[j]) for j, a in enumerate(alpha))


def from_moments(
    normal: Normal, alpha: Sequence[float], *, dependent: float = DEPENDENT
) -> Solution:
    """By Cholesky; NotPositiveDefinite when columns are (almost) dependent."""
    W = by_alpha(lambda C, a: _factored(normal.S, C, a, dependent), normal.C, alpha)
    return normal.solution(W, alpha)


def _factored(S: Any, C: Any, alpha: float, dependent: float) -> Any:
    xp = namespace(S)
    A = S + alpha * xp.eye(S.shape[0], dtype=S.dtype, device=S.device)
    whole = xp.linalg.diagonal(A)
    L = cholesky(A)
    refuse_dependent(L, whole, dependent)
    return cholesky_solve(L, C)


def refuse_dependent(L: Any, whole: Any, dependent: float = DEPENDENT) -> None:
    """NotPositiveDefinite if some L_jj^2 is a tiny fraction of the diagonal entry it came from."""
    xp = namespace(L)
    fraction = max(dependent, 64.0 * float(xp.finfo(L.dtype).eps))
    tiny = xp.linalg.diagonal(L) ** 2 < fraction * whole
    if bool(xp.any(tiny)):
        raise NotPositiveDefinite(int(xp.argmax(xp.astype(tiny, xp.int8))) + 1)


def from_spectrum(normal: Normal, alpha: Sequence[float]) -> Solution:
    """The smallest W among the minimisers, from the eigenvectors of S."""
    xp = namespace(normal.S)
    l, V = eigh(normal.S)
    kept = l > l[0] * l.shape[0] * float(xp.finfo(l.dtype).eps)

    def solve(C: Any, a: float) -> Any:
        shrink = xp.where(kept, 1.0 / xp.where(kept, l + a, xp.ones_like(l)), xp.zeros_like(l))
        return V @ (shrink[:, None] * (V.T @ C))

    return normal.solution(by_alpha(solve, normal.C, alpha), alpha)


def from_triangle(normal: Normal, rows: tuple[Any, Any, Any], alpha: Sequence[float]) -> Solution:
    """The smallest W among the minimisers, from one more pass over the rows (X, Y, w)."""
    mean_x, mean_y = normal.mean_x, normal.mean_y

    def statistic(X: Any, Y: Any, w: Any = None) -> Triangle:
        xp = namespace(X)
        X = X.toarray() if is_sparse(X) else X
        Y = Y if Y.ndim == 2 else xp.reshape(Y, (-1, 1))
        return Triangle.joint(X - mean_x, Y - mean_y, w)

    R = reduce_rows(statistic, *rows).R
    d = mean_x.shape[0]
    W = least_squares(R[:, :d], R[:, d:], alpha)
    xp, rest = namespace(R), R[:, d:] - R[:, :d] @ W
    value = float(xp.sum(rest * rest)) + penalty(W, alpha)
    return Solution((W, mean_y - mean_x @ W), 1, value)


def least_squares(X: Any, Y: Any, alpha: Sequence[float]) -> Any:
    """W (d, t) = V (s / (s^2 + alpha)) U'Y for X = U s V'; directions of rounding are left out."""
    xp = namespace(X)
    U, s, Vt = svd(X)
    kept = s > s[0] * max(X.shape) * float(xp.finfo(s.dtype).eps)

    def solve(C: Any, a: float) -> Any:
        shrink = xp.where(kept, s / xp.where(kept, s * s + a, xp.ones_like(s)), xp.zeros_like(s))
        return Vt.T @ (shrink[:, None] * C)

    return by_alpha(solve, U.T @ Y, alpha)


@dataclass(frozen=True, eq=False)
class CentredColumns:
    """diag(s) (X - 1 m') as a linear map: sparse X stays sparse."""

    X: Any
    mean: Any
    s: Any
    flipped: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.X.shape
        return (d, n) if self.flipped else (n, d)

    @property
    def T(self) -> CentredColumns:
        return CentredColumns(self.X, self.mean, self.s, not self.flipped)

    def __matmul__(self, V: Any) -> Any:
        xp = namespace(V)
        if self.flipped:
            V = V if self.s is None else self.s[:, None] * V
            return self.X.T @ V - self.mean[:, None] * xp.sum(V, axis=0)[None, :]
        U = self.X @ V - (self.mean @ V)[None, :]
        return U if self.s is None else self.s[:, None] * U


def from_products(
    A: CentredColumns,
    Y: Any,
    mean_y: Any,
    alpha: Sequence[float],
    *,
    tol: float,
    max_iter: int | None,
    callback: Tick | None = None,
) -> Solution:
    """By products with X and its transpose; Y (n, t) as given.

    The preconditioner would change the norm that decides among many solutions: not for alpha = 0.
    """
    xp = namespace(Y)
    B = Y - mean_y
    B = B if A.s is None else A.s[:, None] * B
    lengths = _squared_columns(A)
    found = cgls(
        A,
        B,
        xp.asarray(list(alpha), dtype=B.dtype, device=B.device),
        squared_columns=lengths,
        preconditioned=min(alpha) > 0,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )
    value = (found.value, mean_y - A.mean @ found.value)
    return Solution(value, max(found.n_iter, 1), found.objective, found.converged, found.message)


def _squared_columns(A: CentredColumns) -> Any:
    """Squared lengths of the columns before centring, which are near enough for scales."""
    xp = namespace(A.X)
    X = A.X
    if is_sparse(X):
        squared = X.multiply(X)
        weights = xp.ones(X.shape[0], dtype=X.dtype) if A.s is None else A.s**2
        return xp.asarray(squared.T @ weights)
    return xp.sum(X * X if A.s is None else (A.s[:, None] * X) ** 2, axis=0)


def positive(
    normal: Normal, alpha: Sequence[float], *, tol: float, max_iter: int | None
) -> Solution:
    """min over W >= 0, target by target; the d x d normal equations are all it needs."""
    found = [_positive_one(normal, j, a, tol, max_iter) for j, a in enumerate(alpha)]
    W = namespace(normal.C).stack([f.value for f in found], axis=1)
    stopped = [f.message for f in found if not f.converged]
    return normal.solution(
        W,
        alpha,
        max(f.n_iter for f in found),
        converged=not stopped,
        message=stopped[0] if stopped else "",
    )


def _positive_one(
    normal: Normal, j: int, alpha: float, tol: float, max_iter: int | None
) -> Solution:
    S, c = to_numpy(normal.S), to_numpy(normal.C)[:, j]
    d = S.shape[0]

    def objective(w: Any) -> tuple[float, Any]:
        g = S @ w + alpha * w - c
        return 0.5 * float(w @ (g - c)), g

    start = c.clip(min=0.0) / (S.trace() + alpha or 1.0)
    limits = {"maxiter": max_iter or 15_000, "gtol": 0.1 * tol * abs(c).max(initial=0.0), "ftol": 0}
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * d, options=limits
    )
    w = _exact_on_support(S, c, alpha, found.x)
    slope = objective(w)[1]
    gap = float(abs(w - (w - slope).clip(min=0.0)).max(initial=0.0))
    good = bool(found.success) or gap <= tol * max(abs(c).max(initial=0.0), 1e-300)
    why = "" if good else f"{found.message}. The largest violation is {gap:.1e}."
    return Solution(like(w, normal.S), max(1, int(found.nit)), None, good, why)


def _exact_on_support(S: Any, c: Any, alpha: float, w: Any) -> Any:
    """The minimiser on the support of w, if it is the constrained minimiser; w if not."""
    on = (w > 0).nonzero()[0]
    if not len(on):
        return w
    xp = namespace(S)
    A = S[on][:, on] + alpha * xp.eye(len(on), dtype=S.dtype)
    try:
        exact = cholesky_solve(cholesky(A), c[on][:, None])[:, 0]
    except NotPositiveDefinite:
        return w
    better = xp.zeros_like(w)
    better[on] = exact
    slope = S @ better + alpha * better - c
    off = better == 0
    tiny = 1e-9 * abs(c).max()
    return better if exact.min() >= 0 and (slope[off] >= -tiny).all() else w

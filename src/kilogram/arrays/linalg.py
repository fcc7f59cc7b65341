"""Dense linear algebra over any array namespace; NumPy uses the native core or LAPACK.

Conventions: factors are lower, eigenvalues and singular values come largest first.
`scatter` of float32 NumPy rows returns float64 sums (see `kilogram.native.sums`); every other
function keeps the type of its argument.

NumPy and SciPy each carry a BLAS with threads of its own, which spin for a while after their work.
Decompositions here are NumPy's, beside whose products (`@`) they run: with SciPy's, the two pools
fought for the cores and a decomposition of order 100 took 20 ms instead of 1.

Large decompositions of NumPy arrays run in a worker thread, so that Ctrl-C is heard meanwhile.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg

from kilogram import native
from kilogram.arrays.interruptible import LONG_WORK, run_interruptible
from kilogram.arrays.namespace import is_numpy, is_sparse, namespace


class NotPositiveDefinite(np.linalg.LinAlgError):
    """The leading minor of this `order` is not positive: the matrix has no Cholesky factor."""

    def __init__(self, order: int) -> None:
        super().__init__(
            f"the matrix is not positive definite: its leading minor of order {order} is not "
            "positive. Add to the diagonal (a larger alpha), or drop duplicate rows."
        )
        self.order = order


def _is_native(X: Any) -> bool:
    return is_numpy(X) and X.dtype in (np.float32, np.float64)


def scatter(X: Any, w: Any = None, shift: Any = None) -> tuple[Any, Any]:
    """S = (X - shift)' diag(w) (X - shift), (d, d), and s = sum_i w_i (x_i - shift), (d,)."""
    if is_sparse(X):
        return _scatter_sparse(X, w, shift)
    if _is_native(X):
        S, s = native.scatter(X, w, shift)
        if X.dtype == np.float32 and squares_underflow(S):
            return native.scatter(X.astype(np.float64), w, shift)
        return S, s
    xp = namespace(X)
    Z = X if shift is None else X - shift
    WZ = Z if w is None else Z * w[:, None]
    return Z.T @ WZ, xp.sum(WZ, axis=0)


def squares_underflow(S: Any) -> bool:
    """Whether squares of float32 rows are so small that float64 is needed."""
    return float(np.trace(S)) < len(S) * float(np.finfo(np.float32).smallest_normal)


def _scatter_sparse(X: Any, w: Any, shift: Any) -> tuple[Any, Any]:
    """The shift is applied to the sums, so X stays sparse; float64 keeps the cancellation small."""
    X = X.astype(np.float64)
    n = X.shape[0]
    WX = X if w is None else X.multiply(np.asarray(w, dtype=np.float64)[:, None]).tocsr()
    S = (X.T @ WX).toarray()
    s = np.asarray(WX.sum(axis=0)).ravel()
    if shift is not None:
        c, total = np.asarray(shift, dtype=np.float64), float(n if w is None else np.sum(w))
        cs = np.outer(c, s)
        S, s = S - cs - cs.T + total * np.outer(c, c), s - total * c
    return S, s


def cholesky(A: Any, *, overwrite: bool = False) -> Any:
    """Lower L with L L' = A. Of a NumPy A only the lower triangle is read.

    With `overwrite`, a C-contiguous NumPy A becomes L, upper triangle zeroed; no second matrix.
    """
    if not _is_native(A):
        return _cholesky_standard(A)
    L = A if overwrite and A.flags.c_contiguous and A.flags.writeable else A.copy(order="C")
    order = run_interruptible(native.cholesky_inplace, L, work=L.shape[0] ** 3 / 6)
    if order:
        raise NotPositiveDefinite(order)
    for i in range(L.shape[0] - 1):  # row by row: np.tril would take a second matrix
        L[i, i + 1 :] = 0
    return L


def _cholesky_standard(A: Any) -> Any:
    """Other libraries raise their own errors, or return NaN; both become NotPositiveDefinite."""
    xp = namespace(A)
    try:
        L = xp.linalg.cholesky(A)
    except (np.linalg.LinAlgError, RuntimeError) as error:
        raise NotPositiveDefinite(_failing_order(str(error))) from error
    if not bool(xp.all(xp.isfinite(L))):
        raise NotPositiveDefinite(0)
    return L


def _failing_order(message: str) -> int:
    """The order a library's error message names, 0 where it names none."""
    words = message.replace("-", " ").split()
    after = [b for a, b in pairwise(words) if a == "order"]
    return int(after[0]) if after and after[0].isdigit() else 0


def solve_triangular(L: Any, B: Any, *, transposed: bool = False) -> Any:
    """X of L X = B, or of L' X = B; L (n, n) lower, B (n,) or (n, t)."""
    if is_numpy(L):
        return _solve_triangular_numpy(L, B, "T" if transposed else "N")
    xp = namespace(L, B)
    A, upper = (L.T, True) if transposed else (L, False)
    columns = B[:, None] if B.ndim == 1 else B
    solve = getattr(xp.linalg, "solve_triangular", None)  # torch, CuPy; not in the standard
    X = solve(A, columns, upper=upper) if solve else xp.linalg.solve(A, columns)
    return X[:, 0] if B.ndim == 1 else X


def _solve_triangular_numpy(L: Any, B: Any, trans: str) -> Any:
    """SciPy's solve, which holds Python's lock: many columns are solved in blocks."""
    how: dict[str, Any] = {"lower": True, "trans": trans, "check_finite": False}
    step = max(1, int(2 * LONG_WORK / max(1, L.shape[0] ** 2)))
    if B.ndim == 1 or B.shape[1] <= step:
        return scipy.linalg.solve_triangular(L, B, **how)
    X = np.empty(B.shape, np.result_type(L, B))
    for a in range(0, B.shape[1], step):
        X[:, a : a + step] = scipy.linalg.solve_triangular(L, B[:, a : a + step], **how)
    return X


def cholesky_solve(L: Any, B: Any) -> Any:
    """X of L L' X = B."""
    return solve_triangular(L, solve_triangular(L, B), transposed=True)


def solve_symmetric(A: Any, B: Any) -> Any:
    """X of A X = B for a symmetric A that may be indefinite; A is overwritten.

    None where A is singular to working precision, and for libraries without such a factor.
    """
    if not _is_native(A):
        return None
    names = ("sytrf", "sytrf_lwork", "sycon", "sytrs")
    factor, workspace, condition, solve = scipy.linalg.get_lapack_funcs(names, (A, B))
    size = float(np.abs(A).sum(axis=0).max())
    work, _ = workspace(A.shape[0], lower=1)
    # read as columns, a symmetric array of rows is itself: the factor needs no second matrix
    LDL, pivots, singular = factor(A.T, lower=1, lwork=int(work.real), overwrite_a=True)
    if singular:
        return None
    rcond, _ = condition(LDL, pivots, size, lower=1)
    if not rcond > A.shape[0] * np.finfo(A.dtype).eps:
        return None
    return solve(LDL, pivots, B, lower=1)[0]


def eigh(A: Any, *, deadline: float | None = None) -> tuple[Any, Any]:
    """Eigenvalues (n,), largest first, and eigenvectors in columns (n, n), of a symmetric A."""
    xp = namespace(A)
    if is_numpy(A):
        # LAPACK's divide and conquer
        values, vectors = run_interruptible(
            np.linalg.eigh, A, work=4.5 * A.shape[0] ** 3, deadline=deadline
        )
        return values[::-1], vectors[:, ::-1]
    try:
        values, vectors = xp.linalg.eigh(A)
    except RuntimeError as error:  # torch's own type of failure
        raise np.linalg.LinAlgError("Eigenvalues did not converge") from error
    return xp.flip(values, axis=0), xp.flip(vectors, axis=1)


def qr(X: Any) -> tuple[Any, Any]:
    """Q (n, k) with orthonormal columns and R (k, d) upper, X = Q R, k = min(n, d)."""
    n, d = X.shape
    if is_numpy(X):
        Q, R = run_interruptible(np.linalg.qr, X, work=2.0 * n * d * min(n, d))
        return Q, R
    Q, R = namespace(X).linalg.qr(X, mode="reduced")
    return Q, R


def svd(X: Any) -> tuple[Any, Any, Any]:
    """U (n, k), s (k,) largest first, Vt (k, d), X = U diag(s) Vt, k = min(n, d).

    Much longer than wide (or the reverse), X is reduced to its small triangular factor first: the
    singular values are those of R, to full accuracy, for a fraction of the work.
    """
    n, d = X.shape
    if d > n:
        U, s, Vt = svd(X.T)
        return Vt.T, s, U.T
    if n > 1.6 * d and d > 0:
        Q, R = qr(X)
        U, s, Vt = svd(R)
        return Q @ U, s, Vt
    if is_numpy(X):
        U, s, Vt = run_interruptible(np.linalg.svd, X, False, work=10.0 * n * d * d)
        return U, s, Vt
    U, s, Vt = namespace(X).linalg.svd(X, full_matrices=False)
    return U, s, Vt

"""Exact leave-one-out residuals of ridge and kernel ridge, for all penalties at once.

A penalised least-squares fit is linear in y, f = H y, and leaving row i out changes its residual to

    e_i = (y_i - f_i) / (1 - H_ii)            H_ii = w_i (z_i' G z_i + 1 / W with an offset)

Primal, with X_c'X_c = V diag(l) V' (weighted) and Z = X_c V:    G = diag(1 / (l + alpha)). One
eigendecomposition serves every alpha, and the sum of squared residuals is a sum over rows: one more
pass in blocks, on any container.

Dual, with S K S = Q diag(l) Q' and B = S K S + alpha I = Q diag(l + alpha) Q':
    without offset   e_i s_i = c_i / [B^-1]_ii,             c = B^-1 S y
    with offset      e_i s_i = c_i / ([B^-1]_ii - v_i^2 / s'v),   v = B^-1 s,  c = B^-1 S (y - b 1)
which keeps its digits when H_ii is close to 1. Rows of weight zero are not fitted: nothing changes
when they are left out.

References: Allen 1974 (PRESS); Rifkin and Lippert, Notes on regularized least squares, 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kilogram.arrays.linalg import eigh, svd
from kilogram.arrays.namespace import is_sparse, like, namespace
from kilogram.solvers.least_squares.normal_equations import Normal

ROWS = 2048  # rows of Q squared at once: 16 MiB for 1 000 columns


@dataclass(frozen=True, eq=False)
class Press:
    """Rows counted, and their sums of w_i e_i^2, (t, k), for every penalty; with `+`."""

    rows: int
    squares: Any

    @classmethod
    def of(cls, e: Any, w: Any = None) -> Press:
        """Scores of the residuals e (n, t, k)."""
        xp = namespace(e)
        e2 = e * e
        e2 = e2 if w is None else xp.astype(w, e.dtype)[:, None, None] * e2
        return cls(e.shape[0], xp.sum(e2, axis=0))

    def __add__(self, other: Press) -> Press:
        return Press(self.rows + other.rows, self.squares + other.squares)


@dataclass(frozen=True, eq=False)
class LinearPath:
    """Ridge along all penalties: V (d, d), l (d,), q = V'C (d, t), means, total weight."""

    V: Any
    l: Any
    q: Any
    mean_x: Any
    mean_y: Any
    alphas: Any
    intercept_leverage: float

    @classmethod
    def of(
        cls, normal: Normal, weight: float, alphas: Sequence[float], fit_intercept: bool
    ) -> LinearPath:
        l, V = eigh(normal.S)
        xp = namespace(l)
        l = xp.where(l > 0, l, xp.zeros_like(l))  # S has no negative ones but for rounding
        grid = like(namespace().asarray(list(alphas)), l)
        intercept_leverage = 1.0 / weight if fit_intercept else 0.0
        return cls(V, l, V.T @ normal.C, normal.mean_x, normal.mean_y, grid, intercept_leverage)

    @classmethod
    def from_triangle(
        cls, R: Any, normal: Normal, alphas: Any, intercept_leverage: float
    ) -> LinearPath:
        """From the SVD of the triangle R (k, d + t) of the centred, weighted rows [X_c, Y_c]."""
        d = normal.mean_x.shape[0]
        U, sv, Vt = svd(R[:, :d])
        grid = like(namespace().asarray(list(alphas)), sv)
        q = sv[:, None] * (U.T @ R[:, d:])
        return cls(Vt.T, sv * sv, q, normal.mean_x, normal.mean_y, grid, intercept_leverage)

    @property
    def shrink(self) -> Any:
        """1 / (l + alpha), (d, k)."""
        return 1.0 / (self.l[:, None] + self.alphas[None, :])

    def coefficients(self) -> Any:
        """W for every alpha, (d, t, k)."""
        return _shrunken_products(self.V, self.shrink, self.q)

    def residuals(self, X: Any, Y: Any, w: Any = None) -> Any:
        """Leave-one-out residuals e (n, t, k) of a block of rows."""
        xp = namespace(Y)
        Y = xp.reshape(Y, (-1, 1)) if Y.ndim == 1 else Y
        X = X.toarray() if is_sparse(X) else X
        Z = (X - self.mean_x) @ self.V
        v = xp.ones_like(Z[:, 0]) if w is None else xp.astype(w, Z.dtype)
        h = v[:, None] * ((Z * Z) @ self.shrink + self.intercept_leverage)
        left = 1.0 - h
        left = xp.where(left > 0, left, float(xp.finfo(left.dtype).eps) * xp.ones_like(left))
        R = (Y - self.mean_y)[:, :, None] - _shrunken_products(Z, self.shrink, self.q)
        return R / left[:, None, :]

    def press(self, X: Any, Y: Any, w: Any = None) -> Press:
        """The sums of squared leave-one-out residuals of a block of rows."""
        return Press.of(self.residuals(X, Y, w), w)


def _shrunken_products(A: Any, shrink: Any, q: Any) -> Any:
    """A diag(shrink[:, a]) q for every a, (n, t, k), as one product."""
    xp = namespace(A)
    (r, t), k = q.shape, shrink.shape[1]
    inner = xp.reshape(shrink[:, None, :] * q[:, :, None], (r, t * k))
    return xp.reshape(A @ inner, (A.shape[0], t, k))


@dataclass(frozen=True, eq=False)
class DualPath:
    """Kernel ridge along all penalties: dual coefficients a (n, t, k), offsets b (t, k), e."""

    a: Any
    b: Any
    #: Leave-one-out residuals, (n, t, k).
    residuals: Any


def dual_path(
    K: Any, Y: Any, alphas: Sequence[float], *, w: Any = None, fit_intercept: bool
) -> DualPath:
    """All penalties from one eigendecomposition of K (n, n), S k(X, X) S for weights w > 0.

    What K cannot determine is left out: directions in which l + alpha is rounding have no part in
    the coefficients, and residuals are those of a penalty of at least that rounding.
    """
    xp = namespace(K)
    s = xp.ones_like(Y[:, 0]) if w is None else xp.sqrt(w)
    l, Q = eigh(K)
    floor = float(xp.max(xp.abs(l))) * l.shape[0] * float(xp.finfo(l.dtype).eps)
    l = xp.where(xp.abs(l) <= floor, xp.zeros_like(l), l)[:, None]
    grid = like(namespace().asarray(list(alphas)), l)[None, :]
    middle = (s * s) @ Y / xp.sum(s * s) if fit_intercept else xp.zeros_like(Y[0, :])
    q, q_one = Q.T @ (s[:, None] * (Y - middle)), Q.T @ s
    D = 1.0 / (l + xp.where(grid > floor, grid, xp.full_like(grid, floor or 1.0)))
    c, b, v = _bordered(Q, D, q, q_one, s, fit_intercept)
    own = _diagonals(Q, D)
    if fit_intercept:
        own = own - v * v / (s @ v)[None, :]
    residuals = c / (own * s[:, None])[:, None, :]
    kept = xp.abs(l + grid) > floor
    if not bool(xp.all(kept)) or float(xp.min(grid)) <= floor:
        D = xp.where(kept, 1.0 / xp.where(kept, l + grid, xp.ones_like(l + grid)), 0.0 * l)
        c, b, _ = _bordered(Q, D, q, q_one, s, fit_intercept)
    return DualPath(s[:, None, None] * c, middle[:, None] + b, residuals)


def _bordered(
    Q: Any, D: Any, q: Any, q_one: Any, s: Any, fit_intercept: bool
) -> tuple[Any, Any, Any]:
    """c (n, t, k), the offsets b (t, k) and v = B^-1 s (n, k); b = 0 without an offset."""
    xp = namespace(Q)
    c = _shrunken_products(Q, D, q)
    if not fit_intercept:
        return c, xp.zeros_like(c[0, :, :]), None
    v = Q @ (D * q_one[:, None])
    along = s @ v
    along = xp.where(along != 0, along, xp.ones_like(along))
    b = xp.sum(s[:, None, None] * c, axis=0) / along[None, :]
    return c - b[None, :, :] * v[:, None, :], b, v


def _diagonals(Q: Any, D: Any) -> Any:
    """[Q diag(D[:, a]) Q']_ii for every a, (n, k), in blocks of rows: Q * Q is never whole."""
    xp = namespace(Q)
    steps = range(0, Q.shape[0], ROWS)
    parts = [Q[i : min(i + ROWS, Q.shape[0]), :] ** 2 @ D for i in steps]
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)

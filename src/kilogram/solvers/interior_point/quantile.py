"""Quantile regression as a linear program, by an interior point method.

    min_{w, b}  sum_i rho(y_i - <x_i, w> - b) + c |w|_1       rho(r) = v_i max((q - 1) r, q r)

Its dual has one number per row, x_i between 0 and v_i:

    max  sum_i y_i x_i     such that  A x = (1 - q) A v       A = [X, 1]'

and the penalty is one more row e_j with target 0 for every column. Newton iterations on the
optimality conditions, with Mehrotra's predictor and corrector, need A Q A' with Q = diag(q_i) > 0:
moments of the rows weighted by q, the offset eliminated by their mean. About 20 of them suffice,
whatever n. At the end as many rows as there are unknowns are interpolated, if that is better, and
coefficients that are rounding become 0.

References: Mehrotra 1992; Portnoy and Koenker 1997.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.solvers.newton.clipped_loss import solve_symmetric
from kilogram.solvers.solution import Solution
from kilogram.statistics import Moments

INSIDE = 0.99995  # fraction of the way to the nearest bound, as Portnoy and Koenker take it
#: Contribution of a coefficient to the predictions, relative to y, that counts as rounding; a wrong
#: guess is taken back, see `_sparse`.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True, eq=False)
class Line:
    """A' and A: the rows X (n, d) with or without a constant, then d rows of the penalty."""

    X: Any
    intercept: bool
    penalised: bool

    def values(self, w: np.ndarray, b: float) -> np.ndarray:
        """A'(w, b): the predictions, then w where it is penalised."""
        X = self.X
        f = np.asarray(to_numpy(X @ (w if is_sparse(X) else like(w, X))), dtype=np.float64) + b
        return np.concatenate([f, w]) if self.penalised else f

    def sums(self, a: np.ndarray) -> tuple[np.ndarray, float]:
        """A a: sums of the columns, and of the constant."""
        X = self.X
        n = X.shape[0]
        found = X.T @ (a[:n] if is_sparse(X) else like(a[:n], X))
        found = np.asarray(to_numpy(found), dtype=np.float64)
        return found + a[n:] if self.penalised else found, float(a[:n].sum())

    def solver(self, q: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, float]]:
        """a -> (A Q A')^-1 A a."""
        n = self.X.shape[0]
        v = q[:n]
        m = Moments.of(self.X, v if is_sparse(self.X) else like(v, self.X))
        S, mean = (np.asarray(to_numpy(a), dtype=np.float64) for a in (m.scatter, m.mean))
        weight = m.weight
        if not self.intercept:
            S += weight * np.outer(mean, mean)
        if self.penalised:
            S[np.diag_indices(len(mean))] += q[n:]
        root = np.sqrt(np.where(S.diagonal() > 0, S.diagonal(), 1.0))
        S /= np.outer(root, root)

        def solve(a: np.ndarray) -> tuple[np.ndarray, float]:
            g, g_0 = self.sums(a)
            if not self.intercept:
                return solve_symmetric(S, g / root) / root, 0.0
            w = solve_symmetric(S, (g - mean * g_0) / root) / root
            return w, g_0 / weight - float(mean @ w)

        return solve


def quantile_program(
    X: Any,
    y: np.ndarray,
    v: np.ndarray,
    quantile: float,
    *,
    lasso: float = 0.0,
    fit_intercept: bool = True,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> Solution:
    """Value (w (d,), b) for targets y (n,) and weights v (n,), all above 0."""
    constant = float(y[0]) if fit_intercept else 0.0
    if bool((y == constant).all()):  # fitted exactly, and the program below has no scale
        return Solution((np.zeros(X.shape[1]), constant), 0, 0.0)
    line = Line(X, fit_intercept, lasso > 0)
    size = float(np.abs(y).max(initial=0.0)) or 1.0
    c, u, x = -y / size, v, (1.0 - quantile) * v  # the solution grows with y; tolerances need not
    if lasso > 0:  # |w_j| is a pinball loss of quantile 1/2 and weight 2
        d = X.shape[1]
        c, u = np.concatenate([c, np.zeros(d)]), np.concatenate([v, np.full(d, 2.0 * lasso)])
        x = np.concatenate([x, np.full(d, lasso)])
    found = _interior(line, c, u, x, tol, max_iter)
    w, b = found.value
    w, b, value = _vertex(line, -c, u, x, -w, -b)
    scaled = (size * w, size * b)
    return Solution(scaled, found.n_iter, size * value, found.converged, found.message)


def _interior(
    line: Line,
    c: np.ndarray,
    u: np.ndarray,
    x: np.ndarray,
    tol: float,
    max_iter: int,
) -> Solution:
    """min c'x, A x = A x_0, 0 <= x <= u from x_0 inside; value: the multipliers (p, p_0)."""
    s, start = u - x, x
    p, p_0 = line.solver(u)(u * c)
    r = c - line.values(p, p_0)
    size = float(np.abs(c) @ u)
    least = 1e-3 * max(float(np.abs(r).mean()), 1e-9 * size / float(u.sum()), 1e-100)
    z, w = np.maximum(r, 0.0) + least, np.maximum(-r, 0.0) + least
    step = 0
    while True:
        step += 1
        gap = float(z @ x + w @ s)
        # the objective: c'x less its value at the start, where every residual has its own sign
        value = abs(float(c @ (x - start))) + gap
        if gap <= tol * value or gap <= 1e-15 * size or step == max_iter:
            settled = step < max_iter
            why = "" if settled else f"the gap to the optimum is {gap:.1g} of {value:.1g}."
            return Solution((p, p_0), step, None, settled, why)
        q, d_zw = 1.0 / (z / x + w / s), z - w
        solve = line.solver(q)
        dp, dp_0 = solve(q * d_zw)
        dx = q * (line.values(dp, dp_0) - d_zw)
        dz, dw = -z * (dx / x + 1.0), -w * (1.0 - dx / s)
        t_x, t_z = _step_to_boundary(x, dx, s, -dx), _step_to_boundary(z, dz, w, dw)
        if min(t_x, t_z) < 1.0:
            ahead = float((z + t_z * dz) @ (x + t_x * dx) + (w + t_z * dw) @ (s - t_x * dx))
            mu = gap * (ahead / gap) ** 3 / (2 * len(x))
            xi, bend = mu * (1.0 / x - 1.0 / s), dx * dz / x + dx * dw / s
            dp, dp_0 = solve(q * (d_zw + bend - xi))
            old, dx = dx, q * (line.values(dp, dp_0) + xi - d_zw - bend)
            dz = mu / x - z - z * dx / x - old * dz / x
            dw = mu / s - w + w * dx / s + old * dw / s
            t_x, t_z = _step_to_boundary(x, dx, s, -dx), _step_to_boundary(z, dz, w, dw)
        if not (np.isfinite(t_x * dx).all() and np.isfinite(t_z * (dz + dw)).all()):
            why = f"rounding stopped it at a gap of {gap:.1g} of {value:.1g}."
            return Solution((p, p_0), step, None, gap <= 1e3 * tol * value, why)
        x, s = x + t_x * dx, s - t_x * dx
        z, w, p, p_0 = z + t_z * dz, w + t_z * dw, p + t_z * dp, p_0 + t_z * dp_0


def _step_to_boundary(a: np.ndarray, da: np.ndarray, b: np.ndarray, db: np.ndarray) -> float:
    """The longest step, 1 at most, that keeps a and b above 0."""
    nearest = max(float((-da / a).max()), float((-db / b).max()), 1e-300)
    return min(1.0, INSIDE / nearest)


def _vertex(
    line: Line, y: np.ndarray, u: np.ndarray, low: np.ndarray, w: np.ndarray, b: float
) -> tuple[np.ndarray, float, float]:
    """The vertex of the rows nearest to the solution, or the solution itself if that is lower."""

    def objective(w: np.ndarray, b: float) -> tuple[float, np.ndarray]:
        r = y - line.values(w, b)
        return float(np.maximum((u - low) * r, -low * r).sum()), r

    def cleaned(w: np.ndarray, b: float, value: float) -> tuple[np.ndarray, float, float]:
        """Without coefficients that are rounding, unless the objective is higher then."""
        kept = np.abs(w) * _largest_entries(line.X) > NEGLIGIBLE * float(np.abs(y).max())
        less, _ = objective(w * kept, b)
        better = less <= value + 1e-13 * float(np.abs(y) @ u)
        return (w * kept, b, less) if better else (w, b, value)

    value, r = objective(w, b)
    X, n, d = line.X, line.X.shape[0], len(w)
    k = d + int(line.intercept)
    if len(y) < k or k > 500:
        return cleaned(w, b, value)
    at = np.argpartition(np.abs(r), k - 1)[:k]
    mine = at[at < n]
    rows = X[mine] if is_sparse(X) or namespace(X) is namespace() else to_numpy(X)[mine]
    rows = rows.toarray() if is_sparse(rows) else rows
    A = np.zeros((k, k))
    A[: len(mine), :d], A[len(mine) :, :d] = rows, np.eye(d)[at[at >= n] - n]
    if line.intercept:
        A[: len(mine), d] = 1.0
    target = np.concatenate([y[mine], np.zeros(k - len(mine))])
    exact = np.linalg.lstsq(A, target, rcond=None)[0]
    corner = exact[:d], float(exact[d]) if line.intercept else 0.0
    lower, _ = objective(*corner)
    return cleaned(*corner, lower) if lower <= value else cleaned(w, b, value)


def _largest_entries(X: Any) -> np.ndarray:
    """max_i |x_ij| for every column."""
    if is_sparse(X):
        return np.asarray(abs(X).max(axis=0).toarray()).ravel()
    return np.asarray(to_numpy(namespace(X).max(namespace(X).abs(X), axis=0)), dtype=np.float64)

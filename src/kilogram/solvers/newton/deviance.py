"""Newton's method for generalised linear models, from sums over blocks of rows.

    F(b, c) = 1/W sum_i w_i loss(y_i, <x_i, b> + c) + alpha / 2 |b|^2            W = sum_i w_i

One pass gives loss, gradient and Hessian at a point. Rows are taken about a shift, which is undone
at the end. Many columns: the Newton system is solved by conjugate gradients, one pass a product.

References: Nelder and Wedderburn 1972; McCullagh and Nelder 1989.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.linalg import scatter, solve_symmetric
from kilogram.arrays.namespace import is_foreign, is_sparse, like, namespace, sum_dtype, to_numpy
from kilogram.arrays.rows import reduce_rows
from kilogram.functions.deviances import Tweedie
from kilogram.solvers.solution import Solution

Array = np.ndarray[Any, np.dtype[Any]]
Tick = Callable[[int, float | None], bool]

DIRECT = 2000  # columns up to which the Hessian is formed: 32 MB, n 2 000^2 operations
# Part of the predicted decrease that a step must reach: the usual constant (Nocedal and Wright).
ARMIJO = 1e-4
HALVINGS = 40  # 2^-40: below it no step changes float64
IDLE = 6  # iterations without half the gradient after which it is rounding,
SMALL = 1e-9  # if the predicted decrease is this small a part of the objective
ROUNDING = 1e-14  # predicted decrease, relative to the objective, that is rounding: some 50 eps


@dataclass(frozen=True)
class DevianceSums:
    """Sums over some rows: loss, gradient (D,), Hessian (D, D) or None, D = d + 1."""

    loss: float
    g: Array
    H: Array | None

    def __add__(self, other: DevianceSums) -> DevianceSums:
        H = None if self.H is None or other.H is None else self.H + other.H
        return DevianceSums(self.loss + other.loss, self.g + other.g, H)


class DeviancePoint(NamedTuple):
    """Coefficients about the shift with the intercept last, objective, gradient, Hessian."""

    b: Array
    value: float
    g: Array
    H: Array | None


@dataclass(frozen=True)
class DevianceProblem:
    """Rows (X, y, w), the deviance, and what is penalised."""

    rows: tuple[Any, Any, Any]
    family: Tweedie
    shift: Array
    total: float
    alpha: float
    intercept: bool

    @property
    def direct(self) -> bool:
        return len(self.shift) <= DIRECT

    def at(self, b: Array) -> DeviancePoint:
        """One pass over the rows."""
        found = reduce_rows(lambda X, y, w: self._sums(X, y, w, b), *self.rows)
        coef, g = b[:-1], found.g / self.total
        g[:-1] += self.alpha * coef
        H = None if found.H is None else found.H / self.total
        if H is not None:
            H[np.diag_indices(len(coef))] += self.alpha
        if not self.intercept:
            g[-1] = 0.0
        value = found.loss / self.total + 0.5 * self.alpha * float(coef @ coef)
        return DeviancePoint(b, value if np.isfinite(value) else np.inf, g, H)

    def _sums(self, X: Any, y: Any, w: Any, b: Array) -> DevianceSums:
        X, y, w = _prepared(X, y, w)
        terms = self.family.terms(y, self._predictor(X, b))
        u, h, loss = terms.gradient, terms.curvature, terms.loss
        if w is not None:
            u, h, loss = w * u, w * h, np.where(w > 0, w * loss, 0.0)
        total = float(loss.sum())
        if not np.isfinite(total):
            D = len(b)
            return DevianceSums(np.inf, np.zeros(D), np.zeros((D, D)) if self.direct else None)
        pull = float(u.sum())
        g = np.append(_pulled(X, u) - pull * self.shift, pull)
        return DevianceSums(total, g, weighted_scatter(X, h, self.shift) if self.direct else None)

    def _predictor(self, X: Any, b: Array) -> Array:
        coef = b[:-1]
        along = X @ (like(coef, X) if is_foreign(X) else coef)
        return np.asarray(to_numpy(along), dtype=np.float64) + (b[-1] - float(self.shift @ coef))

    def product(self, b: Array, v: Array) -> Array:
        """H v in one pass."""

        def block(X: Any, y: Any, w: Any) -> DevianceSums:
            X, y, w = _prepared(X, y, w)
            h = self.family.terms(y, self._predictor(X, b)).curvature
            s = (h if w is None else w * h) * self._predictor(X, v)
            pull = float(s.sum())
            return DevianceSums(0.0, np.append(_pulled(X, s) - pull * self.shift, pull), None)

        found = reduce_rows(block, *self.rows).g / self.total
        found[:-1] += self.alpha * v[:-1]
        if not self.intercept:
            found[-1] = 0.0
        return np.asarray(found)

    def direction(self, point: DeviancePoint, tol: float) -> Array:
        """-H^-1 g."""
        if point.H is None:
            return self._conjugate_gradients(point, tol)
        move, k = np.zeros(len(point.b)), len(point.b) - (0 if self.intercept else 1)
        move[:k] = -scaled_solve(point.H[:k, :k], point.g[:k])
        return move

    def _conjugate_gradients(self, point: DeviancePoint, tol: float) -> Array:
        x, r = np.zeros(len(point.b)), -point.g
        p, rr = r.copy(), float(r @ r)
        goal = max(min(0.25, np.sqrt(rr)) ** 2 * rr, (0.1 * tol) ** 2)
        for _ in range(200):
            q = self.product(point.b, p)
            curve = float(p @ q)
            if not curve > 0:
                break
            step = rr / curve
            x, r = x + step * p, r - step * q
            before, rr = rr, float(r @ r)
            if rr <= goal:
                break
            p = r + (rr / before) * p
        return x if x.any() else -point.g


def scaled_solve(H: Array, g: Array) -> Array:
    """H^-1 g, columns brought to one scale; of smallest norm in that scale if H is singular."""
    diagonal = np.sqrt(np.maximum(np.diagonal(H), 0.0))
    scale = np.where(diagonal > 0, diagonal, 1.0)
    A, right = H / np.outer(scale, scale), g / scale
    found = solve_symmetric(A.copy(), right[:, None])
    if found is None:
        return np.asarray(np.linalg.lstsq(A, right, rcond=1e-12)[0] / scale)
    return np.asarray(found)[:, 0] / scale


def _prepared(X: Any, y: Any, w: Any) -> tuple[Any, Array, Array | None]:
    """Targets and weights on the host; rows where they are, on a device in its sums' precision."""
    if is_foreign(X):
        X = namespace(X).astype(X, sum_dtype(X, namespace(X)), copy=False)
    y = np.asarray(to_numpy(y), dtype=np.float64).ravel()
    return X, y, None if w is None else np.asarray(to_numpy(w), dtype=np.float64)


def _pulled(X: Any, u: Array) -> Array:
    """X'u, float64 on the host."""
    found = X.T @ (like(u, X) if is_foreign(X) else u)
    return np.asarray(to_numpy(found), dtype=np.float64)


def weighted_scatter(X: Any, h: Array, shift: Array) -> Array:
    """sum_i h_i z_i z_i' with z = (x - shift, 1)."""
    largest = float(h.max(initial=0.0)) or 1.0  # weights beyond the range of float32
    if is_foreign(X):
        S, s = scatter(X, like(h / largest, X), like(shift, X))
    else:
        about = None if is_sparse(X) and not shift.any() else shift.astype(X.dtype)
        S, s = scatter(X, (h / largest).astype(X.dtype), about)
    D = X.shape[1] + 1
    H = np.empty((D, D))
    H[:-1, :-1] = largest * to_numpy(S)
    H[-1, :-1] = H[:-1, -1] = largest * to_numpy(s)
    H[-1, -1] = float(h.sum())
    return H


def minimise_deviance(
    problem: DevianceProblem, start: Array, tol: float, max_iter: int, tick: Tick | None = None
) -> Solution:
    """Newton steps with halving until no entry of the gradient exceeds tol; value: a point."""
    point = problem.at(start)
    if not np.isfinite(point.value):
        return Solution(point, 0, point.value, False, "the start has no finite loss.")
    first, best, idle = abs(point.value), np.inf, 0
    for n_iter in range(max_iter + 1):
        worst = float(np.abs(point.g).max())
        if worst <= tol:
            return Solution(point, n_iter, point.value)
        late = tick is not None and tick(n_iter, point.value)
        if late or n_iter == max_iter:
            why = "max_time" if late else "max_iter"
            message = f"{why} is reached; the largest entry of the gradient is {worst:.2g}."
            return Solution(point, n_iter, point.value, False, message)
        move, slope = _move(problem, point, tol)
        best, idle = (worst, 0) if worst < 0.5 * best else (best, idle + 1)
        if idle >= IDLE and -slope <= SMALL * max(abs(point.value), first):
            return Solution(point, n_iter, point.value)  # the gradient is rounding
        if -slope <= ROUNDING * max(abs(point.value), first):  # F shows no decrease any more
            full = problem.at(point.b + move)
            if not float(np.abs(full.g).max()) < 0.5 * worst:
                return Solution(point, n_iter, point.value)
            point = full
            continue
        found = _step(problem, point, move, slope)
        if found is None:
            message = f"no step lowers the objective; the gradient is {worst:.2g}."
            return Solution(point, n_iter, point.value, False, message)
        point = found
    raise AssertionError("the loop returns")


def _move(problem: DevianceProblem, point: DeviancePoint, tol: float) -> tuple[Array, float]:
    """Newton's direction and the slope of F along it; the gradient's where it does not descend."""
    move = problem.direction(point, tol)
    slope = float(point.g @ move)
    return (move, slope) if slope < 0 else (-point.g, -float(point.g @ point.g))


def _step(
    problem: DevianceProblem, point: DeviancePoint, move: Array, slope: float
) -> DeviancePoint | None:
    """The next point, at the longest of the steps 1, 1/2, 1/4, ... that lowers F enough."""
    length = 1.0
    for _ in range(HALVINGS):
        found = problem.at(point.b + length * move)
        if found.value <= point.value + ARMIJO * length * slope:
            return found
        length *= 0.5
    return None

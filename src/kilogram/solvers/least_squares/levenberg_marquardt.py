"""Non-linear least squares: Gauss-Newton, Levenberg and Levenberg-Marquardt, with bounds.

    min_p |r(p)|^2,  (J'J + tau D) step = -J'r,  J the Jacobian of r

    Gauss-Newton          tau = 0, the step halved until the sum of squares falls
    Levenberg             D = I
    Levenberg-Marquardt   D = diag(J'J), the largest so far: units of the parameters do not matter

tau follows the ratio of actual to predicted decrease. Steps are solved by least squares with J
above sqrt(tau D), which does not square the condition number. At a bound, parameters whose gradient
points outwards stay; the others step and are clipped.

References: Marquardt 1963; More 1978; Nielsen 1999.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
METHODS = ("lm", "levenberg", "gauss-newton")
JACOBIANS = ("2-point", "3-point", "cs")
LARGEST_DAMPING = 1e20  # beyond it a step is below rounding


@dataclass(frozen=True, eq=False)
class NonlinearFit:
    """Parameters, residuals and Jacobian there, iterations, evaluations of r, convergence."""

    params: Array
    residuals: Array
    jacobian: Array
    n_iter: int
    n_evaluations: int
    converged: bool
    message: str


class ResidualFunction:
    """r(p) with a count of its evaluations and a Jacobian by differences."""

    def __init__(
        self,
        function: Callable[[Array], Array],
        jacobian: Callable[[Array], Array] | str,
        low: Array,
        high: Array,
    ):
        self.function, self.given = function, jacobian
        self.low, self.high, self.calls = low, high, 0

    def at(self, p: Array) -> Array:
        self.calls += 1
        return self.function(p)

    def jacobian(self, p: Array, r: Array) -> Array:
        if callable(self.given):
            return np.asarray(self.given(p), dtype=np.float64)
        J = np.empty((len(r), len(p)))
        for j in range(len(p)):
            J[:, j] = self._column(p, r, j)
        return J

    def _column(self, p: Array, r: Array, j: int) -> Array:
        if self.given == "cs":
            z = p.astype(complex)
            z[j] += 1e-30j
            self.calls += 1
            return np.imag(self.function(z)) / 1e-30
        size = abs(p[j]) if p[j] else 1.0
        h = float(np.finfo(float).eps ** (1 / 2 if self.given == "2-point" else 1 / 3)) * size
        up, down = p.copy(), p.copy()
        up[j], down[j] = min(p[j] + h, self.high[j]), max(p[j] - h, self.low[j])
        if self.given == "2-point":
            down = p if up[j] > p[j] else down
        above = r if up[j] == p[j] else self.at(up)
        below = r if down[j] == p[j] else self.at(down)
        return (above - below) / (up[j] - down[j]) if up[j] > down[j] else np.zeros(len(r))


def nonlinear_least_squares(
    residuals: ResidualFunction, start: Array, *, method: str, tol: float, max_iter: int
) -> NonlinearFit:
    """From `start`, at which r must be finite, to a minimum of |r|^2 within the bounds."""
    p, low, high = start.astype(np.float64), residuals.low, residuals.high
    r = residuals.at(p)
    J = residuals.jacobian(p, r)
    D = np.zeros(len(p))
    reach = np.inf
    tau, growth = (0.0 if method == "gauss-newton" else 1e-3), 2.0
    message = "the sum of squares still decreases."
    for t in range(1, max_iter + 1):
        gradient = J.T @ r
        free = ~((p <= low) & (gradient > 0) | (p >= high) & (gradient < 0))
        if _stationary(J[:, free], r, tol):
            return NonlinearFit(p, r, J, t, residuals.calls, True, "")
        D = np.maximum(D, np.sum(J * J, axis=0)) if method == "lm" else np.ones(len(p))
        root = np.sqrt(np.where(D > 0, D, 1.0))
        if t == 1:
            reach = 1.0 * float(np.linalg.norm(root * p)) or np.inf
        while True:
            step = _step(J, r, tau * np.where(D > 0, D, 1.0), free, p, low, high)
            if method == "gauss-newton":
                found = _halved(residuals, p, r, step)
                step = step if found is None else found[0]
                new = None if found is None else found[1]
            else:
                far = float(np.linalg.norm(root * step)) > reach
                new = None if far else _lower(residuals.at(p + step), r)
            small = np.linalg.norm(step) <= 1e-15 * (1e-15 + np.linalg.norm(p))
            if new is not None or small or tau > LARGEST_DAMPING or method == "gauss-newton":
                break
            tau, growth = max(tau, 1e-16) * growth, 2.0 * growth
        if new is None:
            # no smaller sum of squares exists in floating point, or the model is not descended
            done = small or _stationary(J[:, free], r, 1e-4)
            message = "" if done else "no step reduces the sum of squares."
            return NonlinearFit(p, r, J, t, residuals.calls, done, message)
        predicted = float(-2.0 * step @ gradient - np.sum((J @ step) ** 2))
        actual = float(r @ r - new @ new)
        gain = actual / predicted if predicted > 0 else 0.0
        length = float(np.linalg.norm(root * step))
        reach = max(reach, 2.0 * length) if gain > 0.75 else reach if gain > 0.25 else 0.5 * length
        tau, growth = tau * max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3), 2.0
        settled = np.linalg.norm(step) <= tol * np.linalg.norm(p) and actual <= tol * float(r @ r)
        p, r = p + step, new
        J = residuals.jacobian(p, r)
        if settled:
            return NonlinearFit(p, r, J, t, residuals.calls, True, "")
    return NonlinearFit(p, r, J, max_iter, residuals.calls, False, message)


def _stationary(J: Array, r: Array, tol: float) -> bool:
    """Whether r is orthogonal to the columns of J, or 0."""
    size = float(np.linalg.norm(r))
    lengths = np.linalg.norm(J, axis=0)
    if size == 0.0 or not J.shape[1]:
        return True
    return bool(np.all(np.abs(J.T @ r) <= tol * lengths * size))


def _step(
    J: Array, r: Array, damping: Array, free: Array, p: Array, low: Array, high: Array
) -> Array:
    """The damped step of the free parameters, clipped to the bounds."""
    scale = np.linalg.norm(J, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    A = np.vstack([J / scale, np.diag(np.sqrt(damping) / scale)])[:, free]
    found = np.linalg.lstsq(A, np.append(-r, np.zeros(len(p))), rcond=None)[0]
    step = np.zeros(len(p))
    step[free] = found / scale[free]
    return np.clip(p + step, low, high) - p


def _lower(new: Array, r: Array) -> Array | None:
    """The new residuals if they are finite and smaller."""
    return new if np.isfinite(new).all() and float(new @ new) < float(r @ r) else None


def _halved(
    residuals: ResidualFunction, p: Array, r: Array, step: Array
) -> tuple[Array, Array] | None:
    """Gauss-Newton's step, halved until the sum of squares falls."""
    for _ in range(40):
        new = _lower(residuals.at(p + step), r)
        if new is not None:
            return step, new
        step = 0.5 * step
    return None

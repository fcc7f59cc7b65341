"""Non-linear least squares: Gauss-Newton, Levenberg and Levenberg-Marquardt, with bounds.

    min_p |r(p)|^2;  step = argmin_s |r + J s|^2,  |D s| <= radius,  low <= p + s <= high

    Gauss-Newton          no radius, the step halved until the sum of squares falls
    Levenberg             D = I
    Levenberg-Marquardt   D_j = |J_j|, the largest so far: units of the parameters do not matter

J is the Jacobian of r. The step solves (J'J + tau D'D) s = -J'r for the tau at which |D s| is the
radius, by the singular values of J D^-1. The radius begins at |D p|, and follows the ratio of
actual to predicted decrease. (A tau that is adapted itself keeps steps short in curved valleys.) A
step that meets a bound goes on along it.

References: Levenberg 1944; Marquardt 1963; More 1978.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
METHODS = ("lm", "levenberg", "gauss-newton")
JACOBIANS = ("2-point", "3-point", "cs")
ENOUGH_GAIN = 1e-4  # of the predicted decrease: a step that gains less is not taken (More 1978)
POOR_GAIN, GOOD_GAIN = 0.25, 0.75  # the radius is reduced below, enlarged above (More 1978)
RADIUS_TOLERANCE = 1.1  # |D s| <= 1.1 radius: more digits of tau gain nothing
HALVINGS = 40  # of a Gauss-Newton step: 1e-12 of it remains
SMALLEST_STEP = 1e-15  # relative to the parameters: rounding, some eps
ROUNDING = 1e-13  # of a sum of squares, relative: some hundred eps
LEAST_FALL = 0.9  # of the projection in a last step: slower ones would take dozens for a digit
STALLED = 1e-4  # cosine of residuals and Jacobian below which the end of all steps is a minimum


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
            J = np.asarray(self.given(p), dtype=np.float64)
        else:
            J = np.empty((len(r), len(p)))
            for j in range(len(p)):
                J[:, j] = self._column(p, r, j)
        if not np.isfinite(J).all():
            j = int(np.argmin(np.isfinite(J).all(axis=0)))
            raise ValueError(
                f"the derivative of f in its parameter {j} (counted from 0) is NaN or infinite at "
                f"the parameters {p.tolist()}. Give bounds that exclude such parameters, or "
                "another start."
            )
        return J

    def _column(self, p: Array, r: Array, j: int) -> Array:
        if self.given == "cs":
            z = p.astype(complex)
            z[j] += 1e-30j
            self.calls += 1
            return np.imag(self.function(z)) / 1e-30
        size = abs(p[j]) if p[j] else 1.0
        h = float(np.finfo(float).eps ** (1 / 2 if self.given == "2-point" else 1 / 3)) * size
        up, above = self._moved(p, r, j, min(p[j] + h, self.high[j]))
        down, below = p[j], r
        if self.given == "3-point" or up == p[j]:
            down, below = self._moved(p, r, j, max(p[j] - h, self.low[j]))
        if up == down:  # bounds leave the parameter one value, or f is finite at this one only
            return np.full(len(r), 0.0 if self.low[j] == self.high[j] else np.nan)
        return (above - below) / (up - down)

    def _moved(self, p: Array, r: Array, j: int, value: float) -> tuple[float, Array]:
        """Parameter j at `value` and r there; as they are where r is not finite at `value`."""
        if value == p[j]:
            return value, r
        q = p.copy()
        q[j] = value
        found = self.at(q)
        return (value, found) if np.isfinite(found).all() else (p[j], r)


def nonlinear_least_squares(
    residuals: ResidualFunction, start: Array, *, method: str, tol: float, max_iter: int
) -> NonlinearFit:
    """From `start`, at which r must be finite, to a minimum of |r|^2 within the bounds."""
    p, low, high = start.astype(np.float64), residuals.low, residuals.high
    r = residuals.at(p)
    if not np.isfinite(r @ r):
        raise ValueError(
            "the sum of squares of y - f overflows at the start. Divide y by its scale, and f with "
            "it, or give another start."
        )
    J = residuals.jacobian(p, r)
    D = np.zeros(len(p))
    radius = np.inf
    for t in range(1, max_iter + 1):
        gradient = J.T @ r
        free = ~((p <= low) & (gradient > 0) | (p >= high) & (gradient < 0))
        if _stationary(J[:, free], r, tol):
            return NonlinearFit(p, r, J, t, residuals.calls, True, "")
        D = np.ones(len(p)) if method == "levenberg" else np.maximum(D, np.linalg.norm(J, axis=0))
        D[D == 0] = 1.0
        if t == 1 and method != "gauss-newton":
            radius = float(np.linalg.norm(D * p)) or np.inf
        Q, R = np.linalg.qr(J)
        step, new, radius = _descend(residuals, p, r, R, Q.T @ r, D, free, radius, method)
        small = np.linalg.norm(D * step) <= SMALLEST_STEP * np.linalg.norm(D * p)
        if new is None:
            # no smaller sum of squares exists in floating point, or the model is not descended
            if small or _stationary(J[:, free], r, STALLED):
                return _polished(residuals, p, r, J, free, t, max_iter, tol)
            message = "no step reduces the sum of squares."
            return NonlinearFit(p, r, J, t, residuals.calls, False, message)
        settled = np.linalg.norm(D * step) <= tol * np.linalg.norm(D * p)
        settled &= float(r @ r - new @ new) <= tol * float(r @ r)
        p, r = p + step, new
        J = residuals.jacobian(p, r)
        if settled:
            return _polished(residuals, p, r, J, free, t, max_iter, tol)
    message = "the sum of squares still decreases."
    return NonlinearFit(p, r, J, max_iter, residuals.calls, False, message)


def _polished(
    residuals: ResidualFunction,
    p: Array,
    r: Array,
    J: Array,
    free: Array,
    t: int,
    max_iter: int,
    tol: float,
) -> NonlinearFit:
    """Gauss-Newton steps where the sum of squares is flat to rounding and only the gradient is not.

    They go on while the projection of r on the columns of J falls by a tenth at least.
    """
    low, high = residuals.low, residuals.high
    D, projection, before = np.ones(len(p)), np.inf, (p, r, J)
    while t < max_iter:
        Q, R = np.linalg.qr(J)
        step = _bounded_step(R, Q.T @ r, D, free, np.inf, p, low, high)
        previous, projection = projection, float(np.linalg.norm(R @ step))
        if not projection <= LEAST_FALL * previous:
            p, r, J = before
            break
        size = float(np.linalg.norm(r))
        before, new = (p, r, J), residuals.at(p + step)
        if projection <= tol * size or not np.linalg.norm(new) <= (1 + ROUNDING) * size:
            break
        p, r, t = p + step, new, t + 1
        J = residuals.jacobian(p, r)
    return NonlinearFit(p, r, J, t, residuals.calls, True, "")


def _descend(
    residuals: ResidualFunction,
    p: Array,
    r: Array,
    R: Array,
    c: Array,
    D: Array,
    free: Array,
    radius: float,
    method: str,
) -> tuple[Array, Array | None, float]:
    """A step that lowers the sum of squares, r there (None if there is none), the next radius.

    |r + J s|^2 is |c + R s|^2 and a constant.
    """
    low, high = residuals.low, residuals.high
    if method == "gauss-newton":
        step = _bounded_step(R, c, D, free, np.inf, p, low, high)
        return *_halved(residuals, p, r, step), np.inf
    squares = float(r @ r)
    while True:
        step = _bounded_step(R, c, D, free, radius, p, low, high)
        slope, bend = float(step @ R.T @ c), float(np.sum((R @ step) ** 2))
        length = float(np.linalg.norm(D * step))
        new = residuals.at(p + step)
        finite = bool(np.isfinite(new).all())
        rise = float(new @ new) - squares if finite else np.inf
        gain = -rise / max(-2.0 * slope - bend, np.finfo(float).tiny)
        if gain > GOOD_GAIN:
            radius = max(radius, 2.0 * length) if np.isfinite(radius) else radius
        elif gain < POOR_GAIN:
            # the minimum of a parabola through slope and rise, between a tenth and a half
            shrunk = -slope / (rise - 2.0 * slope) if rise > 0 else 0.5
            radius = min(max(shrunk, 0.1), 0.5) * min(radius, length)
        if gain >= ENOUGH_GAIN:
            return step, new, radius
        # so that a length that is not a number ends the loop too
        if not (length > SMALLEST_STEP * float(np.linalg.norm(D * p)) and radius > 0):
            lower = finite and rise < 0
            return step, new if lower else None, radius


def _stationary(J: Array, r: Array, tol: float) -> bool:
    """Whether r is orthogonal to the columns of J, or 0."""
    size = float(np.linalg.norm(r))
    lengths = np.linalg.norm(J, axis=0)
    if size == 0.0 or not J.shape[1]:
        return True
    return bool(np.all(np.abs(J.T @ r) <= tol * lengths * size))


def _bounded_step(
    R: Array,
    c: Array,
    D: Array,
    free: Array,
    radius: float,
    p: Array,
    low: Array,
    high: Array,
) -> Array:
    """min |c + R s| over the free parameters, |D s| <= radius, p + s within the bounds.

    Where the way to the minimum meets a bound, this parameter stays there and the others go on, so
    that every part of the way descends.
    """
    step, free = np.zeros(len(p)), free.copy()
    while free.any():
        fixed = np.where(free, 0.0, step)
        left = np.sqrt(max(radius**2 - float(np.sum((D * fixed) ** 2)), 0.0))
        found = _trust_step(R[:, free] / D[free], c + R @ fixed, left) / D[free]
        way = np.zeros(len(p))
        way[free] = found - step[free]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(way > 0, high - p - step, low - p - step) / way
        room = np.where(way == 0, np.inf, room)
        first = int(np.argmin(room))
        if room[first] >= 1.0:
            return np.asarray(step + way)
        step = step + max(float(room[first]), 0.0) * way
        step[first] = (high if way[first] > 0 else low)[first] - p[first]
        free[first] = False
    return step


def _trust_step(A: Array, c: Array, radius: float) -> Array:
    """min |c + A s| with |s| <= radius, by Newton's iteration for tau (Hebden; More 1978).

    1 / |s(tau)| is concave and increases, so that from tau = 0 it stays left of the root.
    """
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    kept = sigma > len(A) * np.finfo(float).eps * sigma[0]
    b, sigma, Vt = -(U.T @ c)[kept], sigma[kept], Vt[kept]
    tau = 0.0
    while True:
        s = sigma * b / (sigma**2 + tau)
        size = float(np.linalg.norm(s))
        if size <= RADIUS_TOLERANCE * radius or not size:
            return np.asarray(Vt.T @ s)
        change = size**2 / float(s @ (s / (sigma**2 + tau))) * (size / radius - 1.0)
        if not tau + change > tau:
            return np.asarray(Vt.T @ s)
        tau += change


def _halved(
    residuals: ResidualFunction, p: Array, r: Array, step: Array
) -> tuple[Array, Array | None]:
    """Gauss-Newton's step, halved until the sum of squares falls, and r there."""
    for _ in range(HALVINGS):
        new = residuals.at(p + step)
        if np.isfinite(new).all() and float(new @ new) < float(r @ r):
            return step, new
        step = 0.5 * step
    return step, None

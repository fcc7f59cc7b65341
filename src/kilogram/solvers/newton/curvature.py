"""The pieces of a piecewise quadratic objective: its gradient, Hessian and duality gap at a point.

    F(w) = 1/2 sum_j lambda_j w_j^2 + sum_i c_i loss(y_i, <x~_i, w>)

    gradient    lambda w - X~'(c s a)                      a, s: derivative of the loss
    Hessian     diag(lambda) + kappa sum_{i in the bend} c_i x~_i x~_i'
    gap         F(w) - (sum_i gain_i - sum_i alpha_i^2 / (2 kappa c_i) - 1/2 sum_j lambda_j v_j^2)
                alpha_i = c_i a_i,  v = X~'(s alpha) / lambda

The middle sum of the gap is left out for the hinge itself.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, cholesky_solve
from kilogram.functions.hinge_losses import PiecewiseQuadraticLoss
from kilogram.solvers.newton.design import Array, RowDesign

# Order up to which a plain LAPACK call is faster than the blocked factor: measured by 8 to 15 %
# from 100 to 300, 16 % slower at 500.
SMALL = 300


class Task(NamedTuple):
    """Targets y, penalties c of the rows, penalties lambda of the coefficients, the loss."""

    y: Array
    c: Array
    penalty: Array
    loss: PiecewiseQuadraticLoss

    def rows(self, at: Array, factor: float) -> Task:
        """The task on some of the rows, with penalties times `factor`."""
        return self._replace(y=self.y[at], c=factor * self.c[at])


class NewtonIterate(NamedTuple):
    """w with f = X~ w, the gradient, and the objective and gap of the unsmoothed loss."""

    w: Array
    f: Array
    gradient: Array
    objective: float
    gap: float
    #: The gap of the smoothed loss that is being minimised.
    smooth_gap: float
    #: What gaps are compared with: the objective, but at least 1e-10 of the sum of penalties.
    scale: float
    #: The dual point, where the solver has one.
    b: Array | None = None


def evaluate(task: Task, w: Array, f: Array, pulled: Array) -> NewtonIterate:
    """Objective, gradient and gaps at w, with f = X~ w and pulled = X~'(c s a)."""
    y, c, penalty, loss = task
    a = loss.pull(y, f)
    gradient = penalty * w - pulled
    size = 0.5 * float(penalty @ (w * w))
    shrunk = penalty > 0
    v = 0.5 * float(np.sum(pulled[shrunk] ** 2 / penalty[shrunk]))
    # without a penalty the dual requires pulled = 0; its absolute value counts as gap
    v += float(np.abs(pulled[~shrunk]) @ (1.0 + np.abs(w[~shrunk])))
    dual_gain = float(c @ loss.gain(y, f, a)) - v
    smooth = size + float(c @ loss.value(y, f))
    bent = 0.5 * float(c @ (a * a)) / loss.kappa
    gap, least = smooth - dual_gain + bent, 1e-10 * float(c.sum())
    if math.isinf(loss.width):
        return NewtonIterate(w, f, gradient, smooth, gap, gap, max(smooth, least))
    unsmoothed = size + float(c @ loss.limit(y, f))
    return NewtonIterate(
        w, f, gradient, unsmoothed, unsmoothed - dual_gain, gap, max(unsmoothed, least)
    )


class Curvature:
    """Sums over the pieces of the loss, kept up to date by the rows that change piece.

    H = sum over the bend of c x~ x~', q = sum over the bend of c target x~, l = sum over the line
    of c s x~: then X~'(c s a) = kappa (q - H w) + kappa width l without a pass over the rows.
    """

    def __init__(self, design: RowDesign, task: Task):
        self.design, self.task = design, task
        self.state = np.zeros(design.n, dtype=np.int8)
        self.H = np.zeros((design.width, design.width))
        self.q, self.l = np.zeros(design.width), np.zeros(design.width)

    def times(self, factor: float) -> None:
        """The sums for penalties c times `factor`."""
        self.H, self.q, self.l = factor * self.H, factor * self.q, factor * self.l

    def pulled(self, w: Array, f: Array) -> Array:
        """X~'(c s a) at w, f = X~ w."""
        loss = self.task.loss
        self._update(f)
        out = loss.kappa * (self.q - self.H @ w)
        return out if math.isinf(loss.width) else out + loss.kappa * loss.width * self.l

    def _update(self, f: Array) -> None:
        y, loss = self.task.y, self.task.loss
        bent, state = loss.is_quadratic(y, f), loss.sign(y, f).astype(np.int8)
        line = np.zeros(0, dtype=bool) if math.isinf(loss.width) else loss.slopes(y, f)
        state *= bent + 2 * line.astype(np.int8) if line.size else bent
        changed = np.nonzero(state != self.state)[0]
        if 2 * changed.shape[0] > np.count_nonzero(bent):
            self.H, self.q = np.zeros_like(self.H), np.zeros_like(self.q)
            self.l = np.zeros_like(self.q)
            self._add(np.nonzero(bent)[0], np.nonzero(line)[0], state, 1.0)
        elif changed.shape[0]:
            for which, sign in ((self.state, -1.0), (state, 1.0)):
                kind = np.abs(which[changed])
                self._add(changed[kind == 1], changed[kind == 2], which, sign)
        self.state = state

    def _add(self, bent: Array, line: Array, state: Array, sign: float) -> None:
        """Add (or take away) the rows of the bend and of the line."""
        c, y, loss = self.task.c, self.task.y, self.task.loss
        if bent.size:
            H, q = self.design.scatter(bent, c[bent], loss.target_on(y[bent], state[bent]))
            self.H, self.q = self.H + sign * H, self.q + sign * q
        if line.size:
            self.l = self.l + sign * self.design.pulled(line, c[line] * np.sign(state[line]))

    def direction(self, point: NewtonIterate) -> Array:
        """-Hessian^-1 gradient."""
        return -solve_shifted(self.task.loss.kappa * self.H, self.task.penalty, point.gradient)


def solve_shifted(H: Array, penalty: Array, b: Array) -> Array:
    """(H + diag(penalty))^-1 b; a coefficient without penalty and data (no intercept) stays 0."""
    A = H.copy()
    A.flat[:: A.shape[0] + 1] += penalty
    if A.shape[0] <= SMALL:
        _, x, info = dposv(A, b, lower=True)
        if info == 0 and np.isfinite(x).all():
            return x
    trace = np.trace(A) / A.shape[0]
    for jitter in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        A[np.diag_indices_from(A)] += jitter * trace
        empty = np.diagonal(A) <= 0
        A[empty, empty] = 1.0
        try:
            return cholesky_solve(cholesky(A), b)
        except NotPositiveDefinite:
            continue
    return np.linalg.lstsq(A, b, rcond=None)[0]


class CurvatureProducts:
    """The Hessian as products with the rows, for many columns: conjugate gradients."""

    def __init__(self, design: RowDesign, task: Task):
        self.design, self.task = design, task

    def times(self, factor: float) -> None:
        """Nothing is kept that depends on the penalties."""

    def pulled(self, w: Array, f: Array) -> Array:
        """X~'(c s a) at w, f = X~ w."""
        y, c, _, loss = self.task
        return self.design.transposed(c * loss.sign(y, f) * loss.pull(y, f))

    def direction(self, point: NewtonIterate) -> Array:
        """-Hessian^-1 gradient, to a tenth of the gradient or better as it shrinks."""
        task = self.task
        bent = np.nonzero(task.loss.is_quadratic(task.y, point.f))[0]
        part, c = self.design.rows(bent), task.loss.kappa * task.c[bent]
        r = -point.gradient
        goal = min(0.1, math.sqrt(np.linalg.norm(r))) * np.linalg.norm(r)
        x, p, rr = np.zeros_like(r), r.copy(), float(r @ r)
        for _ in range(2 * r.shape[0]):
            Ap = task.penalty * p + (part.transposed(c * part.times(p)) if bent.size else 0.0)
            curve = float(p @ Ap)
            if curve <= 0:
                break
            x += (rr / curve) * p
            r -= (rr / curve) * Ap
            new = float(r @ r)
            if new**0.5 <= goal:
                break
            p, rr = r + (new / rr) * p, new
        return x if x.any() else -point.gradient

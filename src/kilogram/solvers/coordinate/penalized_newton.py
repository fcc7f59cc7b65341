"""A smooth loss with a sparse penalty at one strength: objective, certificates, Newton steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.functions.deviances import DevianceTerms
from kilogram.functions.penalties import penalty_slope, penalty_value
from kilogram.functions.row_losses import PredictorLoss
from kilogram.native.coordinate import Groups, Penalty, group_descent
from kilogram.solvers.coordinate.elastic_net import Tick
from kilogram.solvers.coordinate.group_lasso import Grouping
from kilogram.solvers.coordinate.working_columns import WorkingColumns
from kilogram.solvers.coordinate.working_set import descend_quadratic

Array = np.ndarray[Any, np.dtype[Any]]

#: Change of the curvatures, relative to their sum, from which the Gram matrix is computed anew: a
#: path of 600 columns takes the same time for 0.1 and 0.3, 1.2 to 1.4 times as long for 0.03.
DRIFT = 0.1
#: Fall of the violation in one step below which it is computed anew, too: with 0.1 to 0.6 the time
#: is the same within 15 %.
SLOW = 0.3
#: Newton steps of the intercept alone before a certificate: each squares what is left.
CENTRINGS = 3
#: Changes of the objective that are rounding, relative to it.
ROUNDING = 4 * float(np.finfo(float).eps)
#: Steps in which rounding may hide progress before the solution counts as reached; with 2 to 20 the
#: time is the same.
STALLED = 5
#: Epochs of coordinate descent in one step; with 30 to 3 000 the time is the same.
INNER_EPOCHS = 300


@dataclass(frozen=True)
class SparsePenalty:
    """The form of P and its groups, which do not change along a path."""

    grouping: Grouping
    kind: str = "l1"
    gamma: float = 3.0

    def slopes(self, norms: Array, l1: float, groups: Any = slice(None)) -> Array:
        """The slope of the penalty of every group at its norm."""
        return penalty_slope(norms, l1 * self.grouping.factors[groups], self.gamma, self.kind)

    def value(self, norms: Array, l1: float, groups: Any = slice(None)) -> float:
        alpha = l1 * self.grouping.factors[groups]
        return float(penalty_value(norms, alpha, self.gamma, self.kind).sum())


class Penalized:
    """The problem at one strength: objective, certificates and Newton steps of a working set."""

    def __init__(self, work: WorkingColumns, loss: PredictorLoss, penalty: SparsePenalty):
        self.work, self.loss, self.penalty = work, loss, penalty
        self.l1, self.l2 = 0.0, 0.0

    @property
    def certified(self) -> bool:
        """Whether the problem is convex and has a dual."""
        return self.penalty.kind == "l1" and (self.l1 > 0 or self.l2 > 0)

    def penalties(self, b: Array) -> float:
        work = self.work
        value = self.penalty.value(work.norms(b), self.l1, work.groups)
        return value + 0.5 * self.l2 * float(b @ b)

    def objective(self, z: Array, b: Array) -> float:
        value = float(self.work.rows.v @ self.loss.value(self.work.rows.y, z))
        return value + self.penalties(b)

    def violation(self, g: Array, b: Array) -> tuple[Array, Array]:
        """Of every group in use, at the gradient g of the loss; and the slopes of the penalty."""
        work = self.work
        norms = work.norms(b)
        slopes = self.penalty.slopes(norms, self.l1, work.groups)
        total = g + self.l2 * b
        if len(work.groups) == len(work.columns):
            inside = np.maximum(np.abs(total) - slopes, 0.0)
            return np.where(b != 0, np.abs(total + slopes * np.sign(b)), inside), slopes
        sizes = np.diff(work.starts)
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = np.where(norms > 0, slopes / norms, 0.0)
        moved = work.norms(total + np.repeat(pull, sizes) * b)
        return np.where(norms > 0, moved, np.maximum(moved - slopes, 0.0)), slopes

    def gap(self, gradient: Array, largest: float, objective: float) -> float:
        """Primal minus dual at the derivatives of the rows, made feasible.

        largest is the greatest |g_g + l2 b_g| / f_g over the penalised groups.
        """
        work, v, y = self.work, self.work.rows.v, self.work.rows.y
        theta = -gradient
        if work.rows.intercept:
            theta = _balanced(theta, v)
        scale = 1.0 if largest <= self.l1 else self.l1 / largest
        dual = float(v @ self.loss.dual(y, scale * theta))
        dual -= 0.5 * scale**2 * self.l2 * float(work.b @ work.b)
        return max(objective - dual, 0.0)

    def centred(self) -> DevianceTerms:
        """The losses at the best intercept: the dual needs derivatives that sum to 0."""
        rows, work = self.work.rows, self.work
        terms = self.loss.terms(rows.y, work.z)
        for _ in range(CENTRINGS if rows.intercept else 0):
            total = float(rows.v @ terms.gradient)
            if abs(total) <= 1e-14 * float(rows.v @ np.abs(terms.gradient)):
                break
            shift = -total / float(rows.v @ terms.curvature)
            moved = self.loss.terms(rows.y, work.z + shift)
            if not abs(float(rows.v @ moved.gradient)) < abs(total):
                break
            work.z, work.c, terms = work.z + shift, work.c + shift, moved
        return terms

    def inner(
        self, goal: float, limit: float, max_iter: int, tick: Tick | None
    ) -> tuple[int, bool]:
        """Newton steps until the working set is solved to a gap (or a violation) of `goal`.

        The steps, and whether the limit of time ended them.
        """
        work, rows = self.work, self.work.rows
        steps, before, slow, stalled, lowest = 0, np.inf, False, 0, np.inf
        while True:
            terms = self.centred()
            r, h = rows.v * terms.gradient, rows.v * terms.curvature
            g = np.asarray(work.X.T @ r, dtype=np.float64)
            value = float(rows.v @ terms.loss) + self.penalties(work.b)
            violations, slopes = self.violation(g, work.b)
            centre = abs(float(r.sum())) if rows.intercept else 0.0
            worst = max(float(violations.max(initial=0.0)), centre)
            if worst <= limit or self._solved(terms.gradient, g, value, goal, worst):
                return steps, False
            falls = value < lowest - 2 * ROUNDING * abs(value) or worst < 0.5 * before
            stalled, lowest = 0 if falls else stalled + 1, min(lowest, value)
            late = tick is not None and tick(steps, value)
            if steps >= max_iter or late or stalled > STALLED:
                return steps, late
            if slow or worst > SLOW * before or work.drift(h) > DRIFT:
                work.refresh(h)
            taken = self._step(r, g, slopes, worst, value)
            if not taken and work.h is h:
                return steps, False  # rounding: no descent is left
            slow, before = not taken, worst
            steps += 1

    def _solved(self, gradient: Array, g: Array, value: float, goal: float, worst: float) -> bool:
        if not self.certified or self.l1 == 0:
            return worst <= goal
        total = g + self.l2 * self.work.b
        size = self.work.norms(total)
        factors = self.penalty.grouping.factors[self.work.groups]
        free = factors == 0
        if free.any() and float(size[free].max(initial=0.0)) > 1e-3 * self.l1:
            return False
        largest = float((size[~free] / factors[~free]).max(initial=0.0))
        return self.gap(gradient, largest, value) <= goal

    def _step(self, r: Array, g: Array, slopes: Array, worst: float, value: float) -> bool:
        """One proximal Newton step with a line search; whether the objective fell."""
        work = self.work
        assert work.h is not None
        total = float(r.sum()) if work.rows.intercept else 0.0
        g = g - work.mean * total
        q = work.G @ work.b - g
        if self.penalty.kind != "l1" and len(work.groups) == len(work.columns):
            exact = self._minimise_model(q, slopes, worst, tangent=False)
            if self._move(exact - work.b, g, total, value, shortest=1.0):
                return True
        new = self._minimise_model(q, slopes, worst)
        return self._move(new - work.b, g, total, value)

    def _move(
        self, d: Array, g: Array, total: float, value: float, shortest: float = 1e-10
    ) -> bool:
        """The longest of the steps d, d/2, ... that lowers the objective; whether one does."""
        work = self.work
        assert work.h is not None
        shift = -(total / work.h.sum() + float(work.mean @ d)) if work.rows.intercept else 0.0
        dz = np.asarray(work.X @ d) + shift
        fall = float(g @ d) - total**2 / work.h.sum() * work.rows.intercept
        fall += self.penalties(work.b + d) - self.penalties(work.b)
        t, slack = 1.0, ROUNDING * abs(value)
        while t >= shortest:
            b, z = work.b + t * d, work.z + t * dz
            found = self.objective(z, b)
            if np.isfinite(found) and found <= value + 1e-4 * t * min(fall, 0.0) + slack:
                work.b, work.z, work.c = b, z, work.c + t * shift
                return True
            t *= 0.5
        return False

    def _minimise_model(
        self, q: Array, slopes: Array, worst: float, *, tangent: bool = True
    ) -> Array:
        """argmin 1/2 b'G b - q'b + penalties, the rougher the further away b is.

        A concave penalty is replaced by its tangent, or taken as it is.
        """
        work = self.work
        if not len(work.columns):
            return work.b
        b = work.b.copy()
        h = np.ascontiguousarray(q - work.G @ b)
        curvature = float(np.diagonal(work.G).max(initial=0.0)) + self.l2
        tol = 0.03 * worst / np.sqrt(max(curvature, np.finfo(float).tiny))
        if len(work.groups) == len(work.columns):
            penalty = Penalty(np.ascontiguousarray(slopes), self.l2)
            if not tangent:
                alpha = self.l1 * self.penalty.grouping.factors[work.groups]
                penalty = Penalty(alpha, self.l2, False, self.penalty.kind, self.penalty.gamma)
            q = np.ascontiguousarray(q)
            return descend_quadratic(work.G, q, penalty, (b, h), tol=tol, max_epochs=INNER_EPOCHS)[
                0
            ]
        top = np.array([
            float(np.linalg.eigvalsh(work.G[i:j, i:j])[-1]) if j - i > 1 else work.G[i, i]
            for i, j in zip(work.starts[:-1], work.starts[1:], strict=True)
        ])  # fmt: skip
        groups = Groups(work.starts, np.maximum(top, 0.0), np.ascontiguousarray(slopes), self.l2)
        B, H = np.ascontiguousarray(b[:, None]), np.ascontiguousarray(h[:, None])
        group_descent(work.G, groups, B, H, tol=tol, max_epochs=INNER_EPOCHS)
        return B[:, 0]


def _balanced(theta: Array, v: Array) -> Array:
    """theta with the heavier sign scaled down until its weighted sum is 0: feasible in the dual."""
    up, down = float(v @ np.maximum(theta, 0.0)), float(v @ np.maximum(-theta, 0.0))
    if up == down or min(up, down) <= 0:
        return theta if up == down else np.zeros_like(theta)
    heavier = theta > 0 if up > down else theta < 0
    return np.where(heavier, theta * (min(up, down) / max(up, down)), theta)

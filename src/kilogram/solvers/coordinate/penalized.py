"""Any smooth loss of a linear predictor with a sparse penalty: Newton steps on a working set.

    min_{b, c}  sum_i v_i loss(y_i, z_i) + sum_g P(f_g |b_g|) + l2 / 2 |b|^2      z_i = <x_i, b> + c

v sums to 1; a group g is one column unless groups are given; the intercept c is not penalised.

Step            the loss is replaced by its second-order expansion, a concave P by its tangent;
                coordinate descent on the weighted Gram matrix of the working set solves that, with
                the intercept eliminated, and a line search follows.
Gram matrix     computed at one point and kept while the curvature of the rows changes little: the
                steps of a path share it, and an iteration costs two products with the working set.
Entry           at a new strength the sequential strong rule proposes groups; after the descent
                those enter whose gradient exceeds it.
Certificate     with absolute values (or norms) the duality gap, relative to the loss that can be
                explained; with concave penalties the violation of the stationarity conditions.

References: Friedman, Hastie and Tibshirani 2010; Lee, Sun and Saunders 2014 (proximal Newton);
Zou and Li 2008 (tangents of concave penalties); Tibshirani et al. 2012 (strong rules).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kilogram.functions.row_losses import PredictorLoss
from kilogram.solvers.coordinate.elastic_net import Tick
from kilogram.solvers.coordinate.penalized_newton import ROUNDING, Penalized, SparsePenalty
from kilogram.solvers.coordinate.working_columns import PenalizedRows, WorkingColumns

Array = np.ndarray[Any, np.dtype[Any]]

#: Groups that may enter an empty working set at once.
FIRST_GROUPS = 100


class PenalizedPoint(NamedTuple):
    """A solution: coefficients (p,), intercept, certificates, Newton steps.

    `gap` is in units of the objective, and infinite where the penalty is concave; `violation` is
    the largest distance of the gradient to the subdifferential.
    """

    coef: Array
    intercept: float
    gap: float
    violation: float
    objective: float
    n_iter: int
    converged: bool


class StopRule(NamedTuple):
    """Tolerance, relative to the loss and the gradient without features; most Newton steps."""

    tol: float = 1e-4
    max_iter: int = 1000


def _gradient(rows: PenalizedRows, r: Array) -> Array:
    """X'r of all columns, in the type of X."""
    if rows.X.dtype != np.float32:
        return np.asarray(rows.X.T @ r)
    unit = float(np.abs(r).max(initial=0.0)) or 1.0  # float32 cannot hold what float64 targets can
    return unit * np.asarray(rows.X.T @ (r / unit).astype(np.float32), dtype=np.float64)


class Strengths(NamedTuple):
    """Multiples of the absolute values and of the squares."""

    l1: float
    l2: float


class PenalizedPath:
    """Solutions at decreasing strengths, each started from the one before."""

    def __init__(
        self, rows: PenalizedRows, loss: PredictorLoss, penalty: SparsePenalty, stop: StopRule,
        tick: Tick | None = None, start: tuple[Array, float] | None = None,
    ):  # fmt: skip
        self.rows, self.loss, self.penalty, self.stop, self.tick = rows, loss, penalty, stop, tick
        self.work = WorkingColumns(rows, penalty.grouping)
        self.problem = Penalized(self.work, loss, penalty)
        self.late = False
        self._begin()
        #: The smallest l1 at which all penalised groups are 0.
        self.strength_max = float(self.sizes.max(initial=0.0))
        self.previous = self.strength_max
        if start is not None and np.any(start[0]):
            self._start(*start)

    def _begin(self) -> None:
        """The solution without penalised features, and the units of the tolerances."""
        rows, work, free = self.rows, self.work, np.flatnonzero(self.penalty.grouping.factors == 0)
        if rows.intercept:
            mean = float(rows.v @ rows.y)
            work.set(np.zeros(rows.X.shape[1]), self.loss.predictor(mean))
        if len(free):
            work.add(free)
        if rows.intercept or len(free):
            terms = self.loss.terms(rows.y, work.z)
            size = float(rows.v @ np.abs(terms.gradient))
            self.problem.inner(1e-9 * size, 1e-12 * size, 100, self.tick)
        self._full()
        explained = float(
            rows.v @ (self.loss.value(rows.y, work.z) - self.loss.dual(rows.y, 0 * rows.y))
        )
        #: What the best predictions would gain over none.
        self.explainable = max(explained, float(np.finfo(float).tiny))

    def _start(self, coef: Array, c: float) -> None:
        norms = self.penalty.grouping.norms(coef[:, None])
        new = np.setdiff1d(np.flatnonzero(norms), self.work.groups)
        if len(new):
            self.work.add(new)
        self.work.set(coef, c)
        self._full()

    def _full(self) -> tuple[Array, float]:
        """One pass over all columns: derivatives of the rows and the objective; `sizes` follows."""
        rows, work = self.rows, self.work
        terms = self.problem.centred()
        C = _gradient(rows, rows.v * terms.gradient)
        C[work.columns] = work.X.T @ (rows.v * terms.gradient)
        self.own = C[work.columns]
        C[work.columns] += self.problem.l2 * work.b
        self.sizes = self.penalty.grouping.relative(C[:, None])
        return terms.gradient, float(rows.v @ terms.loss) + self.problem.penalties(work.b)

    def _admit(self, threshold: float) -> int:
        """Groups whose gradient exceeds the threshold enter; how many."""
        size = self.sizes.copy()
        size[self.work.groups] = 0.0
        new = np.flatnonzero(size > threshold)
        most = max(FIRST_GROUPS, len(self.work.groups))
        if len(new) > most:
            new = np.sort(new[np.argpartition(-size[new], most)[:most]])
        if len(new):
            self.work.add(new)
        return len(new)

    def solve(self, strengths: Strengths) -> PenalizedPoint:
        """The solution at these strengths."""
        problem, work = self.problem, self.work
        problem.l1, problem.l2 = strengths
        certified = problem.certified and problem.l1 > 0
        goal = self.stop.tol * (
            self.explainable if certified else max(self.strength_max, self.tiny)
        )
        limit = 1e-13 * max(self.strength_max, self.tiny)
        self._admit(max(2 * problem.l1 - self.previous, 0.9 * problem.l1))
        steps, target, done = 0, 0.3 * goal, False
        while True:
            taken, self.late = problem.inner(target, limit, self.stop.max_iter - steps, self.tick)
            steps += taken
            gradient, value = self._full()
            worst, gap = self._violation(gradient), np.inf
            entered = 0 if self.late else self._admit(problem.l1 * (1 + 1e-10))
            if certified:
                gap = problem.gap(gradient, float(self.sizes.max(initial=0.0)), value)
            done = entered == 0 and ((gap if certified else worst) <= goal or worst <= limit)
            if done or self.late or steps >= self.stop.max_iter:
                break
            if entered == 0:
                if target < 1e-4 * goal:  # what is left is rounding
                    rough = abs(value) + self.explainable
                    done = (
                        gap <= goal + 1e3 * ROUNDING * rough
                        if certified
                        else worst <= (goal + np.sqrt(ROUNDING) * max(self.strength_max, self.tiny))
                    )
                    break
                target *= 0.1
        self.previous = problem.l1
        return PenalizedPoint(work.coef(), work.c, gap, worst, value, max(steps, 1), bool(done))

    @property
    def tiny(self) -> float:
        return float(np.finfo(float).tiny)

    def _violation(self, gradient: Array) -> float:
        """The largest violation of the stationarity conditions over all groups."""
        work, factors = self.work, self.penalty.grouping.factors
        inside = (self.sizes - self.problem.l1) * factors
        inside[work.groups] = 0.0
        own, _ = self.problem.violation(self.own, work.b)
        centre = abs(float(self.rows.v @ gradient)) if self.rows.intercept else 0.0
        return max(float(inside.max(initial=0.0)), float(own.max(initial=0.0)), centre)

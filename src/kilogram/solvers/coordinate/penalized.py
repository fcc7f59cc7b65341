"""Any smooth loss of a linear predictor with a sparse penalty: Newton steps on a working set.

    min_{b, c}  sum_i v_i loss(y_i, z_i) + sum_g P(f_g |b_g|) + l2 / 2 |b|^2      z_i = <x_i, b> + c

v sums to 1; a group g is one column unless groups are given; the intercept c is not penalised.

Step            the loss is replaced by its second-order expansion, a concave P by its tangent;
                coordinate descent on the weighted Gram matrix of the working set solves that, with
                the intercept eliminated, and a line search follows.
Gram matrix     computed at one point and kept while the curvature of the rows changes little: the
                steps of a path share it, and an iteration costs two products with the working set.
Batches         close strengths of convex penalties are solved one after the other on the working
                set, each from the linear extrapolation of the two before it; one pass over the
                rows then gives the gradients of all columns for all of them.
Entry           groups whose gradient, extrapolated in the same way, exceeds l1; at first the
                sequential strong rule proposes them; after the descent those that exceed it.
Certificate     with absolute values (or norms) the duality gap, relative to the loss that can be
                explained; with concave penalties the violation of the stationarity conditions.

References: Friedman, Hastie and Tibshirani 2010; Lee, Sun and Saunders 2014 (proximal Newton);
Zou and Li 2008 (tangents of concave penalties); Tibshirani et al. 2012 (strong rules).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import is_sparse
from kilogram.functions.row_losses import PredictorLoss
from kilogram.native.coordinate import column_products
from kilogram.solvers.coordinate.elastic_net import LONGEST, MARGIN, Tick, close_batches
from kilogram.solvers.coordinate.penalized_newton import ROUNDING, Penalized, SparsePenalty
from kilogram.solvers.coordinate.working_columns import PenalizedRows, WorkingColumns

Array = np.ndarray[Any, np.dtype[Any]]

#: Groups that may enter an empty working set at once; with 20 to 500 a path of 600 columns takes
#: the same time within 10 %.
FIRST_GROUPS = 100
#: Strengths that are solved together, between two passes over all columns; with 3 to 12 the time is
#: the same within 10 %.
BATCH = 6


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


def _gradients(rows: PenalizedRows, R: Array) -> Array:
    """X'R (p, k) of all columns, in the type of X."""
    X, unit = rows.X, np.ones(R.shape[1])
    if X.dtype == np.float32:  # which cannot hold what float64 targets can
        unit = np.maximum(np.abs(R).max(axis=0, initial=0.0), np.finfo(float).tiny)
    R = np.asarray(R / unit, dtype=X.dtype)
    dense = not is_sparse(X) and X.flags.f_contiguous
    return np.asarray(column_products(X, R) if dense else X.T @ R, dtype=np.float64) * unit


class PenaltyStrengths(NamedTuple):
    """Multiples of the absolute values and of the squares."""

    l1: float
    l2: float


@dataclass
class PenalizedIterate:
    """The present solution at one strength, its gradient (p,) and what is known of it.

    `b` has the columns of the working set at the time, which later ones follow at 0.
    """

    l1: float
    l2: float
    b: Array
    c: float
    z: Array
    target: float = 0.0
    steps: int = 0
    gradient: Array = field(default_factory=lambda: np.empty(0))
    gap: float = np.inf
    violation: float = np.inf
    value: float = np.inf
    done: bool = False
    ended: bool = False  # without having converged

    def coef(self, m: int) -> Array:
        """b of the first m columns of the working set."""
        return np.concatenate([self.b, np.zeros(m - len(self.b))])


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
        first = self._begin()
        #: The smallest l1 at which all penalised groups are 0.
        self.strength_max = float(self._sizes(first).max(initial=0.0))
        first.l1 = self.strength_max
        if start is not None and np.any(start[0]):
            first = self._start(*start)
        self.last = [first]

    def _begin(self) -> PenalizedIterate:
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
        first = PenalizedIterate(0.0, 0.0, work.b, work.c, work.z)
        self._differentiate([first])
        explained = float(
            rows.v @ (self.loss.value(rows.y, first.z) - self.loss.dual(rows.y, 0 * rows.y))
        )
        #: What the best predictions would gain over none.
        self.explainable = max(explained, self.tiny)
        return first

    def _start(self, coef: Array, c: float) -> PenalizedIterate:
        norms = self.penalty.grouping.norms(coef[:, None])
        new = np.setdiff1d(np.flatnonzero(norms), self.work.groups)
        if len(new):
            self.work.add(new)
        self.work.set(coef, c)
        work = self.work
        first = PenalizedIterate(self.strength_max, 0.0, work.b, work.c, work.z)
        self._differentiate([first])
        return first

    def _load(self, iterate: PenalizedIterate) -> None:
        """The working set at a solution."""
        self.problem.l1, self.problem.l2 = iterate.l1, iterate.l2
        self.work.b = iterate.coef(len(self.work.columns))
        self.work.c, self.work.z = iterate.c, iterate.z

    def _save(self, iterate: PenalizedIterate) -> None:
        iterate.b, iterate.c, iterate.z = self.work.b, self.work.c, self.work.z

    def _differentiate(self, iterates: list[PenalizedIterate]) -> list[Array]:
        """One pass over all columns: gradients and objectives; the derivatives of the rows."""
        rows, work = self.rows, self.work
        slopes = []
        for iterate in iterates:
            self._load(iterate)
            terms = self.problem.centred()
            self._save(iterate)
            iterate.value = float(rows.v @ terms.loss) + self.problem.penalties(work.b)
            slopes.append(terms.gradient)
        R = np.stack([rows.v * g for g in slopes], axis=1)
        C = _gradients(rows, R)
        C[work.columns] = work.X.T @ R
        for k, iterate in enumerate(iterates):
            iterate.gradient = np.ascontiguousarray(C[:, k])
        return slopes

    def _sizes(self, iterate: PenalizedIterate, ahead: float | None = None) -> Array:
        """Norms of the groups of the gradient; as extrapolated to another strength."""
        C, last = iterate.gradient, self.last[0] if ahead is not None else iterate
        if ahead is not None and 0 < iterate.l1 < last.l1:
            C = C + (C - last.gradient) * ((ahead - iterate.l1) / (iterate.l1 - last.l1))
        C = C.copy()
        C[self.work.columns] += iterate.l2 * iterate.coef(len(self.work.columns))
        return self.penalty.grouping.relative(C[:, None])

    def _admit(self, excess: Array) -> int:
        """Groups of positive excess enter; how many."""
        excess[self.work.groups] = 0.0
        new = np.flatnonzero(excess > 0)
        most = max(FIRST_GROUPS, len(self.work.groups))
        if len(new) > most:
            new = np.sort(new[np.argpartition(-excess[new], most)[:most]])
        if len(new):
            self.work.add(new)
        return len(new)

    def _expected(self, first: float, final: float) -> Array:
        """Positive for groups whose gradient is expected to exceed l1."""
        last = self.last[-1]
        if self.last[0] is last or not 0 < last.l1 < self.last[0].l1:
            return self._sizes(last) - max(2 * final - last.l1, 0.9 * final)
        sizes = [self._sizes(last, l1) / max(l1, self.tiny) for l1 in (first, final)]
        return np.maximum(*sizes) - (1.0 - MARGIN)

    def _first(self, strengths: PenaltyStrengths, past: list[PenalizedIterate]) -> PenalizedIterate:
        """From the solutions before, which are extrapolated where the problem is convex."""
        before, last, m = past[-2] if len(past) > 1 else past[-1], past[-1], len(self.work.columns)
        b, c, z, l1 = last.coef(m), last.c, last.z, strengths.l1
        if self.penalty.kind == "l1" and 0 < l1 < last.l1 < before.l1:
            along = min((l1 - last.l1) / (last.l1 - before.l1), LONGEST)
            ahead = b + along * (b - before.coef(m))
            b, c = np.where(ahead * b > 0, ahead, 0.0), c + along * (c - before.c)
            z = np.asarray(self.work.X @ b) + c
        return PenalizedIterate(strengths.l1, strengths.l2, b, c, z, 0.3 * self._goal(strengths))

    def _goal(self, strengths: PenaltyStrengths) -> float:
        certified = self.penalty.kind == "l1" and strengths.l1 > 0
        return self.stop.tol * (
            self.explainable if certified else max(self.strength_max, self.tiny)
        )

    def solve(self, strengths: PenaltyStrengths) -> PenalizedPoint:
        """The solution at these strengths."""
        return self._solve([strengths])[0]

    def solve_path(self, strengths: Sequence[PenaltyStrengths]) -> list[PenalizedPoint]:
        """Solutions at decreasing strengths; of the first ones only if time is up."""
        found: list[PenalizedPoint] = []
        together = BATCH if self.penalty.kind == "l1" else 1
        for batch in close_batches(strengths, lambda: together):
            found += self._solve(batch)
            if self.late:
                break
        return found

    def _solve(self, batch: list[PenaltyStrengths]) -> list[PenalizedPoint]:
        """Solutions of a batch; of the first ones only, and `late`, if time is up."""
        self._admit(self._expected(batch[0].l1, batch[-1].l1))
        iterates: list[PenalizedIterate] = []
        for strengths in batch:
            iterates.append(self._first(strengths, [*self.last, *iterates]))
            self._descend(iterates[-1])
            if self.late:
                break
        pending = iterates
        while True:
            self._measure(pending)
            pending = [t for t in pending if not (t.done or t.ended)]
            if not pending or self.late:
                break
            entered = self._admit(np.max([self._excess(t) for t in pending], axis=0))
            for iterate in pending:
                if not entered:
                    iterate.target *= 0.1
                self._descend(iterate)
                if self.late:
                    break
        self.last = iterates[-2:] if len(iterates) > 1 else [self.last[-1], iterates[0]]
        if self.late and pending:
            iterates = iterates[: 1 + next(i for i, t in enumerate(iterates) if t is pending[0])]
        return [self._point(t) for t in iterates]

    def _descend(self, iterate: PenalizedIterate) -> None:
        self._load(iterate)
        left = self.stop.max_iter - iterate.steps
        taken, self.late = self.problem.inner(iterate.target, self._limit, left, self.tick)
        iterate.steps += taken
        self._save(iterate)

    @property
    def _limit(self) -> float:
        """Violations that are rounding."""
        return 1e-13 * max(self.strength_max, self.tiny)

    def _excess(self, iterate: PenalizedIterate) -> Array:
        """By how much the gradient of groups that are not in use exceeds l1, relative to it."""
        found = self._sizes(iterate) / max(iterate.l1, self.tiny) - (1 + 1e-10)
        found[self.work.groups] = 0.0
        return found

    def _measure(self, iterates: list[PenalizedIterate]) -> None:
        """Certificates of all columns; what is done, and what cannot be."""
        problem = self.problem
        for iterate, slopes in zip(iterates, self._differentiate(iterates), strict=True):
            self._load(iterate)
            sizes = self._sizes(iterate)
            iterate.violation = self._violation(iterate, sizes, slopes)
            certified = problem.certified and iterate.l1 > 0
            if certified:
                iterate.gap = problem.gap(slopes, float(sizes.max(initial=0.0)), iterate.value)
            goal = self._goal(PenaltyStrengths(iterate.l1, iterate.l2))
            complete = not bool(np.any(self._excess(iterate) > 0))
            reached = (iterate.gap if certified else iterate.violation) <= goal
            iterate.done = complete and (reached or iterate.violation <= self._limit)
            if complete and not iterate.done and iterate.target <= 1e-4 * goal:  # rounding is left
                rough = 1e3 * ROUNDING * (abs(iterate.value) + self.explainable)
                root = np.sqrt(ROUNDING) * max(self.strength_max, self.tiny)
                iterate.done = (
                    iterate.gap <= goal + rough if certified else iterate.violation <= goal + root
                )
                iterate.ended = not iterate.done
            iterate.ended = iterate.ended or iterate.steps >= self.stop.max_iter

    def _point(self, t: PenalizedIterate) -> PenalizedPoint:
        coef = np.zeros(self.rows.X.shape[1])
        coef[self.work.columns[: len(t.b)]] = t.b
        return PenalizedPoint(coef, t.c, t.gap, t.violation, t.value, max(t.steps, 1), t.done)

    @property
    def tiny(self) -> float:
        return float(np.finfo(float).tiny)

    def _violation(self, iterate: PenalizedIterate, sizes: Array, slopes: Array) -> float:
        """The largest violation of the stationarity conditions over all groups."""
        work, factors = self.work, self.penalty.grouping.factors
        inside = (sizes - iterate.l1) * factors
        inside[work.groups] = 0.0
        own, _ = self.problem.violation(iterate.gradient[work.columns], work.b)
        centre = abs(float(self.rows.v @ slopes)) if self.rows.intercept else 0.0
        return max(float(inside.max(initial=0.0)), float(own.max(initial=0.0)), centre)

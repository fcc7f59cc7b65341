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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import is_sparse
from kilogram.functions.deviances import DevianceTerms
from kilogram.functions.penalties import penalty_slope, penalty_value
from kilogram.functions.row_losses import PredictorLoss
from kilogram.native.coordinate import Groups, Penalty, group_descent
from kilogram.solvers.coordinate.designs import take_columns
from kilogram.solvers.coordinate.elastic_net import Tick, descend_quadratic
from kilogram.solvers.coordinate.group_lasso import Grouping

Array = np.ndarray[Any, np.dtype[Any]]

#: Groups that may enter an empty working set at once.
FIRST_GROUPS = 100
#: Change of the curvatures, relative to their sum, from which the Gram matrix is computed anew.
DRIFT = 0.1
#: Fall of the violation in one step below which it is computed anew, too.
SLOW = 0.3
#: Entries of the rows whose products are formed at once.
BLOCK_ENTRIES = 2**22
#: Newton steps of the intercept alone before a certificate.
CENTRINGS = 3
#: Changes of the objective that are rounding, relative to it.
ROUNDING = 4 * float(np.finfo(float).eps)
#: Steps in which rounding may hide progress before the solution counts as reached.
STALLED = 5
#: Epochs of coordinate descent in one step.
INNER_EPOCHS = 300


class PenalizedRows(NamedTuple):
    """Rows X (n, p), dense or CSC; targets; weights of sum 1; whether there is an intercept."""

    X: Any
    y: Array
    v: Array
    intercept: bool


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


class StopRule(NamedTuple):
    """Tolerance, relative to the loss and the gradient without features; most Newton steps."""

    tol: float = 1e-4
    max_iter: int = 1000


class WorkingColumns:
    """The groups in use: their columns of X, in float64, coefficients and Gram matrix."""

    def __init__(self, rows: PenalizedRows, grouping: Grouping):
        self.rows, self.grouping = rows, grouping
        self.groups = np.empty(0, dtype=np.int64)
        self.columns = np.empty(0, dtype=np.int64)
        self.starts = np.zeros(1, dtype=np.int64)
        self.b = np.empty(0)
        self.c = 0.0
        self.z = np.zeros(len(rows.y))
        self.X = rows.X[:, :0] if is_sparse(rows.X) else np.empty((len(rows.y), 0), order="F")
        self.G = np.empty((0, 0))
        self.h: Array | None = None  # the curvatures of G
        self.mean = np.empty(0)  # of the columns, weighted by h

    def add(self, groups: Array) -> None:
        """Groups enter at 0."""
        parts = [self.grouping.of(g) for g in groups]
        new = np.concatenate(parts)
        X = self.rows.X[:, new] if is_sparse(self.rows.X) else take_columns(self.rows.X, new)
        if is_sparse(X):
            from scipy.sparse import csc_array, hstack

            self.X = csc_array(hstack([self.X, X], format="csc")) if len(self.columns) else X
        else:
            wide = np.empty((len(X), len(self.columns) + len(new)), order="F")
            wide[:, : len(self.columns)] = self.X
            wide[:, len(self.columns) :] = X
            self.X = wide
        self.groups = np.concatenate([self.groups, groups])
        self.columns = np.concatenate([self.columns, new])
        sizes = np.array([len(part) for part in parts])
        self.starts = np.concatenate([self.starts, self.starts[-1] + np.cumsum(sizes)])
        self.b = np.concatenate([self.b, np.zeros(len(new))])
        if self.h is not None:
            self._extend(len(new))

    def _extend(self, k: int) -> None:
        """Entries of G of the last k columns, at the curvatures it has."""
        assert self.h is not None
        m = len(self.columns)
        mean = np.concatenate([self.mean, self._means(self.X[:, m - k :])])
        G = np.empty((m, m))
        G[: m - k, : m - k] = self.G
        G[:, m - k :] = _gram(self.X, self.X[:, m - k :], self.h)
        if self.rows.intercept:
            G[:, m - k :] -= self.h.sum() * np.outer(mean, mean[m - k :])
        G[m - k :, : m - k] = G[: m - k, m - k :].T
        self.G, self.mean = G, mean

    def _means(self, X: Any) -> Array:
        if not self.rows.intercept or self.h is None:
            return np.zeros(X.shape[1])
        return np.asarray(X.T @ self.h) / self.h.sum()

    def refresh(self, h: Array) -> None:
        """The Gram matrix at these curvatures, with the intercept eliminated."""
        self.h = h
        self.mean = self._means(self.X)
        self.G = _gram(self.X, None, h)
        if self.rows.intercept:
            self.G -= h.sum() * np.outer(self.mean, self.mean)

    def drift(self, h: Array) -> float:
        """How far the curvatures are from those of the Gram matrix."""
        if self.h is None:
            return np.inf
        return float(np.abs(h - self.h).sum() / self.h.sum())

    def norms(self, b: Array) -> Array:
        """|b_g| of the groups in use."""
        if len(self.groups) == len(self.columns):
            return np.abs(b)
        return np.asarray(np.sqrt(np.add.reduceat(b * b, self.starts[:-1])))

    def set(self, coef: Array, c: float) -> None:
        self.b, self.c = np.ascontiguousarray(coef[self.columns], dtype=np.float64), c
        self.z = np.asarray(self.X @ self.b) + c

    def coef(self) -> Array:
        found = np.zeros(self.rows.X.shape[1])
        found[self.columns] = self.b
        return found


def _gram(A: Any, B: Any, h: Array) -> Array:
    """A' diag(h) B, of dense or sparse columns; A' diag(h) A if B is None."""
    if is_sparse(A):
        weighted = (A if B is None else B).copy()
        weighted.data = weighted.data * h[weighted.indices]
        return np.asarray((A.T @ weighted).toarray(), dtype=np.float64)
    n, m = A.shape
    if B is not None and B.shape[1] == 0:
        return np.zeros((m, 0))
    rows = max(1, BLOCK_ENTRIES // max(m, 1))
    found = np.zeros((m, m if B is None else B.shape[1]))
    for at in range(0, n, rows):
        part, weights = A[at : at + rows], h[at : at + rows, None]
        if B is None:
            scaled = np.sqrt(weights) * part
            found += scaled.T @ scaled
        else:
            found += part.T @ (weights * B[at : at + rows])
    return found


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
        self.null_scale = 0.0
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


def penalized_fits(path: PenalizedPath, strengths: Sequence[Strengths]) -> list[PenalizedPoint]:
    """Solutions at each strength; fewer if the limit of time ends the path."""
    found = []
    for strength in strengths:
        found.append(path.solve(strength))
        if path.late:
            break
    return found

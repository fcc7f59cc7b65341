"""The elastic net and its relatives by coordinate descent on a growing working set.

    min_b  1/2 |y - X b|^2 + l1 sum_j f_j |b_j| + l2 / 2 |b|^2           X, y centred, |.|^2 a mean

Working set     the columns that have ever been needed along the path (working_set.py), in Gram or
                residual form.
Batches         close strengths are solved one after the other on the working set, each from the
                linear extrapolation of the two before it (the path is piecewise linear). One read
                of the rows then gives the correlations of all columns for all of them.
Entry           columns whose correlation, extrapolated in the same way, exceeds l1; after the
                descent those that exceed it, where the gap is not yet small.
Certificate     the duality gap, relative to |y|^2: it must fall below tol.

References: Friedman, Hastie and Tibshirani 2010 (covariance updates); Zhang 2010 (MCP); Fan and Li
2001 (SCAD).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from kilogram.native.coordinate import PathGoal, Penalty, gram_path
from kilogram.solvers.coordinate.designs import Design, MomentDesign
from kilogram.solvers.coordinate.working_set import WorkingSet

Array = np.ndarray[Any, np.dtype[Any]]
Tick = Callable[[int, float | None], bool]
T = TypeVar("T", bound=tuple[float, float])

#: Epochs of a solution in a compiled path; slower ones are left to direct steps.
QUICK = 100
#: The first moves that are small enough, relative to the root of the gap asked for; and the least,
#: relative to |y|.
FIRST_MOVE, FINEST = 0.03, 16.0 * float(np.finfo(float).eps)
#: Columns that may enter an empty working set at once: Gram entries of more cost more than rounds.
FIRST_COLUMNS = 100
#: Strengths that are solved together, between two reads of all columns; the last is at least NEAR
#: times the first.
BATCH, NEAR = 8, 0.6
#: From this size of the working set a batch has FEW strengths: a wrong extrapolation costs more
#: epochs there than a read of all columns (measured: a fifth less on 2 000 x 20 000, down
#: to 0.01 of the largest).
LARGE, FEW = 400, 4
#: Columns enter before their extrapolated correlation exceeds l1: from 1 - MARGIN of it.
MARGIN = 0.03
#: A first strength below FAR times the largest is approached in steps of APPROACH, each solved to a
#: gap of ROUGH.
FAR, APPROACH, ROUGH = 0.07, 0.6, 1e-2
#: The longest extrapolation of a solution, in steps of the path.
LONGEST = 2.0


@dataclass(frozen=True)
class PathPoint:
    """The solution at one strength: coefficients (p,), duality gap relative to |y|^2, epochs.

    `objective` has the absolute values as penalty, whatever the penalty was.
    """

    coef: Array
    gap: float
    objective: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class ElasticNetOptions:
    """What does not change along a path: factors f_j of the penalty, signs, tolerance, limits."""

    factors: Array | None = None
    positive: bool = False
    penalty: str = "l1"
    gamma: float = 3.0
    tol: float = 1e-4
    max_iter: int = 1000


def strength_max(design: Design, factors: Array | None, positive: bool) -> float:
    """The smallest l1 at which all penalised coefficients are 0."""
    c = design.q if positive else np.abs(design.q)
    if factors is not None:
        penalised = factors > 0
        c = c[penalised] / factors[penalised]
    return max(float(c.max(initial=0.0)), 0.0)


def elastic_net_path(
    design: Design,
    strengths: Sequence[tuple[float, float]],
    options: ElasticNetOptions,
    *,
    start: Array | None = None,
    tick: Tick | None = None,
) -> list[PathPoint]:
    """Solutions at each (l1, l2), each started from the one before; fewer if `tick` ends it."""
    found = moment_path(design, strengths, options, start) if len(strengths) else []
    if found:
        late = tick is not None and tick(max(point.n_iter for point in found), None)
        strengths, start = strengths[len(found) :], found[-1].coef
        if late or not strengths:
            return found
    path = ElasticNetPath(design, options, start, once=len(strengths) == 1)
    if start is None and strengths:
        path.approach(strengths[0][0])
    for batch in close_batches(strengths, path.together):
        points, late = path.solve(batch, tick)
        found += points
        if late:
            break
    return found


def moment_path(
    design: Design,
    strengths: Sequence[tuple[float, float]],
    options: ElasticNetOptions,
    start: Array | None,
) -> list[PathPoint]:
    """Solutions of a design given by its moments, up to the first that takes QUICK epochs.

    All in one compiled call: a step of a path of few columns takes less time than Python around it.
    """
    if not isinstance(design, MomentDesign) or options.factors is not None:
        return []
    if options.penalty != "l1" or not options.tol > 0:
        return []
    count = next((k for k, (l1, _) in enumerate(strengths) if not l1 > 0), len(strengths))
    if not count:
        return []
    unit = max(design.yy, float(np.finfo(float).tiny))
    gap, finest = options.tol * unit, FINEST * float(np.sqrt(design.yy))
    goal = PathGoal(
        gap, max(FIRST_MOVE * np.sqrt(gap), finest), finest, min(QUICK, options.max_iter)
    )
    begin = np.zeros(len(design.q)) if start is None else np.ascontiguousarray(start, dtype=float)
    B, states = gram_path(
        design.G, design.q, design.yy, np.array(strengths[:count]), begin, goal,
        positive=options.positive,
    )  # fmt: skip
    return [
        PathPoint(b, gap / unit, value, max(int(epochs), 1), converged=True)
        for b, (epochs, gap, value, _) in zip(B, states.tolist(), strict=True)
    ]


def close_batches(strengths: Sequence[T], most: Callable[[], int]) -> Iterator[list[T]]:
    """Consecutive strengths (l1, ...) that decrease little by little, `most` at once."""
    batch: list[T] = []
    for strength in strengths:
        near = batch and NEAR * batch[0][0] <= strength[0] <= batch[-1][0]
        if batch and not (near and len(batch) < most()):
            yield batch
            batch = []
        batch.append(strength)
    if batch:
        yield batch


@dataclass
class ElasticNetIterate:
    """The present solution at one strength: b (m,), h = q - G b, and what is known of it."""

    l1: float
    l2: float
    b: Array
    h: Array
    correlations: Array
    inner: float
    rr: float = 0.0
    gap: float = np.inf
    epochs: int = 0
    settled: bool = False
    done: bool = False
    ended: bool = False  # without having converged


class ElasticNetPath:
    """The working set of a path, and the two solutions from which the next are extrapolated.

    Small sparse columns are all in it from the start of a single fit.
    """

    def __init__(
        self, design: Design, options: ElasticNetOptions, start: Array | None = None, *, once: bool
    ):
        self.design, self.options, self.work = design, options, WorkingSet(design, once)
        p, tiny = len(design.q), float(np.finfo(float).tiny)
        self.factors = np.ones(p) if options.factors is None else options.factors
        self.goal = options.tol * max(design.yy, tiny)
        self.finest = FINEST * float(np.sqrt(design.yy))
        top = strength_max(design, options.factors, options.positive)
        begin = np.empty(0)
        self.last = [ElasticNetIterate(top, 0.0, begin, begin, design.q, self._inner(True))]
        if start is not None and np.any(start):
            support = np.flatnonzero(start)
            self._enter(support, self.last)
            b = np.ascontiguousarray(start[support], dtype=np.float64)
            self.last[0].b, self.last[0].h = b, self.work.gradient(b)
        else:
            together = once and self.work.store.small
            first = np.flatnonzero(design.norms > 0 if together else self.factors == 0)
            if len(first):
                self._enter(first, self.last)

    def _inner(self, certified: bool) -> float:
        """Moves of coordinate descent that are small enough at first."""
        return max(np.sqrt(self.goal) * (FIRST_MOVE if certified else 1e-3), self.finest)

    def _certified(self, iterate: ElasticNetIterate) -> bool:
        """Without absolute values the dual has no interior, with concave ones there is none."""
        return self.options.penalty == "l1" and iterate.l1 > 0

    def together(self) -> int:
        """Strengths of a batch."""
        return BATCH if self.work.size < LARGE else FEW

    def approach(self, l1: float) -> None:
        """From 0 towards a small strength through larger ones, each solved roughly.

        The columns that enter are then few more than those of the solution.
        """
        top = self.last[0].l1
        everything = self.work.size == np.count_nonzero(self.design.norms)
        if isinstance(self.design, MomentDesign) or everything or not 0 < l1 < FAR * top:
            return
        goal, self.goal = self.goal, max(self.goal, ROUGH * self.design.yy)
        count = int(np.ceil((np.log(l1) - np.log(top)) / np.log(APPROACH)))  # l1 / top may be 0
        between = np.geomspace(top, l1, count + 1)[1:-1].tolist()
        for batch in close_batches([(at, 0.0) for at in between], self.together):
            self.solve(batch, None)
        self.goal = goal

    def solve(
        self, strengths: list[tuple[float, float]], tick: Tick | None
    ) -> tuple[list[PathPoint], bool]:
        """Solutions of a batch: of the first ones only, and True, where `tick` ends it."""
        self._admit(self._expected(strengths[0][0], strengths[-1][0]), self.last)
        iterates, late = self._first(strengths), False
        pending = iterates
        while True:
            self._measure(pending)
            late = tick is not None and tick(max(t.epochs for t in pending), None)
            pending = [t for t in pending if not (t.done or t.ended)]
            if not pending or late:
                break
            if not self._admit(self._violations(pending), iterates):
                self._tighten(pending)
            for iterate in pending:
                self._descend(iterate)
        self.last = iterates[-2:] if len(iterates) > 1 else [self.last[-1], iterates[0]]
        number = next((i for i, t in enumerate(iterates) if t in pending), len(iterates))
        return [self._point(t) for t in iterates[: max(number, 1)]], late

    def _first(self, strengths: list[tuple[float, float]]) -> list[ElasticNetIterate]:
        """Solutions on the working set as it is, one after the other."""
        iterates = list(self.last)
        for l1, l2 in strengths:
            before, last = iterates[-2:] if len(iterates) > 1 else (iterates[-1], iterates[-1])
            b, h = last.b.copy(), last.h.copy()
            step = last.l1 - before.l1
            if self.options.penalty == "l1" and step < 0 and before.done and l1 < last.l1:
                along = min((l1 - last.l1) / step, LONGEST)
                b += along * (last.b - before.b)
                h += along * (last.h - before.h)
            inner = self._inner(self.options.penalty == "l1" and l1 > 0)
            iterate = ElasticNetIterate(l1, l2, b, h, self.design.q, inner)
            self._descend(iterate)
            iterate.done = True  # for the extrapolation
            iterates.append(iterate)
        return iterates[len(self.last) :]

    def _expected(self, first: float, final: float) -> Array:
        """Positive for columns whose correlation will exceed l1, if it goes on as it did."""
        last, before = self.last[-1], self.last[0]
        c = last.correlations
        if before is last or not before.done or not before.l1 > last.l1 > 0:
            return self._relative(c) - final
        slope = (c - before.correlations) / (last.l1 - before.l1)
        ahead = [(c + slope * (l1 - last.l1)) / max(l1, 1e-300) for l1 in (first, final)]
        return np.maximum(*map(self._relative, ahead)) - (1.0 - MARGIN)

    def _violations(self, iterates: list[ElasticNetIterate]) -> Array:
        """Amounts by which correlations exceed l1, relative to it."""
        tiny, slack = float(np.finfo(float).tiny), 1 + 1e-10
        sizes = [self._relative(t.correlations) / max(t.l1, tiny) for t in iterates]
        return np.max(sizes, axis=0) - slack

    def _relative(self, c: Array) -> Array:
        """Correlations divided by the factors of the penalty."""
        size = c if self.options.positive else np.abs(c)
        if self.options.factors is None:
            return size
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.factors > 0, size / self.factors, 0.0)

    def _admit(self, excess: Array, iterates: list[ElasticNetIterate]) -> int:
        """Columns of positive excess enter the working set; how many."""
        wanted = (excess > 0) & (self.design.norms > 0)
        wanted[self.work.columns] = False
        new = np.flatnonzero(wanted)
        most = max(FIRST_COLUMNS, self.work.size)  # the working set at most doubles
        if len(new) > most:
            new = np.sort(new[np.argpartition(-excess[new], most)[:most]])
        if len(new):
            self._enter(new, iterates)
        return len(new)

    def _enter(self, new: Array, iterates: list[ElasticNetIterate]) -> None:
        """Columns enter at 0, in every solution."""
        cross = self.work.add(new)
        for iterate in {id(t): t for t in (*self.last, *iterates)}.values():
            # without a Gram matrix h is computed again by the next descent
            h = self.design.q[new] - (0.0 if cross is None else cross.T @ iterate.b)
            iterate.h = np.concatenate([iterate.h, h])
            iterate.b = np.concatenate([iterate.b, np.zeros(len(new))])

    def _tighten(self, iterates: list[ElasticNetIterate]) -> None:
        """No column is missing: smaller moves, without the drift of many."""
        for iterate in iterates:
            iterate.inner = max(0.1 * iterate.inner, self.finest)
            iterate.h = self.work.gradient(iterate.b)

    def _descend(self, iterate: ElasticNetIterate) -> None:
        """Coordinate descent, until the gap on the working set is small."""
        columns, options = self.work.columns, self.options
        if not len(columns):
            iterate.epochs, iterate.settled = iterate.epochs + 1, True
            return
        f, q = self.factors[columns], np.ascontiguousarray(self.design.q[columns])
        penalty = Penalty(
            iterate.l1 * f, iterate.l2, options.positive, options.penalty, options.gamma
        )
        certified, everywhere = self._certified(iterate), np.arange(len(columns))
        while True:
            left = max(options.max_iter - iterate.epochs, 1)
            b, h = np.ascontiguousarray(iterate.b), np.ascontiguousarray(iterate.h)
            iterate.b, iterate.h, epochs, iterate.settled = self.work.descend(
                q, penalty, (b, h), tol=iterate.inner, max_epochs=left
            )
            iterate.epochs += epochs
            if not certified or iterate.inner <= self.finest or iterate.epochs >= options.max_iter:
                return
            rr = max(self.design.yy - float((q + iterate.h) @ iterate.b), 0.0)
            if self._gap(iterate, iterate.h, everywhere, f, rr) <= 0.8 * self.goal:
                return
            iterate.inner = max(0.3 * iterate.inner, self.finest)

    def _measure(self, iterates: list[ElasticNetIterate]) -> None:
        """Correlations of all columns and duality gaps; what is done, and what cannot be."""
        columns, options = self.work.columns, self.options
        C, squares = self.work.store.correlations(np.stack([t.b for t in iterates], axis=1))
        for k, iterate in enumerate(iterates):
            iterate.correlations, iterate.rr = np.ascontiguousarray(C[:, k]), float(squares[k])
            c = iterate.correlations
            if self._certified(iterate):
                iterate.gap = self._gap(iterate, c, columns, self.factors, iterate.rr)
                iterate.done = iterate.gap <= self.goal
            else:
                iterate.done = iterate.settled and self._complete(iterate)
            if iterate.inner <= self.finest and not iterate.done and self._complete(iterate):
                iterate.done = iterate.gap <= self.goal + self._rounding(iterate)
                iterate.ended = not iterate.done
            iterate.ended = iterate.ended or (
                not iterate.done and iterate.epochs >= options.max_iter
            )

    def _complete(self, iterate: ElasticNetIterate) -> bool:
        """Whether no column outside the working set is missing."""
        excess = self._violations([iterate])
        excess[self.work.columns] = 0.0
        return not bool(np.any((excess > 0) & (self.design.norms > 0)))

    def _rounding(self, iterate: ElasticNetIterate) -> float:
        """By how much the rounding of correlations, of size |x_j| |y|, changes the duality gap."""
        yy, norms = self.design.yy, self.design.norms
        error = np.finfo(float).eps * float(norms.max(initial=0.0)) * np.sqrt(yy)
        return 8.0 * error / iterate.l1 * max(iterate.rr, yy) if iterate.l1 > 0 else 0.0

    def _gap(
        self, iterate: ElasticNetIterate, c: Array, places: Array, factors: Array, rr: float
    ) -> float:
        """Primal minus dual objective at correlations c, those of the working set in `places`.

        The ridge term counts as extra rows sqrt(l2) I of X.
        """
        b, f, l1, l2 = iterate.b, self.factors[self.work.columns], iterate.l1, iterate.l2
        bb, ry = float(b @ b), rr + float(b @ c[places])  # r'y = r'r + (X b)'r
        if l2 > 0:
            c = c.copy()
            c[places] -= l2 * b
        size = c if self.options.positive else np.abs(c)
        if self.options.factors is not None:
            penalised = factors > 0
            size = size[penalised] / factors[penalised]
        primal = 0.5 * rr + l1 * float(f @ np.abs(b)) + 0.5 * l2 * bb
        return scaled_gap(primal, ry, rr + l2 * bb, l1, float(size.max(initial=0.0)))

    def _point(self, iterate: ElasticNetIterate) -> PathPoint:
        coef, columns = np.zeros(len(self.design.q)), self.work.columns
        coef[columns] = iterate.b
        unit = max(self.design.yy, float(np.finfo(float).tiny))
        gap = iterate.gap / unit if self._certified(iterate) else 0.0
        absolute = float(self.factors[columns] @ np.abs(iterate.b))
        value = (
            0.5 * iterate.rr
            + iterate.l1 * absolute
            + 0.5 * iterate.l2 * float(iterate.b @ iterate.b)
        )
        return PathPoint(coef, float(gap), value, max(iterate.epochs, 1), iterate.done)


def scaled_gap(primal: float, ry: float, rr: float, l1: float, largest: float) -> float:
    """Primal minus dual at the residual, scaled until its largest correlation is at most l1."""
    scale = 1.0 if largest <= l1 else l1 / largest
    return max(primal - (scale * ry - 0.5 * scale**2 * rr), 0.0)

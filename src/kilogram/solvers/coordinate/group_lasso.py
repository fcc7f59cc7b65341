"""Group lasso for one or several targets, by block coordinate descent on a growing working set.

    min_B  1/2 |Y - X B|^2 + l1 sum_g f_g |B_g| + l2 / 2 |B|^2      |.| Frobenius, means over rows

B_g has the rows of B of the columns of group g, and all targets: one column a group is the
multi-task lasso, one target the group lasso. As for the elastic net, groups enter a working set
whose Gram matrix is stored, and the duality gap relative to |Y|^2 must fall below tol. Slow epochs
are extrapolated from their last iterates, where that lowers the objective.

References: Yuan and Lin 2006; Obozinski, Taskar and Jordan 2010; Bertrand and Massias 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kilogram.native.coordinate import Groups, group_descent
from kilogram.solvers.coordinate.designs import Design
from kilogram.solvers.coordinate.elastic_net import PathPoint, Tick, scaled_gap

Array = np.ndarray[Any, np.dtype[Any]]

#: Epochs between two extrapolations, and the iterates that enter one.
PATIENCE, ITERATES = 10, 5
#: Moves, relative to the root of the gap allowed, at which it is first measured: with 0.1 it was
#: mostly too large still, and measuring it costs a pass over all columns.
FIRST_MOVE = 0.03
#: Groups that may enter an empty working set at once, which at most doubles later: our choice.
FIRST_GROUPS = 50


@dataclass(frozen=True)
class Grouping:
    """Columns `members`, cut at `starts` (g + 1,) into groups with factors of the penalty (g,)."""

    members: Array
    starts: Array
    factors: Array

    @classmethod
    def single(cls, p: int) -> Grouping:
        """Every column is a group: several targets share their columns."""
        return cls(np.arange(p), np.arange(p + 1), np.ones(p))

    def of(self, g: int) -> Array:
        """The columns of a group."""
        return self.members[self.starts[g] : self.starts[g + 1]]

    @cached_property
    def _inverse_factors(self) -> Array:
        """0 for groups that are not penalised."""
        penalised = self.factors > 0
        return np.where(penalised, 1.0 / np.where(penalised, self.factors, 1.0), 0.0)

    def norms(self, C: Array) -> Array:
        """The norms (g,) of the groups of C (p, t)."""
        squares = np.einsum("ij,ij->i", C, C)[self.members]
        return np.asarray(np.sqrt(np.add.reduceat(squares, self.starts[:-1])))

    def relative(self, C: Array) -> Array:
        """Norms divided by the factors; groups that are not penalised are left out."""
        return self.norms(C) * self._inverse_factors


@dataclass(frozen=True)
class GroupOptions:
    """Groups, tolerance and limit, which do not change along a path."""

    groups: Grouping
    tol: float = 1e-4
    max_iter: int = 1000


class GroupSet:
    """The groups that have been needed, the Gram matrix of their columns, B and H = Q - G B."""

    def __init__(self, design: Design, grouping: Grouping):
        self.design, self.grouping = design, grouping
        self.groups: list[int] = []
        self.columns = np.empty(0, dtype=np.int64)
        self.starts = [0]
        self.curvature: list[float] = []
        self.G = np.empty((0, 0))
        self.B = np.empty((0, design.q.shape[1]))
        self.H = self.B.copy()

    def add(self, groups: Sequence[int]) -> None:
        """Groups enter at 0."""
        parts = [self.grouping.of(g) for g in groups]
        new = np.concatenate(parts)
        m, k = len(self.columns), len(new)
        G = np.empty((m + k, m + k))
        G[:m, :m] = self.G
        own = self.design.gram(new, new)
        G[m:, m:] = own
        if m:
            G[:m, m:] = self.design.gram(self.columns, new)
            G[m:, :m] = G[:m, m:].T
        at = 0
        for part in parts:
            inner = own[at : at + len(part), at : at + len(part)]
            at += len(part)
            top = inner[0, 0] if len(part) == 1 else np.linalg.eigvalsh(inner)[-1]
            self.curvature.append(max(float(top), 0.0))
            self.starts.append(self.starts[-1] + len(part))
        self.G, self.groups = G, [*self.groups, *groups]
        self.columns = np.concatenate([self.columns, new])
        self.B = np.concatenate([self.B, np.zeros((k, self.B.shape[1]))])
        self.refresh()

    def refresh(self) -> None:
        """H without the drift of many moves."""
        self.H = np.ascontiguousarray(self.design.q[self.columns] - self.G @ self.B)

    def problem(self, l1: float, l2: float) -> Groups:
        strength = l1 * self.grouping.factors[self.groups]
        return Groups(np.array(self.starts, dtype=np.int64), np.array(self.curvature), strength, l2)

    def penalty(self, B: Array) -> float:
        """sum_g f_g |B_g|."""
        squares = np.add.reduceat(np.einsum("ij,ij->i", B, B), self.starts[:-1])
        return float(self.grouping.factors[self.groups] @ np.sqrt(squares))

    def objective(self, B: Array, H: Array, l1: float, l2: float) -> float:
        """1/2 <B, G B> - <Q, B> + penalties, from H = Q - G B."""
        Q = self.design.q[self.columns]
        return -0.5 * float(np.vdot(B, Q + H)) + l1 * self.penalty(B) + 0.5 * l2 * np.vdot(B, B)


def group_strength_max(design: Design, groups: Grouping) -> float:
    """The smallest l1 at which all penalised groups are 0."""
    return float(groups.relative(design.q).max(initial=0.0))


def group_path(
    design: Design,
    strengths: Sequence[tuple[float, float]],
    options: GroupOptions,
    *,
    start: Array | None = None,
    tick: Tick | None = None,
) -> list[PathPoint]:
    """Solutions (p, t) at each (l1, l2), each started from the one before; fewer if `tick` ends it.

    q of the design is (p, t).
    """
    work = GroupSet(design, options.groups)
    first = np.flatnonzero(options.groups.factors == 0)
    if start is not None and np.any(start):
        first = np.union1d(first, np.flatnonzero(options.groups.norms(start)))
    if len(first):
        work.add(first.tolist())
        if start is not None:
            work.B = np.ascontiguousarray(start[work.columns], dtype=np.float64)
            work.refresh()
    size = options.groups.relative(design.q)
    previous = float(size.max(initial=0.0))
    found = []
    for l1, l2 in strengths:
        _admit(work, size, max(2 * l1 - previous, 0.9 * l1))
        point, size, late = _solve(work, l1, l2, options, tick)
        found.append(point)
        previous = l1
        if late:
            break
    return found


def _admit(work: GroupSet, size: Array, threshold: float) -> int:
    """Groups whose relative correlation exceeds the threshold enter the working set; how many."""
    above = size > threshold
    above[work.groups] = False
    new = np.flatnonzero(above)
    most = max(FIRST_GROUPS, len(work.groups))
    if len(new) > most:
        new = np.sort(new[np.argpartition(-size[new], most)[:most]])
    if len(new):
        work.add(new.tolist())
    return len(new)


def _solve(
    work: GroupSet, l1: float, l2: float, options: GroupOptions, tick: Tick | None
) -> tuple[PathPoint, Array, bool]:
    """Descend on the working set and let groups enter until the duality gap is small.

    The point, the relative correlations of the groups there, and whether `tick` asked to stop.
    """
    design, tiny = work.design, float(np.finfo(float).tiny)
    goal = options.tol * max(design.yy, tiny)
    finest = 16.0 * float(np.finfo(float).eps) * float(np.sqrt(design.yy))
    inner = max(FIRST_MOVE * float(np.sqrt(goal)), finest)
    epochs, gap, late = 0, np.inf, False
    while True:
        epochs += _descend(work, l1, l2, inner, options.max_iter - epochs)
        C, rr = design.correlations(work.B, work.columns, None)
        size = work.grouping.relative(C)
        entered = _admit(work, size, l1 * (1 + 1e-10))
        gap, value = _certificate(work, C, size, rr, l1, l2)
        done = entered == 0 and (gap <= goal if l1 > 0 else inner <= 1e-3 * np.sqrt(goal))
        late = tick is not None and tick(epochs, value)
        if done or late or epochs >= options.max_iter:
            break
        if entered == 0:
            if inner <= finest:
                done = True  # what is left is rounding
                break
            inner = max(0.1 * inner, finest)
            work.refresh()
    coef = np.zeros(design.q.shape)
    coef[work.columns] = work.B
    relative = gap / max(design.yy, tiny) if l1 > 0 else 0.0
    return PathPoint(coef, relative, value, max(epochs, 1), bool(done)), size, late


def _descend(work: GroupSet, l1: float, l2: float, tol: float, most: int) -> int:
    """Epochs until no move exceeds tol, with an extrapolation now and then; how many."""
    if not work.groups:
        return 1
    problem, epochs = work.problem(l1, l2), 0
    while epochs < most:
        taken, change = group_descent(
            work.G, problem, work.B, work.H, tol=tol, max_epochs=min(PATIENCE, most - epochs)
        )
        epochs += taken
        if change <= tol:
            break
        iterates = [work.B.copy()]
        for _ in range(min(ITERATES, most - epochs)):
            taken, change = group_descent(work.G, problem, work.B, work.H, tol=tol, max_epochs=1)
            epochs += taken
            iterates.append(work.B.copy())
        if change <= tol or epochs >= most:
            break
        _extrapolate(work, iterates, l1, l2)
    return epochs


def _extrapolate(work: GroupSet, iterates: list[Array], l1: float, l2: float) -> None:
    """Anderson: the combination of iterates with the least combined change, if it is better."""
    U = np.stack([(b - a).ravel() for a, b in pairwise(iterates)])
    gram = U @ U.T
    gram += 1e-12 * np.trace(gram) * np.eye(len(gram)) + np.finfo(float).tiny * np.eye(len(gram))
    weights = np.linalg.solve(gram, np.ones(len(gram)))
    if not np.isfinite(weights).all() or weights.sum() == 0:
        return
    weights /= weights.sum()
    B = np.ascontiguousarray(np.tensordot(weights, np.stack(iterates[1:]), axes=1))
    B[~work.B.any(axis=1)] = 0.0
    H = np.ascontiguousarray(work.design.q[work.columns] - work.G @ B)
    if work.objective(B, H, l1, l2) < work.objective(work.B, work.H, l1, l2):
        work.B, work.H = B, H


def _certificate(
    work: GroupSet, C: Array, size: Array, rr: float, l1: float, l2: float
) -> tuple[float, float]:
    """The duality gap and the objective, for correlations C (p, t) of relative `size` (g,)."""
    B, bb = work.B, float(np.vdot(work.B, work.B))
    value = 0.5 * rr + 0.5 * l2 * bb + (l1 * work.penalty(B) if work.groups else 0.0)
    if l2 > 0:
        shifted = C.copy()
        shifted[work.columns] -= l2 * B
        size = work.grouping.relative(shifted)
    largest = float(size.max(initial=0.0))
    ry = rr + float(np.vdot(B, C[work.columns]))
    return scaled_gap(value, ry, rr + l2 * bb, l1, largest), value

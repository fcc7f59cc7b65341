"""Block SMO: blocks of a few hundred of the largest KKT violators, solved by pair steps.

    choose     W: half of the last block, free variables first, and the largest violators
               (smallest f among those below their upper end, largest f among those above the lower)
    solve      the dual restricted to W, K[W, W] in cache, by second-order SMO
    update     g += K[:, W] delta, one pass over the kernel rows of W

until max f over {b > lower} - min f over {b < upper} <= tol. One pass over many rows at once is
what makes this faster than SMO on single pairs: rows are computed by matrix products, by all
threads.

Shrinking: where more variables are free than a block holds, W grows to twice as many, its K is
kept, and the same method runs inside it, block by block. The gradient of all other variables is
updated once with the sum of the changes, and all of them are checked before the next W is chosen or
the method ends.

References: Platt 1998; Keerthi et al. 2001; Fan, Chen and Lin 2005 (second-order choice);
Joachims 1999 (blocks); Wen et al. 2018 (blocks kept by halves).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kilogram.native.svm import pair_steps, select_block
from kilogram.solvers.smo.problem import Array, DualProblem
from kilogram.solvers.smo.row_storage import WHOLE
from kilogram.solvers.smo.stored_rows import KernelRows, StoredRows
from kilogram.solvers.solution import Solution

# Variables in a block: K[W, W] is 8 MiB; measured on 3 000 and 8 000 rows, the same time from 512
# to 2 048.
BLOCK = 1024
SHRUNK_SIZE = 4096  # largest shrunk problem: its K is 64 MiB in float32
CHUNK = 256  # most pair steps per variable between two checks of the clock; it starts with one
# Squared distance between hulls, relative to the data, that counts as zero: 1e-5 of their size.
TOUCHING_HULLS = 1e-10
# Error of the gradient, relative to the size of its terms: a few eps.
ROUNDING = 8 * np.finfo(float).eps
# Fraction of the violation at which a block is left for the next; measured on 8 000 rows, 0.03
# takes 0.9 times as long, 0.3 1.7 times.
BLOCK_TOLERANCE = 0.1


class BlockOptions(NamedTuple):
    """When to stop: `tol` on the violation, `max_steps` pair steps, `tick(step, objective)`."""

    tol: float = 1e-3
    max_steps: int = 10_000_000
    tick: Callable[[int, float | None], bool] | None = None
    block: int = BLOCK
    shrinking: bool = True


class Dual(NamedTuple):
    """A dual point b (m,) and g = K b at the points (n,)."""

    b: Array
    g: Array


def dual_value(P: DualProblem, dual: Dual) -> float:
    """1/2 b'(K + diag(s)) b - t'b, the dual objective, to be minimised."""
    b, g = dual
    # no BLAS here: its idle threads would spin during the passes over the kernel rows
    return float(np.sum(b * (0.5 * (g[P.point] + P.s * b) - P.t)))


class PointChanges(NamedTuple):
    """Points that changed, by how much, and whether they are free to change again."""

    points: Array
    delta: Array
    free: Array


def changes(P: DualProblem, b: Array, before: Array, W: Array, n: int) -> PointChanges:
    """What happened to the points of W; two variables on one point are added up."""
    delta = b[W] - before
    W, delta = W[delta != 0], delta[delta != 0]
    free = (b[W] > P.lower[W]) & (b[W] < P.upper[W])
    if P.t.shape[0] == n:
        return PointChanges(P.point[W], delta, free)
    if not W.size:  # a bincount of nothing is int64, which the native loops do not read
        return PointChanges(P.point[W], delta, free)
    unique, inverse = np.unique(P.point[W], return_inverse=True)
    total = np.bincount(inverse, weights=delta, minlength=unique.shape[0])
    free_points = np.bincount(inverse, weights=free, minlength=unique.shape[0]) > 0
    return PointChanges(unique[total != 0], total[total != 0], free_points[total != 0])


def solve_block(
    rows: KernelRows, P: DualProblem, options: BlockOptions, start: Dual | None = None
) -> Solution:
    """A Dual with violation <= tol, or the best reached; objective is that of the dual."""
    m = P.t.shape[0]
    b, g = (np.zeros(m), np.zeros(rows.n)) if start is None else (start.b.copy(), start.g.copy())
    f, kept = np.empty(m), np.zeros(m, dtype=np.uint8)
    W, K, added = np.empty(0, dtype=np.int64), None, np.zeros(m, dtype=np.int64)
    monitor = Monitor(P, options, rows)
    while True:
        q = block_size(P, b, monitor, rows)
        keep = _kept(P, b, W, added, q // 2) if q < m else W
        kept[:] = 0
        kept[keep] = 1
        picked = select_block(P, b, g, kept, q - keep.shape[0], f)
        if monitor.done(Dual(b, g), picked.largest - picked.smallest):
            break
        if q == m:
            W = np.arange(m)
            K = rows.square(P.point) if K is None else K
        else:
            added[picked.chosen] = monitor.rounds
            W = np.sort(np.concatenate([keep, picked.chosen]))  # rows are read in their order
            K = rows.square(P.point[W])
        before = b[W]
        solve = _solve_square if q == m or q <= max(WHOLE, options.block) else _solve_shrunk
        monitor.steps += solve(P, K, W, f, b, monitor)
        moves = changes(P, b, before, W, rows.n)
        rows.add(moves.points, moves.delta, g, again=moves.free)
    return Solution(Dual(b, g), monitor.steps, monitor.value, monitor.converged, monitor.message)


def block_size(P: DualProblem, b: Array, monitor: Monitor, rows: KernelRows) -> int:
    """Variables solved for before the gradient of the others is updated: twice the free ones."""
    m, options = b.shape[0], monitor.options
    if m <= min(WHOLE, rows.whole):
        return m
    block = min(options.block, rows.block_limit, m)
    if not options.shrinking or monitor.unbounded:
        return block
    free = int(np.count_nonzero((b > P.lower) & (b < P.upper)))
    return max(block, min(2 * free, rows.reach, SHRUNK_SIZE, m - 1))


def _solve_shrunk(P: DualProblem, K: Array, W: Array, f: Array, b: Array, monitor: Monitor) -> int:
    """Blocks within the variables W, all others fixed; b is changed there. Returns the steps."""
    rows, bW = StoredRows(K), b[W]
    g = np.zeros(W.shape[0])
    moved = np.nonzero(bW)[0]
    rows.add(moved, bW[moved], g)
    t = g + P.s[W] * bW - f[W]  # so that the gradient here is the one of all variables
    part = DualProblem(np.arange(W.shape[0]), t, P.s[W], P.lower[W], P.upper[W])
    tick = monitor.options.tick
    options = monitor.options._replace(
        tol=monitor.goal(),
        max_steps=monitor.options.max_steps - monitor.steps,
        tick=None if tick is None else lambda step, value: tick(monitor.rounds, None),
        shrinking=False,
    )
    found = solve_block(rows, part, options, Dual(bW, g))
    b[W] = found.value.b
    return found.n_iter


def _solve_square(P: DualProblem, K: Array, W: Array, f: Array, b: Array, monitor: Monitor) -> int:
    """Pair steps on the variables W; b is changed there. Returns how many."""
    fW, bW = f[W], b[W]
    whole = W.shape[0] == b.shape[0]
    goal = 0.5 * monitor.options.tol if whole else monitor.goal()
    left = monitor.options.max_steps - monitor.steps
    found = pair_steps(
        K,
        P.s[W],
        P.lower[W],
        P.upper[W],
        fW,
        bW,
        tol=max(goal, ROUNDING * _size_of_terms(P, K, bW)),
        max_steps=min(left, W.shape[0] * min(CHUNK, 4 ** (monitor.rounds - 1))),
    )
    b[W] = bW
    return found.steps


def _size_of_terms(P: DualProblem, K: Array, b: Array) -> float:
    """Of the terms K b and t of the gradient, whose rounding errors it holds."""
    return max(float(np.abs(P.t).max()), float(K.diagonal().max()) * float(np.sqrt(np.sum(b * b))))


def _kept(P: DualProblem, b: Array, W: Array, added: Array, count: int) -> Array:
    """The part of the last block that is kept: its free variables, then its latest additions."""
    free = (b[W] > P.lower[W]) & (b[W] < P.upper[W])
    order = np.argsort(added[W] + np.where(free, added.max(), 0), kind="stable")
    return W[order[max(0, W.shape[0] - count) :]]


class Monitor:
    """Counts steps; detects convergence, stalls, unbounded duals and limits."""

    def __init__(self, P: DualProblem, options: BlockOptions, rows: KernelRows):
        self.P, self.options = P, options
        self.steps = self.rounds = self.stalled = 0
        self.violation = self.least = np.inf
        self.best = self.value = np.inf
        self.converged, self.message = False, ""
        self.unbounded = bool((np.isinf(P.upper - P.lower) & (P.s == 0)).any())
        self.diagonal = rows.diag() if self.unbounded else np.empty(0)

    def goal(self) -> float:
        """The violation at which a block is left for the next."""
        return max(BLOCK_TOLERANCE * self.violation, 0.5 * self.options.tol)

    def done(self, dual: Dual, violation: float) -> bool:
        """Whether to stop; the reason is in `converged` and `message`."""
        self.violation = violation
        self.value = dual_value(self.P, dual)
        self.rounds += 1
        if violation <= self.options.tol or not np.isfinite(violation):
            self.converged = True
            return True
        if self.unbounded:
            refuse_unbounded(self.P, dual, self.diagonal)
        left = f"the KKT violation is {violation:.3g} (tol={self.options.tol:g})."
        # a violation of the size of the rounding error cannot be reduced: the dual no longer falls
        fell = self.best - self.value > 1e-14 * abs(self.value) or violation < self.least
        self.stalled = 0 if fell else self.stalled + 1
        self.best, self.least = min(self.best, self.value), min(self.least, violation)
        if self.stalled > 50:
            self.message = f"rounding errors leave no further progress; {left}"
        elif self.steps >= self.options.max_steps:
            self.message = f"max_iter is reached; {left}"
        elif self.options.tick is not None and self.options.tick(self.rounds, self.value):
            self.message = f"max_time is reached; {left}"
        return bool(self.message)


class NotSeparable(ValueError):
    """No hyperplane separates the classes: a hard margin does not exist."""


def refuse_unbounded(P: DualProblem, dual: Dual, diagonal: Array) -> None:
    """Raise if b / sum |b| shows that the hulls of the classes meet: then the dual has no minimum.

    u = b / (sum |b| / 2) is a difference of two points of the hulls, and |u| the distance between
    them; it is compared with the kernel values k(x_i, x_i) that make it up.
    """
    total = 0.5 * float(np.abs(dual.b).sum())
    scale = float(np.abs(dual.b) @ diagonal[P.point])
    if total > 0 and float(dual.b @ dual.g[P.point]) <= TOUCHING_HULLS * scale * total:
        raise NotSeparable(
            "C=inf asks for a hard margin, but the classes cannot be separated by this kernel "
            "(their convex hulls meet, up to rounding). Give a finite C, or another kernel."
        )

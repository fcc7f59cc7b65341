"""Block SMO: a few hundred of the worst violators at a time, solved by pair steps.

    choose     W: half of the last block, free variables first, and the worst violators
               (smallest f among those that can rise, largest f among those that can fall)
    solve      the dual restricted to W, K[W, W] in cache, by second-order SMO
    update     g += K[:, W] delta, one pass over the kernel rows of W

until max f over {b > lower} - min f over {b < upper} <= tol. One pass over many rows at once is
what makes this faster than SMO on single pairs: rows are made by matrix products, by all threads.

Shrinking: where more variables are free than a block holds, W grows to twice as many, its K is
kept, and the same method runs inside it, block by block. All other variables have left: their
gradient waits for one update with the sum of the moves, and every one of them is looked at again
before the next W is chosen or the work ends.

References: Platt 1998; Keerthi et al. 2001; Fan, Chen and Lin 2005 (second-order choice);
Joachims 1999 (blocks); Wen et al. 2018 (blocks kept by halves).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kilogram.native.svm import pair_steps, select_block
from kilogram.solvers.smo.problem import Array, Problem
from kilogram.solvers.smo.rows import WHOLE
from kilogram.solvers.smo.stored import KernelRows, StoredRows
from kilogram.solvers.solution import Solution

BLOCK = 1024  # variables in a block: K[W, W] is 8 MiB
REACH = 4096  # most variables that stay while the others have left: their K is 64 MiB in float32
CHUNK = 256  # most pair steps per variable before the clock is looked at; it starts with one
MEETING = 1e-10  # square of the distance between hulls, relative to the data, that counts as none
INNER = 0.1  # part of the violation at which a block is left for the next


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


def dual_value(P: Problem, dual: Dual) -> float:
    """1/2 b'(K + diag(s)) b - t'b, the dual objective that falls."""
    b, g = dual
    # no BLAS here: its idle threads would spin through the passes over the kernel rows
    return float(np.sum(b * (0.5 * (g[P.point] + P.s * b) - P.t)))


class Moves(NamedTuple):
    """Points that changed, by how much, and whether they are free to change again."""

    points: Array
    delta: Array
    free: Array


def spread(P: Problem, b: Array, before: Array, W: Array, n: int) -> Moves:
    """What happened to the points of W; two variables on one point are added up."""
    delta = b[W] - before
    W, delta = W[delta != 0], delta[delta != 0]
    free = (b[W] > P.lower[W]) & (b[W] < P.upper[W])
    if P.t.shape[0] == n:
        return Moves(P.point[W], delta, free)
    unique, inverse = np.unique(P.point[W], return_inverse=True)
    total = np.bincount(inverse, weights=delta, minlength=unique.shape[0])
    loose = np.bincount(inverse, weights=free, minlength=unique.shape[0]) > 0
    return Moves(unique[total != 0], total[total != 0], loose[total != 0])


def solve_block(
    rows: KernelRows, P: Problem, options: BlockOptions, start: Dual | None = None
) -> Solution:
    """A Dual with violation <= tol, or the best reached; objective is that of the dual."""
    m = P.t.shape[0]
    b, g = (np.zeros(m), np.zeros(rows.n)) if start is None else (start.b.copy(), start.g.copy())
    f, kept = np.empty(m), np.zeros(m, dtype=np.uint8)
    W, K, came = np.empty(0, dtype=np.int64), None, np.zeros(m, dtype=np.int64)
    watch = Watch(P, options, rows)
    while True:
        q = block_size(P, b, watch, rows)
        keep = _kept(P, b, W, came, q // 2) if q < m else W
        kept[:] = 0
        kept[keep] = 1
        picked = select_block(P, b, g, kept, q - keep.shape[0], f)
        if watch.done(Dual(b, g), picked.largest - picked.smallest):
            break
        if q == m:
            W = np.arange(m)
            K = rows.square(P.point) if K is None else K
        else:
            came[picked.chosen] = watch.rounds
            W = np.sort(np.concatenate([keep, picked.chosen]))  # rows are read in their order
            K = rows.square(P.point[W])
        before = b[W]
        solve = _solve_square if q == m or q <= max(WHOLE, options.block) else _solve_shrunk
        watch.steps += solve(P, K, W, f, b, watch)
        moves = spread(P, b, before, W, rows.n)
        rows.add(moves.points, moves.delta, g, again=moves.free)
    return Solution(Dual(b, g), watch.steps, watch.value, watch.converged, watch.message)


def block_size(P: Problem, b: Array, watch: Watch, rows: KernelRows) -> int:
    """Variables that are solved for while the gradient of the others waits: twice the free ones."""
    m, options = b.shape[0], watch.options
    if m <= min(WHOLE, rows.whole):
        return m
    block = min(options.block, rows.block_limit, m)
    if not options.shrinking or watch.boundless:
        return block
    free = int(np.count_nonzero((b > P.lower) & (b < P.upper)))
    return max(block, min(2 * free, rows.reach, REACH, m - 1))


def _solve_shrunk(P: Problem, K: Array, W: Array, f: Array, b: Array, watch: Watch) -> int:
    """Blocks within the variables W, all others at rest; b is changed there. Returns the steps."""
    rows, bW = StoredRows(K), b[W]
    g = np.zeros(W.shape[0])
    moved = np.nonzero(bW)[0]
    rows.add(moved, bW[moved], g)
    t = g + P.s[W] * bW - f[W]  # so that the gradient here is the one of all variables
    part = Problem(np.arange(W.shape[0]), t, P.s[W], P.lower[W], P.upper[W])
    tick = watch.options.tick
    options = watch.options._replace(
        tol=watch.goal(),
        max_steps=watch.options.max_steps - watch.steps,
        tick=None if tick is None else lambda step, value: tick(watch.rounds, None),
        shrinking=False,
    )
    found = solve_block(rows, part, options, Dual(bW, g))
    b[W] = found.value.b
    return found.n_iter


def _solve_square(P: Problem, K: Array, W: Array, f: Array, b: Array, watch: Watch) -> int:
    """Pair steps on the variables W; b is changed there. Returns how many."""
    fW, bW = f[W], b[W]
    whole = W.shape[0] == b.shape[0]
    left = watch.options.max_steps - watch.steps
    found = pair_steps(
        K,
        P.s[W],
        P.lower[W],
        P.upper[W],
        fW,
        bW,
        tol=0.5 * watch.options.tol if whole else watch.goal(),
        max_steps=min(left, W.shape[0] * min(CHUNK, 4 ** (watch.rounds - 1))),
    )
    b[W] = bW
    return found.steps


def _kept(P: Problem, b: Array, W: Array, came: Array, count: int) -> Array:
    """The part of the last block that stays: its free variables, then its latest arrivals."""
    free = (b[W] > P.lower[W]) & (b[W] < P.upper[W])
    order = np.argsort(came[W] + np.where(free, came.max(), 0), kind="stable")
    return W[order[max(0, W.shape[0] - count) :]]


class Watch:
    """Counts steps, sees convergence, stalls, unbounded duals and the end of the budget."""

    def __init__(self, P: Problem, options: BlockOptions, rows: KernelRows):
        self.P, self.options = P, options
        self.steps = self.rounds = self.stalled = 0
        self.violation = self.least = np.inf
        self.best = self.value = np.inf
        self.converged, self.message = False, ""
        self.boundless = bool((np.isinf(P.upper - P.lower) & (P.s == 0)).any())
        self.diagonal = rows.diag() if self.boundless else np.empty(0)

    def goal(self) -> float:
        """The violation at which a block is left for the next."""
        return max(INNER * self.violation, 0.5 * self.options.tol)

    def done(self, dual: Dual, violation: float) -> bool:
        """Whether to stop; says why in `converged` and `message`."""
        self.violation = violation
        self.value = dual_value(self.P, dual)
        self.rounds += 1
        if violation <= self.options.tol or not np.isfinite(violation):
            self.converged = True
            return True
        if self.boundless:
            refuse_unbounded(self.P, dual, self.diagonal)
        left = f"the KKT violation is {violation:.3g} (tol={self.options.tol:g})."
        # a violation that rounding feeds is never worked off: the dual no longer falls
        fell = self.best - self.value > 1e-14 * abs(self.value) or violation < self.least
        self.stalled = 0 if fell else self.stalled + 1
        self.best, self.least = min(self.best, self.value), min(self.least, violation)
        if self.stalled > 50:
            self.message = f"rounding errors leave no further progress; {left}"
        elif self.steps >= self.options.max_steps:
            self.message = f"max_iter is reached; {left}"
        elif self.options.tick is not None and self.options.tick(self.rounds, self.value):
            self.message = f"the time is up; {left}"
        return bool(self.message)


class NotSeparable(ValueError):
    """No hyperplane separates the classes: a hard margin does not exist."""


def refuse_unbounded(P: Problem, dual: Dual, diagonal: Array) -> None:
    """Raise if b / sum |b| shows that the hulls of the classes meet: then the dual has no minimum.

    u = b / (sum |b| / 2) is a difference of two points of the hulls, and |u| the distance between
    them; it is compared with the kernel values k(x_i, x_i) that make it up.
    """
    total = 0.5 * float(np.abs(dual.b).sum())
    scale = float(np.abs(dual.b) @ diagonal[P.point])
    if total > 0 and float(dual.b @ dual.g[P.point]) <= MEETING * scale * total:
        raise NotSeparable(
            "C=inf asks for a hard margin, but the classes cannot be separated by this kernel "
            "(their convex hulls meet, up to rounding). Give a finite C, or another kernel."
        )

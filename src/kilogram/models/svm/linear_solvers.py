"""Solvers of linear support vector machines, for one value of C or along a path.

squared loss              Newton's method with the Hessian formed; several machines start from one
                          least-squares solution
unsquared, few rows       dual coordinate descent, which drops most rows after a few passes; where
                          it is slow, smoothed losses from the point reached
unsquared, many rows      smoothed losses of decreasing width
above 3 000 features      dual coordinate descent
penalty="l1"              proximal Newton steps
other containers          Newton's method on sums over blocks of rows
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse
from kilogram.arrays.rows import column_count, is_streamed
from kilogram.arrays.threads import map_threads
from kilogram.functions.hinge_losses import PiecewiseQuadraticLoss
from kilogram.solvers.coordinate.dual_hinge import descend
from kilogram.solvers.newton.batched import minimise_together
from kilogram.solvers.newton.curvature import Task, solve_shifted
from kilogram.solvers.newton.design import ArrayDesign
from kilogram.solvers.newton.newton import DIRECT, GapStop, curvature_of, minimise
from kilogram.solvers.newton.streaming import RowPasses, minimise_streamed
from kilogram.solvers.proximal.squared_hinge import minimise_absolute
from kilogram.solvers.solution import Solution

# Entries of X below which waking a second thread costs more than a product of 0.1 ms.
ONE_THREAD = 500_000
# Rows up to which dual coordinate descent is tried first. Measured for the hinge, C = 0.01, 1 and
# 100: at 1 000 x 20 it is 2 to 4.5 times faster than smoothed losses, at 5 000 x 20 2.6, 0.6 and
# 3.6 times, at 12 000 x 100 2.3, 0.2 and 3.1, at 20 000 x 50 1.2, 0.1 and 0.2.
FEW = 5_000
PATIENCE = 300  # passes after which coordinate descent has not been worth continuing


class LinearSettings(NamedTuple):
    """Settings that all binary problems of a fit share."""

    penalty: str
    dual: bool | str
    #: Value of the constant column that carries the intercept; 0: no intercept.
    constant: float
    penalised: bool
    rng: np.random.Generator
    #: Whether machines may be solved by one thread each; user callbacks need not be thread-safe.
    threads: bool

    def penalties(self, d: int) -> np.ndarray:
        """Penalties of the d coefficients and the intercept, (d + 1,)."""
        penalty = np.ones(d + 1)
        penalty[-1] = 1.0 if self.penalised else 0.0
        return penalty


class LinearSolution(NamedTuple):
    """Coefficients (t, d + 1) of t machines, sums of their objectives and gaps, the summary."""

    W: np.ndarray
    objective: float
    gap: float
    steps: int
    summary: Solution


def in_arrays(X: Any) -> bool:
    """Whether the rows are NumPy or SciPy arrays in memory."""
    return not is_streamed(X) and (is_numpy(X) or is_sparse(X))


def is_small(X: Any) -> bool:
    """Whether a product with X is fastest on one thread."""
    return in_arrays(X) and X.shape[0] * X.shape[1] < ONE_THREAD


def fit_in_memory(
    settings: LinearSettings,
    X: Any,
    Y: np.ndarray,
    C: np.ndarray,
    loss: PiecewiseQuadraticLoss,
    stop: GapStop,
    start: Any,
    factors: Sequence[float] = (1.0,),
) -> list[LinearSolution]:
    """One machine per column of Y (n, t), for penalties C (n,) times each of the factors."""
    kept = C > 0
    if not kept.all():
        at = np.nonzero(kept)[0]
        X, Y, C = X[at], Y[at], C[at]
    X = X.tocsr() if is_sparse(X) else X
    penalty = settings.penalties(X.shape[1])
    design = ArrayDesign(X, settings.constant)
    Y = np.asarray(Y, dtype=np.float64)
    if by_newton(settings, design, loss):
        task = Task(Y[:, 0], factors[0] * C, penalty, loss)
        if start is None and Y.shape[1] > 1:
            start = least_squares_start(design, Y, task)
        if len(factors) == 1 and is_small(X) and not is_sparse(X):
            W = np.zeros((Y.shape[1], design.width)) if start is None else start
            batch = zip(minimise_together(design, Y, task, stop, W), Y.T, strict=True)
            rng = settings.rng
            return [
                combine_solutions(
                    [
                        descend_if_stalled(one, design, task._replace(y=y), stop, rng)
                        for one, y in batch
                    ]
                )
            ]
    rngs = settings.rng.spawn(Y.shape[1])

    def along(j: int) -> list[Solution]:
        state = PathState(None if start is None else start[j].copy(), factor=factors[0])
        y, found = np.ascontiguousarray(Y[:, j]), []
        for factor in factors:
            state.rescale(factor)
            task = Task(y, factor * C, penalty, loss)
            found.append(solve_one(settings, design, task, stop, state, rngs[j]))
        return found

    machines = map_threads(along, range(Y.shape[1]), alone=not threads_pay(settings, X, loss))
    return [combine_solutions([path[k] for path in machines]) for k in range(len(factors))]


def threads_pay(settings: LinearSettings, X: Any, loss: PiecewiseQuadraticLoss) -> bool:
    """Whether machines are solved by a thread each: coordinate descent runs in one native call.

    Newton steps on few rows are many short calls, which would wait for each other.
    """
    descends = math.isfinite(loss.width) and settings.dual is not False
    return descends and settings.threads and (is_small(X) or X.shape[1] >= DIRECT)


def combine_solutions(found: list[Solution]) -> LinearSolution:
    """The machines of one value of C."""
    slow = [m for m in found if not m.converged]
    points, steps = [m.value for m in found], max(m.n_iter for m in found)
    return LinearSolution(
        np.stack([p.w for p in points]),
        float(sum(p.objective for p in points)),
        float(sum(p.gap for p in points)),
        steps,
        Solution(None, steps, None, not slow, slow[0].message if slow else ""),
    )


def fit_streaming(
    settings: LinearSettings,
    rows: tuple[Any, ...],
    prepare: Callable,
    loss: PiecewiseQuadraticLoss,
    t: int,
    stop: GapStop,
    factors: Sequence[float] = (1.0,),
) -> list[LinearSolution]:
    """All machines together, one pass over the rows per iteration."""
    penalty = settings.penalties(column_count(rows[0]))
    solutions: list[LinearSolution] = []
    for factor in factors:

        def weighted(X: Any, y: Any, w: Any, factor: float = factor) -> tuple[Any, Any]:
            Y, C = prepare(X, y, w)
            return Y, C if factor == 1.0 else factor * C

        start = solutions[-1].W if solutions else None
        passes = RowPasses(rows, weighted, settings.constant, penalty)
        found = minimise_streamed(passes, loss, t, stop, start)
        value = found.value
        solutions.append(LinearSolution(value.W, value.objective, value.gap, found.n_iter, found))
    return solutions


@dataclass
class PathState:
    """What one machine passes on along a path of penalties: w, the dual point b, Hessian sums.

    b and the sums belong to penalties times `factor`; they are proportional to it.
    """

    w: Any = None
    b: Any = None
    curvature: Any = None
    factor: float = 1.0

    def rescale(self, factor: float) -> None:
        """Prepare for penalties times `factor`."""
        change = factor / self.factor
        self.b = None if self.b is None else change * self.b
        if self.curvature is not None:
            self.curvature.times(change)
        self.factor = factor


def by_newton(settings: LinearSettings, design: ArrayDesign, loss: PiecewiseQuadraticLoss) -> bool:
    """Whether the squared loss is minimised by Newton steps with the Hessian formed."""
    plain = settings.penalty == "l2" and settings.dual is not True
    return plain and math.isinf(loss.width) and design.width <= DIRECT


def least_squares_start(design: ArrayDesign, Y: np.ndarray, task: Task) -> np.ndarray:
    """Least squares to the signs of all machines, (t, d + 1): their first Newton step."""
    H, _ = design.scatter(np.arange(design.n), task.c, task.y)
    Q = np.stack([design.transposed(task.c * y) for y in Y.T], axis=1)
    kappa = task.loss.kappa
    return solve_shifted(kappa * H, task.penalty, kappa * Q).T


def solve_one(
    settings: LinearSettings,
    design: ArrayDesign,
    task: Task,
    stop: GapStop,
    state: PathState,
    rng: np.random.Generator,
) -> Solution:
    """One machine by the solver that suits it; `state` is updated to its solution."""
    before, kink, dual = 0, not math.isinf(task.loss.width), settings.dual
    if settings.penalty == "l1":
        found = minimise_absolute(design, task, stop, state.w)
        state.w = found.value.w.copy()
        return found
    dual_only = dual is True or (kink and design.width > DIRECT and dual == "auto")
    dual_first = kink and design.n <= FEW and dual == "auto"
    if task.penalty[-1] > 0 and (dual_only or dual_first):
        most = stop.max_iter if dual_only else min(PATIENCE, stop.max_iter)
        found = descend(design, task, stop._replace(max_iter=most), rng, state.b)
        state.w, state.b = found.value.w.copy(), found.value.b
        if found.converged or most == stop.max_iter or "time" in found.message:
            return found
        before = found.n_iter
    narrow = math.inf
    if state.curvature is None:
        state.curvature = curvature_of(design, task)
    elif kink:  # the width at which the last value of C converged
        narrow = 1.1 * state.curvature.task.loss.width
    left = stop._replace(max_iter=stop.max_iter - before)
    found = minimise(design, task, left, state.w, state.curvature, narrow)
    if not found.converged and math.isfinite(narrow) and found.n_iter < left.max_iter:
        before += found.n_iter  # too narrow to start with: all widths from the widest
        found = minimise(design, task, left, found.value.w, state.curvature)
    found = descend_if_stalled(found, design, task, left, rng)
    state.w = found.value.w.copy()
    return replace(found, n_iter=before + found.n_iter)


def descend_if_stalled(
    found: Solution, design: ArrayDesign, task: Task, stop: GapStop, rng: np.random.Generator
) -> Solution:
    """Dual coordinate descent where Newton's method stopped short of the minimum.

    Where the rows can be separated and C is large, rows enter and leave the loss after a small part
    of every step: hundreds of steps gain little, while the dual has no such kinks.
    """
    left = stop.max_iter - found.n_iter
    ended = found.converged or "max_time" in found.message or left <= 0
    if ended or task.penalty[-1] == 0 or not math.isfinite(found.value.gap):
        return found
    again = descend(design, task, stop._replace(max_iter=left), rng)
    best = min(found, again, key=lambda one: one.value.objective)
    return replace(best, n_iter=min(found.n_iter + again.n_iter, stop.max_iter))

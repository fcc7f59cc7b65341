"""Dual coordinate descent for the hinge and the epsilon-insensitive loss.

    min_b  1/2 |X~'b|^2 + sum_i (s_i b_i^2 / 2 - t_i b_i + eps |b_i|)     lower <= b <= upper

The intercept is a constant column of X~ and penalised with the others, so there is no equality
constraint and b_i can be minimised one at a time, in a new random order for every pass, with
w = X~'b kept up to date. Rows at a bound and far from leaving it are skipped until the others have
converged.

Reference: Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; Ho and Lin 2012.
"""

from __future__ import annotations

import math

import numpy as np

from kilogram.arrays.namespace import is_sparse
from kilogram.functions.hinge_losses import Hinge, Tube
from kilogram.native.svm import DescentProgress, RowBuffers, coordinate_passes
from kilogram.solvers.newton.curvature import NewtonIterate, Task, evaluate
from kilogram.solvers.newton.design import Array, RowDesign
from kilogram.solvers.newton.newton import GapStop
from kilogram.solvers.solution import Solution

CALL = 100_000_000  # multiplications between two checks of the clock: about 0.1 s
# Passes between two computations of the gap, which costs as much as four: at most a quarter of the
# time.
OFTEN = 12
LEAST = 1e-13  # violation, relative to the targets, of the size of the rounding error: 450 eps


def compress_rows(design: RowDesign) -> RowBuffers:
    """The rows as the native pass reads them."""
    X, d = design.X, design.width - 1
    if is_sparse(X):
        X = X.tocsr()
        return RowBuffers(X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64), d)
    return RowBuffers(np.ascontiguousarray(X).reshape(-1), None, None, d)


def dual_terms(design: RowDesign, task: Task) -> Array:
    """|x~|^2, t, s, lower and upper of the rows, (5, n)."""
    X = design.X
    squares = X.multiply(X).sum(axis=1) if is_sparse(X) else np.einsum("ij,ij->i", X, X)
    square = np.asarray(squares, dtype=np.float64).ravel() + design.scale**2
    quadratic = math.isinf(task.loss.width)
    s = 1.0 / (task.loss.kappa * task.c) if quadratic else np.zeros(design.n)
    ceiling = np.full(design.n, np.inf) if quadratic else task.c
    if isinstance(task.loss, Hinge):
        lower, upper = np.where(task.y > 0, 0.0, -ceiling), np.where(task.y > 0, ceiling, 0.0)
    else:
        lower, upper = -ceiling, ceiling
    return np.stack([square, task.y, s, lower, upper])


def gap_of(design: RowDesign, task: Task, b: Array, w: Array) -> tuple[float, float]:
    """The objective at w, and the gap to the dual at b."""
    loss = task.loss
    eps = loss.epsilon if isinstance(loss, Tube) else 0.0
    f, half = design.times(w), 0.5 * float(w @ w)
    dual = float(task.y @ b) - eps * float(np.abs(b).sum()) - half
    if math.isinf(loss.width):
        objective = half + float(task.c @ loss.value(task.y, f))
        dual -= 0.5 * float(np.sum(b * b / task.c)) / loss.kappa
    else:
        objective = half + float(task.c @ loss.limit(task.y, f))
    return objective, objective - dual


def certified(design: RowDesign, task: Task, b: Array, w: Array) -> NewtonIterate:
    """The final point, with its gradient and gap."""
    f = design.times(w)
    sharp = task if math.isinf(task.loss.width) else task._replace(loss=task.loss.smoothed(1e-9))
    pulled = design.transposed(task.c * sharp.loss.sign(task.y, f) * sharp.loss.pull(task.y, f))
    gap = gap_of(design, task, b, w)[1]
    return evaluate(sharp, w, f, pulled)._replace(gap=gap, smooth_gap=gap, b=b)


def descend(
    design: RowDesign,
    task: Task,
    stop: GapStop,
    rng: np.random.Generator,
    start: Array | None = None,
) -> Solution:
    """Minimise over b until the relative gap is small; the value is a NewtonIterate.

    An iteration is n visits of rows: passes over few rows are fractions of one.
    """
    rows, terms = compress_rows(design), dual_terms(design, task)
    eps = float(task.loss.epsilon) if isinstance(task.loss, Tube) else 0.0
    b = np.zeros(design.n) if start is None else np.clip(start, terms[3], terms[4])
    w, order = design.transposed(b), np.arange(design.n)
    standing = DescentProgress(0, design.n, math.inf, math.inf, int(rng.integers(1, 2**63)))
    goal, seen, message = 0.1 * float(np.abs(task.y).mean()), 0, ""
    least, smallest = LEAST * goal_scale(terms), 1e-10 * float(task.c.sum())
    while True:
        visits = min(max(design.n, CALL // design.width), OFTEN * design.n)
        visits = min(visits, max(1, stop.max_iter * design.n - seen))
        standing = coordinate_passes(
            rows,
            terms,
            (b, w),
            order,
            standing,
            scale=design.scale,
            eps=eps,
            goal=goal,
            visits=visits,
        )
        seen += standing.seen
        step, settled = math.ceil(seen / design.n), standing.violation <= goal
        late = stop.tick is not None and stop.tick(step, None)
        objective, gap = gap_of(design, task, b, w)
        if gap <= stop.gap * max(objective, smallest) or standing.violation <= least:
            break
        if seen >= stop.max_iter * design.n or late:
            why = "max_time is reached" if late else "max_iter is reached"
            message = f"{why}; the relative duality gap is {gap / max(objective, smallest):.2g}."
            break
        if settled:
            goal = 0.3 * min(goal, standing.violation)
    point = certified(design, task, b, w)
    return Solution(point, step, point.objective, not message, message)


def goal_scale(terms: Array) -> float:
    """The size of the targets, the unit of violations."""
    return float(np.abs(terms[1]).max(initial=0.0)) or 1.0

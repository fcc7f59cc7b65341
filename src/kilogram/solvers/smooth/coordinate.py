"""The hinge and the tube with many columns: dual coordinate descent.

    min_b  1/2 |X~'b|^2 + sum_i (s_i b_i^2 / 2 - t_i b_i + eps |b_i|)     lower <= b <= upper

The intercept is a constant column of X~ and penalised with the others, so there is no equality
constraint and b_i can be minimised one at a time, in an order drawn anew for every pass, with
w = X~'b at hand. Rows at a kink and far from moving are left out until the others are done.

Reference: Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; Ho and Lin 2012.
"""

from __future__ import annotations

import math

import numpy as np

from kilogram.arrays.namespace import is_sparse
from kilogram.functions.losses import Hinge, Tube
from kilogram.native.svm import Compressed, coordinate_pass
from kilogram.solvers.smooth.curvature import Point, Task, evaluate
from kilogram.solvers.smooth.design import Array, Design
from kilogram.solvers.smooth.newton import Stop, relative
from kilogram.solvers.solution import Solution


def compressed(design: Design) -> Compressed:
    """The rows as the native pass reads them."""
    X, d = design.X, design.width - 1
    if is_sparse(X):
        X = X.tocsr()
        return Compressed(X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64), d)
    return Compressed(np.ascontiguousarray(X).reshape(-1), None, None, d)


def dual_terms(design: Design, task: Task) -> Array:
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


def certified(design: Design, task: Task, b: Array, w: Array) -> Point:
    """Objective at w, and the gap to the dual at b."""
    eps = task.loss.epsilon if isinstance(task.loss, Tube) else 0.0
    f = design.times(w)
    sharp = task if math.isinf(task.loss.width) else task._replace(loss=task.loss.smoothed(1e-9))
    pulled = design.transposed(task.c * sharp.loss.sign(task.y, f) * sharp.loss.pull(task.y, f))
    point = evaluate(sharp, w, f, pulled)
    quadratic = 0.5 * float(np.sum(b * b / task.c)) / task.loss.kappa
    quadratic = quadratic if math.isinf(task.loss.width) else 0.0
    dual = float(task.y @ b) - eps * float(np.abs(b).sum()) - quadratic - 0.5 * float(w @ w)
    return point._replace(gap=point.objective - dual, smooth_gap=point.objective - dual)


def descend(
    design: Design, task: Task, stop: Stop, rng: np.random.Generator, start: Array | None = None
) -> Solution:
    """Minimise over b until the relative gap is small; the value is a Point."""
    rows, terms = compressed(design), dual_terms(design, task)
    eps = float(task.loss.epsilon) if isinstance(task.loss, Tube) else 0.0
    b = np.zeros(design.n) if start is None else start
    w = design.transposed(b)
    order, active, far = np.arange(design.n), design.n, math.inf
    message, step, last = "", 0, math.inf
    while True:
        rng.shuffle(order[:active])
        active, violation = coordinate_pass(
            rows, terms, (b, w), order, active, scale=design.scale, eps=eps, far=far
        )
        step, far = step + 1, violation if violation > 0 else math.inf
        shrunk = active < design.n
        if violation <= 0.1 * last or active == 0 or step % 20 == 0 or not shrunk:
            point = certified(design, task, b, w)
            last = violation
            if point.gap <= stop.gap * point.scale:
                break
            if shrunk and (violation <= 1e-12 or active == 0):
                active, far = design.n, math.inf
            elif violation == 0:
                break
        if step >= stop.max_iter:
            point = certified(design, task, b, w)
            message = f"max_iter is reached; the relative duality gap is {relative(point):.2g}."
        elif stop.tick is not None and stop.tick(step, None):
            point = certified(design, task, b, w)
            message = f"the time is up; the relative duality gap is {relative(point):.2g}."
        if message:
            break
    return Solution(point, step, point.objective, not message, message)

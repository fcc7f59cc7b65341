"""Newton's method for linear support vector machines with piecewise quadratic loss.

F (see curvature.py) is quadratic between kinks, so the steps end at the minimum itself after a few:
the method is finite (Keerthi and DeCoste 2005). From step to step only the rows that enter or leave
the bend change the Hessian, so after the first step it costs next to nothing. Along a step F is
convex and piecewise quadratic; its derivative is searched for a zero on the values at hand.

The hinge is solved through smoothed hinges of falling width, each from the last one's solution,
until the gap of the hinge itself is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kilogram.solvers.newton.curvature import (
    Curvature,
    CurvatureProducts,
    NewtonIterate,
    Task,
    evaluate,
)
from kilogram.solvers.newton.design import Array, RowDesign
from kilogram.solvers.solution import Solution

DIRECT = 3000  # columns up to which the Hessian is formed and factored: 72 MB, 9e9 operations
# Rows from which a sample is solved first: measured for 40 000 to 200 000, 1.0 to 1.2 times faster
# for the hinge, 0.8 to 1.0 for its square.
SMALL = 20_000
NARROWER = (1.0, 0.2, 0.04, 8e-3, 1.6e-3, 3e-4, 6e-5, 1e-5, 2e-6, 2e-7, 2e-8)  # smoothing widths
# Gain, relative to the objective, of a step that ends at the minimum: a few million eps.
TINY = 1e-9
IDLE = 8  # iterations without a smaller gap after which rounding errors are the limit
INNER = 40  # most iterations on one smoothed hinge: several times what one takes


class GapStop(NamedTuple):
    """Relative duality gap at most `gap`, `max_iter` iterations, or `tick` returns True."""

    gap: float = 1e-6
    max_iter: int = 1000
    tick: Callable[[int, float | None], bool] | None = None


def step_length(task: Task, point: NewtonIterate, d: Array, p: Array) -> float:
    """t with F'(w + t d) = 0 to a tenth of its start, by secants within a bracket."""
    y, c, penalty, loss = task

    def slope(t: float) -> float:
        f = point.f + t * p
        return float(
            (penalty * (point.w + t * d)) @ d - (c * loss.sign(y, f) * loss.pull(y, f)) @ p
        )

    start = float(point.gradient @ d)
    if start >= 0:
        return 0.0  # rounding has taken the descent away
    low, at_low, high, at_high = 0.0, start, math.inf, math.inf
    t = 1.0
    for _ in range(30):
        now = slope(t)
        if abs(now) <= 0.1 * abs(start):
            return t
        if now < 0:
            low, at_low = t, now
        else:
            high, at_high = t, now
        if math.isinf(high):
            t *= 2.0
        else:
            rise = at_high - at_low
            guess = low - at_low * (high - low) / rise if rise > 0 else 0.5 * (low + high)
            edge = 0.05 * (high - low)
            t = min(max(guess, low + edge), high - edge)
    return low if low > 0 else t


def curvature_of(design: RowDesign, task: Task) -> Curvature | CurvatureProducts:
    """The Hessian in the form that suits the number of columns."""
    return (Curvature if design.width <= DIRECT else CurvatureProducts)(design, task)


def newton(
    design: RowDesign, task: Task, w: Array, stop: GapStop, curvature: Any = None
) -> Solution:
    """Minimise F from w; the value is a Point. `curvature` may come from another task."""
    curvature = curvature_of(design, task) if curvature is None else curvature
    curvature.task = task
    f = design.times(w)
    point = evaluate(task, w, f, curvature.pulled(w, f))
    least = point.smooth_gap
    message, step, idle, promise = "", 0, 0, math.inf
    while point.gap > stop.gap * point.scale:
        if not math.isinf(task.loss.width) and point.smooth_gap <= 0.1 * point.gap:
            break  # smoothed too much: a smaller width is next
        message = out_of_budget(step, stop, point)
        if message:
            break
        d = curvature.direction(point)
        promise = -0.5 * float(point.gradient @ d)  # what the step gains where F is quadratic
        p = design.times(d)
        t = step_length(task, point, d, p)
        w, f = point.w + t * d, point.f + t * p
        point, step = evaluate(task, w, f, curvature.pulled(w, f)), step + 1
        idle = 0 if point.smooth_gap < 0.9 * least else idle + 1
        least = min(least, point.smooth_gap)
        if t == 0 or idle > IDLE:
            break  # the minimum up to rounding errors
    small = point.gap <= stop.gap * point.scale or promise <= TINY * point.scale
    return Solution(point, step, point.objective, small and not message, message)


def out_of_budget(step: int, stop: GapStop, point: NewtonIterate) -> str:
    """Why to stop before the goal, or nothing."""
    if step >= stop.max_iter:
        return f"max_iter is reached; the relative duality gap is {relative(point):.2g}."
    if stop.tick is not None and step and stop.tick(step, point.objective):
        return f"max_time is reached; the relative duality gap is {relative(point):.2g}."
    return ""


def relative(point: NewtonIterate) -> float:
    """The gap relative to the objective."""
    return point.gap / point.scale


def minimise(
    design: RowDesign,
    task: Task,
    stop: GapStop,
    w: Array | None = None,
    curvature: Any = None,
    narrow: float = math.inf,
) -> Solution:
    """Minimise the squared hinge by Newton's method, the hinge through smoothed ones.

    A loss of finite width stands for the hinge; its width is where the smoothing starts, unless
    w is known to be near and `narrow` is the width that suits it.
    """
    if w is None:
        w = np.zeros(design.width)
        if design.n >= SMALL and design.n > 40 * design.width:
            w = from_sample(design, task, stop)
    if curvature is None:
        curvature = curvature_of(design, task)
    if math.isinf(task.loss.width):
        return finished_solution(design, newton(design, task, w, stop, curvature), stop)
    steps = 0
    levels = [factor for factor in NARROWER if factor * task.loss.width <= narrow]
    for factor in levels or NARROWER[-1:]:
        left = min(INNER, stop.max_iter - steps)
        level = task._replace(loss=task.loss.smoothed(factor * task.loss.width))
        found = newton(design, level, w, stop._replace(max_iter=max(left, 0)), curvature)
        w, steps = found.value.w, steps + found.n_iter
        timed_out = bool(found.message) and "time" in found.message
        if found.value.gap <= stop.gap * found.value.scale or timed_out:
            break
        if steps >= stop.max_iter:
            break
        # an unfinished level is no end: the next, narrower one goes on from it
        found = replace(found, message="")
    last = Solution(found.value, steps, found.objective, found.converged, found.message)
    return finished_solution(design, last, stop)


def attainable_gap(stop: GapStop, eps: float) -> float:
    """The relative gap asked for, but no less than rows of this precision may leave.

    The values f carry an error of some eps |x| |w|, and a free intercept enters the gap with its
    gradient, not the square of it: 1e-3 in single precision, 1e-7 in double.
    """
    return max(stop.gap, 1e-3 if eps > 1e-10 else 1e-7)


def finished_solution(design: RowDesign, found: Solution, stop: GapStop) -> Solution:
    """The solution, converged if its gap is small or as small as rounding allows."""
    point = found.value
    small = point.gap <= attainable_gap(stop, np.finfo(design.X.dtype).eps) * point.scale
    done = (small or found.converged) and not found.message
    stuck = f"rounding errors leave a relative duality gap of {relative(point):.2g}."
    return replace(found, converged=done, message="" if done else found.message or stuck)


def from_sample(design: RowDesign, task: Task, stop: GapStop) -> Array:
    """The solution on every eighth row, penalties raised to match: a start near the minimum."""
    at = np.arange(0, design.n, 8)
    part = minimise(design.rows(at), task.rows(at, 8.0), stop._replace(gap=1e-2))
    return part.value.w

"""L-BFGS preconditioned by a Hessian that may be old, sampled or shared by all classes.

    direction    d = -B g,  B the L-BFGS update of M^-1 by the latest pairs (step, change of g)

With M the current Hessian this is Newton's method; with M from a sample of the rows, or from an
earlier point, the pairs correct M, and the passes over the rows need gradients only. F is convex:
along d its slope increases, and the line search ends where the slope is near 0.

References: Liu and Nocedal 1989; Byrd, Chin, Neveitt and Nocedal 2011 (sampled Hessians).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kilogram.solvers.newton.lbfgs_metric import Metric
from kilogram.solvers.newton.softmax import Array, Problem, SoftmaxIterate, centred
from kilogram.solvers.solution import Solution

PAIRS = 12  # pairs kept: between 8 and 20 a fit of 5 classes takes the same time within 10 %
# A step that leaves more of the decrement than this triggers a new Hessian; between 0.1 and 0.6 the
# time is the same.
POOR = 0.3
# Largest t D for which the whole Hessian is factored, by t: measured on tables of 30 to 800
# columns, 1.1 to 7 times faster than pairs alone for unscaled ones and below 60 columns, 0.2 to 0.9
# times for scaled ones of 100 and more.
FULL = {1: 3000}
# For several classes, whose Hessian has t^2 blocks: measured for t D up to 400, 1.4 to 3 times
# faster than one matrix for all classes for unscaled tables, 0.1 to 1 times for scaled ones.
FULL_CLASSES = 400
SHARED = 3000  # largest D for which one matrix for all classes is factored: 72 MB, a second


class GradientStop(NamedTuple):
    """Gradient (of the mean loss) at most `tol`, `max_iter` iterations, or `tick` returns True."""

    tol: float = 1e-4
    max_iter: int = 100
    tick: Callable[[int, float | None], bool] | None = None


def kind_of(problem: Problem) -> str:
    """The form of the curvature that suits the size of the problem."""
    if problem.t * problem.D <= FULL.get(problem.t, FULL_CLASSES):
        return "full"
    return "shared" if problem.D <= SHARED else "diagonal"


def inner(A: Array, B: Array) -> float:
    """sum_kj A_kj B_kj, not by BLAS: its idle threads would take the cores from the passes."""
    return float(np.einsum("i,i->", A.ravel(), B.ravel()))


class Memory:
    """The latest pairs, and the direction they and M give."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Array, Array, float]] = []
        self.scale = 1.0

    def add(self, s: Array, y: Array, metric: Metric) -> None:
        product = inner(s, y)
        if product > 1e-14 * math.sqrt(inner(s, s) * inner(y, y)):
            self.pairs = [*self.pairs[1 - PAIRS :], (s, y, 1.0 / product)]
            # M may be right in shape but not in size: so that a full step is near the minimum
            self.scale = product / inner(y, metric.times(y))

    def times(self, G: Array, metric: Metric) -> Array:
        """B G, the two-loop recursion."""
        q, kept, change = G.copy(), [], np.empty_like(G)
        for s, y, rho in reversed(self.pairs):
            a = rho * inner(s, q)
            q -= np.multiply(y, a, out=change)
            kept.append(a)
        q = self.scale * metric.times(q)
        for (s, y, rho), a in zip(self.pairs, reversed(kept), strict=True):
            q += np.multiply(s, a - rho * inner(y, q), out=change)
        return q


def search(
    problem: Problem, point: SoftmaxIterate, d: Array, kind: str | None
) -> tuple[SoftmaxIterate, float]:
    """A point along d where the slope is at most 0.9 of its start and F has not risen; and t."""
    noise = 1e-6 if _is_single(problem) else 1e-13
    start = inner(point.gradient, d)
    low, at_low, high, at_high = 0.0, start, math.inf, math.inf
    # no step gains more than F itself: a larger prediction shows how much too long d is
    t = min(1.0, 2.0 * point.value / abs(start)) if start else 1.0
    for _ in range(25):
        new = problem.at(point.W + t * d, kind)
        slope = inner(new.gradient, d)
        good = math.isfinite(new.value) and math.isfinite(slope)
        risen = not good or new.value > point.value + noise * abs(point.value) + 1e-4 * t * start
        if good and abs(slope) <= 0.9 * abs(start) and not risen:
            return new, t
        if good and slope < 0 and new.value <= point.value + noise * abs(point.value):
            low, at_low = t, slope
        elif good and not risen and new.value <= point.value:
            return new, t
        else:
            high, at_high = t, slope if good else math.inf
        if math.isinf(high):
            t *= 4.0
        elif math.isfinite(at_high) and at_high > at_low:
            guess = low - at_low * (high - low) / (at_high - at_low)
            edge = 0.1 * (high - low)
            t = min(max(guess, low + edge), high - edge)
        else:
            t = low + 0.1 * (high - low)
    return point, 0.0


def _is_single(problem: Problem) -> bool:
    return "float32" in str(getattr(problem.rows[0], "dtype", ""))


# Rows of a sample that is solved first where four of them fit: measured for 120 000 x 40, 1.7 times
# faster than without, between 5 000 and 20 000 the same.
SMALL = 20_000
CHEAP = 2e8  # multiplications that a Hessian may cost to be made at every step


def solve(problem: Problem, W: Array, stop: GradientStop, *, in_memory: bool) -> Solution:
    """Minimise the smooth F: on a sample first where rows are many, by Newton where it is cheap."""
    if not in_memory:
        return minimise(problem, W, stop, fresh=kind_of(problem) == "full")
    n, side = problem.rows[0].shape[0], problem.t * problem.D
    kind = kind_of(problem)
    step = n // (max(SMALL, 16 * problem.D) if kind == "full" else max(SMALL // 2, 8 * problem.D))
    if step >= 4 and kind != "diagonal":
        sample = problem.sampled(step)
        rough = stop._replace(tol=max(stop.tol, 1e-3))
        found = solve(sample, W, rough, in_memory=True)
        return minimise(problem, found.value.W, stop, sample=sample)
    cost = n * (side if kind == "full" else problem.D) * side / 2
    return minimise(problem, W, stop, fresh=kind == "full" and cost <= CHEAP)


def minimise(
    problem: Problem,
    W: Array,
    stop: GradientStop,
    *,
    sample: Problem | None = None,
    fresh: bool = False,
) -> Solution:
    """Minimise the smooth F from W; the value is a Point.

    `fresh` asks for the Hessian at every step, in the same pass; otherwise it is made anew only
    after a poor step, from the rows of `sample` if it is given.
    """
    kind = kind_of(problem)
    point = problem.at(centred(W), None if sample else kind)
    problem.ensure_finite(point.gradient)
    metric = _metric(problem, sample, point, kind)
    memory, step, before, rest = Memory(), 0, math.inf, Rest(problem)
    while True:
        d = -centred(memory.times(point.gradient, metric))
        gain = -0.5 * inner(point.gradient, d)  # what a full step would still win
        if gradient_is_small(problem, point, gain, stop) or rest.reached(point, gain):
            return Solution(point, step, point.value)
        message = stop_message(problem, point, step, stop)
        if message:
            return Solution(point, step, point.value, False, message)
        poor = gain > POOR * before and kind == "full"
        before = gain
        new, t = search(problem, point, d, kind if fresh else None)
        if t == 0.0:
            return _no_descent(problem, point, gain, step)
        if fresh or (poor and step >= 1):
            metric, memory, before = _metric(problem, sample, new, kind), Memory(), math.inf
        else:
            memory.add(new.W - point.W, new.gradient - point.gradient, metric)
        point, step = new, step + 1


class Rest:
    """Detects stagnation: the gain of a full step is within rounding of F and no longer falls."""

    def __init__(self, problem: Problem):
        self.noise = 1e-7 if _is_single(problem) else 1e-12
        self.least, self.idle = math.inf, 0

    def reached(self, point: SoftmaxIterate, gain: float) -> bool:
        self.idle = 0 if gain < 0.5 * self.least else self.idle + 1
        self.least = min(self.least, gain)
        return self.idle >= 4 and gain <= self.noise * abs(point.value)


def _metric(problem: Problem, sample: Problem | None, point: SoftmaxIterate, kind: str) -> Metric:
    """M at the point: from its own curvature, or from a pass over the sample or all rows."""
    H = point.H if point.H is not None else (sample or problem).at(point.W, kind).H
    assert H is not None
    problem.ensure_finite(H)
    return Metric(problem, H)


def gradient_is_small(
    problem: Problem, point: SoftmaxIterate, gain: float, stop: GradientStop
) -> bool:
    """The gradient of the mean loss is small, and so is the gain of a step.

    A mean of F below 1e-9 has nothing left to gain: a hyperplane separates the classes.
    """
    if point.value <= 1e-9 * problem.total:
        return True
    small = float(np.abs(point.gradient).max()) <= stop.tol * problem.total
    # a Newton step is cheap and predicts its gain well; L-BFGS would take many more iterations
    fraction = 1e-4 if kind_of(problem) == "full" else 30.0
    return small and gain <= fraction * stop.tol * max(abs(point.value), 1e-300)


def stop_message(problem: Problem, point: SoftmaxIterate, step: int, stop: GradientStop) -> str:
    """Why to stop before the goal, or nothing."""
    size = float(np.abs(point.gradient).max()) / problem.total
    if step >= stop.max_iter:
        return f"max_iter is reached; the gradient of the mean loss is {size:.2g}."
    if step and stop.tick is not None and stop.tick(step, point.value):
        return f"max_time is reached; the gradient of the mean loss is {size:.2g}."
    return ""


def _no_descent(problem: Problem, point: SoftmaxIterate, gain: float, step: int) -> Solution:
    """No step lowers F: the minimum up to rounding errors, or badly scaled features."""
    noise = 1e-4 if _is_single(problem) else 1e-8
    done = gain <= noise * max(abs(point.value), 1e-300)
    size = float(np.abs(point.gradient).max()) / problem.total
    why = f"rounding errors leave a gradient of the mean loss of {size:.2g}."
    return Solution(point, step, point.value, done, "" if done else why)

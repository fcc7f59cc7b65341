"""Squared hinge with an l1 penalty: proximal Newton steps.

Objective    F(w) = sum_j |w_j| + sum_i c_i kappa/2 max(0, m_i)^2

Each iteration minimises the model  g'd + 1/2 d'H d + |w + d|_1  by coordinate descent over the
d + 1 coefficients (H is small beside the rows), then does a line search along d.

Certificate    alpha scaled until |X~'(s alpha)| <= 1 everywhere is feasible in the dual.
KKT            |g_j| <= 1 where w_j = 0, g_j = -sign(w_j) elsewhere

Both must hold to the tolerance: just above the smallest C with a non-zero solution, w = 0 has a
duality gap of the order (C / C_min - 1)^2, but a KKT violation of C / C_min - 1.

Reference: Yuan, Chang, Hsieh and Lin 2010.
"""

from __future__ import annotations

import numpy as np

from kilogram.solvers.newton.curvature import Curvature, NewtonIterate, Task
from kilogram.solvers.newton.design import Array, RowDesign
from kilogram.solvers.newton.newton import GapStop, out_of_budget
from kilogram.solvers.solution import Solution

ROUNDED = 1e-5  # KKT violation that coordinate descent to 1e-6 reliably reaches


def absolute_step(H: Array, g: Array, w: Array) -> Array:
    """d of the smallest g'd + 1/2 d'H d + |w + d|_1, by coordinate descent."""
    d, Hd = np.zeros_like(w), np.zeros_like(w)
    curve = np.maximum(np.diagonal(H), 1e-12)
    for _ in range(100):
        largest = 0.0
        for j in range(w.shape[0]):
            u = w[j] + d[j] - (g[j] + Hd[j]) / curve[j]
            new = np.sign(u) * max(abs(u) - 1.0 / curve[j], 0.0) - w[j]
            if new != d[j]:
                move = new - d[j]
                Hd += move * H[:, j]
                d[j] = new
                largest = max(largest, abs(move) * curve[j])
        if largest < 1e-3 * max(1.0, float(np.abs(g).max())) * 1e-3:
            break
    return d


def violation(point: NewtonIterate) -> float:
    """Largest violation of the KKT conditions, relative to the penalty 1 of each coefficient."""
    g, w = point.gradient, point.w
    inside = np.maximum(np.abs(g) - 1.0, 0.0)
    return float(np.where(w != 0, np.abs(g + np.sign(w)), inside).max())


def evaluate_absolute(task: Task, w: Array, f: Array, pulled: Array) -> NewtonIterate:
    """Objective, gradient of its smooth part, and gap."""
    y, c, _, loss = task
    a = loss.pull(y, f)
    objective = float(np.abs(w).sum()) + float(c @ loss.value(y, f))
    scale = 1.0 / max(1.0, float(np.abs(pulled).max()))
    earned = scale * float(c @ loss.gain(y, f, a))
    gap = objective - earned + 0.5 * scale**2 * float(c @ (a * a)) / loss.kappa
    return NewtonIterate(w, f, -pulled, objective, gap, gap, max(objective, 1e-10 * float(c.sum())))


def minimise_absolute(
    design: RowDesign, task: Task, stop: GapStop, w: Array | None = None
) -> Solution:
    """Minimise F from w (0); the value is a Point."""
    w = np.zeros(design.width) if w is None else w
    curvature = Curvature(design, task)
    f = design.times(w)
    point, step, message = evaluate_absolute(task, w, f, curvature.pulled(w, f)), 0, ""
    while point.gap > stop.gap * point.scale or violation(point) > max(stop.gap, ROUNDED):
        message = out_of_budget(step, stop, point)
        if message:
            break
        d = absolute_step(task.loss.kappa * curvature.H, point.gradient, point.w)
        p, t = design.times(d), 1.0
        fall = float(point.gradient @ d) + float(np.abs(point.w + d).sum() - np.abs(point.w).sum())
        if fall >= -1e-15 * point.scale:
            break  # no descent left in float64: this is the minimum
        while t > 1e-10:
            w, f = point.w + t * d, point.f + t * p
            value = float(np.abs(w).sum()) + float(task.c @ task.loss.value(task.y, f))
            if value <= point.objective + 0.01 * t * fall:
                break
            t *= 0.5
        point, step = evaluate_absolute(task, w, f, curvature.pulled(w, f)), step + 1
    return Solution(point, step, point.objective, not message, message)

"""Batched Newton's method for several machines on few rows.

The steps are those of newton.py. On a thousand rows a step is a hundred short calls, whose overhead
is larger than their work; with the values of t machines as one array (t, n) most of them are made
once for all. A machine that has converged is not changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kilogram.functions.hinge_losses import PiecewiseQuadraticLoss
from kilogram.solvers.newton.curvature import NewtonIterate, Task, solve_shifted
from kilogram.solvers.newton.design import Array, RowDesign
from kilogram.solvers.newton.newton import (
    IDLE,
    TINY,
    GapStop,
    finished_solution,
    out_of_budget,
    step_length,
)
from kilogram.solvers.solution import Solution


class BatchedMachines(NamedTuple):
    """B (n, d + 1) with its constant, targets Y (t, n), penalties c (n,) and lambda (d + 1,)."""

    B: Array
    Y: Array
    c: Array
    penalty: Array
    loss: PiecewiseQuadraticLoss

    def task(self, j: int) -> Task:
        """The objective of machine j."""
        return Task(self.Y[j], self.c, self.penalty, self.loss)


class BatchedPoint(NamedTuple):
    """Of all machines: coefficients (t, d + 1), values (t, n), gradients, objectives and gaps."""

    W: Array
    F: Array
    gradient: Array
    objective: Array
    gap: Array
    scale: Array

    def point(self, j: int) -> NewtonIterate:
        """Machine j alone."""
        gap = float(self.gap[j])
        return NewtonIterate(
            self.W[j],
            self.F[j],
            self.gradient[j],
            float(self.objective[j]),
            gap,
            gap,
            float(self.scale[j]),
        )


def evaluate_batch(M: BatchedMachines, W: Array, F: Array) -> BatchedPoint:
    """Gradients, objectives and gaps at W with F = W B'; formulas as in curvature.py."""
    B, Y, c, penalty, loss = M
    a = loss.pull(Y, F)
    pulled = (c * loss.sign(Y, F) * a) @ B
    shrunk = penalty > 0
    v = 0.5 * np.sum(pulled[:, shrunk] ** 2 / penalty[shrunk], axis=1)
    v += np.sum(np.abs(pulled[:, ~shrunk]) * (1.0 + np.abs(W[:, ~shrunk])), axis=1)
    value = 0.5 * (W * W) @ penalty + loss.value(Y, F) @ c
    gap = value - loss.gain(Y, F, a) @ c + v + 0.5 * (a * a) @ c / loss.kappa
    return BatchedPoint(W, F, penalty * W - pulled, value, gap, np.maximum(value, 1e-10 * c.sum()))


class Hessians:
    """sum over the bend of c x~ x~' of every machine, kept up to date by the rows that change."""

    def __init__(self, M: BatchedMachines):
        t, D = M.Y.shape[0], M.B.shape[1]
        self.M, self.bent = M, np.zeros(M.Y.shape, dtype=bool)
        self.H = np.zeros((t, D, D))

    def directions(self, now: BatchedPoint, live: Array) -> Array:
        """-Hessian^-1 gradient of the live machines, 0 of the others."""
        M = self.M
        bent = M.loss.is_quadratic(M.Y, now.F)
        D = np.zeros_like(now.W)
        for j in live:
            changed = np.nonzero(bent[j] != self.bent[j])[0]
            if changed.size:
                part = M.B[changed]
                signed = np.where(bent[j, changed], M.c[changed], -M.c[changed])
                self.H[j] += (part * signed[:, None]).T @ part
            D[j] = -solve_shifted(M.loss.kappa * self.H[j], M.penalty, now.gradient[j])
        self.bent[live] = bent[live]
        return D


def take_steps(
    M: BatchedMachines, now: BatchedPoint, D: Array, P: Array
) -> tuple[BatchedPoint, Array]:
    """The points after the steps D, P = D B', and which steps have length 0.

    Full steps where they give a tenth of the predicted decrease, else a line search.
    """
    new = evaluate_batch(M, now.W + D, now.F + P)
    slope = np.sum(now.gradient * D, axis=1)
    poor = np.nonzero(~(new.objective <= now.objective + 0.1 * slope) & (slope != 0))[0]
    stuck = np.zeros(slope.shape, dtype=bool)
    if poor.size:
        length = np.ones(slope.shape)
        for j in poor.tolist():
            length[j] = step_length(M.task(j), now.point(j), D[j], P[j])
        stuck = length == 0
        new = evaluate_batch(M, now.W + length[:, None] * D, now.F + length[:, None] * P)
    return new, stuck


def minimise_together(
    design: RowDesign, Y: Array, task: Task, stop: GapStop, W: Array
) -> list[Solution]:
    """Machines with the targets Y (n, t), from W (t, d + 1); task has penalties and loss."""
    B = np.empty((design.n, design.width))
    B[:, :-1], B[:, -1] = design.X, design.scale
    M = BatchedMachines(B, np.ascontiguousarray(Y.T), task.c, task.penalty, task.loss)
    t, hessians = W.shape[0], Hessians(M)
    now = evaluate_batch(M, W, W @ B.T)
    steps, idle, stuck = np.zeros(t, dtype=int), np.zeros(t, dtype=int), np.zeros(t, dtype=bool)
    predicted, least, messages = np.full(t, np.inf), now.gap, [""] * t
    for step in range(stop.max_iter + 1):
        live = np.nonzero((now.gap > stop.gap * now.scale) & (idle <= IDLE) & ~stuck)[0]
        message = out_of_budget(step, stop, now.point(int(live[0]))) if live.size else ""
        if message or not live.size:
            messages = [message if j in live else "" for j in range(t)]
            break
        D = hessians.directions(now, live)
        predicted[live] = -0.5 * np.sum(now.gradient[live] * D[live], axis=1)
        now, ended = take_steps(M, now, D, D @ B.T)
        steps[live] += 1
        stuck |= ended
        idle = np.where(now.gap < 0.9 * least, 0, idle + 1)
        least = np.minimum(least, now.gap)
    small = (now.gap <= stop.gap * now.scale) | (predicted <= TINY * now.scale)
    found = []
    for j in range(t):
        point = now.point(j)
        done = bool(small[j]) and not messages[j]
        end = Solution(point, int(steps[j]), point.objective, done, messages[j])
        found.append(finished_solution(design, end, stop))
    return found

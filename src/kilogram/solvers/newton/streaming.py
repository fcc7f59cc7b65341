"""Newton's method on rows that come in blocks: the gradient and Hessian sums are a statistic.

One pass per step gives, for every machine at once, the loss, X~'(c s a) and the Hessian of the bend
at the current w; all are sums over rows, so Dask workers, files and device arrays compute them
where the rows are. A step that raises the objective is halved, which costs one more pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.linalg import scatter
from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import reduce_rows
from kilogram.functions.hinge_losses import PiecewiseQuadraticLoss
from kilogram.solvers.newton.curvature import solve_shifted
from kilogram.solvers.newton.newton import IDLE, NARROWER, GapStop, attainable_gap
from kilogram.solvers.solution import Solution

Array = np.ndarray
Prepare = Callable[[Any, Any, Any], tuple[Any, Any]]


@dataclass(frozen=True)
class HingeSums:
    """Of t machines: loss, loss meant, dual earnings (t,), pulls (t, D), Hessians (t, D, D).

    `eps` is the precision of the rows, the coarsest of all blocks.
    """

    smooth: Array
    meant: Array
    earned: Array
    pulled: Array
    H: Array
    eps: float

    def __add__(self, other: HingeSums) -> HingeSums:
        return HingeSums(
            self.smooth + other.smooth,
            self.meant + other.meant,
            self.earned + other.earned,
            self.pulled + other.pulled,
            self.H + other.H,
            max(self.eps, other.eps),
        )


def sums_of(
    X: Any, Y: Any, C: Any, W: Array, loss: PiecewiseQuadraticLoss, scale: float
) -> HingeSums:
    """The sums of a block of rows: targets Y and penalties C (m, t), coefficients W (t, d + 1)."""
    xp = namespace(X)
    F = X @ (W[:, :-1].T if is_sparse(X) else like(np.ascontiguousarray(W[:, :-1].T), X))
    parts: list[Any] = []
    for j in range(W.shape[0]):
        y, c, f = Y[:, j], C[:, j], F[:, j] + scale * float(W[j, -1])
        a = loss.pull(y, f)
        r = c * loss.sign(y, f) * a
        zero = xp.zeros_like(c)
        bent = xp.where(loss.is_quadratic(y, f), c, zero)
        S, s = scatter(X, bent)
        H = np.empty((W.shape[1],) * 2)
        H[:-1, :-1] = to_numpy(S)
        H[-1, :-1] = H[:-1, -1] = scale * to_numpy(s)
        H[-1, -1] = scale**2 * float(xp.sum(bent))
        pulled = np.append(to_numpy(X.T @ r), scale * float(xp.sum(r)))
        earned = xp.sum(c * loss.gain(y, f, a)) - 0.5 * xp.sum(c * a * a) / loss.kappa
        earned = earned if math.isinf(loss.width) else xp.sum(c * loss.gain(y, f, a))
        sums = (xp.sum(c * loss.value(y, f)), xp.sum(c * loss.limit(y, f)), earned)
        parts.append((*(float(v) for v in sums), pulled, H))
    values = np.array([part[:3] for part in parts])
    pulls, hessians = np.stack([part[3] for part in parts]), np.stack([part[4] for part in parts])
    eps = float(xp.finfo(X.dtype).eps)
    return HingeSums(values[:, 0], values[:, 1], values[:, 2], pulls, hessians, eps)


@dataclass(frozen=True)
class Machines:
    """The answer: coefficients (t, d + 1), objective and gap summed over the machines.

    `eps` is the precision of the rows.
    """

    W: Array
    objective: float
    gap: float
    eps: float


@dataclass(frozen=True)
class RowPasses:
    """Rows, and how a block of them becomes targets and penalties, (m, t) each."""

    rows: tuple[Any, ...]
    prepare: Prepare
    scale: float
    penalty: Array

    def sums(self, W: Array, loss: PiecewiseQuadraticLoss) -> HingeSums:
        """One pass over the rows at W."""

        def block(X: Any, y: Any, w: Any) -> HingeSums:
            return sums_of(X, *self.prepare(X, y, w), W, loss, self.scale)

        return reduce_rows(block, *self.rows)

    def judged(self, W: Array, found: HingeSums) -> tuple[Array, Array, Array]:
        """Of every machine: the smoothed objective, the objective meant, and its gap."""
        size = 0.5 * (W * W) @ self.penalty
        shrunk = self.penalty > 0
        v = 0.5 * np.sum(found.pulled[:, shrunk] ** 2 / self.penalty[shrunk], axis=1)
        free = np.abs(found.pulled[:, ~shrunk]) * (1.0 + np.abs(W[:, ~shrunk]))
        v += np.sum(free, axis=1)  # without a penalty the dual demands that nothing pulls
        return size + found.smooth, size + found.meant, size + found.meant - found.earned + v


def minimise_streamed(
    passes: RowPasses,
    loss: PiecewiseQuadraticLoss,
    t: int,
    stop: GapStop,
    start: Array | None = None,
) -> Solution:
    """Minimise t machines from `start` (0); the value is `Machines`."""
    W = np.zeros((t, passes.penalty.shape[0])) if start is None else start
    quadratic = math.isinf(loss.width)
    steps, message = 0, ""
    for factor in (1.0,) if quadratic else NARROWER:
        level = loss if quadratic else loss.smoothed(factor * loss.width)
        W, done, taken, message = _newton(passes, level, W, stop, steps)
        steps += taken
        if done.gap <= stop.gap * abs(done.objective) or message:
            break
    if not message and done.gap > attainable_gap(stop, done.eps) * abs(done.objective):
        message = f"the relative duality gap is {done.gap / abs(done.objective):.2g}."
    return Solution(done, steps, done.objective, not message, message)


def _newton(
    passes: RowPasses, loss: PiecewiseQuadraticLoss, W: Array, stop: GapStop, before: int
) -> tuple[Array, Machines, int, str]:
    found = passes.sums(W, loss)
    value, meant, gap = passes.judged(W, found)
    least, idle = float(gap.sum()), 0
    for step in range(1, 41 if not math.isinf(loss.width) else stop.max_iter + 1):
        gradient = passes.penalty * W - found.pulled
        D = -np.stack(
            [
                solve_shifted(loss.kappa * H, passes.penalty, g)
                for H, g in zip(found.H, gradient, strict=True)
            ]
        )
        slope = np.sum(D * gradient, axis=1)
        # what a full step would still gain: on the last piece it is the distance to the minimum
        if np.all(-slope <= 0.01 * stop.gap * np.abs(value)):
            break
        # the objective is known to some eps: a machine that has arrived must not hold the others
        noise = max(1e-14, 8 * found.eps) * np.abs(value)
        length, worse = np.ones(W.shape[0]), np.ones(W.shape[0], dtype=bool)
        while worse.any():
            new = W + length[:, None] * D
            found = passes.sums(new, loss)
            after, meant, gap = passes.judged(new, found)
            worse = (after > value + 1e-4 * length * slope + noise) & (length > 0)
            length = np.where(worse, 0.5 * length, length)
            length = np.where(length < 1e-6, 0.0, length)  # no descent: it stays where it is
        W, value = new, after
        idle = 0 if gap.sum() < 0.9 * least else idle + 1
        least = min(least, float(gap.sum()))
        # no descent at all, or steps without a smaller gap: the minimum as far as the numbers tell
        if gap.sum() <= stop.gap * abs(meant.sum()) or idle > IDLE or not length.any():
            break
        if before + step >= stop.max_iter or (stop.tick and stop.tick(step, float(meant.sum()))):
            why = "max_iter is reached" if before + step >= stop.max_iter else "the time is up"
            message = f"{why}; the relative duality gap is {gap.sum() / abs(meant.sum()):.2g}."
            return W, Machines(W, float(meant.sum()), float(gap.sum()), found.eps), step, message
    return W, Machines(W, float(meant.sum()), float(gap.sum()), found.eps), step, ""

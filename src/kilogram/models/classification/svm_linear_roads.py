"""The road of one linear machine, alone or along a path of penalties.

squared loss                Newton's method with the Hessian formed; many machines start from one
                            least-squares solution
loss with a kink, few rows  dual coordinate descent, which forgets most rows after a few passes;
                            where it does not end soon, smoothed losses from where it stands
many rows                   smoothed losses of falling width
more than 3 000 columns     dual coordinate descent
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kilogram.functions.losses import Bent
from kilogram.solvers.smooth.coordinate import descend
from kilogram.solvers.smooth.curvature import Task, solve_shifted
from kilogram.solvers.smooth.design import ArrayDesign
from kilogram.solvers.smooth.lasso import minimise_absolute
from kilogram.solvers.smooth.newton import DIRECT, Stop, curvature_of, minimise
from kilogram.solvers.solution import Solution

FEW = 20_000  # rows up to which a loss with a kink is tried in the dual first
PATIENCE = 300  # passes that it is given there


@dataclass
class Trail:
    """What a machine hands on along a path of penalties: w, its dual point b, the Hessian's sums.

    b and the sums belong to penalties times `factor`; they are proportional to it.
    """

    w: Any = None
    b: Any = None
    curvature: Any = None
    factor: float = 1.0

    def to(self, factor: float) -> None:
        """Go on to penalties times `factor`."""
        change = factor / self.factor
        self.b = None if self.b is None else change * self.b
        if self.curvature is not None:
            self.curvature.times(change)
        self.factor = factor


def in_primal(model: Any, design: ArrayDesign, loss: Bent) -> bool:
    """Whether the squared loss goes by Newton steps with the Hessian formed."""
    plain = getattr(model, "penalty", "l2") == "l2" and model.dual is not True
    return plain and math.isinf(loss.width) and design.width <= DIRECT


def together(design: ArrayDesign, Y: np.ndarray, task: Task) -> np.ndarray:
    """Least squares to all signs at once, (t, d + 1): the first Newton step of every machine."""
    H, _ = design.scatter(np.arange(design.n), task.c, task.y)
    Q = np.stack([design.transposed(task.c * y) for y in Y.T], axis=1)
    kappa = task.loss.kappa
    return solve_shifted(kappa * H, task.penalty, kappa * Q).T


def solve_one(
    model: Any, design: ArrayDesign, task: Task, stop: Stop, trail: Trail, rng: Any
) -> Solution:
    """The road for one machine; the trail is moved to where it ends."""
    before, kink = 0, not math.isinf(task.loss.width)
    if getattr(model, "penalty", "l2") == "l1":
        found = minimise_absolute(design, task, stop, trail.w)
        trail.w = found.value.w.copy()
        return found
    asked = model.dual is True or (kink and design.width > DIRECT and model.dual == "auto")
    try_first = kink and design.n <= FEW and model.dual == "auto"
    if task.penalty[-1] > 0 and (asked or try_first):
        most = stop.max_iter if asked else min(PATIENCE, stop.max_iter)
        found = descend(design, task, stop._replace(max_iter=most), rng, trail.b)
        trail.w, trail.b = found.value.w.copy(), found.value.b
        if found.converged or most == stop.max_iter or "time" in found.message:
            return found
        before = found.n_iter
    narrow = math.inf
    if trail.curvature is None:
        trail.curvature = curvature_of(design, task)
    elif kink:  # the width at which the last value of C was reached
        narrow = 1.1 * trail.curvature.task.loss.width
    left = stop._replace(max_iter=stop.max_iter - before)
    found = minimise(design, task, left, trail.w, trail.curvature, narrow)
    if not found.converged and math.isfinite(narrow) and found.n_iter < left.max_iter:
        before += found.n_iter  # too narrow to start with: from wide to narrow after all
        found = minimise(design, task, left, found.value.w, trail.curvature)
    trail.w = found.value.w.copy()
    return replace(found, n_iter=before + found.n_iter)

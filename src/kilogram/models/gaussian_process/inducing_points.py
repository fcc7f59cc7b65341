"""Optimisation of inducing points on the variational bound.

The points start as rows, and the kernel is tuned for them. The variational bound F is a smooth
function of the points too, and never more than the log-likelihood, so that a larger bound is a
closer one: points and parameters are optimised together, in coordinates in which a column of the
points has standard deviation 1 / 4,

    Z = Z_0 + 4 U diag(std of Z_0),    max_(theta, U) F(theta, Z)

The first few dozen iterations give most of the gain, and each costs as much as one of the tuning:
that many are made. Sparse rows, and kernels without a derivative by their points, keep the rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.kernels.gradients_points import pull_back_points
from kilogram.solvers.gaussian_process.inducing import bound_and_slopes
from kilogram.solvers.gaussian_process.maximise import maximise
from kilogram.solvers.solution import Solution

MOVES = 30  # evaluations of the bound while the points move: bounds the time, our choice
UNIT = 4.0  # standard deviations: the first step has length 1 and is spread over all points


def can_move(problem: Any) -> bool:
    """Whether there are fewer points than rows, and a derivative to follow."""
    Z = problem.Z
    if Z is None or is_sparse(Z) or Z.shape[0] >= problem.data.Y.shape[0]:
        return False
    one = Z[:1, :]
    return pull_back_points(problem.tuning.kernel, one, one, one[:, :1]) is not None


def with_moved_points(problem: Any, found: Solution, tick: Any) -> tuple[Any, Solution]:
    """The problem at the parameters and points found together, and how; `problem` is tuned."""
    tuning, start = problem.tuning, to_numpy(problem.Z)
    p, spread = len(tuning.free), start.std(axis=0)
    unit = UNIT * np.where(spread > 0, spread, 1.0)

    def points(v: np.ndarray) -> Any:
        return like(start + v[p:].reshape(start.shape) * unit, problem.Z)

    def objective(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, by_points = bound_and_slopes(tuning.at(v[:p]), problem.data, points(v))
        moves = to_numpy(by_points) * unit
        return value, np.concatenate([tuning.gradient(gradient), moves.ravel()])

    free = np.full((start.size, 2), [-np.inf, np.inf])
    v = np.concatenate([tuning.theta, np.zeros(start.size)])
    ended = maximise(objective, v, np.vstack([tuning.bounds, free]), most=MOVES, tick=tick)
    best = replace(problem, tuning=tuning.moved(ended.value[:p]), Z=points(ended.value))
    message = " ".join(part for part in (found.message, ended.message) if part)
    steps, done = found.n_iter + ended.n_iter, found.converged and ended.converged
    return best, Solution(ended.value[:p], steps, ended.objective, done, message)

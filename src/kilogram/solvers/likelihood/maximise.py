"""The largest value of a smooth function within bounds, from one start or several.

L-BFGS-B from the given start, then from starts drawn uniformly within the bounds; the best point
seen anywhere is the answer, so a search that is stopped early has a usable one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from kilogram.arrays.linalg import NotPositiveDefinite
from kilogram.solvers.linear.cg import Tick
from kilogram.solvers.solution import Solution

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
Optimizer = Callable[..., tuple[np.ndarray, float]]

# what a point without a likelihood is given: finite, so that a line search steps back from it
WORST = 1e25


class _Stopped(Exception):
    """The callback asked for the end: a way out of the optimizer, not an error."""


class _Search:
    """The objective with its best point remembered, seen as a function to minimise."""

    def __init__(self, objective: Objective, tick: Tick | None):
        self.objective, self.tick = objective, tick
        self.theta: np.ndarray | None = None
        self.value, self.steps = -np.inf, 0

    def __call__(self, theta: np.ndarray, eval_gradient: bool = True) -> Any:
        try:
            value, gradient = self.objective(theta)
        except NotPositiveDefinite:
            value, gradient = -np.inf, np.zeros_like(theta)
        self.steps += 1
        if self.theta is None or value > self.value:
            self.theta, self.value = np.array(theta, dtype=np.float64), value
        if self.tick is not None and self.tick(self.steps, -self.value):
            raise _Stopped
        found = -value if np.isfinite(value) else WORST
        return (found, -gradient) if eval_gradient else found


def maximise(
    objective: Objective,
    start: np.ndarray,
    bounds: np.ndarray,
    *,
    restarts: int = 0,
    rng: Any = None,
    optimizer: Optimizer | None = None,
    tick: Tick | None = None,
) -> Solution:
    """Solution with value theta (p,) and objective the largest value found.

    `optimizer(f, start, bounds=bounds)` returns a point and its value for f = -objective;
    None is L-BFGS-B. `rng` is a NumPy RandomState.
    """
    search = _Search(objective, tick)
    messages = []
    try:
        for start_ in _starts(start, bounds, restarts, rng):
            if optimizer is not None:
                theta, least = optimizer(search, start_, bounds=bounds)
                if -float(least) >= search.value:
                    search.theta, search.value = np.asarray(theta, dtype=float), -float(least)
                continue
            found = minimize(search, start_, method="L-BFGS-B", jac=True, bounds=bounds)
            # a line search that cannot improve has met the rounding of the likelihood
            if found.status == 1:
                messages.append("L-BFGS-B came to its most evaluations.")
    except _Stopped:
        messages.append("the time given (max_time) was over, or a callback stopped it.")
    if not np.isfinite(search.value):
        messages.append("no parameters were met for which the covariance has a Cholesky factor.")
    message = " ".join(messages)
    return Solution(search.theta, search.steps, float(search.value), not messages, message)


def _starts(start: np.ndarray, bounds: np.ndarray, restarts: int, rng: Any) -> Any:
    yield np.clip(start, bounds[:, 0], bounds[:, 1])
    if restarts > 0 and not np.isfinite(bounds).all():
        raise ValueError(
            "n_restarts_optimizer > 0 draws starts within the bounds: make them finite."
        )
    for _ in range(restarts):
        yield rng.uniform(bounds[:, 0], bounds[:, 1])

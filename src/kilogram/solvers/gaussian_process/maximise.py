"""Maximum of a smooth function within bounds, from one start or several.

L-BFGS-B from the given start, then from starts drawn uniformly within the bounds; the best point
evaluated is returned, so a search that is stopped early has a usable result.

A surrogate, if there is one, is a cheap approximation of the objective, such as the likelihood of
some of the rows. It is maximised first, and its Hessian H at the maximum, times `ratio`, gives the
preconditioned coordinates

    theta = maximum + H^-1/2 z

in which the true objective is nearly spherical, so that a few iterations from z = 0 suffice. Where
the maximum is on a bound, or the iterations leave the bounds, the bounded search continues there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from kilogram.arrays.linalg import NotPositiveDefinite
from kilogram.solvers.linear.cg import Tick
from kilogram.solvers.solution import Solution

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
Optimizer = Callable[..., tuple[np.ndarray, float]]

# Value of a start without a likelihood: finite, so that a line search goes on, and above all
# others.
WORST = 1e25
STEP = 1e-3  # of theta, logarithms, for the differences that make a Hessian: a change of 0.1 %
FLATTEST = 1e-3  # smallest curvature trusted, relative to the largest: steps differ by 30 at most


class _Stopped(Exception):
    """The callback stopped the search: leaves the optimizer, not an error."""


class _LikelihoodSearch:
    """The objective with its best point remembered, seen as a function to minimise."""

    def __init__(self, objective: Objective, tick: Tick | None):
        self.objective, self.tick = objective, tick
        self.theta: np.ndarray | None = None
        self.slope = 0.0  # length of the gradient at theta
        self.value, self.steps = -np.inf, 0

    def __call__(self, theta: np.ndarray, eval_gradient: bool = True) -> Any:
        try:
            value, gradient = self.objective(theta)
        except NotPositiveDefinite:
            value, gradient = -np.inf, np.zeros_like(theta)
        self.steps += 1
        if self.theta is None or value > self.value:
            self.theta, self.value = np.array(theta, dtype=np.float64), value
            self.slope = float(np.linalg.norm(gradient))
        if self.tick is not None and self.tick(self.steps, -self.value):
            raise _Stopped
        found = -value if np.isfinite(value) else self._extrapolated_value(theta)
        return (found, -gradient) if eval_gradient else found

    def _extrapolated_value(self, theta: np.ndarray) -> float:
        """Value of a point without a likelihood: as far below the best point as its slope
        could have led, so that a line search halves its step instead of failing."""
        if self.theta is None or not np.isfinite(self.value):
            return WORST
        return -self.value + self.slope * float(np.linalg.norm(theta - self.theta)) + 1.0


@dataclass(frozen=True)
class Surrogate:
    """A cheap objective, and the ratio of the true curvature to its curvature."""

    objective: Objective
    ratio: float


def maximise(
    objective: Objective,
    start: np.ndarray,
    bounds: np.ndarray,
    *,
    restarts: int = 0,
    rng: Any = None,
    optimizer: Optimizer | None = None,
    surrogate: Surrogate | None = None,
    most: int | None = None,
    tick: Tick | None = None,
) -> Solution:
    """Solution with value theta (p,) and objective the largest value found.

    `optimizer(f, start, bounds=bounds)` returns a point and its value for f = -objective;
    None is L-BFGS-B with at most `most` evaluations, if given. `rng` is a NumPy Generator.
    """
    search = _LikelihoodSearch(objective, tick)
    messages = []
    begun = start
    try:
        for begun in _starts(start, bounds, restarts, rng):
            if optimizer is not None:
                theta, least = optimizer(search, begun, bounds=bounds)
                if -float(least) >= search.value:
                    search.theta, search.value = np.asarray(theta, dtype=float), -float(least)
            elif not _maximise_from(search, begun, bounds, surrogate, most):
                messages.append("L-BFGS-B reached its limit of evaluations.")
    except _Stopped:
        messages.append("max_time is reached, or a callback stopped the search.")
    if search.theta is None:  # stopped while the surrogate was maximised
        search.theta, search.value = begun, objective(begun)[0]
    if not np.isfinite(search.value):
        messages.append("no parameters were found for which the covariance has a Cholesky factor.")
    message = " ".join(messages)
    return Solution(search.theta, max(1, search.steps), float(search.value), not messages, message)


def _maximise_from(
    search: _LikelihoodSearch,
    start: np.ndarray,
    bounds: np.ndarray,
    surrogate: Surrogate | None,
    most: int | None,
) -> bool:
    """L-BFGS-B from one start; whether it converged."""
    if (bounds[:, 0] >= bounds[:, 1]).all():
        search(start)  # equal bounds leave nothing to search
        return True
    if surrogate is not None:
        kept = search.theta, search.value
        start, R = _maximise_surrogate(surrogate, start, bounds, search.tick)
        if R is not None and _climb_rounded(search, start, R, bounds):
            return True
        if search.theta is not None and search.value > kept[1]:
            start = np.clip(search.theta, bounds[:, 0], bounds[:, 1])
        search.theta, search.value = kept  # points outside the bounds do not count
    found = _bounded(search, start, bounds, most, gtol=1e-5, ftol=2e-9)
    # a line search that cannot improve has reached the rounding error of the objective
    return found.status != 1 or most is not None


def _bounded(
    search: _LikelihoodSearch,
    start: np.ndarray,
    bounds: np.ndarray,
    most: int | None = None,
    **tols: float,
) -> Any:
    """L-BFGS-B on the objective divided by its slope at the start.

    Within bounds on all sides its first step is the gradient itself: hundreds of units of theta, to
    the farthest corner, where nothing has a likelihood. Divided, it is one unit: a factor e.
    """
    first = search(start)
    scale = max(1.0, float(np.linalg.norm(first[1])))

    def function(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = first if np.array_equal(theta, start) else search(theta)
        return value / scale, gradient / scale

    # the tolerances are those of the objective itself
    size = max(abs(first[0]), 1.0)
    options = {"gtol": tols["gtol"] / scale, "ftol": tols["ftol"] * min(1.0, size / scale)}
    if most is not None:
        options |= {"maxfun": most}
    return minimize(function, start, method="L-BFGS-B", jac=True, bounds=bounds, options=options)


def _climb_rounded(
    search: _LikelihoodSearch, top: np.ndarray, R: np.ndarray, bounds: np.ndarray
) -> bool:
    """From `top` in coordinates z, theta = top + R z; whether it converged within the bounds."""

    def function(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = search(top + R @ z)
        return value, R.T @ gradient

    # in z the objective falls off like |z|^2 / 2: this gradient is a loss of less than 1e-6
    options = {"gtol": 1e-3, "ftol": 1e-11}
    found = minimize(function, np.zeros(len(top)), method="L-BFGS-B", jac=True, options=options)
    theta = search.theta
    inside = theta is not None and np.all((bounds[:, 0] <= theta) & (theta <= bounds[:, 1]))
    return bool(inside) and found.status != 1


def _maximise_surrogate(
    surrogate: Surrogate, start: np.ndarray, bounds: np.ndarray, tick: Tick | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """The maximum of the surrogate, and R = H^-1/2 there, or None where H is not definite."""
    cheap = _LikelihoodSearch(surrogate.objective, tick)
    top = _bounded(cheap, start, bounds, gtol=1e-2, ftol=1e-6).x  # the true maximum is elsewhere
    if not np.all((bounds[:, 0] < top - STEP) & (top + STEP < bounds[:, 1])):
        return top, None
    slopes = [cheap(top + STEP * e)[1] - cheap(top - STEP * e)[1] for e in np.eye(len(top))]
    H = np.asarray(slopes) * (surrogate.ratio / (2.0 * STEP))
    values, Q = np.linalg.eigh((H + H.T) / 2.0)
    if not np.isfinite(values).all() or values[-1] <= 0:
        return top, None
    # directions with little information in the data get short steps
    return top, Q / np.sqrt(np.maximum(values, FLATTEST * values[-1]))


def _starts(start: np.ndarray, bounds: np.ndarray, restarts: int, rng: Any) -> Any:
    yield np.clip(start, bounds[:, 0], bounds[:, 1])
    if restarts > 0 and not np.isfinite(bounds).all():
        raise ValueError(
            "n_restarts_optimizer > 0 draws starts within the bounds: make them finite."
        )
    for _ in range(restarts):
        yield rng.uniform(bounds[:, 0], bounds[:, 1])

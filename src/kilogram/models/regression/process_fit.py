"""Fitting a Gaussian process: targets and noise made ready, the road chosen, parameters tuned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from kilogram.arrays.namespace import is_numpy, like, namespace, to_numpy
from kilogram.arrays.rows import take_rows
from kilogram.base.warnings import ConvergenceWarning, warn_if_unfinished
from kilogram.kernels import Kernel
from kilogram.kernels.pairs import wide
from kilogram.models.features.nystroem import spread_landmarks
from kilogram.models.features.random_maps import check_count, generator
from kilogram.models.regression.process_copies import away_from_copies
from kilogram.models.regression.process_points import can_move, with_moved_points
from kilogram.models.regression.process_posterior import Posterior
from kilogram.models.regression.targets import Rows
from kilogram.solvers.likelihood.exact import Observations, likelihood_and_gradient
from kilogram.solvers.likelihood.inducing import bound_and_gradient
from kilogram.solvers.likelihood.maximise import Rehearsal, maximise
from kilogram.solvers.likelihood.tuning import Tuning
from kilogram.solvers.solution import Solution

REHEARSED = 2_000  # rows from which parameters are first tuned on a quarter of them
SMALLEST_NOISE = 1e-8  # of the prior variance: below it such roads explain nothing


class Scale(NamedTuple):
    """Mean and standard deviation taken out of the targets, (t,) each."""

    mean: Any
    std: Any

    @classmethod
    def of(cls, Y: Any, w: Any, wanted: bool) -> Scale:
        xp = namespace(Y)
        zero, one = xp.zeros_like(Y[0, :]), xp.ones_like(Y[0, :])
        if not wanted:
            return cls(zero, one)
        w = xp.ones_like(Y[:, 0]) if w is None else w
        w = w / xp.sum(w)
        mean = w @ Y
        std = xp.sqrt(w @ (Y - mean) ** 2)
        return cls(mean, xp.where(std > 10 * xp.finfo(Y.dtype).eps * xp.abs(mean), std, one))


def noise_vector(alpha: Any, n: int) -> np.ndarray:
    """alpha as one variance per row, (n,)."""
    found = np.asarray(alpha, dtype=np.float64)
    if found.ndim > 1 or (found.ndim == 1 and found.shape[0] not in (1, n)):
        raise ValueError(
            "alpha must be a scalar or an array with same number of entries as y. "
            f"({found.shape[0]} != {n})"
        )
    if not np.all(found >= 0):
        raise ValueError(f"alpha is a variance and must be >= 0, got {alpha!r}.")
    return np.broadcast_to(found, (n,)).astype(np.float64)


def observations(
    rows: Rows, alpha: Any, normalize: bool, n_targets: int | None
) -> tuple[Observations, Scale]:
    """Rows of positive weight in float64, targets normalised if asked for, noise as a vector."""
    X, Y, w, _ = rows
    if n_targets is not None and n_targets != Y.shape[1]:
        raise ValueError(
            "The number of targets seen in `y` is different from the parameter `n_targets`. "
            f"Got {Y.shape[1]} != {n_targets}."
        )
    noise = noise_vector(alpha, Y.shape[0])
    if w is not None and not bool(namespace(w).all(w > 0)):
        kept = np.flatnonzero(to_numpy(w) > 0)
        X, Y, w, noise = (take_rows(A, kept) for A in (X, Y, w, noise))
    Y, w = wide(Y), None if w is None else wide(w)
    scale = Scale.of(Y, w, normalize)
    return Observations(wide(X), (Y - scale.mean) / scale.std, like(noise, Y), w), scale


@dataclass(frozen=True, eq=False)
class Problem:
    """Observations and a kernel to be tuned on them; Z inducing points, or None for all rows."""

    data: Observations
    tuning: Tuning
    Z: Any = None

    def objective(self, theta: np.ndarray, work: np.ndarray | None = None) -> tuple:
        """The log-likelihood (or its bound) and its gradient, at theta."""
        kernel = self.tuning.at(theta)
        if self.Z is None:
            value, gradient = likelihood_and_gradient(kernel, self.data, work)
        else:
            value, gradient = bound_and_gradient(kernel, self.data, self.Z)
        return value, self.tuning.gradient(gradient)

    def posterior(self, work: np.ndarray | None = None) -> Posterior:
        if self.Z is None:
            return Posterior.exact(self.tuning.kernel, self.data, work)
        return Posterior.inducing(self.tuning.kernel, self.data, self.Z)

    def rehearsal(self) -> Rehearsal | None:
        """The likelihood of a quarter of the rows, where that is cheap beside all of them."""
        n = self.data.Y.shape[0]
        if n < REHEARSED or self.Z is not None:
            return None
        rows = np.sort(np.random.default_rng(0).choice(n, size=n // 4, replace=False))
        part = Problem(self.data.part(rows), self.tuning)
        return Rehearsal(part.objective, 4.0)

    def tuned(self, optimizer: Any, restarts: int, rng: Any, tick: Any, work: Any) -> Solution:
        """The best theta, or the one there is where nothing is to be tuned."""
        if optimizer is None or not self.tuning.free:
            return Solution(self.tuning.theta)

        def search(problem: Problem, start: np.ndarray | None = None) -> Solution:
            n = problem.data.Y.shape[0]
            room = None if work is None else work.reshape(-1)[: n * n].reshape(n, n)
            return maximise(
                lambda theta: problem.objective(theta, room),
                problem.tuning.theta if start is None else start,
                problem.tuning.bounds,
                restarts=restarts if start is None else 0,
                rng=rng,
                optimizer=optimizer if callable(optimizer) else None,
                rehearsal=problem.rehearsal(),
                tick=tick,
            )

        return away_from_copies(self, search(self), search)

    def solved(self, optimizer: Any, restarts: int, rng: Any, tick: Any) -> tuple:
        """The problem at its best theta, the posterior there, and how it was found."""
        n, held = self.data.Y.shape[0], self.Z is None and is_numpy(self.data.Y)
        work = np.empty((n, n)) if held else None  # one matrix for every evaluation
        best, found = self.settled(optimizer, restarts, rng, tick, work)
        return best, best.posterior(work), found

    def settled(
        self, optimizer: Any, restarts: int, rng: Any, tick: Any, work: Any = None
    ) -> tuple[Problem, Solution]:
        """The problem at its best theta, and points if it has any, and how they were found."""
        found = self.tuned(optimizer, restarts, rng, tick, work)
        best = replace(self, tuning=self.tuning.moved(found.value))
        if isinstance(optimizer, str) and can_move(self):
            return with_moved_points(best, found, tick)
        return best, found


def inducing_points(tuning: Tuning, data: Observations, m: int, seed: Any) -> Any:
    """m rows spread out in the feature space of the kernel at the start."""
    n = data.Y.shape[0]
    need_noise(tuning.kernel, data)
    m = check_count("n_components", m)
    if m >= n:
        return take_rows(data.X, np.arange(n))
    return take_rows(data.X, spread_landmarks(tuning.kernel, data.X, m, generator(seed)))


def need_noise(kernel: Kernel, data: Observations) -> None:
    """Refuse rows (nearly) without noise on the roads that are built on it."""
    noise, prior = data.noise(kernel), kernel.diag(data.X)
    xp = namespace(noise)
    smallest, size = float(xp.min(noise)), float(xp.max(prior))
    if not smallest > SMALLEST_NOISE * size:
        raise ValueError(
            "inducing points and conjugate gradients need noise to average over, and the smallest "
            f"here is {smallest:g} beside a prior variance of {size:g}: add White() to the kernel, "
            "or raise alpha."
        )


def check_search(optimizer: Any, restarts: Any, seed: Any) -> Any:
    """The random numbers of the restarts; errors for an unknown optimizer or a negative count."""
    if not (optimizer is None or optimizer == "fmin_l_bfgs_b" or callable(optimizer)):
        raise ValueError(
            f"Unknown optimizer {optimizer!r}: give 'fmin_l_bfgs_b', None or a function."
        )
    if isinstance(restarts, bool) or int(restarts) != restarts or restarts < 0:
        raise ValueError(f"n_restarts_optimizer must be an integer >= 0, got {restarts!r}.")
    return check_random_state(seed)


def say_how_it_ended(name: str, found: Solution, tuning: Tuning) -> None:
    """The warnings of a fit: stopped early, led astray by copies, or parameters on their bounds."""
    warn_if_unfinished(name, found, "Give more max_time, or start nearer (kernel parameters).")
    if found.converged and found.message:
        warnings.warn(f"{name}: {found.message}", ConvergenceWarning, stacklevel=3)
    ends = tuning.at_bounds() if found.n_iter else []
    if ends:
        warnings.warn(
            f"{name}: {'; '.join(ends)}. A wider bound may give a better likelihood.",
            ConvergenceWarning,
            stacklevel=3,
        )

"""Fitting a Gaussian process: targets and noise made ready, the road chosen, parameters tuned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from kilogram.arrays.rows import take_rows
from kilogram.base.warnings import ConvergenceWarning, announce_road, warn_if_unfinished
from kilogram.models.features.nystroem import spread_landmarks
from kilogram.models.features.random_maps import check_count, generator
from kilogram.models.regression.process_posterior import Posterior
from kilogram.operators.memory_plan import choose_road, human_bytes
from kilogram.solvers.likelihood.exact import Observations, likelihood_and_gradient
from kilogram.solvers.likelihood.inducing import bound_and_gradient
from kilogram.solvers.likelihood.inverse import inverse_from_factor
from kilogram.solvers.likelihood.maximise import Rehearsal, maximise
from kilogram.solvers.likelihood.tuning import Tuning
from kilogram.solvers.solution import Solution

REHEARSED = 2_000  # rows from which parameters are first tuned on a quarter of them
SMALLEST_NOISE = 1e-8  # of the prior variance: below it inducing points explain nothing


class Scale(NamedTuple):
    """Mean and standard deviation taken out of the targets, (t,) each."""

    mean: np.ndarray
    std: np.ndarray

    @classmethod
    def of(cls, Y: np.ndarray, w: np.ndarray | None, wanted: bool) -> Scale:
        t = Y.shape[1]
        if not wanted:
            return cls(np.zeros(t), np.ones(t))
        mean = np.average(Y, axis=0, weights=w)
        std = np.sqrt(np.average((Y - mean) ** 2, axis=0, weights=w))
        return cls(mean, np.where(std > 10 * np.finfo(float).eps * np.abs(mean), std, 1.0))


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

    def solved(self, optimizer: Any, restarts: int, rng: Any, tick: Any) -> tuple:
        """The problem at its best theta, the posterior there, and how it was found."""
        n = self.data.Y.shape[0]
        work = None if self.Z is not None else np.empty((n, n))  # one matrix for every evaluation
        found = Solution(self.tuning.theta)
        if optimizer is not None and self.tuning.free:
            found = maximise(
                lambda theta: self.objective(theta, work),
                self.tuning.theta,
                self.tuning.bounds,
                restarts=restarts,
                rng=rng,
                optimizer=optimizer if callable(optimizer) else None,
                rehearsal=self.rehearsal(),
                tick=tick,
            )
        best = replace(self, tuning=self.tuning.moved(found.value))
        return best, best.posterior(work), found


def chosen_road(model: Any, n: int, d: int, limit: int) -> bool:
    """Whether inducing points are used: asked for, or all that memory allows (and then said)."""
    if model.approximation not in (None, "nystroem"):
        raise ValueError(f"approximation must be None or 'nystroem', got {model.approximation!r}.")
    road = choose_road(n, d, "float64", max_memory=limit, copies=1.1)
    if model.approximation is None and not road.stores:
        m = min(model.n_components, n)
        announce_road(
            type(model).__name__,
            f"the covariance of {n:,} rows takes {human_bytes(8.8 * n * n)} and "
            f"{human_bytes(limit)} are allowed, so the process is fitted through {m:,} inducing "
            "points (a lower bound of the likelihood, variances that do not shrink where the "
            "points cannot see). Raise max_memory for the exact one, n_components for a closer "
            "one; approximation='nystroem' asks for it without this warning.",
        )
    return model.approximation is not None or not road.stores


def inducing_points(tuning: Tuning, data: Observations, m: int, seed: Any) -> Any:
    """m rows spread out in the feature space of the kernel at the start."""
    n = data.Y.shape[0]
    smallest = float(np.min(data.noise(tuning.kernel)))
    size = float(np.max(tuning.kernel.diag(data.X)))
    if not smallest > SMALLEST_NOISE * size:
        raise ValueError(
            f"inducing points need noise to average over, and the smallest here is {smallest:g} "
            f"beside a prior variance of {size:g}: add White() to the kernel, or raise alpha."
        )
    m = check_count("n_components", m)
    if m >= n:
        return take_rows(data.X, np.arange(n))
    return take_rows(data.X, spread_landmarks(tuning.kernel, data.X, m, generator(seed)))


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
    """The warnings of a fit: stopped early, or parameters that would leave their bounds."""
    warn_if_unfinished(name, found, "Give more max_time, or start nearer (kernel parameters).")
    ends = tuning.at_bounds() if found.n_iter else []
    if ends:
        warnings.warn(
            f"{name}: {'; '.join(ends)}. A wider bound may give a better likelihood.",
            ConvergenceWarning,
            stacklevel=3,
        )


class LeaveOneOut(NamedTuple):
    """Predictions of every training row from the others: means, variances of an observation, and
    the logarithms of the predictive densities, (n,) or (n, t) each."""

    mean: np.ndarray
    variance: np.ndarray
    log_density: np.ndarray


def leave_one_out(posterior: Posterior, data: Observations, scale: Scale) -> LeaveOneOut:
    """In closed form: y_i - a_i / c_i and 1 / c_i, with c the diagonal of C^-1."""
    inverse = inverse_from_factor(posterior.L.copy())
    own = 1.0 / inverse.diagonal()[:, None]
    mean = data.Y - posterior.a * own
    s = data.noise(posterior.kernel)
    variance = own + (s - data.weighted(s))[:, None]  # of one observation, not of w of them
    density = -0.5 * ((data.Y - mean) ** 2 / variance + np.log(2.0 * np.pi * variance))
    return LeaveOneOut(
        flat(mean * scale.std + scale.mean),
        flat(variance * scale.std**2),
        flat(density - np.log(scale.std)),
    )


def flat(columns: np.ndarray) -> np.ndarray:
    """One output without its axis."""
    return columns[..., 0] if columns.shape[-1] == 1 else columns

"""Fitting a Gaussian process: targets and noise prepared, kernel parameters tuned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import is_numpy, like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, take_rows
from kilogram.base.random_state import as_generator
from kilogram.base.warnings import ConvergenceWarning, warn_if_unfinished
from kilogram.kernels import Kernel
from kilogram.kernels.row_pairs import wide
from kilogram.models.features.nystroem import spread_landmarks
from kilogram.models.gaussian_process.duplicate_rows import avoid_duplicates
from kilogram.models.gaussian_process.inducing_points import can_move, with_moved_points
from kilogram.models.gaussian_process.posterior import ProcessPosterior
from kilogram.solvers.gaussian_process.exact import Observations, likelihood_and_gradient
from kilogram.solvers.gaussian_process.hyperparameters import FreeParameters
from kilogram.solvers.gaussian_process.inducing import bound_and_gradient
from kilogram.solvers.gaussian_process.maximise import Surrogate, maximise
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.solution import Solution

SUBSAMPLED_FROM = 2_000  # rows from which tuning a quarter of them first saves time
SMALLEST_NOISE = 1e-8  # of the prior variance: below it sums in float64 lose all digits


class TargetScale(NamedTuple):
    """Mean and standard deviation taken out of the targets, (t,) each."""

    mean: Any
    std: Any

    @classmethod
    def of(cls, Y: Any, w: Any, wanted: bool) -> TargetScale:
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
        raise ValueError(f"alpha must be a float of at least 0 (a variance), got {alpha!r}.")
    return np.broadcast_to(found, (n,)).astype(np.float64)


def observations(
    rows: RegressionData, alpha: Any, normalize: bool, n_targets: int | None
) -> tuple[Observations, TargetScale]:
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
    scale = TargetScale.of(Y, w, normalize)
    return Observations(wide(X), (Y - scale.mean) / scale.std, like(noise, Y), w), scale


@dataclass(frozen=True, eq=False)
class LikelihoodProblem:
    """Observations and a kernel to be tuned on them; Z inducing points, or None for all rows."""

    data: Observations
    tuning: FreeParameters
    Z: Any = None

    def objective(self, theta: np.ndarray, work: np.ndarray | None = None) -> tuple:
        """The log-likelihood (or its bound) and its gradient, at theta."""
        kernel = self.tuning.at(theta)
        if self.Z is None:
            value, gradient = likelihood_and_gradient(kernel, self.data, work)
        else:
            value, gradient = bound_and_gradient(kernel, self.data, self.Z)
        return value, self.tuning.gradient(gradient)

    def posterior(self, work: np.ndarray | None = None) -> ProcessPosterior:
        if self.Z is None:
            return ProcessPosterior.exact(self.tuning.kernel, self.data, work)
        return ProcessPosterior.inducing(self.tuning.kernel, self.data, self.Z)

    def surrogate(self) -> Surrogate | None:
        """The likelihood of a quarter of the rows, where that is cheap beside all of them."""
        n = self.data.Y.shape[0]
        if n < SUBSAMPLED_FROM or self.Z is not None:
            return None
        rows = np.sort(np.random.default_rng(0).choice(n, size=n // 4, replace=False))
        part = LikelihoodProblem(self.data.part(rows), self.tuning)
        return Surrogate(part.objective, 4.0)

    def tuned(self, optimizer: Any, restarts: int, rng: Any, tick: Any, work: Any) -> Solution:
        """The best theta, or the one given where nothing is to be tuned."""
        if optimizer is None or not self.tuning.free:
            return Solution(self.tuning.theta)

        def search(problem: LikelihoodProblem, start: np.ndarray | None = None) -> Solution:
            n = problem.data.Y.shape[0]
            matrix = None if work is None else work.reshape(-1)[: n * n].reshape(n, n)
            return maximise(
                lambda theta: problem.objective(theta, matrix),
                problem.tuning.theta if start is None else start,
                problem.tuning.bounds,
                restarts=restarts if start is None else 0,
                rng=rng,
                optimizer=optimizer if callable(optimizer) else None,
                surrogate=problem.surrogate(),
                tick=tick,
            )

        return avoid_duplicates(self, search(self), search)

    def solved(self, optimizer: Any, restarts: int, rng: Any, tick: Any) -> tuple:
        """The problem at its best theta, the posterior there, and how it was found."""
        n, exact = self.data.Y.shape[0], self.Z is None and is_numpy(self.data.Y)
        work = np.empty((n, n)) if exact else None  # one matrix for every evaluation
        best, found = self.optimised(optimizer, restarts, rng, tick, work)
        return best, best.posterior(work), found

    def optimised(
        self, optimizer: Any, restarts: int, rng: Any, tick: Any, work: Any = None
    ) -> tuple[LikelihoodProblem, Solution]:
        """The problem at its best theta, and points if it has any, and how they were found."""
        found = self.tuned(optimizer, restarts, rng, tick, work)
        best = replace(self, tuning=self.tuning.moved(found.value))
        if isinstance(optimizer, str) and can_move(self):
            return with_moved_points(best, found, tick)
        return best, found


def inducing_points(tuning: FreeParameters, data: Observations, m: int, seed: Any) -> Any:
    """m rows spread out in the feature space of the kernel at the start."""
    n = data.Y.shape[0]
    check_noise(tuning.kernel, data)
    if m >= n:
        return take_rows(data.X, np.arange(n))
    return take_rows(data.X, spread_landmarks(tuning.kernel, data.X, m, as_generator(seed)))


def check_noise(kernel: Kernel, data: Observations) -> None:
    """Raise where rows have (nearly) no noise: inducing points and products divide by it."""
    noise, prior = data.noise(kernel), kernel.diag(data.X)
    xp = namespace(noise)
    smallest, size = float(xp.min(noise)), float(xp.max(prior))
    if not smallest > SMALLEST_NOISE * size:
        raise ValueError(
            "inducing points and conjugate gradients need noise, and the smallest here is "
            f"{smallest:g} beside a prior variance of {size:g}. Add White() to the kernel, or "
            "raise alpha."
        )


def check_in_memory(name: str, X: Any) -> None:
    """Raise for Dask collections and rows in blocks: the covariance is needed for all pairs."""
    if is_streamed(X):
        raise ValueError(
            f"{name} needs all rows in memory. Load them first (X.compute() of a Dask collection), "
            "or use a KitchenSinksRegressor or KitchenSinksClassifier, which read rows in blocks."
        )


def warn_about_search(name: str, found: Solution, tuning: FreeParameters) -> None:
    """The warnings of a fit: stopped early, duplicate rows, or parameters on their bounds."""
    warn_if_unfinished(
        name, found, "Raise max_time, or give better kernel parameters as the start."
    )
    if found.converged and found.message:
        warnings.warn(f"{name}: {found.message}", ConvergenceWarning, stacklevel=3)
    ends = tuning.at_bounds() if found.n_iter else []
    if ends:
        warnings.warn(
            f"{name}: {'; '.join(ends)}. A wider bound may give a better likelihood.",
            ConvergenceWarning,
            stacklevel=3,
        )

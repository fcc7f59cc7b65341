"""Binary Gaussian processes for several classes: one-vs-rest, or one-vs-one."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf, logit

from kilogram.arrays.linalg import solve_triangular
from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.rows import take_rows
from kilogram.kernels import Kernel
from kilogram.kernels.white import without_noise
from kilogram.models.gaussian_process.kernel_translation import tuning_of
from kilogram.solvers.gaussian_process.hyperparameters import FreeParameters
from kilogram.solvers.gaussian_process.laplace import Labels, Mode, find_mode, gradient
from kilogram.solvers.gaussian_process.maximise import maximise
from kilogram.solvers.solution import Solution

SMALLEST = 1e-300  # of a probability, so that its logarithm is finite; near the end of float64

# Williams and Barber, Bayesian classification with Gaussian processes, 1998, appendix A: the
# logistic function is nearly sum_j c_j (1 + erf(l_j f)) / 2, whose mean under a normal f is known.
LAMBDAS = np.array([0.41, 0.4, 0.37, 0.44, 0.39])
COEFS = np.array([-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654])


class BinaryTask(NamedTuple):
    """Positions of the rows (None: all), and 1 for those of the positive class, else 0."""

    rows: np.ndarray | None
    y: np.ndarray


def binary_tasks(codes: np.ndarray, n_classes: int, multi_class: str) -> list[BinaryTask]:
    """The binary tasks of K classes; one if K = 2."""
    if n_classes == 2:
        return [BinaryTask(None, (codes == 1).astype(float))]
    if multi_class == "one_vs_rest":
        return [BinaryTask(None, (codes == c).astype(float)) for c in range(n_classes)]
    pairs = combinations(range(n_classes), 2)
    kept = [(np.flatnonzero((codes == i) | (codes == j)), j) for i, j in pairs]
    return [BinaryTask(rows, (codes[rows] == j).astype(float)) for rows, j in kept]


@dataclass(frozen=True, eq=False)
class BinaryProcess:
    """A fitted binary process: kernel, rows, and the mode of its posterior."""

    tuning: FreeParameters
    data: Labels
    mode: Mode
    found: Solution

    @property
    def kernel(self) -> Kernel:
        return self.tuning.kernel

    def latent(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f at the rows of X, (n,) each."""
        n, step = X.shape[0], max(1, BLOCK_ENTRIES // max(1, self.data.X.shape[0]))
        mean, variance = np.zeros(n), np.asarray(self.kernel.diag(X), dtype=np.float64)
        behind = without_noise(self.kernel)
        for i in range(0, n if behind is not None else 0, step):
            at = slice(i, min(i + step, n))
            K = behind(X[at], self.data.X)  # type: ignore[misc]
            mean[at] = K @ self.mode.g
            v = solve_triangular(self.mode.L, (K * self.mode.root).T)
            variance[at] = variance[at] - np.sum(v * v, axis=0)
        return mean, np.maximum(variance, np.finfo(float).tiny)

    def likelihood(self, theta: np.ndarray, max_iter: int) -> tuple[float, np.ndarray]:
        """Z and its gradient at theta."""
        value, slope, _ = evaluate(self.tuning, self.data, theta, None, max_iter)
        return value, slope


def evaluate(
    tuning: FreeParameters,
    data: Labels,
    theta: np.ndarray,
    g: np.ndarray | None,
    max_iter: int,
    deadline: float | None = None,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Z and its gradient at theta, and g of the mode, for the next call to start from."""
    kernel = tuning.at(theta)
    K = np.asarray(kernel(data.X), dtype=np.float64)
    mode = find_mode(K, data, g, max_iter, deadline)
    return mode.value, tuning.gradient(gradient(kernel, K, mode, data)), mode.g


class LaplaceSettings(NamedTuple):
    """Settings that the binary processes of one fit share."""

    kernel: Any
    bounds: Any
    optimizer: Any
    restarts: int
    max_iter: int
    tick: Any
    deadline: float | None = None

    @property
    def late(self) -> bool:
        return self.deadline is not None and time.perf_counter() >= self.deadline


def fit_process(
    X: Any, task: BinaryTask, w: np.ndarray, settings: LaplaceSettings, g: Any, seed: int
) -> BinaryProcess:
    """Tune the kernel on one task and find its mode; g (n,) or None is the first start."""
    rows = task.rows
    if rows is not None:
        X, w = take_rows(X, rows), w[rows]
    tuning, data = tuning_of(settings.kernel, settings.bounds, X), Labels(X, task.y, w)
    found = Solution(tuning.theta)
    last = [g]

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        # the mode changes little between two thetas: a start there saves most iterations
        value, slope, last[0] = evaluate(
            tuning, data, theta, last[0], settings.max_iter, settings.deadline
        )
        return value, slope

    late = settings.late
    if not late and settings.optimizer is not None and tuning.free:
        found = maximise(
            objective,
            tuning.theta,
            tuning.bounds,
            restarts=settings.restarts,
            rng=np.random.default_rng(seed),
            optimizer=settings.optimizer if callable(settings.optimizer) else None,
            tick=settings.tick,
        )
        tuning = tuning.moved(found.value)
    K = np.asarray(tuning.kernel(X))
    mode = find_mode(K, data, last[0], settings.max_iter, settings.deadline)
    if late or (settings.late and not mode.converged):
        found = Solution(found.value, found.n_iter, found.objective, False, "max_time is reached.")
    elif not mode.converged:
        why = f"Newton's method for the mode did not converge in {mode.n_iter} iterations."
        found = Solution(found.value, found.n_iter, found.objective, False, why)
    return BinaryProcess(tuning, data, mode, found)


def thread_safe_tick(tick: Any) -> Any:
    """A tick that several threads may call."""
    lock = threading.Lock()

    def one_at_a_time(step: int, objective: float | None = None) -> bool:
        with lock:
            return tick(step, objective)

    return one_at_a_time


def probability(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The mean of the logistic function of f ~ N(mean, variance), (n,)."""
    slope = LAMBDAS / np.sqrt(1.0 + 2.0 * LAMBDAS**2 * variance[:, None])
    p = erf(mean[:, None] * slope) @ (0.5 * COEFS) + 0.5  # exactly 1/2 where the mean is 0
    return np.clip(p, 0.0, 1.0)


def log_odds(p: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)), finite."""
    return logit(np.clip(p, SMALLEST, 1.0 - 1e-16))


def votes(odds: np.ndarray, n_classes: int) -> np.ndarray:
    """Scores (n, K) from log-odds of the pairs i < j for class j (n, pairs): one-vs-one votes, plus
    less than half a vote for the summed log-odds."""
    won, margin = np.zeros((2, odds.shape[0], n_classes))
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        won[:, j] += odds[:, k] > 0
        won[:, i] += odds[:, k] <= 0
        margin[:, j] += odds[:, k]
        margin[:, i] -= odds[:, k]
    return won + margin / (3.0 * (np.abs(margin) + 1.0))

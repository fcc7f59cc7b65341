"""Choice of the solver of a Gaussian process by the size of its covariance; conjugate gradients.

    cholesky   the factor of C, n^2 numbers: everything exact
    nystroem   inducing points: parameters, mean and variances of the variational bound
    cg         products with C: the mean and the variances of all rows, to a tolerance; parameters
               tuned on the bound of inducing points; the likelihood with an estimated determinant

"auto" factors C while it fits in memory and uses inducing points, with a warning, where it does
not. `operators/memory_plan.py` decides what fits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.memory import human_bytes
from kilogram.arrays.namespace import namespace
from kilogram.base.random_state import as_generator
from kilogram.base.warnings import warn_memory_fallback
from kilogram.kernels import Kernel
from kilogram.models.gaussian_process.fitting import (
    LikelihoodProblem,
    check_noise,
    inducing_points,
)
from kilogram.models.gaussian_process.posterior import (
    posterior_mean,
    prior_covariance,
    variance_less,
)
from kilogram.operators.memory_plan import plan_storage
from kilogram.solvers.gaussian_process import iterative
from kilogram.solvers.gaussian_process.iterative import (
    TOLERANCE,
    VARIANCE_TOLERANCE,
    CovarianceOperator,
)
from kilogram.solvers.solution import Solution

COPIES = 1.6  # matrices of order n: the factor, and a float32 inverse for the gradient
COLUMNS = 2**25  # entries of the columns solved for at once: 256 MiB


class SolverChoice(NamedTuple):
    """The parameters of the regressor that select and configure its solver."""

    name: str
    solver: str
    approximation: str | None
    n_components: int
    random_state: Any
    max_memory: Any


def choose_solver(choice: SolverChoice, n: int, d: int, limit: int) -> str:
    """ "cholesky", "nystroem" or "cg": as given, or by the memory allowed (with a warning)."""
    if choice.approximation is not None:
        return "nystroem"
    if choice.solver == "cg":
        return "cg"
    if plan_storage(n, d, "float64", max_memory=limit, copies=COPIES).stores:
        return "cholesky"
    why = (
        f"the covariance of {n:,} rows needs {human_bytes(8 * COPIES * n * n)} and max_memory is "
        f"{human_bytes(limit)}"
    )
    if choice.solver == "cholesky":
        raise MemoryError(f"{choice.name}: {why}. Set solver='cg' or approximation='nystroem'.")
    m = min(choice.n_components, n)
    warn_memory_fallback(
        choice.name,
        f"{why}, so the process is fitted with {m:,} inducing points (a lower bound of the "
        "likelihood; variances stay those of the prior far from the points). Raise max_memory "
        "for the exact one, n_components for a closer one, or set solver='cg' for the mean and "
        "variances of all rows; approximation='nystroem' selects it without this warning.",
    )
    return "nystroem"


def problem_for_solver(
    choice: SolverChoice, problem: LikelihoodProblem, limit: int
) -> tuple[str, Any]:
    """The solver, and the problem in the form it solves."""
    data, tuning = problem.data, problem.tuning
    n, d = data.X.shape
    solver = choose_solver(choice, n, d, limit)
    if solver == "cholesky":
        return solver, problem
    Z = inducing_points(tuning, data, choice.n_components, choice.random_state)
    coarse = LikelihoodProblem(data, tuning, Z)
    if solver == "nystroem":
        return solver, coarse
    return solver, ProductProblem(coarse, choice.max_memory, choice.random_state)


@dataclass(frozen=True, eq=False)
class ProductProblem:
    """Observations and a kernel, tuned on the bound of `coarse`, conditioned by products with C."""

    coarse: LikelihoodProblem
    max_memory: Any
    seed: Any

    @property
    def data(self) -> Any:
        return self.coarse.data

    @property
    def tuning(self) -> Any:
        return self.coarse.tuning

    @property
    def Z(self) -> None:
        """No inducing points: they are used for the tuning only."""
        return None

    def products(self, kernel: Kernel) -> CovarianceOperator:
        check_noise(kernel, self.data)
        noise = self.data.weighted(self.data.noise(kernel))
        return CovarianceOperator.of(
            kernel, self.data.X, noise, self.max_memory, as_generator(self.seed)
        )

    def objective(self, theta: np.ndarray) -> tuple:
        """The log-likelihood and its gradient at theta, both estimated."""
        kernel = self.tuning.at(theta)
        found = iterative.estimate_with_gradient(kernel, self.data, self.products(kernel))
        return found[0], self.tuning.gradient(found[1])

    def solved(self, optimizer: Any, restarts: int, rng: Any, tick: Any) -> tuple:
        """The problem at its best theta, the posterior there, and how it was found."""
        coarse, found = self.coarse.optimised(optimizer, restarts, rng, tick)
        best = replace(self, coarse=coarse)
        kernel = best.tuning.kernel
        C = best.products(kernel)
        known = iterative.estimate(kernel, best.data, C, tick)
        ended = found if known.found.converged else known.found
        steps = found.n_iter + known.found.n_iter
        done = Solution(found.value, steps, found.objective, ended.converged, ended.message)
        parts = (known.a, C, known.log_likelihood, known.error)
        return best, ProductPosterior(kernel, best.data.X, *parts), done


@dataclass(frozen=True, eq=False)
class ProductPosterior:
    """Rows, coefficients a (n, t) of the mean, and their covariance by its products.

    A variance is k(x, x) - k(x)'C^-1 k(x) by conjugate gradients; stopped at the tolerance, it is
    too large rather than too small.
    """

    kernel: Kernel
    rows: Any
    a: Any
    products: CovarianceOperator
    log_likelihood: float
    error: float
    L: None = None

    def mean(self, X: Any) -> Any:
        """(m, t)."""
        return posterior_mean(self.kernel, X, self.rows, self.a)

    def variance(self, X: Any, noise: Any) -> Any:
        """(m,)."""

        def known(rows: Any) -> Any:
            K = self.kernel(self.rows, rows)
            solved = self.products.solve(K, tol=VARIANCE_TOLERANCE).value
            return namespace(K).sum(K * solved, axis=0)

        step = max(1, min(256, COLUMNS // self.rows.shape[0]))
        return variance_less(self.kernel, X, noise, known, step)

    def covariance(self, X: Any, noise: Any) -> Any:
        """(m, m)."""
        K = self.kernel(self.rows, X)
        known = K.T @ self.products.solve(K, tol=TOLERANCE).value
        return prior_covariance(self.kernel, X, noise) - (known + known.T) / 2.0

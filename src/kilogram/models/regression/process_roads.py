"""Which road a Gaussian process takes, by the size of its covariance; and the one by products.

    cholesky   the factor of C, n^2 numbers: everything exact
    nystroem   inducing points: parameters, mean and variances of the variational bound
    cg         products with C: the mean and the variances of all rows, to a tolerance; parameters
               tuned on the bound of inducing points; the likelihood with an estimated determinant

"auto" factors while C fits in memory and goes over to inducing points, announced, where it does
not. `operators/memory_plan.py` decides what fits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kilogram.arrays.namespace import namespace
from kilogram.base.warnings import announce_road
from kilogram.kernels import Kernel
from kilogram.models.features.random_maps import generator
from kilogram.models.regression.process_fit import Problem, inducing_points, need_noise
from kilogram.models.regression.process_posterior import (
    posterior_mean,
    prior_covariance,
    variance_less,
)
from kilogram.operators.memory_plan import choose_road, human_bytes
from kilogram.solvers.likelihood import iterative
from kilogram.solvers.likelihood.iterative import TOLERANCE, VARIANCE_TOLERANCE, Products
from kilogram.solvers.solution import Solution

SOLVERS = ("auto", "cholesky", "cg")
COPIES = 1.6  # matrices of order n: the factor, and a float32 inverse for the gradient
COLUMNS = 2**25  # entries of the columns solved for at once


def chosen_road(model: Any, n: int, d: int, limit: int) -> str:
    """ "cholesky", "nystroem" or "cg": asked for, or all that memory allows (and then said)."""
    if model.solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}, got {model.solver!r}.")
    if model.approximation not in (None, "nystroem"):
        raise ValueError(f"approximation must be None or 'nystroem', got {model.approximation!r}.")
    if model.approximation is not None:
        return "nystroem"
    if model.solver == "cg":
        return "cg"
    if choose_road(n, d, "float64", max_memory=limit, copies=COPIES).stores:
        return "cholesky"
    why = (
        f"the covariance of {n:,} rows takes {human_bytes(8 * COPIES * n * n)} and "
        f"{human_bytes(limit)} are allowed"
    )
    if model.solver == "cholesky":
        raise MemoryError(
            f"{type(model).__name__}: {why}; set solver='cg' or approximation='nystroem'."
        )
    m = min(model.n_components, n)
    announce_road(
        type(model).__name__,
        f"{why}, so the process is fitted through {m:,} inducing points (a lower bound of the "
        "likelihood, variances that do not shrink where the points cannot see). Raise max_memory "
        "for the exact one, n_components for a closer one, or set solver='cg' for the mean and "
        "variances of all rows; approximation='nystroem' asks for it without this warning.",
    )
    return "nystroem"


def on_road(model: Any, problem: Problem, limit: int) -> tuple[str, Any]:
    """The road, and the problem as it is solved there."""
    data, tuning = problem.data, problem.tuning
    n, d = data.X.shape
    road = chosen_road(model, n, d, limit)
    if road == "cholesky":
        return road, problem
    Z = inducing_points(tuning, data, model.n_components, model.random_state)
    coarse = Problem(data, tuning, Z)
    if road == "nystroem":
        return road, coarse
    return road, ProductProblem(coarse, model.max_memory, model.random_state)


@dataclass(frozen=True, eq=False)
class ProductProblem:
    """Observations and a kernel, tuned on the bound of `coarse`, conditioned by products with C."""

    coarse: Problem
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
        """No inducing points: they served the tuning only."""
        return None

    def products(self, kernel: Kernel) -> Products:
        need_noise(kernel, self.data)
        noise = self.data.weighted(self.data.noise(kernel))
        return Products.of(kernel, self.data.X, noise, self.max_memory, generator(self.seed))

    def objective(self, theta: np.ndarray) -> tuple:
        """The log-likelihood and its gradient at theta, both estimated."""
        kernel = self.tuning.at(theta)
        found = iterative.estimate_with_gradient(kernel, self.data, self.products(kernel))
        return found[0], self.tuning.gradient(found[1])

    def solved(self, optimizer: Any, restarts: int, rng: Any, tick: Any) -> tuple:
        """The problem at its best theta, the posterior there, and how it was found."""
        coarse, found = self.coarse.settled(optimizer, restarts, rng, tick)
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
    products: Products
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

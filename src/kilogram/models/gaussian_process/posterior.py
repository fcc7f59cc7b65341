"""Predictions of a fitted Gaussian process: mean, variances, covariance.

exact       mean k(x)'a,   covariance k(x, x') - v'v',  v = L^-1 k(x)
inducing    mean k_m(x)'mu, covariance k(x, x') - v'v' + u'u',  v = L^-1 k_m(x), u = L_B^-1 v
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.linalg import cholesky_solve, eigh, solve_triangular
from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import is_numpy, like, namespace
from kilogram.kernels import Kernel
from kilogram.kernels.white import split_diag, without_noise
from kilogram.solvers.gaussian_process import exact, inducing
from kilogram.solvers.gaussian_process.exact import Observations


@dataclass(frozen=True, eq=False)
class Prior:
    """The process before any data: mean 0, covariance k, t outputs."""

    kernel: Kernel
    t: int

    def mean(self, X: Any) -> Any:
        diagonal = split_diag(self.kernel, X)[0]
        return 0.0 * diagonal[:, None] + namespace(diagonal).zeros_like(diagonal[: self.t])

    def variance(self, X: Any, noise: Any) -> Any:
        return split_diag(self.kernel, X)[0] + noise

    def covariance(self, X: Any, noise: Any) -> Any:
        return prior_covariance(self.kernel, X, noise)


@dataclass(frozen=True, eq=False)
class ProcessPosterior:
    """Centres C (rows or inducing points), coefficients a (m, t), L (m, m), and L_B or None."""

    kernel: Kernel
    C: Any
    a: Any
    L: Any
    L_B: Any
    log_likelihood: float
    error: float = 0.0  # of the likelihood: none, it is computed

    @classmethod
    def exact(cls, kernel: Kernel, data: Observations, work: Any = None) -> ProcessPosterior:
        L = exact.factor(kernel, data, work)
        if is_numpy(L):
            for i in range(len(L) - 1):  # row by row: np.tril would take a second matrix
                L[i, i + 1 :] = 0.0
        a = cholesky_solve(L, data.Y)
        value = exact.log_likelihood(L, a, data, data.noise(kernel))
        return cls(kernel, data.X, a, L, None, value)

    @classmethod
    def inducing(cls, kernel: Kernel, data: Observations, Z: Any) -> ProcessPosterior:
        found = inducing.summarise(kernel, data, Z)
        return cls(kernel, Z, found.mu, found.L, found.L_B, found.bound)

    def mean(self, X: Any) -> Any:
        """(m, t)."""
        return posterior_mean(self.kernel, X, self.C, self.a)

    def reduction(self, X: Any) -> tuple[Any, Any]:
        """v (m, n) and u (m, n), or None, of the formulas above."""
        v = solve_triangular(self.L, self.kernel(X, self.C).T)
        return v, None if self.L_B is None else solve_triangular(self.L_B, v)

    def variance(self, X: Any, noise: Any) -> Any:
        """k(x, x) without the kernel's noise, less the variance explained, plus `noise`; (n,)."""

        def known(rows: Any) -> Any:
            xp = namespace(self.a)
            v, u = self.reduction(rows)
            found = xp.sum(v * v, axis=0)
            return found if u is None else found - xp.sum(u * u, axis=0)

        step = max(1, BLOCK_ENTRIES // max(1, self.C.shape[0]))
        return variance_less(self.kernel, X, noise, known, step)

    def covariance(self, X: Any, noise: Any) -> Any:
        """(n, n)."""
        v, u = self.reduction(X)
        found = prior_covariance(self.kernel, X, noise) - v.T @ v
        return found if u is None else found + u.T @ u


def posterior_mean(kernel: Kernel, X: Any, C: Any, a: Any) -> Any:
    """k(X, C) a, (m, t), of the function behind the noise."""
    latent = without_noise(kernel)
    if latent is None:
        xp = namespace(a)
        return xp.zeros((X.shape[0], a.shape[1]), dtype=a.dtype, device=a.device)
    return latent.matmul(X, C, a)


def variance_less(
    kernel: Kernel, X: Any, noise: Any, known: Callable[[Any], Any], step: int
) -> Any:
    """k(x, x) without the kernel's noise, less known(rows) of `step` rows at a time, plus noise."""
    found = split_diag(kernel, X)[0] + noise
    xp, n = namespace(found), X.shape[0]
    for i in range(0, n, step):
        at = slice(i, min(i + step, n))
        found[at] -= known(X[at, :])
    # rounding leaves -1e-16 at a data point without noise
    return xp.where(found > 0, found, xp.zeros_like(found))


def prior_covariance(kernel: Kernel, X: Any, noise: Any) -> Any:
    """k(X, X) without the kernel's noise, plus diag(noise)."""
    latent, xp = without_noise(kernel), namespace(noise)
    on_diagonal = xp.eye(X.shape[0], dtype=noise.dtype, device=noise.device) * noise
    return on_diagonal if latent is None else latent(X) + on_diagonal


def new_noise(kernel: Kernel, X: Any, noise: bool | None, alpha: Any) -> Any:
    """Variance of the noise of new rows, (m,): none (False), the kernel's (None), or that and
    alpha (True)."""
    found = split_diag(kernel, X)[1]
    if noise is False:
        return 0.0 * found
    if noise is None:
        return found
    if np.size(alpha) != 1:
        raise ValueError(
            "noise=True needs the noise of new rows, and alpha has one for each training row. Use "
            "noise=False and add the noise variance yourself."
        )
    return found + float(np.ravel(alpha)[0])


def draw(mean: Any, covariance: Any, count: int, rng: Any) -> Any:
    """`count` samples of N(mean, covariance) in columns, (n, count); a singular one will do."""
    values, vectors = eigh(covariance)
    xp = namespace(values)
    root = vectors * xp.sqrt(xp.where(values > 0, values, xp.zeros_like(values)))
    return mean[:, None] + root @ like(rng.standard_normal((mean.shape[0], count)), mean)

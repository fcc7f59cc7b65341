"""What a fitted Gaussian process says about new rows: mean, variances, covariance.

exact       mean k(x)'a,   covariance k(x, x') - v'v',  v = L^-1 k(x)
inducing    mean k_m(x)'mu, covariance k(x, x') - v'v' + u'u',  v = L^-1 k_m(x), u = L_B^-1 v
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.linalg import cholesky_solve, eigh, solve_triangular
from kilogram.kernels import Kernel
from kilogram.kernels.white import split_diag, without_noise
from kilogram.solvers.likelihood import exact, inducing
from kilogram.solvers.likelihood.exact import Observations

BLOCK_ENTRIES = 2**22  # entries of k(new, training) held at once


@dataclass(frozen=True, eq=False)
class Prior:
    """The process before any data: mean 0, covariance k, t outputs."""

    kernel: Kernel
    t: int

    def mean(self, X: Any) -> np.ndarray:
        return np.zeros((X.shape[0], self.t))

    def variance(self, X: Any, noise: np.ndarray) -> np.ndarray:
        return split_diag(self.kernel, X)[0] + noise

    def covariance(self, X: Any, noise: np.ndarray) -> np.ndarray:
        return prior_covariance(self.kernel, X, noise)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Centres C (rows or inducing points), coefficients a (m, t), L (m, m), and L_B or None."""

    kernel: Kernel
    C: Any
    a: np.ndarray
    L: np.ndarray
    L_B: np.ndarray | None
    log_likelihood: float

    @classmethod
    def exact(cls, kernel: Kernel, data: Observations, work: Any = None) -> Posterior:
        L = exact.factor(kernel, data, work)
        for i in range(len(L) - 1):  # row by row: np.tril would take a second matrix
            L[i, i + 1 :] = 0.0
        a = cholesky_solve(L, data.Y)
        value = exact.log_likelihood(L, a, data, data.noise(kernel))
        return cls(kernel, data.X, a, L, None, value)

    @classmethod
    def inducing(cls, kernel: Kernel, data: Observations, Z: Any) -> Posterior:
        found = inducing.summarise(kernel, data, Z)
        return cls(kernel, Z, found.mu, found.L, found.L_B, found.bound)

    def mean(self, X: Any) -> np.ndarray:
        """(m, t)."""
        latent = without_noise(self.kernel)
        if latent is None:
            return np.zeros((X.shape[0], self.a.shape[1]))
        return latent.matmul(X, self.C, self.a)

    def reduction(self, X: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """v (m, n) and u (m, n) or None of the page."""
        v = solve_triangular(self.L, self.kernel(X, self.C).T)
        return v, None if self.L_B is None else solve_triangular(self.L_B, v)

    def variance(self, X: Any, noise: np.ndarray) -> np.ndarray:
        """k(x, x) without the kernel's noise, less what is known, plus `noise`; (n,)."""
        found = split_diag(self.kernel, X)[0] + noise
        n, step = X.shape[0], max(1, BLOCK_ENTRIES // max(1, self.C.shape[0]))
        for i in range(0, n, step):
            at = slice(i, min(i + step, n))
            v, u = self.reduction(X[at])
            found[at] -= np.sum(v * v, axis=0)
            if u is not None:
                found[at] += np.sum(u * u, axis=0)
        return np.maximum(found, 0.0)  # rounding leaves -1e-16 at a data point without noise

    def covariance(self, X: Any, noise: np.ndarray) -> np.ndarray:
        """(n, n)."""
        v, u = self.reduction(X)
        found = prior_covariance(self.kernel, X, noise) - v.T @ v
        return found if u is None else found + u.T @ u


def prior_covariance(kernel: Kernel, X: Any, noise: np.ndarray) -> np.ndarray:
    """k(X, X) without the kernel's noise, plus diag(noise)."""
    latent = without_noise(kernel)
    n = X.shape[0]
    K = np.zeros((n, n)) if latent is None else np.array(latent(X), dtype=np.float64)
    K.flat[:: n + 1] += noise
    return K


def draw(mean: np.ndarray, covariance: np.ndarray, count: int, rng: Any) -> np.ndarray:
    """`count` samples of N(mean, covariance) in columns, (n, count); a singular one will do."""
    values, vectors = eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return mean[:, None] + root @ rng.standard_normal((len(mean), count))

"""Gaussian process prediction (cookbook ch. 23, algorithm 23).

    f ~ GP(0, k),  y = f(x_j) + noise of variance lambda,
    mu    = K_ij alpha,                   alpha = (K_jj + lambda I)^-1 y
    Sigma = K_ii - K_ij (K_jj + lambda I)^-1 K_ij'

with j the training points and i the new ones. mu is kernel ridge regression. Sigma is the
uncertainty of the function; a new observation is uncertain by Sigma + lambda I.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from kilogram.textbook.state import Array, States, begin


def gaussian_process(K_jj: Array, K_ij: Array, K_ii: Array, y: Array, lam: float) -> States:
    """Algorithm 23: mean mu, covariance Sigma, and the two standard deviations."""
    L = np.linalg.cholesky(K_jj + lam * np.eye(len(K_jj)))
    alpha = solve_triangular(L, solve_triangular(L, y, lower=True), lower=True, trans="T")
    yield (s := begin("1 (K_jj + lambda I) alpha = y", L=L, alpha=alpha))
    yield (s := s.then("2 mean", mu=K_ij @ alpha))
    V = solve_triangular(L, K_ij.T, lower=True)
    yield (s := s.then("3 covariance", Sigma=K_ii - V.T @ V))
    variance = np.maximum(np.diag(s["Sigma"]), 0)  # rounding can leave -1e-16 at a data point
    sd, sd_y = np.sqrt(variance), np.sqrt(variance + lam)
    yield (s := s.then("4 standard deviations", sd=sd, sd_observation=sd_y))
    return s


def sample_functions(
    mu: Array, Sigma: Array, count: int, rng: np.random.Generator, *, jitter: float = 1e-10
) -> States:
    """Functions drawn from N(mu, Sigma): mu + L z, z standard normal."""
    # a smooth kernel's Sigma is singular to rounding; the jitter is far below what a plot shows
    L = np.linalg.cholesky(Sigma + jitter * np.eye(len(mu)))
    yield (s := begin("1 Sigma = L L'", L=L))
    yield (s := s.then("2 draw", f=mu + rng.standard_normal((count, len(mu))) @ L.T))
    return s

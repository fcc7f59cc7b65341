"""Pre-images by fixed point: from a point of kernel PCA's subspace back to the input space.

The projection of phi(x) on the leading components is P = sum_i g_i phi(x_i), where

    g = A beta + (1 - sum(A beta)) / N         (beta: the scores; the second term is the mean)

There is seldom an x with phi(x) = P. For the Gaussian kernel the nearest one,

    min_z |P - phi(z)|^2 = k(z, z) - 2 sum_i g_i k(z, x_i) + g'K g,

is a fixed point of  z = sum_i g_i k(z, x_i) x_i / sum_i g_i k(z, x_i). Started at the noisy point
it denoises (Mika et al. 1999, which the cookbook names in ch. 8).
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.kernels import gaussian
from kilogram.textbook.state import Array, States, begin


def mixture(beta: Array, A: Array) -> Array:
    """The weights g of the training points for one row of scores beta."""
    g = A @ beta
    return g + (1 - g.sum()) / len(A)


def preimage(
    z: Array, X: Array, g: Array, sigma: float, *, tol: float = 1e-10, most: int = 500
) -> States:
    """Iterate from z (D,) with training points X (N, D) and weights g (N,)."""
    constant = 1 + g @ gaussian(X, X, sigma) @ g

    def distance(k: Array) -> float:
        return float(constant - 2 * g @ k)

    k = gaussian(z[None], X, sigma)[0]
    yield (s := begin("start", distance(k), z=z))
    for _ in range(most):
        total = float((g * k).sum())
        if total <= 0:
            raise ValueError(
                "the point is too far from the data: its weights sum to nothing; "
                "start nearer, or use a wider sigma"
            )
        z, z_old = (g * k) @ X / total, z
        k = gaussian(z[None], X, sigma)[0]
        yield (s := s.then("weighted mean", distance(k), z=z))
        if np.linalg.norm(z - z_old) <= tol * (1 + np.linalg.norm(z)):
            break
    return s

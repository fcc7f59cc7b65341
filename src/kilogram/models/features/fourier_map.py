"""Random Fourier features of stationary kernels: the map and its approximation error.

For a stationary kernel, k(x, y) = kappa(x - y), Bochner's theorem makes kappa / kappa(0) the
Fourier transform of a probability P. With w_1 ... w_D ~ P and phases b_j uniform on [0, 2 pi],

    z(x) = sqrt(2 kappa(0) / D) cos(W'x + b),       E <z(x), z(y)> = k(x, y).

One feature errs with variance (1 + kappa(2t)) / 2 - kappa(t)^2 + 1/2 for t = x - y (kappa(0) = 1),
so <z(x), z(y)> errs by about that root over sqrt(D); and as each term 2 cos cos lies in [-2, 2],
Hoeffding's inequality bounds the largest error over m pairs, with probability 1 - delta, by
sqrt(8 log(2 m / delta) / D). (The expectation needs the phases, or cos and sin together, or the
complex exponential with a conjugate: without any of them <z(x), z(y)> tends to something else.)

References: Rahimi and Recht, Random features for large-scale kernel machines, 2007, and Weighted
sums of random kitchen sinks, 2008; Sutherland and Schneider, On the error of random Fourier
features, 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, like, namespace
from kilogram.base.constraints import Integer, check_parameter
from kilogram.kernels import Kernel
from kilogram.kernels.row_pairs import as_rows
from kilogram.native import fourier_block


@dataclass(frozen=True)
class FourierMap:
    """x -> scale cos(W'x + b): W (d, D), b (D,)."""

    W: Any
    b: Any
    scale: float

    @classmethod
    def draw(cls, kernel: Kernel, d: int, D: int, rng: Any, *, orthogonal: bool = False) -> Any:
        """D random features of a stationary kernel of rows of length d."""
        W = kernel.spectrum(rng, d, D, orthogonal=orthogonal)
        return cls(W, rng.uniform(0.0, 2.0 * pi, size=D), sqrt(2.0 * kernel.at_zero / D))

    def __call__(self, X: Any) -> Any:
        """z of the rows of X, (n, D), dense, in X's library and float type."""
        X = as_rows(X)
        if is_numpy(X):
            return fourier_block(X, self.W, self.b, self.scale)
        W, b = like(self.W, X), like(self.b, X)
        return self.scale * namespace(b).cos(X @ W + b)


@dataclass(frozen=True)
class FeatureError:
    """Error of <z(x), z(y)> as an estimate of k(x, y) over pairs of rows.

    `rms` and `largest` are the observed errors of the pairs; `expected` is their root mean square
    error in theory, and `bound` exceeds the largest error in 99 of 100 draws.
    """

    rms: float
    largest: float
    expected: float
    bound: float
    n_pairs: int


def kernel_error(kernel: Kernel, features: FourierMap, X: Any, *, delta: float = 0.01) -> Any:
    """The FeatureError over all pairs of the rows of X (m, d), NumPy."""
    K, size = kernel(X), kernel.at_zero
    Z = features(X)
    pairs = np.triu_indices(len(X), 1)
    error = np.abs(Z @ Z.T - K)[pairs]
    k, k2 = K[pairs] / size, kernel(2.0 * X)[pairs] / size
    variance = np.maximum((1.0 + k2) / 2.0 - k**2 + 0.5, 0.0)
    D = features.b.shape[0]
    bound = sqrt(8.0 * log(2.0 * max(error.size, 1) / delta) / D)
    return FeatureError(
        rms=float(sqrt(np.mean(error**2))),
        largest=float(error.max()),
        expected=size * sqrt(float(np.mean(variance)) / D),
        bound=size * bound,
        n_pairs=error.size,
    )


def check_count(name: str, value: Any) -> int:
    """A number of components: an integer of at least 1."""
    check_parameter(name, value, Integer(1))
    return int(value)

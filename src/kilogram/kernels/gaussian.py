"""The Gaussian kernel.

    k(x, y) = exp(-|x - y|^2 / (2 sigma^2)) = exp(-gamma |x - y|^2),   gamma = 1 / (2 sigma^2)

Spectrum: w ~ N(0, I / sigma^2) = N(0, 2 gamma I). As sigma -> 0 the Gram matrix tends to the
identity, as sigma -> infinity to all ones. (One text prints 2 sigma instead of 2 sigma^2, another
drops the minus sign, a third allows |x - y| - mu, which is not positive semidefinite.)
"""

from __future__ import annotations

import sys
from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.arrays.rows import column_count
from kilogram.functions.distances import squared_distances
from kilogram.kernels.bandwidths import check_rule, median_distance, only_one, positive, scale_rule
from kilogram.kernels.base import Kernel
from kilogram.kernels.random_directions import normal_draws
from kilogram.kernels.row_pairs import as_rows, row_ones


class Gaussian(Kernel):
    """Gaussian (RBF) kernel, exp(-|x - y|^2 / (2 sigma^2)).

    Parameters
    ----------
    sigma : float or "median", default=None
        Width. "median" takes the median distance between rows of the training data.
    gamma : float, "scale" or None, default=None
        The width as a rate, 1 / (2 sigma^2); give one of the two. With neither, gamma = 1 / d.

    Examples
    --------
    >>> from kilogram import Gaussian
    >>> k = Gaussian(sigma=2.0)
    >>> round(k([0.0, 0.0], [2.0, 0.0]), 4)
    0.6065
    >>> Gaussian("median").resolve([[0.0], [1.0], [3.0]])
    Gaussian(sigma=2.0)
    """

    stationary = True
    has_spectrum = True

    def __init__(self, sigma: float | str | None = None, gamma: float | str | None = None):
        self.sigma = sigma
        self.gamma = gamma

    def rate(self, d: int) -> float:
        """gamma as a number, for rows of length d."""
        only_one(self.sigma, self.gamma)
        if self.sigma is not None:
            sigma = positive("sigma", self.sigma)
            # sigma^2 may leave the range of floats; a rate of infinity would make the diagonal NaN
            return min(0.5 / sigma / sigma, sys.float_info.max)
        return 1.0 / d if self.gamma is None else positive("gamma", self.gamma, zero=True)

    def native(self, d: int) -> tuple[str, tuple[float, ...]]:
        return "gaussian", (self.rate(d),)

    def formula(self, X: Any, Y: Any) -> Any:
        return namespace(X, Y).exp(-self.rate(X.shape[1]) * squared_distances(X, Y))

    def diag(self, X: Any) -> Any:
        return row_ones(as_rows(X))

    def resolve(self, X: Any) -> Kernel:
        only_one(self.sigma, self.gamma)
        check_rule("sigma", self.sigma, ("median",))
        check_rule("gamma", self.gamma, ("scale",))
        if self.sigma == "median":
            return Gaussian(sigma=median_distance(X, lambda R: squared_distances(R) ** 0.5))
        if self.gamma == "scale":
            return Gaussian(gamma=scale_rule(X))
        return self if self.sigma is not None else Gaussian(gamma=self.rate(column_count(X)))

    def spectrum(self, rng: Any, d: int, n_features: int, *, orthogonal: bool = False) -> Any:
        scale = (2.0 * self.rate(d)) ** 0.5
        return scale * normal_draws(rng, d, n_features, orthogonal=orthogonal)

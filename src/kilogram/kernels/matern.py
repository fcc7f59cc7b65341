"""The Matern kernels and the rational quadratic: Gaussians of mixed widths.

With r = |x - y| / length_scale,

    Matern 1/2    exp(-r)
    Matern 3/2    (1 + sqrt(3) r) exp(-sqrt(3) r)
    Matern 5/2    (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)
    RationalQuadratic   (1 + r^2 / (2 alpha))^(-alpha)

Each is an average of Gaussian kernels over random precisions, so a frequency is a normal vector
times a random length: w = z sqrt(2 nu / u) / length_scale with u ~ chi^2(2 nu) (a multivariate t)
for Matern, w = z sqrt(g) / length_scale with g ~ Gamma(alpha, 1 / alpha) for the rational quadratic
(Rasmussen & Williams, Gaussian processes for machine learning, 2006, ch. 4).
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from kilogram.arrays.namespace import namespace
from kilogram.functions.distances import squared_distances
from kilogram.kernels.bandwidths import check_rule, median_distance, positive
from kilogram.kernels.base import Kernel
from kilogram.kernels.random_directions import normal_draws
from kilogram.kernels.row_pairs import as_rows, row_ones

NATIVE_MATERN = {0.5: "matern12", 1.5: "matern32", 2.5: "matern52"}


def euclidean(X: Any) -> Any:
    """|x_i - x_j|, (n, n)."""
    return squared_distances(X) ** 0.5


class Matern(Kernel):
    """Matern kernel of smoothness 1/2, 3/2 or 5/2.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness: the functions it makes are nu - 1/2 times differentiable.
    length_scale : float or "median", default=1.0
        Width. "median" takes the median distance between rows of the training data.

    Examples
    --------
    >>> from kilogram import Matern
    >>> round(Matern(nu=0.5, length_scale=2.0)([0.0], [2.0]), 4)
    0.3679
    """

    stationary = True
    has_spectrum = True

    def __init__(self, nu: float = 1.5, length_scale: float | str = 1.0):
        self.nu = nu
        self.length_scale = length_scale

    def _nu(self) -> float:
        if not isinstance(self.nu, Real) or self.nu not in NATIVE_MATERN:
            raise ValueError(f"Matern has nu in {sorted(NATIVE_MATERN)}, got {self.nu!r}")
        return float(self.nu)

    def native(self, d: int) -> tuple[str, tuple[float, ...]]:
        return NATIVE_MATERN[self._nu()], (positive("length_scale", self.length_scale),)

    def formula(self, X: Any, Y: Any) -> Any:
        nu, scale = self._nu(), positive("length_scale", self.length_scale)
        xp = namespace(X, Y)
        r = xp.sqrt(2.0 * nu * squared_distances(X, Y)) / scale
        envelope = xp.exp(-r)
        if nu == 0.5:
            return envelope
        return (1.0 + r) * envelope if nu == 1.5 else (1.0 + r + r * r / 3.0) * envelope

    def diag(self, X: Any) -> Any:
        return row_ones(as_rows(X))

    def resolve(self, X: Any) -> Kernel:
        check_rule("length_scale", self.length_scale, ("median",))
        if self.length_scale == "median":
            return Matern(self.nu, median_distance(X, euclidean))
        return self

    def spectrum(self, rng: Any, d: int, n_features: int, *, orthogonal: bool = False) -> Any:
        nu, scale = self._nu(), positive("length_scale", self.length_scale)
        stretch = np.sqrt(2.0 * nu / rng.chisquare(2.0 * nu, size=n_features))
        return normal_draws(rng, d, n_features, orthogonal=orthogonal) * (stretch / scale)


class RationalQuadratic(Kernel):
    """Rational quadratic kernel, (1 + |x - y|^2 / (2 alpha length_scale^2))^(-alpha).

    Parameters
    ----------
    length_scale : float or "median", default=1.0
        Width. "median" takes the median distance between rows of the training data.
    alpha : float, default=1.0
        Mixture of widths: large alpha tends to the Gaussian kernel with sigma = length_scale.

    Examples
    --------
    >>> from kilogram import RationalQuadratic
    >>> RationalQuadratic(length_scale=1.0, alpha=0.5)([0.0], [3.0 ** 0.5])
    0.5
    """

    stationary = True
    has_spectrum = True

    def __init__(self, length_scale: float | str = 1.0, alpha: float = 1.0):
        self.length_scale = length_scale
        self.alpha = alpha

    def _numbers(self) -> tuple[float, float]:
        return positive("length_scale", self.length_scale), positive("alpha", self.alpha)

    def native(self, d: int) -> tuple[str, tuple[float, ...]]:
        return "rational_quadratic", self._numbers()

    def formula(self, X: Any, Y: Any) -> Any:
        scale, alpha = self._numbers()
        xp = namespace(X, Y)
        log_base = xp.log1p(squared_distances(X, Y) / (2.0 * alpha * scale**2))
        return xp.exp(-alpha * log_base)

    def diag(self, X: Any) -> Any:
        return row_ones(as_rows(X))

    def resolve(self, X: Any) -> Kernel:
        check_rule("length_scale", self.length_scale, ("median",))
        if self.length_scale == "median":
            return RationalQuadratic(median_distance(X, euclidean), self.alpha)
        return self

    def spectrum(self, rng: Any, d: int, n_features: int, *, orthogonal: bool = False) -> Any:
        scale, alpha = self._numbers()
        stretch = np.sqrt(rng.gamma(alpha, 1.0 / alpha, size=n_features))
        return normal_draws(rng, d, n_features, orthogonal=orthogonal) * (stretch / scale)

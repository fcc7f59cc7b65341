"""The Laplacian kernel.

    k(x, y) = exp(-gamma |x - y|_1) = exp(-|x - y|_1 / sigma),   gamma = 1 / sigma

A product of one-dimensional kernels exp(-gamma |t|), whose spectrum is the Cauchy distribution of
scale gamma; so w has independent Cauchy entries.
"""

from __future__ import annotations

from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.arrays.rows import column_count
from kilogram.functions.distances import city_block
from kilogram.kernels.bandwidths import check_rule, median_distance, only_one, positive, scale_rule
from kilogram.kernels.base import Kernel
from kilogram.kernels.row_pairs import as_rows, row_ones


class Laplacian(Kernel):
    """Laplacian kernel, exp(-gamma |x - y|_1).

    Parameters
    ----------
    sigma : float or "median", default=None
        Width, 1 / gamma. "median" takes the median city-block distance of the training rows.
    gamma : float, "scale" or None, default=None
        Rate; give one of the two. With neither, gamma = 1 / d.

    Examples
    --------
    >>> from kilogram import Laplacian
    >>> round(Laplacian(gamma=0.5)([0.0, 0.0], [1.0, -1.0]), 4)
    0.3679
    """

    uses_squares = False

    stationary = True
    has_spectrum = True

    def __init__(self, sigma: float | str | None = None, gamma: float | str | None = None):
        self.sigma = sigma
        self.gamma = gamma

    def rate(self, d: int) -> float:
        """gamma as a number, for rows of length d."""
        only_one(self.sigma, self.gamma)
        if self.sigma is not None:
            return 1.0 / positive("sigma", self.sigma)
        return 1.0 / d if self.gamma is None else positive("gamma", self.gamma, zero=True)

    def native(self, d: int) -> tuple[str, tuple[float, ...]]:
        return "laplacian", (self.rate(d),)

    def formula(self, X: Any, Y: Any) -> Any:
        return namespace(X, Y).exp(-self.rate(X.shape[1]) * city_block(X, Y))

    def diag(self, X: Any) -> Any:
        return row_ones(as_rows(X))

    def resolve(self, X: Any) -> Kernel:
        only_one(self.sigma, self.gamma)
        check_rule("sigma", self.sigma, ("median",))
        check_rule("gamma", self.gamma, ("scale",))
        if self.sigma == "median":
            return Laplacian(sigma=median_distance(X, city_block))
        if self.gamma == "scale":
            return Laplacian(gamma=scale_rule(X))
        return self if self.sigma is not None else Laplacian(gamma=self.rate(column_count(X)))

    def spectrum(self, rng: Any, d: int, n_features: int, *, orthogonal: bool = False) -> Any:
        if orthogonal:
            raise ValueError(
                "orthogonal draws need a rotation-invariant spectrum; the Laplacian kernel's has "
                "independent Cauchy entries: use orthogonal=False"
            )
        return self.rate(d) * rng.standard_cauchy((d, n_features))

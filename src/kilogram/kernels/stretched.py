"""One width per column: a kernel of distances after each column is divided by its own scale.

    k(x, y) = k0(x / scales, y / scales)

A large scale makes a column irrelevant, so widths found from the data show which columns matter
(automatic relevance determination).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.kernels.bandwidths import positive
from kilogram.kernels.base import Composite, Kernel
from kilogram.kernels.gaussian import Gaussian
from kilogram.kernels.matern import Matern, RationalQuadratic
from kilogram.kernels.row_pairs import as_rows


class Stretched(Composite):
    """A kernel of columns that are first divided by their own scales (relevance determination).

    Parameters
    ----------
    kernel : Gaussian, Matern or RationalQuadratic
        A kernel of the Euclidean distance; give it width 1, the scales are the widths.
    scales : sequence of float
        One width per column.

    Examples
    --------
    >>> from kilogram import Gaussian, Stretched
    >>> k = Stretched(Gaussian(1.0), [1.0, 10.0])
    >>> round(k([0.0, 0.0], [1.0, 10.0]), 4)
    0.3679
    """

    def __init__(self, kernel: Kernel, scales: Sequence[float]):
        self.kernel = kernel
        self.scales = scales

    def parts(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def checked(self, d: int) -> list[float]:
        """The scales as numbers, one for each of d columns."""
        if not isinstance(self.kernel, Gaussian | Matern | RationalQuadratic):
            raise ValueError(
                "Stretched takes a kernel of the Euclidean distance (Gaussian, Matern, "
                f"RationalQuadratic), got {self.kernel!r}"
            )
        given = np.asarray(self.scales)
        if given.shape != (d,) or given.dtype.kind not in "fiu":
            raise ValueError(
                f"scales must be {d} numbers, one for each column, got {self.scales!r}."
            )
        return [positive("scales", float(s)) for s in given]

    def stretch(self, X: Any) -> Any:
        """X with its columns divided by the scales."""
        X = as_rows(X)
        xp = namespace(X)
        inverse = [1.0 / s for s in self.checked(X.shape[-1])]
        if is_sparse(X):
            return X.multiply(xp.asarray(inverse)[None, :]).tocsr()
        return X * xp.asarray(inverse, dtype=X.dtype, device=X.device)

    def formula(self, X: Any, Y: Any) -> Any:
        return self.kernel(self.stretch(X), None if Y is None else self.stretch(Y))

    def diag(self, X: Any) -> Any:
        return self.kernel.diag(X)

    def matmul(self, X: Any, Y: Any, V: Any) -> Any:
        other = None if Y is None or Y is X else self.stretch(Y)
        return self.kernel.matmul(self.stretch(X), other, V)

    def resolve(self, X: Any) -> Kernel:
        return Stretched(self.kernel.resolve(self.stretch(X)), self.scales)

    @property
    def at_zero(self) -> float:
        return self.kernel.at_zero

    def spectrum(self, rng: Any, d: int, n_features: int, *, orthogonal: bool = False) -> Any:
        W = self.kernel.spectrum(rng, d, n_features, orthogonal=orthogonal)
        return W / namespace().asarray(self.checked(d))[:, None]

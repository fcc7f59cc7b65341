"""Kernels of the inner product.

Linear      <x, y>                        phi(x) = x
Cosine      <x, y> / (|x| |y|)            phi(x) = x / |x|
Sigmoid     tanh(gamma <x, y> + coef0)    not positive semidefinite in general
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import column_count
from kilogram.functions.distances import inner, squared_norms
from kilogram.kernels.bandwidths import positive
from kilogram.kernels.base import Kernel
from kilogram.kernels.row_pairs import as_pair, as_rows, row_ones


class Linear(Kernel):
    """Linear kernel, <x, y>: with it a kernel method is its linear version.

    Examples
    --------
    >>> from kilogram import Linear
    >>> Linear()([1.0, 2.0], [3.0, 4.0])
    11.0
    """

    has_features = True

    def __init__(self) -> None:
        pass

    def native(self, d: int) -> tuple[str, tuple[float, ...]]:
        return "linear", ()

    def formula(self, X: Any, Y: Any) -> Any:
        return inner(X, Y)

    def diag(self, X: Any) -> Any:
        return squared_norms(as_rows(X))

    def matmul(self, X: Any, Y: Any, V: Any) -> Any:
        # through the d columns: O((n + m) d) instead of O(n m d)
        X, Y = as_pair(X, Y)
        V = namespace(V).astype(V, X.dtype, copy=False)
        return X @ ((X if Y is None else Y).T @ V)

    def features(self, X: Any) -> Any:
        return as_rows(X)


class Cosine(Kernel):
    """Cosine of the angle between two rows; 0 where a row is zero.

    Examples
    --------
    >>> from kilogram.kernels import Cosine
    >>> Cosine()([[1.0, 0.0]], [[2.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.707]])
    """

    has_features = True

    def __init__(self) -> None:
        pass

    def formula(self, X: Any, Y: Any) -> Any:
        return inner(self.features(X), None if Y is None else self.features(Y))

    def diag(self, X: Any) -> Any:
        X = as_rows(X)
        lengths = squared_norms(X)
        return namespace(lengths).where(lengths > 0, row_ones(X), row_ones(X, 0.0))

    def features(self, X: Any) -> Any:
        X = as_rows(X)
        lengths = squared_norms(X) ** 0.5
        xp = namespace(lengths)
        inverse = 1.0 / xp.where(lengths > 0, lengths, xp.ones_like(lengths))
        return X.multiply(inverse[:, None]).tocsr() if is_sparse(X) else X * inverse[:, None]


class Sigmoid(Kernel):
    """tanh(gamma <x, y> + coef0), kept for old neural-network analogies: it is not a kernel in
    general, its Gram matrix can have negative eigenvalues.

    Parameters
    ----------
    gamma : float or None, default=None
        Slope; None is 1 / d.
    coef0 : float, default=1
        Offset.

    Examples
    --------
    >>> from kilogram.kernels import Sigmoid
    >>> Sigmoid(gamma=1.0)([[0.0, 0.0]], [[1.0, 2.0]]).round(3)  # tanh(1)
    array([[0.762]])
    """

    def __init__(self, gamma: float | None = None, coef0: float = 1):
        self.gamma = gamma
        self.coef0 = coef0

    def rate(self, d: int) -> float:
        """gamma as a number, for rows of length d."""
        return 1.0 / d if self.gamma is None else positive("gamma", self.gamma, zero=True)

    def offset(self) -> float:
        """coef0 as a number."""
        if not isinstance(self.coef0, Real) or not math.isfinite(self.coef0):
            raise ValueError(f"coef0 must be a finite float, got {self.coef0!r}.")
        return float(self.coef0)

    def formula(self, X: Any, Y: Any) -> Any:
        return namespace(X, Y).tanh(self.rate(X.shape[1]) * inner(X, Y) + self.offset())

    def diag(self, X: Any) -> Any:
        norms = squared_norms(as_rows(X))
        return namespace(norms).tanh(self.rate(X.shape[1]) * norms + self.offset())

    def resolve(self, X: Any) -> Kernel:
        return self if self.gamma is not None else Sigmoid(self.rate(column_count(X)), self.coef0)

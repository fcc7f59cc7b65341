"""A kernel that sees some of the columns only.

    k(x, y) = k0(x[columns], y[columns])

Different kernels for different columns are sums or products of these, for instance
`OnColumns(Gaussian(1.0), [0, 1]) * OnColumns(Linear(), [2])`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.kernels.base import Composite, Kernel
from kilogram.kernels.row_pairs import as_rows


class OnColumns(Composite):
    """A kernel restricted to some of the columns.

    Parameters
    ----------
    kernel : Kernel
        Kernel applied to the chosen columns.
    columns : sequence of int
        Positions of the columns; negative ones count from the end.

    Examples
    --------
    >>> from kilogram import Linear, OnColumns
    >>> OnColumns(Linear(), [0])([[1.0, 5.0], [2.0, 7.0]])
    array([[1., 2.],
           [2., 4.]])
    """

    def __init__(self, kernel: Kernel, columns: Sequence[int]):
        self.kernel = kernel
        self.columns = columns

    def parts(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def chosen(self, d: int) -> list[int]:
        """The columns as positions in 0 ... d-1."""
        given = np.asarray(self.columns)
        numbers = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iu"
        if not numbers or given.min() < -d or given.max() >= d:
            raise ValueError(f"columns must name some of the {d} columns, got {self.columns!r}")
        return [int(j) % d for j in given]

    def restrict(self, X: Any) -> Any:
        """The chosen columns of X."""
        X = as_rows(X)
        columns = self.chosen(X.shape[1])
        if is_sparse(X):
            return X[:, columns]
        xp = namespace(X)
        return xp.take(X, xp.asarray(columns, device=X.device), axis=1)

    def formula(self, X: Any, Y: Any) -> Any:
        return self.kernel(self.restrict(X), None if Y is None else self.restrict(Y))

    def diag(self, X: Any) -> Any:
        return self.kernel.diag(self.restrict(X))

    def matmul(self, X: Any, Y: Any, V: Any) -> Any:
        symmetric = Y is None or Y is X
        return self.kernel.matmul(self.restrict(X), None if symmetric else self.restrict(Y), V)

    def resolve(self, X: Any) -> Kernel:
        return OnColumns(self.kernel.resolve(self.restrict(X)), self.columns)

    @property
    def at_zero(self) -> float:
        return self.kernel.at_zero

    def spectrum(self, rng: Any, d: int, n_features: int, *, orthogonal: bool = False) -> Any:
        columns = self.chosen(d)
        W = np.zeros((d, n_features))
        np.add.at(
            W, columns, self.kernel.spectrum(rng, len(columns), n_features, orthogonal=orthogonal)
        )
        return W

    def features(self, X: Any) -> Any:
        return self.kernel.features(self.restrict(X))

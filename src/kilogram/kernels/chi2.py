"""Chi-squared kernels, for histograms: rows of counts or fractions, never negative.

    AdditiveChi2   k(x, y) = -sum_j (x_j - y_j)^2 / (x_j + y_j)       with 0/0 = 0
    Chi2           k(x, y) = exp(-gamma sum_j (x_j - y_j)^2 / (x_j + y_j))

The first is positive semidefinite only on centred coefficients (as a negated distance is); its
exponential is positive semidefinite.
"""

from __future__ import annotations

from typing import Any

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.functions.distances import chi_squared
from kilogram.kernels.bandwidths import positive
from kilogram.kernels.base import Kernel
from kilogram.kernels.row_pairs import as_rows, row_ones


def check_nonnegative(name: str, *tables: Any) -> None:
    """Refuse negative entries, with the kernel's name and the smallest entry."""
    for X in tables:
        if X is None or X.shape[0] == 0:
            continue
        smallest = X.min() if is_sparse(X) else namespace(X).min(X)
        if smallest < 0:
            raise ValueError(
                f"{name} compares histograms and needs entries >= 0; "
                f"the smallest entry is {float(smallest):g}"
            )


class Chi2(Kernel):
    """Exponential chi-squared kernel.

    Parameters
    ----------
    gamma : float, default=1.0
        Rate of the exponential.

    Examples
    --------
    >>> from kilogram import Chi2
    >>> round(Chi2()([0.2, 0.8], [0.2, 0.8]), 4)
    1.0
    """

    def __init__(self, gamma: float = 1.0):
        self.gamma = gamma

    def check_domain(self, X: Any, Y: Any) -> None:
        check_nonnegative("Chi2", X, Y)

    def native(self, d: int) -> tuple[str, tuple[float, ...]]:
        return "chi2", (positive("gamma", self.gamma, zero=True),)

    def formula(self, X: Any, Y: Any) -> Any:
        rate = positive("gamma", self.gamma, zero=True)
        return namespace(X, Y).exp(-rate * chi_squared(X, Y))

    def diag(self, X: Any) -> Any:
        X = as_rows(X)
        self.check_domain(X, None)
        return row_ones(X)


class AdditiveChi2(Kernel):
    """Additive chi-squared kernel, minus the chi-squared distance.

    Examples
    --------
    >>> from kilogram.kernels import AdditiveChi2
    >>> AdditiveChi2()([[0.5, 0.5]], [[0.6, 0.4], [1.0, 0.0]]).round(3)  # of histograms
    array([[-0.02 , -0.667]])
    """

    def __init__(self) -> None:
        pass

    def check_domain(self, X: Any, Y: Any) -> None:
        check_nonnegative("AdditiveChi2", X, Y)

    def formula(self, X: Any, Y: Any) -> Any:
        return -chi_squared(X, Y)

    def diag(self, X: Any) -> Any:
        X = as_rows(X)
        self.check_domain(X, None)
        return row_ones(X, 0.0)

"""Kernels whose features are products of the coordinates.

    Polynomial   k(x, y) = (gamma <x, y> + coef0)^p
    AllSubsets   k(x, y) = prod_j (1 + x_j y_j)

The polynomial kernel is the homogeneous one, <u, v>^p, of the lengthened rows
u = (sqrt(coef0), sqrt(gamma) x). Its features are the monomials of degree exactly p in u,

    phi_i(x) = sqrt(p! / (i_0! i_1! ... i_d!)) u_0^i_0 u_1^i_1 ... u_d^i_d,    i_0 + ... + i_d = p,

binomial(d + p, p) of them: all degrees up to and including p in x. A larger coef0 gives the higher
degrees relatively less weight; a negative one breaks positive semidefiniteness and is refused.
The all-subsets features are the 2^d products of distinct coordinates, each with weight one.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb, factorial, prod
from numbers import Real
from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.arrays.rows import column_count
from kilogram.functions.distances import inner, separable, squared_norms
from kilogram.kernels.bandwidths import positive
from kilogram.kernels.base import Kernel
from kilogram.kernels.row_pairs import as_rows, dense

MAX_FEATURES = 1_000_000  # a bound on memory: 8 MB for each row of float64


def monomials(U: Any, degree: int) -> Any:
    """phi of <u, v>^degree for the rows of U, one column per monomial."""
    xp = namespace(U)
    picks = list(combinations_with_replacement(range(U.shape[1]), degree))
    weights = [_multinomial(pick, degree) ** 0.5 for pick in picks]
    phi = xp.ones((U.shape[0], len(picks)), dtype=U.dtype, device=U.device)
    for step in range(degree):
        columns = xp.asarray([pick[step] for pick in picks], device=U.device)
        phi = phi * xp.take(U, columns, axis=1)
    return phi * xp.asarray(weights, dtype=U.dtype, device=U.device)[None, :]


def _multinomial(pick: tuple[int, ...], degree: int) -> int:
    return factorial(degree) // prod(factorial(pick.count(j)) for j in set(pick))


def _check_size(count: int, kernel: Kernel) -> None:
    if count > MAX_FEATURES:
        raise ValueError(
            f"{kernel!r} has {count} features here, more than {MAX_FEATURES}; "
            "work with the kernel itself, or approximate it with Nystroem"
        )


class Polynomial(Kernel):
    """Polynomial kernel, (gamma <x, y> + coef0)^degree.

    Parameters
    ----------
    degree : int, default=3
        Largest degree of the monomials, at least 1.
    gamma : float or None, default=None
        Weight of the inner product; None is 1 / d.
    coef0 : float, default=1
        Constant, at least 0; 0 keeps the monomials of the top degree only.

    Examples
    --------
    >>> from kilogram import Polynomial
    >>> k = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    >>> k([1.0, 2.0], [3.0, 4.0])
    144.0
    >>> k.features([[1.0, 2.0]]).shape
    (1, 6)
    """

    has_features = True

    def __init__(self, degree: int = 3, gamma: float | None = None, coef0: float = 1):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def numbers(self, d: int) -> tuple[float, float, int]:
        """gamma, coef0 and degree, checked, for rows of length d."""
        degree = float(self.degree) if isinstance(self.degree, Real) else 0.0
        if not degree.is_integer() or degree < 1:
            raise ValueError(
                f"degree must be an integer >= 1, got {self.degree!r}: "
                "other powers are not positive semidefinite in general"
            )
        gamma = 1.0 / d if self.gamma is None else positive("gamma", self.gamma, zero=True)
        return gamma, positive("coef0", self.coef0, zero=True), int(self.degree)

    def native(self, d: int) -> tuple[str, tuple[float, ...]]:
        gamma, coef0, degree = self.numbers(d)
        return "polynomial", (gamma, coef0, float(degree))

    def formula(self, X: Any, Y: Any) -> Any:
        gamma, coef0, degree = self.numbers(X.shape[1])
        return (gamma * inner(X, Y) + coef0) ** degree

    def diag(self, X: Any) -> Any:
        X = as_rows(X)
        gamma, coef0, degree = self.numbers(X.shape[1])
        return (gamma * squared_norms(X) + coef0) ** degree

    def resolve(self, X: Any) -> Kernel:
        if self.gamma is not None:
            return self
        return self.replaced(gamma=self.numbers(column_count(X))[0])

    def features(self, X: Any) -> Any:
        X = dense(as_rows(X))
        xp = namespace(X)
        gamma, coef0, degree = self.numbers(X.shape[1])
        U = gamma**0.5 * X
        if coef0 > 0:
            constant = xp.full((X.shape[0], 1), coef0**0.5, dtype=X.dtype, device=X.device)
            U = xp.concat([constant, U], axis=1)
        _check_size(comb(U.shape[1] + degree - 1, degree), self)
        return monomials(U, degree)


class AllSubsets(Kernel):
    """All-subsets kernel, prod_j (1 + x_j y_j).

    Examples
    --------
    >>> from kilogram import AllSubsets
    >>> AllSubsets()([1.0, 2.0], [3.0, 4.0])
    36.0
    >>> AllSubsets().features([[3.0, 4.0]])
    array([[ 1.,  3.,  4., 12.]])
    """

    has_features = True

    def __init__(self) -> None:
        pass

    def native(self, d: int) -> tuple[str, tuple[float, ...]]:
        return "allsubsets", ()

    def formula(self, X: Any, Y: Any) -> Any:
        return separable(lambda x, y: 1.0 + x * y, X, Y, product=True)

    def diag(self, X: Any) -> Any:
        X = dense(as_rows(X))
        return namespace(X).prod(1.0 + X * X, axis=1, dtype=X.dtype)

    def features(self, X: Any) -> Any:
        X = dense(as_rows(X))
        _check_size(2 ** X.shape[1], self)
        xp = namespace(X)
        phi = xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device)
        for j in range(X.shape[1]):
            phi = xp.concat([phi, phi * X[:, j : j + 1]], axis=1)
        return phi

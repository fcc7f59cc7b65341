"""The kernels of the texts and their feature maps (cookbook A.7-A.9, first_encounter B).

    linear        k(x, y) = x'y
    polynomial    k(x, y) = (x'y + c)^p                    c >= 0, p a positive integer
    all subsets   k(x, y) = prod_i (1 + x_i y_i)
    Gaussian      k(x, y) = exp(-|x - y|^2 / (2 sigma^2))

A kernel is an inner product of features: phi(x)'phi(y). The maps below list these features, so
that the equality can be seen. Rows are data points; each function returns the matrix k(X, Y).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from math import factorial, prod

import numpy as np

from kilogram.textbook.state import Array

KernelFunction = Callable[[Array, Array], Array]


def linear(X: Array, Y: Array) -> Array:
    return X @ Y.T


def polynomial(X: Array, Y: Array, p: int = 2, c: float = 1.0) -> Array:
    return (X @ Y.T + c) ** p


def all_subsets(X: Array, Y: Array) -> Array:
    return np.prod(1 + X[:, None, :] * Y[None, :, :], axis=2)


def gaussian(X: Array, Y: Array, sigma: float = 1.0) -> Array:
    squared = np.sum((X[:, None, :] - Y[None, :, :]) ** 2, axis=2)
    return np.exp(-squared / (2 * sigma**2))


def polynomial_map(X: Array, p: int = 2, c: float = 1.0) -> Array:
    """All monomials of degree s <= p, weighted by the root of p!/((p-s)! prod i_j!) c^(p-s)."""
    columns = []
    for powers in product(range(p + 1), repeat=X.shape[1]):
        s = sum(powers)
        if s <= p:
            ways = factorial(p) / (factorial(p - s) * prod(factorial(i) for i in powers))
            columns.append(np.sqrt(ways * c ** (p - s)) * np.prod(X ** np.array(powers), axis=1))
    return np.column_stack(columns)


def all_subsets_map(X: Array) -> Array:
    """The products of every subset of the attributes, the empty one included: 2^d columns."""
    d = X.shape[1]
    subsets = [I for size in range(d + 1) for I in combinations(range(d), size)]
    return np.column_stack([np.prod(X[:, list(I)], axis=1) for I in subsets])

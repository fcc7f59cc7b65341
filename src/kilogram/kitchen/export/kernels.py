"""k(x, z) for all pairs of rows x of the input and z of the model, (n, m).

Gaussian       exp(-gamma |x - z|^2), |x - z|^2 = |x|^2 + |z|^2 - 2 <x, z> about the mean of z
Linear, Polynomial    <x, z> and (gamma <x, z> + c)^p
sums, products, multiples of them
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kernels import Gaussian, Linear, Polynomial, White
from kilogram.kernels.base import Product, ScaledKernel, Sum
from kilogram.kitchen.export.graph import Graph, no_graph


def kernel(g: Graph, k: Any, x: str, Z: np.ndarray) -> str:
    """The kernel matrix of the input with the rows of Z."""
    Z = np.asarray(Z, dtype=float)
    if isinstance(k, Gaussian):
        far = g.add("Mul", squared_distances(g, x, Z), g.constant([-k.rate(Z.shape[1])]))
        return g.add("Exp", far)
    if isinstance(k, Linear):
        return g.add("MatMul", x, g.constant(Z.T))
    if isinstance(k, Polynomial):
        gamma, coef0, degree = k.numbers(Z.shape[1])
        inner = g.affine(x, gamma * Z.T, [coef0])
        return g.add("Pow", inner, g.constant([degree]))
    if isinstance(k, White):  # between different rows there is no common noise
        return g.add("Mul", kernel(g, Linear(), x, Z), g.constant([0.0]))
    if isinstance(k, ScaledKernel):
        return g.add("Mul", kernel(g, k.kernel, x, Z), g.constant([float(k.factor)]))
    if isinstance(k, Sum | Product):
        parts = kernel(g, k.left, x, Z), kernel(g, k.right, x, Z)
        return g.add("Add" if isinstance(k, Sum) else "Mul", *parts)
    raise no_graph(k, "only Gaussian, linear and polynomial kernels and their sums and products")


def squared_distances(g: Graph, x: str, Z: np.ndarray) -> str:
    """|x - z|^2; about the mean of z, so that little is lost where rows are far from zero."""
    middle = Z.mean(axis=0)
    away, Z = g.add("Sub", x, g.constant(middle[None, :])), Z - middle
    own = g.total(g.add("Mul", away, away))
    cross = g.add("MatMul", away, g.constant(-2.0 * Z.T))
    far = g.add("Add", g.add("Add", own, cross), g.constant(np.sum(Z * Z, axis=1)[None, :]))
    return g.add("Max", far, g.constant([0.0]))

"""Derivatives of the diagonal k(x_i, x_i) by the kernel's parameters, in reverse.

    sum_i v_i dk(x_i, x_i) / d log theta

of the whole diagonal, or of its latent part, which two different rows at one place share. The
difference of the two is the derivative of the noise. Stationary kernels have a constant diagonal.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.functions.distances import squared_norms
from kilogram.kernels.base import Kernel, Product, ScaledKernel, Sum
from kilogram.kernels.gradients import Gradient, parameters, with_prefix
from kilogram.kernels.on_columns import OnColumns
from kilogram.kernels.polynomial import Polynomial
from kilogram.kernels.row_pairs import as_pair
from kilogram.kernels.white import White, split_diag


def pull_back_diag(kernel: Kernel, X: Any, v: Any, *, latent: bool = False) -> Gradient:
    """sum_i v_i dk(x_i, x_i) / d log theta; of the part behind the noise only, if `latent`."""
    X, _ = as_pair(X, None)
    total = dict.fromkeys(parameters(kernel), 0.0)
    for path, value in _back_diag(kernel, X, v, latent).items():
        if path in total:
            total[path] += float(value)
    return total


@singledispatch
def _back_diag(kernel: Kernel, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    """The gradient of sum_i v_i k(x_i, x_i); that of a stationary kernel is zero."""
    return {}


@_back_diag.register
def _(kernel: White, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    return {"noise": 0.0 if latent else float(kernel.noise) * namespace(v).sum(v)}


@_back_diag.register
def _(kernel: Sum, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    left = with_prefix("left", _back_diag(kernel.left, X, v, latent))
    return left | with_prefix("right", _back_diag(kernel.right, X, v, latent))


@_back_diag.register
def _(kernel: Product, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    (l1, n1), (l2, n2) = split_diag(kernel.left, X), split_diag(kernel.right, X)
    one, two = (l1, l2) if latent else (l1 + n1, l2 + n2)
    left = with_prefix("left", _back_diag(kernel.left, X, v * two, latent))
    return left | with_prefix("right", _back_diag(kernel.right, X, v * one, latent))


@_back_diag.register
def _(kernel: ScaledKernel, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    own, noise = split_diag(kernel.kernel, X)
    part = with_prefix("kernel", _back_diag(kernel.kernel, X, kernel.factor * v, latent))
    return part | {"factor": kernel.factor * (v @ (own if latent else own + noise))}


@_back_diag.register
def _(kernel: OnColumns, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    return with_prefix("kernel", _back_diag(kernel.kernel, kernel.restrict(X), v, latent))


@_back_diag.register
def _(kernel: Polynomial, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    gamma, coef0, degree = kernel.numbers(X.shape[1])
    product = gamma * squared_norms(X)
    slope = v * degree * (product + coef0) ** (degree - 1)
    return {"gamma": slope @ product, "coef0": coef0 * namespace(v).sum(slope)}

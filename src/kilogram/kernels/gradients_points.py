"""Derivatives of a kernel matrix by the points of its columns, in reverse.

A function F of K = k(X, Z) with dF = sum_ij M_ij dK_ij has

    dF / dz_j = sum_i M_ij dk(x_i, z_j) / dz_j

With t = |x - z|^2 and slope = -2 dk / dt, a kernel of the distance gives

    dk / dz = slope (x - z),    so    dF / dZ = P'X - diag(P'1) Z,    P = M * slope

with scales, the same in stretched coordinates, divided by them; a polynomial p b^(p - 1) gamma x.
M is handed down sums, products and scalings as in `kilogram.kernels.gradients`.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.functions.distances import centred_pair, inner
from kilogram.kernels.base import Kernel, Product, ScaledKernel, Sum
from kilogram.kernels.gaussian import Gaussian
from kilogram.kernels.gradients import slope_of
from kilogram.kernels.linear import Linear
from kilogram.kernels.matern import Matern, RationalQuadratic
from kilogram.kernels.on_columns import OnColumns
from kilogram.kernels.polynomial import Polynomial
from kilogram.kernels.stretched import Stretched
from kilogram.kernels.white import White


@singledispatch
def pull_back_points(kernel: Kernel, X: Any, Z: Any, M: Any) -> Any:
    """dF / dZ (m, d) for dense X (n, d), Z (m, d) and M (n, m); None for kernels without one."""
    return None


@pull_back_points.register
def _(kernel: Sum, X: Any, Z: Any, M: Any) -> Any:
    left, right = (pull_back_points(part, X, Z, M) for part in (kernel.left, kernel.right))
    return None if left is None or right is None else left + right


@pull_back_points.register
def _(kernel: Product, X: Any, Z: Any, M: Any) -> Any:
    left = pull_back_points(kernel.left, X, Z, M * kernel.right(X, Z))
    right = pull_back_points(kernel.right, X, Z, M * kernel.left(X, Z))
    return None if left is None or right is None else left + right


@pull_back_points.register
def _(kernel: ScaledKernel, X: Any, Z: Any, M: Any) -> Any:
    found = pull_back_points(kernel.kernel, X, Z, M)
    return None if found is None else kernel.factor * found


@pull_back_points.register
def _(kernel: White, X: Any, Z: Any, M: Any) -> Any:
    return namespace(Z).zeros_like(Z)


@pull_back_points.register
def _(kernel: OnColumns, X: Any, Z: Any, M: Any) -> Any:
    found = pull_back_points(kernel.kernel, kernel.restrict(X), kernel.restrict(Z), M)
    if found is None:
        return None
    xp = namespace(Z)
    columns = xp.asarray(kernel.chosen(Z.shape[1]), device=Z.device)
    every = xp.arange(Z.shape[1], device=Z.device)
    return found @ xp.astype(columns[:, None] == every[None, :], Z.dtype)


def _weighted_differences(X: Any, Z: Any, P: Any) -> Any:
    """sum_i P_ij (x_i - z_j)."""
    X, Z = centred_pair(X, Z)
    return P.T @ X - namespace(P).sum(P, axis=0)[:, None] * Z


@pull_back_points.register(Gaussian)
@pull_back_points.register(Matern)
@pull_back_points.register(RationalQuadratic)
def _(kernel: Kernel, X: Any, Z: Any, M: Any) -> Any:
    return _weighted_differences(X, Z, M * slope_of(kernel, X, Z, kernel(X, Z)))


@pull_back_points.register
def _(kernel: Stretched, X: Any, Z: Any, M: Any) -> Any:
    scaled = pull_back_points(kernel.kernel, kernel.stretch(X), kernel.stretch(Z), M)
    return kernel.stretch(scaled)


@pull_back_points.register
def _(kernel: Linear, X: Any, Z: Any, M: Any) -> Any:
    return M.T @ X


@pull_back_points.register
def _(kernel: Polynomial, X: Any, Z: Any, M: Any) -> Any:
    gamma, coef0, degree = kernel.numbers(X.shape[1])
    base = gamma * inner(X, Z) + coef0
    return (M * (gamma * degree) * base ** (degree - 1)).T @ X

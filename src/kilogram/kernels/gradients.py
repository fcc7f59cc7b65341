"""Derivatives of a kernel matrix by its parameters, in reverse: from the matrix to the numbers.

A function F of K = k(X, Y) with dF = sum_ij M_ij dK_ij has, for a positive parameter theta,

    dF / d log theta = sum_ij M_ij dk_ij / d log theta

and M is handed down the tree of the kernel, so that one pass serves all parameters and no
derivative of K is ever stored:

    sum        M to both
    product    M * K_2 to the first, M * K_1 to the second
    scaling    M, and c times what comes back; the factor itself gets c sum_ij M_ij k_ij

At the leaves, with t = |x - y|^2, u = t / (2 alpha l^2), s = sqrt(2 nu t) / l:

    Gaussian            sigma: t / sigma^2 k        gamma: -gamma t k
    Laplacian           sigma: |x - y|_1 / sigma k  gamma: -gamma |x - y|_1 k
    Matern 1/2 3/2 5/2  l: s e^-s,  s^2 e^-s,  s^2 (1 + s) e^-s / 3
    RationalQuadratic   l: 2 alpha u (1 + u)^(-alpha - 1)
                        alpha: alpha k (u / (1 + u) - log(1 + u))
    Stretched           scale j: slope times (x_j - y_j)^2 / scale_j^2,  slope = -2 dk0 / dt
    Polynomial          p b^(p - 1) times gamma <x, y>, or coef0;   b = gamma <x, y> + coef0
    Chi2                gamma: -gamma chi2(x, y) k
    White               noise: noise on the diagonal

The width of a kernel of distances gets sum_ij P_ij t_ij with P = M * slope, and this needs no
distances: sum_i (r_i |x_i|^2 + (P |y|^2)_i - 2 <x_i, (P Y)_i>), r = P 1, is one product. For the
Gaussian slope = 2 gamma k, for Matern s^2 e^-s / t and s^2 (1 + s) e^-s / (3 t), for the rational
quadratic (1 + u)^(-alpha - 1) / l^2.
"""

from __future__ import annotations

from functools import singledispatch
from numbers import Real
from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.arrays.threads import one_team
from kilogram.functions.distances import (
    centred_pair,
    chi_squared,
    city_block,
    inner,
    squared_distances,
    without_diagonal,
)
from kilogram.kernels.base import Kernel, Product, ScaledKernel, Sum
from kilogram.kernels.chi2 import Chi2
from kilogram.kernels.gaussian import Gaussian
from kilogram.kernels.laplacian import Laplacian
from kilogram.kernels.matern import Matern, RationalQuadratic
from kilogram.kernels.on_columns import OnColumns
from kilogram.kernels.polynomial import Polynomial
from kilogram.kernels.row_pairs import as_pair, dense
from kilogram.kernels.stretched import Stretched
from kilogram.kernels.white import White

TILE_ENTRIES = 2**18  # entries of K and M worked on at once: 2 MiB each stay in cache
Gradient = dict[str, float]

OWN: dict[type[Kernel], tuple[str, ...]] = {
    ScaledKernel: ("factor",),
    Gaussian: ("sigma", "gamma"),
    Laplacian: ("sigma", "gamma"),
    Matern: ("length_scale",),
    RationalQuadratic: ("length_scale", "alpha"),
    Polynomial: ("gamma", "coef0"),
    Chi2: ("gamma",),
    White: ("noise",),
}


def parameters(kernel: Kernel) -> dict[str, float]:
    """The positive continuous parameters that have a derivative here, by their path.

    Paths are those of `get_params`, with a position for each number of a sequence
    ("kernel__scales__0"). Parameters that are None, a rule ("median") or 0 are not among them:
    `kernel.resolve(X)` makes numbers of the first two.
    """
    found: dict[str, float] = {}
    for name in OWN.get(type(kernel), ()):
        value = getattr(kernel, name)
        if isinstance(value, Real) and float(value) > 0:
            found[name] = float(value)
    if isinstance(kernel, Stretched):
        found |= {f"scales__{j}": float(s) for j, s in enumerate(kernel.scales)}
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, Kernel):
            found |= with_prefix(name, parameters(value))
    if isinstance(kernel, Stretched):  # a width beside the scales would be counted twice
        for width in ("sigma", "gamma", "length_scale"):
            found.pop(f"kernel__{width}", None)
    return found


def with_parameters(kernel: Kernel, values: dict[str, float]) -> Kernel:
    """A copy of the kernel with these parameters, named by path as in `parameters`."""
    changed: dict[str, Any] = {}
    parts: dict[str, dict[str, float]] = {}
    for path, value in values.items():
        name, _, rest = path.partition("__")
        if not rest:
            changed[name] = float(value)
        elif isinstance(getattr(kernel, name), Kernel):
            parts.setdefault(name, {})[rest] = value
        else:
            changed.setdefault(name, list(getattr(kernel, name)))[int(rest)] = float(value)
    changed |= {name: with_parameters(getattr(kernel, name), v) for name, v in parts.items()}
    return type(kernel)(**(kernel.get_params(deep=False) | changed))


def pull_back(kernel: Kernel, X: Any, Y: Any, M: Any) -> Gradient:
    """sum_ij M_ij dk(x_i, y_j) / d log theta for every parameter theta of `parameters(kernel)`.

    Y = None stands for X; M is then symmetric, and only its lower triangle is read.
    """
    X, Y = as_pair(X, Y)
    total = dict.fromkeys(parameters(kernel), 0.0)
    if not total:
        return total
    with one_team(X.shape[1]):
        for rows, columns, weights, count in _tiles(X, Y, M):
            for path, value in _descend(kernel, rows, columns, weights).items():
                if path in total:
                    total[path] += count * float(value)
    return total


def _tiles(X: Any, Y: Any, M: Any) -> Any:
    """Pieces (rows, columns, weights, count) that cover M; columns None where they are the rows,
    count 2 for what stands on both sides of the diagonal."""
    n = X.shape[0]
    # thin tiles would be all overhead
    step = max(64, TILE_ENTRIES // max(1, n if Y is None else Y.shape[0]))
    for i in range(0, n, step):
        stop = min(i + step, n)
        rows = X[i:stop, :]
        if Y is not None:
            yield rows, Y, M[i:stop, :], 1.0
            continue
        if i:
            yield rows, X[:i, :], M[i:stop, :i], 2.0
        own = M[i:stop, i:stop]
        xp = namespace(own)
        lower = xp.tril(own)
        yield rows, None, lower + xp.tril(lower, k=-1).T, 1.0


def with_prefix(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """The gradient with its parameter paths prefixed, for the next higher kernel in the tree."""
    return {f"{name}__{path}": value for path, value in found.items()}


def _descend(kernel: Kernel, X: Any, Y: Any, M: Any) -> dict[str, Any]:
    """The gradient of one tile; matrices that nobody will read are not made."""
    needless = isinstance(kernel, Sum | Product | ScaledKernel | White)
    return _back(kernel, X, Y, M, None if needless else kernel(X, Y))


@singledispatch
def _back(kernel: Kernel, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    """The gradient of one tile; leaves read K = k(X, Y), the others make what they need."""
    return {}


@_back.register
def _(kernel: Sum, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, part in (("left", kernel.left), ("right", kernel.right)):
        if parameters(part):
            found |= with_prefix(name, _descend(part, X, Y, M))
    return found


@_back.register
def _(kernel: Product, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    K1, K2 = kernel.left(X, Y), kernel.right(X, Y)
    left = with_prefix("left", _back(kernel.left, X, Y, M * K2, K1))
    return left | with_prefix("right", _back(kernel.right, X, Y, M * K1, K2))


@_back.register
def _(kernel: ScaledKernel, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    K = kernel.kernel(X, Y)
    part = with_prefix("kernel", _back(kernel.kernel, X, Y, M, K)) | {"factor": dot(M, K)}
    return {path: kernel.factor * value for path, value in part.items()}


@_back.register
def _(kernel: OnColumns, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    rows, columns = kernel.restrict(X), None if Y is None else kernel.restrict(Y)
    return with_prefix("kernel", _back(kernel.kernel, rows, columns, M, K))


@_back.register
def _(kernel: Gaussian, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    total = kernel.rate(X.shape[1]) * weighted_distances(X, Y, M * K)
    return {"sigma": 2.0 * total, "gamma": -total}


@_back.register
def _(kernel: Stretched, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    X, Y = kernel.stretch(X), None if Y is None else kernel.stretch(Y)
    widths = weighted_distances(X, Y, M * slope_of(kernel.kernel, X, Y, K), by_column=True)
    found: dict[str, Any] = {f"scales__{j}": widths[j] for j in range(X.shape[1])}
    if isinstance(kernel.kernel, RationalQuadratic):
        found |= with_prefix("kernel", _back(kernel.kernel, X, Y, M, K))
    return found


@singledispatch
def slope_of(kernel: Kernel, X: Any, Y: Any, K: Any) -> Any:
    """-2 dk / dt, t = |x - y|^2; on the diagonal, where t = 0, any number will do."""
    raise TypeError(f"{kernel!r} is not a kernel of the Euclidean distance")


@slope_of.register
def _(kernel: Gaussian, X: Any, Y: Any, K: Any) -> Any:
    return 2.0 * kernel.rate(X.shape[1]) * K


@slope_of.register
def _(kernel: Matern, X: Any, Y: Any, K: Any) -> Any:
    xp, nu = namespace(K), float(kernel.nu)
    c = 2.0 * nu / float(kernel.length_scale) ** 2
    s = xp.sqrt(c * squared_distances(X, Y))
    if nu == 0.5:
        return c * K / xp.where(s > 0, s, xp.ones_like(s))
    return c * xp.exp(-s) if nu == 1.5 else (c / 3.0) * (1.0 + s) * xp.exp(-s)


@slope_of.register
def _(kernel: RationalQuadratic, X: Any, Y: Any, K: Any) -> Any:
    scale, alpha = float(kernel.length_scale), float(kernel.alpha)
    return K / (scale**2 + squared_distances(X, Y) / (2.0 * alpha))


@_back.register
def _(kernel: Laplacian, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    total = kernel.rate(X.shape[1]) * dot(M * K, city_block(X, Y))
    return {"sigma": total, "gamma": -total}


@_back.register
def _(kernel: Matern, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    return {"length_scale": weighted_distances(X, Y, M * slope_of(kernel, X, Y, K))}


@_back.register
def _(kernel: RationalQuadratic, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    xp = namespace(M)
    scale, alpha = float(kernel.length_scale), float(kernel.alpha)
    u = squared_distances(X, Y) / (2.0 * alpha * scale**2)
    ratio, P = u / (1.0 + u), M * K
    return {
        "length_scale": 2.0 * alpha * dot(P, ratio),
        "alpha": alpha * dot(P, ratio - xp.log1p(u)),
    }


@_back.register
def _(kernel: Polynomial, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    gamma, coef0, degree = kernel.numbers(X.shape[1])
    product = gamma * inner(X, Y)
    slope = M * degree * (product + coef0) ** (degree - 1)
    return {"gamma": dot(slope, product), "coef0": coef0 * namespace(M).sum(slope)}


@_back.register
def _(kernel: Chi2, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    return {"gamma": -float(kernel.gamma) * dot(M * K, chi_squared(X, Y))}


@_back.register
def _(kernel: White, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    return {"noise": float(kernel.noise) * namespace(M).linalg.trace(M) if Y is None else 0.0}


def dot(A: Any, B: Any) -> Any:
    """sum_ij A_ij B_ij."""
    return namespace(A, B).tensordot(A, B, axes=2)


def weighted_distances(X: Any, Y: Any, P: Any, *, by_column: bool = False) -> Any:
    """sum_ij P_ij |x_i - y_j|^2, or of each column's part of it, without the distances."""
    xp = namespace(P)
    X, Y = (None if Z is None else dense(Z) for Z in centred_pair(X, Y))
    if Y is None:
        # a row is at distance 0 from itself: its large weight would only bring rounding
        P, Y = without_diagonal(P), X
    d, ones = X.shape[1], xp.ones((Y.shape[0], 1), dtype=Y.dtype, device=Y.device)
    squares_x, squares_y = X * X, Y * Y
    if not by_column:
        squares_x = xp.sum(squares_x, axis=1, keepdims=True)
        squares_y = xp.sum(squares_y, axis=1, keepdims=True)
    sums = P @ xp.concat([Y, squares_y, ones], axis=1)
    ends = xp.sum(sums[:, -1:] * squares_x + sums[:, d:-1], axis=0)
    cross = xp.sum(X * sums[:, :d], axis=0)
    return ends - 2.0 * cross if by_column else ends[0] - 2.0 * xp.sum(cross)

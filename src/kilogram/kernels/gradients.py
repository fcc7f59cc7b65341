"""Derivatives of a kernel matrix by its parameters, in reverse: from the matrix to the numbers.

A function F of K = k(X, Y) with dF = sum_ij M_ij dK_ij has, for a positive parameter theta,

    dF / d log theta = sum_ij M_ij dk_ij / d log theta

and M is handed down the tree of the kernel, so that one pass serves all parameters and no
derivative of K is ever stored:

    sum        M to both
    product    M * K_2 to the first, M * K_1 to the second
    scaling    c M; the factor itself gets sum_ij M_ij c k_ij

At the leaves, with t = |x - y|^2, u = t / (2 alpha l^2), s = sqrt(2 nu t) / l:

    Gaussian            sigma: t / sigma^2 k        gamma: -gamma t k
    Laplacian           sigma: |x - y|_1 / sigma k  gamma: -gamma |x - y|_1 k
    Matern 1/2 3/2 5/2  l: s e^-s,  s^2 e^-s,  s^2 (1 + s) e^-s / 3
    RationalQuadratic   l: 2 alpha u (1 + u)^(-alpha - 1)
                        alpha: alpha k (u / (1 + u) - log(1 + u))
    Polynomial          p b^(p - 1) times gamma <x, y>, or coef0;   b = gamma <x, y> + coef0
    Chi2                gamma: -gamma chi2(x, y) k
    White               noise: noise on the diagonal

For the Gaussian, sum_ij P_ij t_ij with P = M * K needs no distances: it is
r'|x|^2 + c'|y|^2 - 2 tr(X' P Y) with the row and column sums r, c of P.
"""

from __future__ import annotations

from functools import singledispatch
from numbers import Real
from typing import Any

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.functions.distances import (
    centred_pair,
    chi_squared,
    city_block,
    inner,
    squared_distances,
    squared_norms,
    without_diagonal,
)
from kilogram.kernels.base import Kernel, Product, Scaled, Sum
from kilogram.kernels.chi2 import Chi2
from kilogram.kernels.gaussian import Gaussian
from kilogram.kernels.laplacian import Laplacian
from kilogram.kernels.matern import Matern, RationalQuadratic
from kilogram.kernels.on_columns import OnColumns
from kilogram.kernels.pairs import as_pair
from kilogram.kernels.polynomial import Polynomial
from kilogram.kernels.white import White, split_diag

TILE_ENTRIES = 2**18  # entries of K and M worked on at once: they stay in cache

Gradient = dict[str, float]

OWN: dict[type[Kernel], tuple[str, ...]] = {
    Scaled: ("factor",),
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

    Parameters that are None, a rule ("median") or 0 are not among them: `kernel.resolve(X)` makes
    numbers of the first two.
    """
    found: dict[str, float] = {}
    for name in OWN.get(type(kernel), ()):
        value = getattr(kernel, name)
        if isinstance(value, Real) and value > 0:
            found[name] = float(value)
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, Kernel):
            found |= _under(name, parameters(value))
    return found


def with_parameters(kernel: Kernel, values: dict[str, float]) -> Kernel:
    """A copy of the kernel with these parameters, named by path as in `get_params`."""
    return kernel.replaced(**values)


def pull_back(kernel: Kernel, X: Any, Y: Any, M: Any) -> Gradient:
    """sum_ij M_ij dk(x_i, y_j) / d log theta for every parameter theta of `parameters(kernel)`.

    Y = None stands for X; M is then symmetric, and only its lower triangle is read.
    """
    X, Y = as_pair(X, Y)
    total = dict.fromkeys(parameters(kernel), 0.0)
    if not total:
        return total
    for rows, columns, weights in _tiles(X, Y, M):
        for path, value in _back(kernel, rows, columns, weights, kernel(rows, columns)).items():
            if path in total:
                total[path] += float(value)
    return total


def pull_back_diag(kernel: Kernel, X: Any, v: Any, *, latent: bool = False) -> Gradient:
    """sum_i v_i dk(x_i, x_i) / d log theta; of the part behind the noise only, if `latent`."""
    X, _ = as_pair(X, None)
    total = dict.fromkeys(parameters(kernel), 0.0)
    for path, value in _back_diag(kernel, X, v, latent).items():
        if path in total:
            total[path] += float(value)
    return total


def _tiles(X: Any, Y: Any, M: Any) -> Any:
    """Pieces (rows, columns, weights) that cover M; columns None where they are the rows."""
    n = X.shape[0]
    step = max(1, TILE_ENTRIES // max(1, n if Y is None else Y.shape[0]))
    step = max(step, 64)  # thin tiles would be all overhead
    for i in range(0, n, step):
        stop = min(i + step, n)
        rows = X[i:stop, :]
        if Y is not None:
            yield rows, Y, M[i:stop, :]
            continue
        if i:
            yield rows, X[:i, :], 2.0 * M[i:stop, :i]
        xp = namespace(M)
        lower = xp.tril(M[i:stop, i:stop])
        yield rows, None, lower + xp.tril(lower, k=-1).T


def _under(name: str, found: dict[str, Any]) -> dict[str, Any]:
    return {f"{name}__{path}": value for path, value in found.items()}


@singledispatch
def _back(kernel: Kernel, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    """The gradient of one tile, K = k(X, Y); kernels without parameters have none."""
    return {}


@_back.register
def _(kernel: Sum, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    found = {}
    for name, part in (("left", kernel.left), ("right", kernel.right)):
        if parameters(part):
            # a white part has no matrix worth making
            K_part = None if isinstance(part, White) else part(X, Y)
            found |= _under(name, _back(part, X, Y, M, K_part))
    return found


@_back.register
def _(kernel: Product, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    K1, K2 = kernel.left(X, Y), kernel.right(X, Y)
    left = _under("left", _back(kernel.left, X, Y, M * K2, K1))
    return left | _under("right", _back(kernel.right, X, Y, M * K1, K2))


@_back.register
def _(kernel: Scaled, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"factor": namespace(M).sum(M * K)}
    if kernel.factor > 0:
        part = _back(kernel.kernel, X, Y, kernel.factor * M, K / kernel.factor)
        found |= _under("kernel", part)
    return found


@_back.register
def _(kernel: OnColumns, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    rows, columns = kernel.restrict(X), None if Y is None else kernel.restrict(Y)
    return _under("kernel", _back(kernel.kernel, rows, columns, M, K))


@_back.register
def _(kernel: Gaussian, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    rate = kernel.rate(X.shape[1])
    total = rate * weighted_distances(X, Y, M * K)
    return {"sigma": 2.0 * total, "gamma": -total}


@_back.register
def _(kernel: Laplacian, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    total = kernel.rate(X.shape[1]) * namespace(M).sum(M * K * city_block(X, Y))
    return {"sigma": total, "gamma": -total}


@_back.register
def _(kernel: Matern, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    xp = namespace(M)
    nu, scale = float(kernel.nu), float(kernel.length_scale)
    s = xp.sqrt((2.0 * nu / scale**2) * squared_distances(X, Y))
    slope = s * xp.exp(-s)
    if nu == 1.5:
        slope = s * slope
    elif nu == 2.5:
        slope = s * (1.0 + s) * slope / 3.0
    return {"length_scale": xp.sum(M * slope)}


@_back.register
def _(kernel: RationalQuadratic, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    xp = namespace(M)
    scale, alpha = float(kernel.length_scale), float(kernel.alpha)
    u = squared_distances(X, Y) / (2.0 * alpha * scale**2)
    share, P = u / (1.0 + u), M * K
    return {
        "length_scale": 2.0 * alpha * xp.sum(P * share),
        "alpha": alpha * xp.sum(P * (share - xp.log1p(u))),
    }


@_back.register
def _(kernel: Polynomial, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    gamma, coef0, degree = kernel.numbers(X.shape[1])
    product = gamma * inner(X, Y)
    slope = M * degree * (product + coef0) ** (degree - 1)
    xp = namespace(M)
    return {"gamma": xp.sum(slope * product), "coef0": coef0 * xp.sum(slope)}


@_back.register
def _(kernel: Chi2, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    return {"gamma": -float(kernel.gamma) * namespace(M).sum(M * K * chi_squared(X, Y))}


@_back.register
def _(kernel: White, X: Any, Y: Any, M: Any, K: Any) -> dict[str, Any]:
    return {"noise": float(kernel.noise) * namespace(M).linalg.trace(M) if Y is None else 0.0}


def weighted_distances(X: Any, Y: Any, P: Any) -> Any:
    """sum_ij P_ij |x_i - y_j|^2, without the distances; Y = None stands for X."""
    xp = namespace(P)
    X, Y = centred_pair(X, Y)
    if Y is None:
        # a row is at distance 0 from itself: its large weight would only bring rounding
        P, Y = without_diagonal(P), X
    cross = P @ Y
    cross = X.multiply(cross).sum() if is_sparse(X) else xp.sum(X * cross)
    ends = xp.sum(P, axis=1) @ squared_norms(X) + xp.sum(P, axis=0) @ squared_norms(Y)
    return ends - 2.0 * cross


@singledispatch
def _back_diag(kernel: Kernel, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    """The gradient of sum_i v_i k(x_i, x_i); that of a stationary kernel is zero."""
    return {}


@_back_diag.register
def _(kernel: White, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    return {"noise": 0.0 if latent else float(kernel.noise) * namespace(v).sum(v)}


@_back_diag.register
def _(kernel: Sum, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    left = _under("left", _back_diag(kernel.left, X, v, latent))
    return left | _under("right", _back_diag(kernel.right, X, v, latent))


@_back_diag.register
def _(kernel: Product, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    (l1, n1), (l2, n2) = split_diag(kernel.left, X), split_diag(kernel.right, X)
    one, two = (l1, l2) if latent else (l1 + n1, l2 + n2)
    left = _under("left", _back_diag(kernel.left, X, v * two, latent))
    return left | _under("right", _back_diag(kernel.right, X, v * one, latent))


@_back_diag.register
def _(kernel: Scaled, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    own, noise = split_diag(kernel.kernel, X)
    part = _under("kernel", _back_diag(kernel.kernel, X, kernel.factor * v, latent))
    return part | {"factor": kernel.factor * (v @ (own if latent else own + noise))}


@_back_diag.register
def _(kernel: OnColumns, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    return _under("kernel", _back_diag(kernel.kernel, kernel.restrict(X), v, latent))


@_back_diag.register
def _(kernel: Polynomial, X: Any, v: Any, latent: bool) -> dict[str, Any]:
    gamma, coef0, degree = kernel.numbers(X.shape[1])
    product = gamma * squared_norms(X)
    slope = v * degree * (product + coef0) ** (degree - 1)
    return {"gamma": slope @ product, "coef0": coef0 * namespace(v).sum(slope)}

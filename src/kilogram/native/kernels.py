"""Kernel matrices and products with them, made tile by tile in cache.

Kinds and their parameters (t = |x - y|^2, r = sqrt(t) / length_scale):

    linear              <x, y>                                ()
    polynomial          (gamma <x, y> + coef0)^degree         (gamma, coef0, degree)
    gaussian            exp(-gamma t)                         (gamma,)
    laplacian           exp(-gamma sum_k |x_k - y_k|)         (gamma,)
    matern12            exp(-r)                               (length_scale,)
    matern32            (1 + sqrt3 r) exp(-sqrt3 r)           (length_scale,)
    matern52            (1 + sqrt5 r + 5/3 r^2) exp(-sqrt5 r) (length_scale,)
    rational_quadratic  (1 + r^2 / (2 alpha))^-alpha          (length_scale, alpha)
    chi2                exp(-gamma sum_k (x_k - y_k)^2 / (x_k + y_k)), 0/0 = 0      (gamma,)
    allsubsets          prod_k (1 + x_k y_k)                  ()

Pass the same object (or None) as Y for K(X, X): half the tiles are computed, and the result is
exactly symmetric, with an exact unit diagonal where the kernel has one.
"""

from __future__ import annotations

import kilogram.native._core as _core
from kilogram.native.buffers import Array, columns, matrix, output, run, vector

# What one kernel value costs beyond its d multiplications, in multiplications: an exponential.
_MAP_WORK = 16


def _pair(X: Array, Y: Array | None) -> tuple[Array, Array, bool]:
    x = matrix("X", X)
    if Y is None or Y is X:
        return x, x, True
    y = matrix("Y", Y, like=x)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"X has {x.shape[1]} columns and Y has {y.shape[1]}")
    pointers = (x.__array_interface__["data"][0], y.__array_interface__["data"][0])
    same = pointers[0] == pointers[1] and x.shape == y.shape and x.strides == y.strides
    return x, y, same


def kernel_block(
    kind: str, X: Array, Y: Array | None, params: tuple[float, ...], out: Array | None = None
) -> Array:
    """K(X, Y), (n, m)."""
    x, y, same = _pair(X, Y)
    K = output(out, (x.shape[0], y.shape[0]), x.dtype)
    run(_core.kernel_block, K.size * (x.shape[1] + _MAP_WORK), kind, x, y, same, params, K)
    return K


def kernel_matmul(
    kind: str, X: Array, Y: Array | None, params: tuple[float, ...], V: Array
) -> Array:
    """K(X, Y) @ V without storing K; V is (m,) or (m, t)."""
    x, y, same = _pair(X, Y)
    v = columns(V, y.shape[0], x.dtype, "V")
    out = output(None, (x.shape[0], v.shape[1]), x.dtype)
    work = x.shape[0] * y.shape[0] * (x.shape[1] + v.shape[1] + _MAP_WORK)
    run(_core.kernel_matmul, work, kind, x, y, same, params, v, out)
    return out.reshape((x.shape[0], *V.shape[1:]))


def kernel_normal_matmul(
    kind: str,
    X: Array,
    C: Array,
    params: tuple[float, ...],
    V: Array,
    w: Array | None = None,
) -> Array:
    """K(X, C)' (w * (K(X, C) @ V)), one pass over X; V is (m,) or (m, t), w is (n,)."""
    x, c, _ = _pair(X, C)
    n, m = x.shape[0], c.shape[0]
    v = columns(V, m, x.dtype, "V")
    weights = vector(w, n, x.dtype, "w")
    out = output(None, (m, v.shape[1]), x.dtype)
    work = n * m * (x.shape[1] + 2 * v.shape[1] + _MAP_WORK)
    run(_core.kernel_normal_matmul, work, kind, x, c, params, v, weights, out)
    return out.reshape((m, *V.shape[1:]))


def normal_matmul(K: Array, V: Array, w: Array | None = None) -> Array:
    """K' (w * (K @ V)) for a stored C-contiguous K (n, m), reading it once."""
    k = matrix("K", K)
    if not k.flags.c_contiguous:
        raise ValueError("K must be C-contiguous: a copy would double the memory it takes")
    n, m = k.shape
    v = columns(V, m, k.dtype, "V")
    weights = vector(w, n, k.dtype, "w")
    out = output(None, (m, v.shape[1]), k.dtype)
    run(_core.normal_matmul, 2 * k.size * v.shape[1], k, v, weights, out)
    return out.reshape((m, *V.shape[1:]))

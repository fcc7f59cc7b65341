"""Sums over rows in one pass (scatter, Fourier features) and the Cholesky factor in place.

Sums of squares are float64 also for float32 rows: the panels are multiplied in the type of the
data, their results added in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, output, run, vector


class PairSums(NamedTuple):
    """Weighted sums over the rows of X and Y: xx = X'WX, xy = X'WY, yy = Y'WY, x = X'w, y = Y'w."""

    xx: Array
    xy: Array
    yy: Array
    x: Array
    y: Array


def _root(w: Array | None, n: int, dtype: np.dtype) -> Array | None:
    w = vector(w, n, np.dtype(np.float64), "w")
    return None if w is None else np.sqrt(w).astype(dtype, copy=False)


def _rows(X: Array, Y: Array | None) -> tuple[Array, Array]:
    x = matrix("X", X)
    y = np.empty((x.shape[0], 0), dtype=x.dtype) if Y is None else matrix("Y", Y, like=x)
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"X has {x.shape[0]} rows and Y has {y.shape[0]}")
    return x, y


def _empty_sums(D: int) -> Array:
    """Where the sums of D columns go: native code writes whole strips, 48 columns at most."""
    padded = -(-D // 48) * 48
    return np.empty((padded, padded))


def _split(S: Array, d: int, t: int) -> PairSums:
    """The parts of the scatter of [X, Y, 1]."""
    x, y, one = slice(d), slice(d, d + t), d + t
    return PairSums(S[x, x], S[x, y], S[y, y], S[one, x], S[one, y])


def scatter_pair(
    X: Array,
    Y: Array,
    w: Array | None = None,
    shift_x: Array | None = None,
    shift_y: Array | None = None,
) -> PairSums:
    """The sums over the rows of X - shift_x and Y - shift_y, in one pass over both."""
    return _scatter(X, Y, w, shift_x, shift_y)


def scatter(X: Array, w: Array | None = None, shift: Array | None = None) -> tuple[Array, Array]:
    """S = (X - shift)' diag(w) (X - shift), (d, d), and s = sum_i w_i (x_i - shift), (d,)."""
    sums = _scatter(X, None, w, shift, None)
    return sums.xx, sums.x


def _scatter(
    X: Array, Y: Array | None, w: Array | None, shift_x: Array | None, shift_y: Array | None
) -> PairSums:
    x, y = _rows(X, Y)
    (n, d), t = x.shape, y.shape[1]
    S = _empty_sums(d + t + 1)
    shifts = vector(shift_x, d, x.dtype, "shift_x"), vector(shift_y, t, x.dtype, "shift_y")
    run(_core.scatter, n * len(S) ** 2, x, y, *shifts, _root(w, n, x.dtype), S)
    return _split(S, d, t)


def _frequencies(x: Array, W: Array, b: Array) -> tuple[Array, Array]:
    W = np.ascontiguousarray(W, dtype=x.dtype)
    if W.ndim != 2 or W.shape[0] != x.shape[1]:
        raise ValueError(f"W has shape {W.shape}; ({x.shape[1]}, D) is needed")
    phases = vector(b, W.shape[1], x.dtype, "b")
    if phases is None:
        raise TypeError("b must be given, a vector of D phases")
    return W, phases


def fourier_block(X: Array, W: Array, b: Array, scale: float, out: Array | None = None) -> Array:
    """scale * cos(X @ W + b), (n, D)."""
    x = matrix("X", X)
    W, b = _frequencies(x, W, b)
    phi = output(out, (x.shape[0], W.shape[1]), x.dtype)
    run(_core.fourier_block, phi.size * (x.shape[1] + 16), x, W, b, scale, phi)
    return phi


def fourier_scatter(
    X: Array, W: Array, b: Array, scale: float, Y: Array, w: Array | None = None
) -> PairSums:
    """The sums over phi = scale * cos(X @ W + b) and Y (n, t); phi is never stored for all rows."""
    x, y = _rows(X, Y)
    W, b = _frequencies(x, W, b)
    n, D, t = x.shape[0], W.shape[1], y.shape[1]
    S = _empty_sums(D + t + 1)
    work = n * (len(S) ** 2 + D * (x.shape[1] + 16))
    run(_core.fourier_scatter, work, x, W, b, scale, y, _root(w, n, x.dtype), S)
    return _split(S, D, t)


def cholesky_inplace(A: Array) -> int:
    """Lower Cholesky factor into the lower triangle of a C-contiguous A (n, n).

    Returns 0, or the order of the first minor that is not positive. The strict upper triangle is
    neither read nor written.
    """
    a = matrix("A", A)
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"A must be square, not {a.shape}")
    if a is not A or not a.flags.c_contiguous or not a.flags.writeable:
        raise ValueError("A must be C-contiguous and writeable to be factored in place")
    return int(run(_core.cholesky, a.shape[0] ** 3 / 6, a))

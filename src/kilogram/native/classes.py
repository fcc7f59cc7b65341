"""Sums over the rows of classes, in one pass over rows that come in any order of classes."""

from __future__ import annotations

import numpy as np

from kilogram.native import _core
from kilogram.native.buffers import Array, matrix, run, vector
from kilogram.native.sums import _room, _root


def _entered(X: Array, codes: Array, shifts: Array) -> tuple[Array, Array, Array]:
    x = matrix("X", X)
    return x, np.ascontiguousarray(codes, np.int64), np.ascontiguousarray(shifts, x.dtype)


def class_scatter(X: Array, codes: Array, shifts: Array, w: Array | None = None) -> Array:
    """(K, d + 1, d + 1): of every class the scatter of [x - shift, 1], its last row the sums.

    codes (n,) name the row of shifts (K, d) that is the class of each row of X (n, d).
    """
    x, codes, shifts = _entered(X, codes, shifts)
    (n, d), K = x.shape, len(shifts)
    S = np.empty((K, *_room(d + 1).shape))
    run(_core.class_scatter, n * d * d, x, codes, shifts, _root(w, n, x.dtype), S)
    return S[:, : d + 1, : d + 1]


def within_scatter(
    X: Array, codes: Array, shifts: Array, w: Array | None = None
) -> tuple[Array, Array]:
    """(d, d): one scatter of x - shift of the row's class; (K, d): the sums of the classes."""
    x, codes, shifts = _entered(X, codes, shifts)
    n, d = x.shape
    S, sums = _room(d), np.empty(shifts.shape)
    run(_core.within_scatter, n * d * d, x, codes, shifts, _root(w, n, x.dtype), S, sums)
    return S[:d, :d], sums


def class_powers(
    X: Array, codes: Array, shifts: Array, w: Array | None = None, *, powers: int = 2
) -> Array:
    """(powers, K, d): sums of x - shift, of its square and, third, of the weight of what is there.

    With powers=3 NaN are left out.
    """
    x, codes, shifts = _entered(X, codes, shifts)
    out = np.empty((powers, *shifts.shape))
    run(_core.class_powers, x.size * powers, x, codes, shifts, vector(w, len(x), x.dtype, "w"), out)
    return out

"""Sums over the rows of classes, in one pass over rows that come in any order of classes."""

from __future__ import annotations

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, run, vector
from kilogram.native.sums import _empty_sums, _root


def _native_inputs(X: Array, codes: Array, shifts: Array) -> tuple[Array, Array, Array]:
    x = matrix("X", X)
    return x, _as_int64(codes), np.ascontiguousarray(shifts, x.dtype)


def class_scatter(X: Array, codes: Array, shifts: Array, w: Array | None = None) -> Array:
    """(K, d + 1, d + 1): of every class the scatter of [x - shift, 1], its last row the sums.

    codes (n,) name the row of shifts (K, d) that is the class of each row of X (n, d).
    """
    x, codes, shifts = _native_inputs(X, codes, shifts)
    (n, d), K = x.shape, len(shifts)
    S = np.empty((K, *_empty_sums(d + 1).shape))
    run(_core.class_scatter, n * d * d, x, codes, shifts, _root(w, n, x.dtype), S)
    return S[:, : d + 1, : d + 1]


def within_scatter(
    X: Array, codes: Array, shifts: Array, w: Array | None = None
) -> tuple[Array, Array, Array]:
    """One scatter (d, d) of x - shift of the row's class; sums (K, d) and counts (K,) of classes.

    The sums are of w (x - shift), the counts of rows.
    """
    x, codes, shifts = _native_inputs(X, codes, shifts)
    n, d = x.shape
    S, sums, counts = _empty_sums(d), np.empty(shifts.shape), np.empty(len(shifts))
    run(_core.within_scatter, n * d * d, x, codes, shifts, _root(w, n, x.dtype), S, sums, counts)
    return S[:d, :d], sums, counts


def class_powers(
    X: Array, codes: Array, shifts: Array, w: Array | None = None, *, powers: int = 2
) -> Array:
    """(powers, K, d): sums of x - shift, of its square and, third, of the weight of what is there.

    With powers=3 NaN are left out.
    """
    x, codes, shifts = _native_inputs(X, codes, shifts)
    out = np.empty((powers, *shifts.shape))
    run(_core.class_powers, x.size * powers, x, codes, shifts, _weights(w, x), out)
    return out


def class_counts(X: Array, codes: Array, K: int, w: Array | None = None) -> tuple[Array, Array]:
    """(K, d): sums of the rows of every class; (d,): the least value of each column."""
    x = matrix("X", X)
    out, low = np.empty((K, x.shape[1])), np.empty(x.shape[1], dtype=x.dtype)
    run(_core.class_counts, x.size, x, _as_int64(codes), _weights(w, x), out, low)
    return out, low


def class_presence(
    X: Array, codes: Array, K: int, threshold: float, w: Array | None = None
) -> tuple[Array, Array]:
    """(K, d): the weight of the values above a threshold, and of those that are not NaN.

    The second is NaN where a value is infinite.
    """
    x = matrix("X", X)
    out = np.empty((2, K, x.shape[1]))
    run(_core.class_presence, 2 * x.size, x, _as_int64(codes), threshold, _weights(w, x), out)
    return out[0], out[1]


def column_ranges(X: Array, most: float) -> Array:
    """(3, d): least and greatest value of each column, and 1 if one is no whole number.

    NaN are left out; only values from 0 to `most` are asked whether they are whole.
    """
    x = matrix("X", X)
    out = np.empty((3, x.shape[1]), dtype=x.dtype)
    run(_core.column_ranges, x.size, x, most, out)
    return out


def class_categories(
    X: Array, codes: Array, K: int, sizes: Array, w: Array | None = None
) -> list[Array]:
    """For every column (K, V_j): the weight of its values 0 to V_j - 1; others are left out."""
    x = matrix("X", X)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    out = np.empty((K, int(offsets[-1])))
    run(_core.class_categories, 4 * x.size, x, _as_int64(codes), offsets, _weights(w, x), out)
    return np.split(out, offsets[1:-1], axis=1)


def labels_present(labels: Array, size: int) -> Array | None:
    """(size,): whether each whole number from 0 is among the labels; None if others are."""
    present = np.empty(size, dtype=np.uint8)
    return present if _core.labels_present(_as_int64(labels), present) else None


def _as_int64(codes: Array) -> Array:
    return np.ascontiguousarray(codes, np.int64)


def _weights(w: Array | None, x: Array) -> Array | None:
    return vector(w, len(x), x.dtype, "w")

"""The lower half of a symmetric matrix, in bands of rows, and products with it.

Band p holds rows p B .. (p + 1) B, each up to the band's last column, one band after another: half
the memory of the matrix, touched nowhere else, and every entry read once in a product.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, columns, run
from kilogram.native.kernels import kernel_block


def bands(n: int) -> Iterator[tuple[int, int, int]]:
    """(first row, last row + 1, place in the buffer) of each band; a band is as long as it ends."""
    at, height = 0, _core.half_rows
    for start in range(0, n, height):
        stop = min(n, start + height)
        yield start, stop, at
        at += (stop - start) * stop


def half_size(n: int) -> int:
    """Entries of the lower half of a matrix of order n, as it is stored."""
    return sum((stop - start) * stop for start, stop, _ in bands(n))


def kernel_half(kind: str, X: Array, params: tuple[float, ...]) -> Array:
    """The lower half of K(X, X)."""
    n = X.shape[0]
    half = np.empty(half_size(n), dtype=X.dtype)
    for start, stop, at in bands(n):
        band = half[at : at + (stop - start) * stop].reshape(stop - start, stop)
        kernel_block(kind, X[start:stop], X[:stop], params, band)
    return half


def half_matmul(half: Array, V: Array) -> Array:
    """A @ V for the symmetric A (n, n) whose lower half is given; V is (n,) or (n, t)."""
    n = V.shape[0]
    if half.ndim != 1 or half.shape[0] != half_size(n):
        raise ValueError(f"half has shape {half.shape}; ({half_size(n)},) belongs to {n} rows")
    v = columns(V, n, half.dtype, "V")
    out = np.empty_like(v)
    run(_core.half_matmul, 2 * half.size * v.shape[1], half, v, out)
    return out.reshape(V.shape)

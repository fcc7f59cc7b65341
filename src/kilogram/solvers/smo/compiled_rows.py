"""Kernel rows of dense points by compiled loops.

    NativeRows   rows are computed in tiles, used while the tile is in the CPU cache, and those
                 likely to be needed again are kept in a cache of bounded size
    BitRows      points of zeros and ones, 64 coordinates in a word: a kernel of distances or inner
                 products then takes d + 1 values only, and a row is counted bits and a table

New memory costs more than arithmetic: a page touched for the first time takes as long as tens of
kernel values in its place. So few rows are kept at first, those of free variables, and the cache
grows where rows have to be recomputed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kernels import Kernel
from kilogram.native import kernel_block
from kilogram.native.svm import (
    NewRows,
    OldRows,
    add_bit_rows,
    add_kernel_rows,
    bit_square,
    square_from,
)
from kilogram.solvers.smo.cache import SlotCache
from kilogram.solvers.smo.stored_rows import Array, KernelRows, affordable

DISTANCE_KINDS = ("gaussian", "matern12", "matern32", "matern52", "rational_quadratic")
PRODUCT_KINDS = ("linear", "polynomial")
FIRST = 512  # rows kept before any was recomputed: half a block
TOUCH = 200  # multiplications that take as long as the first write to their memory
NARROW = 256  # features up to which computing a square is faster than gathering kept rows
WIDE_WHOLE = 512  # with more features than that, points up to which K is computed at once,
WIDE_BLOCK = 384  # and variables in a block: every kernel value is expensive
FIRST_ROWS = 64  # rows checked for zeros and ones before all rows are: other tables show it there


class Workspace:
    """Memory of a square, overwritten by the next one."""

    def __init__(self, dtype: Any):
        self.values: Array = np.empty(0, dtype=dtype)

    def of(self, q: int) -> Array:
        """(q, q), not initialised."""
        if self.values.size < q * q:
            self.values = np.empty(q * q, dtype=self.values.dtype)
        return self.values[: q * q].reshape(q, q)


class NativeRows(KernelRows):
    """k(X, X) of dense rows by a compiled kernel, at most `limit` bytes of them kept."""

    def __init__(self, kernel: Kernel, X: Array, limit: int, single: bool):
        self.kind, self.params = kernel.native(X.shape[1]) or ("", ())
        self.kernel = kernel
        if self.kind in DISTANCE_KINDS:
            # near 0 the expansion |x|^2 - 2<x, y> + |y|^2 of the tiles cancels least
            X = X - X.mean(axis=0)
        self.n, d = X.shape
        self.rounded = single and X.dtype != np.float32
        self.X = np.ascontiguousarray(X, dtype=np.float32 if single else X.dtype)
        self.reach = affordable(limit, self.X.itemsize)
        if d > NARROW:
            self.whole, self.block_limit = WIDE_WHOLE, WIDE_BLOCK
        patience = TOUCH / (d + 16)
        self.slots = SlotCache(self.n, limit, self.X.itemsize * self.n, FIRST, patience)
        self.kept: Array = np.empty((self.slots.capacity, self.n), dtype=self.X.dtype)
        self.workspace = Workspace(self.X.dtype)

    def square(self, points: Array) -> Array:
        slots = self.slots.slot[points]
        narrow = self.X.shape[1] <= NARROW
        missing = self.X[points if narrow else points[slots < 0]]
        made = kernel_block(self.kind, missing, None, self.params, self.workspace.of(len(missing)))
        if missing.shape[0] == points.shape[0]:
            return made
        return square_from(self.kept, slots, points, made)

    def add(self, points: Array, delta: Array, g: Array, again: Array | None = None) -> None:
        found, missing, places = self.slots.place(points, again)
        new = NewRows(self.X[points[missing]], places, delta[missing])
        old = OldRows(self.slots.slot[points[found]], delta[found])
        add_kernel_rows(self.kind, self.params, self.X, new, self.kept, old, g)

    def diag(self) -> Array:
        return np.asarray(self.kernel.diag(self.X), dtype=np.float64)


class BitRows(KernelRows):
    """k(X, X) of rows of zeros and ones; no row is kept, as computing one is as fast as reading.

    bits (n, words) holds the rows; table[h] is the kernel of two rows that differ in h features
    (of distances), or have h ones in common (of inner products).
    """

    def __init__(self, kernel: Kernel, X: Array, bits: Array):
        kind, params = kernel.native(X.shape[1]) or ("", ())
        self.n, self.bits = X.shape[0], bits
        self.differing = kind in DISTANCE_KINDS
        h = np.arange(X.shape[1] + 1.0)[:, None]
        one = np.zeros((1, 1)) if self.differing else np.ones((1, 1))
        self.table = kernel_block(kind, one, np.sqrt(h) if self.differing else h, params)[0]
        self.ones = np.asarray(X.sum(axis=1), dtype=np.int64)
        self.workspace = Workspace(X.dtype)

    def square(self, points: Array) -> Array:
        out = self.workspace.of(len(points))
        table = self.table.astype(out.dtype)
        return bit_square(self.bits[points], table, out, differing=self.differing)

    def add(self, points: Array, delta: Array, g: Array, again: Array | None = None) -> None:
        add_bit_rows(self.bits, self.bits[points], delta, self.table, g, differing=self.differing)

    def diag(self) -> Array:
        return self.table[np.zeros_like(self.ones) if self.differing else self.ones]


def packed_bits(X: Array) -> Array | None:
    """Rows of zeros and ones as words (n, words) of 64 bits; None where X has other values."""
    for rows in (X[:FIRST_ROWS], X):
        ones = rows != 0
        if not (rows == ones).all():
            return None
    words = -(-X.shape[1] // 64)
    out = np.zeros((X.shape[0], 8 * words), dtype=np.uint8)
    out[:, : -(-X.shape[1] // 8)] = np.packbits(ones, axis=1, bitorder="little")
    return out.view(np.uint64)


def compiled_rows(kernel: Kernel, X: Array, limit: int, single: bool) -> KernelRows:
    """The rows of k(X, X) for dense points in memory and a kernel with a compiled loop."""
    kind, _ = kernel.native(X.shape[1]) or ("", ())
    bits = packed_bits(X) if kind in DISTANCE_KINDS + PRODUCT_KINDS else None
    return NativeRows(kernel, X, limit, single) if bits is None else BitRows(kernel, X, bits)

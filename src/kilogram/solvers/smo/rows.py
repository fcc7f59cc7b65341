"""Kernel rows as block SMO needs them: small squares K[W, W], and g += K[:, W] delta.

    StoredRows   K is in memory: given, or small enough to be made whole
    NativeRows   dense NumPy rows and a compiled kernel: rows are made in tiles, used while the tile
                 is in cache, and kept (rounded) in a cache of bounded size
    ArrayRows    any other kernel or container: sparse, callable, arrays of another library, whose
                 rows are made and kept on their device

Sums are float64 everywhere. Rows may be made and kept in float32 (`single`): the caller asks for it
only where the rounding stays below the tolerance, and checks afterwards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, to_numpy
from kilogram.kernels import Kernel, Precomputed
from kilogram.native import kernel_block
from kilogram.native.svm import NewRows, OldRows, add_kernel_rows, add_rows, square_from, square_of
from kilogram.operators.operator import picked
from kilogram.solvers.smo.cache import SlotCache

Array = np.ndarray
WHOLE = 2048  # up to this many points K is made at once: 32 MiB, and no row is ever made twice
MADE = 1024  # rows made at once outside the compiled kernels
FEW_RUNS = 4  # runs of points up to which a square is copied patch by patch
DISTANCE_KINDS = ("gaussian", "matern12", "matern32", "matern52", "rational_quadratic")


class KernelRows(ABC):
    """Rows of the kernel matrix of n points."""

    n: int
    #: The most points whose square may be kept beside the rows.
    reach: int = 2**31
    #: Whether rows are rounded to float32 although the points are float64.
    rounded = False

    @abstractmethod
    def square(self, points: Array) -> Array:
        """K[points, points], (q, q), float32 or float64, C-contiguous."""

    @abstractmethod
    def add(self, points: Array, delta: Array, g: Array) -> None:
        """g (n,) += K[:, points] delta."""

    @abstractmethod
    def diag(self) -> Array:
        """K[i, i], (n,)."""


def affordable(limit: int, size: int) -> int:
    """How many points have a square of values of `size` bytes within a quarter of the limit."""
    return int((limit / (4 * size)) ** 0.5)


class StoredRows(KernelRows):
    """A matrix K (n, n) in memory."""

    def __init__(self, K: Array):
        self.K = np.ascontiguousarray(K, dtype=K.dtype if K.dtype == np.float32 else np.float64)
        self.n = K.shape[0]

    def square(self, points: Array) -> Array:
        m = points.shape[0]
        breaks = np.flatnonzero(points[1:] != points[:-1] + 1) + 1
        if len(breaks) >= FEW_RUNS or m == 0:
            return square_of(self.K, points)
        if len(breaks) == 0 and m == self.n:
            return self.K
        return self._patches(points, [slice(a, b) for a, b in pairwise([0, *breaks.tolist(), m])])

    def _patches(self, points: Array, runs: list[slice]) -> Array:
        """The square of points that follow one another in runs, as those of two classes do."""
        out = np.empty((points.shape[0], points.shape[0]), dtype=self.K.dtype)
        at = [slice(int(points[r.start]), int(points[r.stop - 1]) + 1) for r in runs]
        for rows, from_rows in zip(runs, at, strict=True):
            for columns, from_columns in zip(runs, at, strict=True):
                out[rows, columns] = self.K[from_rows, from_columns]
        return out

    def add(self, points: Array, delta: Array, g: Array) -> None:
        add_rows(self.K, points, delta, g)

    def diag(self) -> Array:
        return np.diagonal(self.K).astype(np.float64)


class NativeRows(KernelRows):
    """k(X, X) of dense rows by a compiled kernel, `capacity` of them kept."""

    def __init__(self, kernel: Kernel, X: Array, limit: int, single: bool):
        self.kind, self.params = kernel.native(X.shape[1]) or ("", ())
        self.kernel = kernel
        if self.kind in DISTANCE_KINDS:
            # near 0 the expansion |x|^2 - 2<x, y> + |y|^2 of the tiles cancels least
            X = X - X.mean(axis=0)
        self.n = X.shape[0]
        self.rounded = single and X.dtype != np.float32
        self.X = np.ascontiguousarray(X, dtype=np.float32 if single else X.dtype)
        self.reach = affordable(limit, self.X.itemsize)
        self.slots = SlotCache(self.n, limit, self.X.itemsize * self.n)
        self.kept: Array = np.empty((self.slots.capacity, self.n), dtype=self.X.dtype)

    def square(self, points: Array) -> Array:
        slots = self.slots.slot[points]
        lacking = self.X[points[slots < 0]]
        made = kernel_block(self.kind, lacking, None, self.params)
        if lacking.shape[0] == points.shape[0]:
            return made
        return square_from(self.kept, slots, points, made)

    def add(self, points: Array, delta: Array, g: Array) -> None:
        found, missing, places = self.slots.place(points)
        new = NewRows(self.X[points[missing]], places, delta[missing])
        old = OldRows(self.slots.slot[points[found]], delta[found])
        add_kernel_rows(self.kind, self.params, self.X, new, self.kept, old, g)

    def diag(self) -> Array:
        return np.asarray(self.kernel.diag(self.X), dtype=np.float64)


class ArrayRows(KernelRows):
    """k(X, X) by the kernel's own formula, in the library and on the device of X.

    Rows are kept as the blocks they were made in, and the oldest blocks leave when memory is full:
    the library need not be able to write into arrays. Only squares and sums come to the host.
    """

    def __init__(self, kernel: Kernel, X: Any, limit: int):
        self.kernel, self.X, self.n = kernel, X, X.shape[0]
        size = 4 if "float32" in str(X.dtype) else 8
        self.reach = affordable(limit, size)
        self.capacity = max(1, limit // (size * self.n))
        self.blocks: dict[int, Any] = {}
        self.block = np.full(self.n, -1, dtype=np.int64)  # the block that holds a point's row,
        self.place = np.zeros(self.n, dtype=np.int64)  # and where in it
        self.count = self.filled = 0

    def square(self, points: Array) -> Array:
        A = picked(self.X, points)
        K = to_numpy(self.kernel(A, None))
        return np.ascontiguousarray(K, dtype=K.dtype if K.dtype == np.float32 else np.float64)

    def add(self, points: Array, delta: Array, g: Array) -> None:
        total = None
        holds = self.block[points]
        for name in np.unique(holds[holds >= 0]):
            here = np.nonzero(holds == name)[0]
            weights = np.zeros(self.blocks[int(name)].shape[0])
            weights[self.place[points[here]]] = delta[here]
            total = _plus(total, _weighted(self.blocks[int(name)], weights))
        new = np.nonzero(holds < 0)[0]
        for at in range(0, new.shape[0], MADE):
            part = new[at : at + MADE]
            K = self.kernel(picked(self.X, points[part]), self.X)
            total = _plus(total, _weighted(K, delta[part]))
            self._keep(points[part], K)
        if total is not None:
            g += to_numpy(total).astype(np.float64)

    def _keep(self, points: Array, K: Any) -> None:
        """Keep the rows just made, and let the oldest go where they are too many."""
        if points.shape[0] > self.capacity:
            return
        while self.filled + points.shape[0] > self.capacity:
            oldest = next(iter(self.blocks))
            self.filled -= self.blocks.pop(oldest).shape[0]
            self.block[self.block == oldest] = -1
        self.blocks[self.count] = K
        self.block[points], self.place[points] = self.count, np.arange(points.shape[0])
        self.count, self.filled = self.count + 1, self.filled + points.shape[0]

    def diag(self) -> Array:
        return to_numpy(self.kernel.diag(self.X)).astype(np.float64)


def _weighted(K: Any, delta: Array) -> Any:
    """delta' K on K's device."""
    if is_numpy(K):
        return delta @ K.astype(np.float64, copy=False)
    return like(delta, K) @ K


def _plus(total: Any, more: Any) -> Any:
    return more if total is None else total + more


def kernel_rows(kernel: Kernel, X: Any, *, limit: int, single: bool = False) -> KernelRows:
    """The rows of k(X, X), keeping at most `limit` bytes of them."""
    if isinstance(kernel, Precomputed):
        return StoredRows(to_numpy(kernel(X)))
    n, d = X.shape
    if n <= WHOLE:
        return StoredRows(to_numpy(kernel(X, None)))
    if is_sparse(X) and dense_is_cheaper(X, limit):
        X = X.toarray()
    if kernel.native(d) is None or not is_numpy(X):
        return ArrayRows(kernel, X, limit)
    return NativeRows(kernel, X, limit, single)


def dense_is_cheaper(X: Any, limit: int) -> bool:
    """Above one entry in a hundred, dense products of these rows outrun sparse ones."""
    n, d = X.shape
    return X.nnz > 0.01 * n * d and 8 * n * d < limit // 4

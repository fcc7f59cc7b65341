"""The columns of a working set: their Gram entries, and correlations for several alphas at once.

One read of the rows gives the correlations of all columns with the residuals of every solution in
a batch, and the columns of the working set are copied side by side once, when they enter.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

import numpy as np
import scipy.sparse as sp

from kilogram.native.coordinate import (
    Penalty,
    SparseColumns,
    column_descent,
    column_products,
)
from kilogram.solvers.coordinate.designs import (
    Array,
    DenseDesign,
    Design,
    ScaledDesign,
    ShiftedDesign,
    SparseDesign,
    column_squares,
    take_columns,
)

#: A visit of a sparse entry takes as long as this many entries of a stored Gram matrix; for one
#: strength the time to make that matrix counts more than the epochs.
READS_PER_ENTRY, READS_ONCE = 4.0, 0.4
#: Up to this many sparse entries are few.
SMALL_SPARSE = 1_000_000
#: Dense columns are visited themselves where there are this many times as many as rows: of a path,
#: whose strengths share the Gram matrix, and of one strength.
WIDE, WIDE_ONCE = 2.0, 0.5


class DesignColumns(Protocol):
    """What a path asks of the columns in its working set, m of p."""

    small: bool  # all columns are sparse, of few entries, and no more than rows

    def append(self, new: Array) -> None:
        """Columns enter behind the others."""

    def entries(self, k: int) -> Array:
        """Gram entries (m, k) of the last k columns with all of them."""

    def correlations(self, B: Array) -> tuple[Array, Array]:
        """X'r (p, k) and r'r (k,) for the residuals r of the coefficients B (m, k)."""


class ResidualColumns(DesignColumns, Protocol):
    """Columns that coordinate descent can read themselves, in place of their Gram matrix."""

    def shorter_than_gram(self, once: bool) -> bool:
        """Whether epochs over the entries take less time than the Gram matrix and epochs over it.

        `once`: for one strength, not for a path.
        """

    def residual(self, b: Array) -> Array:
        """y - X b (n,), not yet centred."""

    def gradient(self, b: Array, r: Array) -> Array:
        """X'r (m,) of these columns, r = residual(b) centred."""

    def descend(
        self, penalty: Penalty, b: Array, r: Array, *, tol: float, max_epochs: int
    ) -> tuple[Array, int, bool]:
        """b, epochs and whether moves fell below tol; r = residual(b) changes in place."""

    def support_gram(self, support: Array) -> Array | None:
        """Gram entries of some of these columns for a direct step, or None where they cost more."""


def is_residual(store: DesignColumns) -> TypeGuard[ResidualColumns]:
    return isinstance(store, _SparseColumns | _DenseColumns)


def design_columns(design: Design) -> DesignColumns:
    """An empty working set of a design of one target."""
    if isinstance(design, ScaledDesign):
        return _ScaledColumns(design)
    if isinstance(design, DenseDesign):
        return _DenseColumns(design.X, design.y, None, 1.0)
    if isinstance(design, ShiftedDesign):
        return _DenseColumns(design.X, design.y, design.mean, 1.0 / len(design.X))
    return _SparseColumns(design) if isinstance(design, SparseDesign) else _AnyColumns(design)


class _DenseColumns:
    """Copies in Fortran order, with spare capacity; products are multiplied by `unit`."""

    small = False

    def __init__(self, X: Array, y: Array, mean: Array | None, unit: float):
        self.X, self.y, self.unit = X, y, unit
        self.mean = mean if mean is not None and mean.any() else None
        self.columns = np.empty(0, dtype=np.int64)
        self.buffer = np.empty((len(X), 0), dtype=X.dtype, order="F")

    def append(self, new: Array) -> None:
        m = len(self.columns) + len(new)
        if m > self.buffer.shape[1]:
            grown = np.empty((len(self.X), min(2 * m, self.X.shape[1])), self.X.dtype, order="F")
            grown[:, : len(self.columns)] = self.buffer[:, : len(self.columns)]
            self.buffer = grown
        self.buffer[:, m - len(new) : m] = take_columns(self.X, new)
        self.columns = np.concatenate([self.columns, new])

    def entries(self, k: int) -> Array:
        m, new = len(self.columns), self.columns[len(self.columns) - k :]
        own = self.buffer[:, m - k : m]
        found = np.asarray(self.buffer[:, :m].T @ own, dtype=np.float64)
        found *= self.unit
        if self.mean is not None:
            found -= np.outer(self.mean[self.columns], self.mean[new])
        return found

    def correlations(self, B: Array) -> tuple[Array, Array]:
        R = np.asfortranarray(self.buffer[:, : len(self.columns)] @ B.astype(self.X.dtype))
        np.subtract(self.y[:, None], R, out=R)
        if self.mean is not None:
            R += self.mean[self.columns] @ B
        fortran = self.X.flags.f_contiguous
        products = column_products(self.X, R) if fortran else self.X.T @ R
        C = np.asarray(products, dtype=np.float64)
        if self.mean is not None:
            C -= np.outer(self.mean, R.sum(axis=0))
        C *= self.unit
        squares = np.einsum("ij,ij->j", R, R, dtype=np.float64)
        return C, squares * self.unit

    def shorter_than_gram(self, once: bool) -> bool:
        return len(self.columns) > (WIDE_ONCE if once else WIDE) * len(self.X)

    def support_gram(self, support: Array) -> Array | None:
        if len(support) > len(self.X):
            return None
        own = np.asarray(self.buffer[:, support], dtype=np.float64)
        found = (own.T @ own) * self.unit
        if self.mean is not None:
            mean = self.mean[self.columns[support]]
            found -= np.outer(mean, mean)
        return np.asarray(found)

    def _float64_columns(self) -> tuple[Array, Array]:
        """The columns and their means, in float64."""
        own = np.asfortranarray(self.buffer[:, : len(self.columns)], dtype=np.float64)
        return own, np.zeros(own.shape[1]) if self.mean is None else self.mean[self.columns]

    def residual(self, b: Array) -> Array:
        return np.ascontiguousarray(np.asarray(self.y, np.float64) - self._float64_columns()[0] @ b)

    def gradient(self, b: Array, r: Array) -> Array:
        own, mean = self._float64_columns()
        r = r + mean @ b
        return np.asarray(own.T @ r - mean * r.sum()) * self.unit

    def descend(
        self, penalty: Penalty, b: Array, r: Array, *, tol: float, max_epochs: int
    ) -> tuple[Array, int, bool]:
        own, mean = self._float64_columns()
        n, m = own.shape
        rows = 1.0 / self.unit  # the objective times this, for the columns as they are
        columns = SparseColumns(
            own.T.reshape(-1),
            np.empty(0, dtype=np.int32),
            np.arange(0, n * m + 1, n),
            mean * np.sqrt(rows),
            np.maximum(column_squares(own) - rows * mean**2, 0.0),
        )
        stretched = penalty._replace(l1=penalty.l1 * rows, l2=penalty.l2 * rows)
        b, tol = b.copy(), tol * np.sqrt(rows)
        epochs, change = column_descent(columns, stretched, b, r, tol=tol, max_epochs=max_epochs)
        return b, epochs, change <= tol


class _SparseColumns:
    """Sparse columns, copied: coordinate descent reads them, or their Gram matrix."""

    def __init__(self, design: SparseDesign):
        self.design = design
        self.small = design.X.nnz <= SMALL_SPARSE and design.X.shape[1] <= design.X.shape[0]
        self.columns = np.empty(0, dtype=np.int64)
        self.X = design.X[:, :0]

    def append(self, new: Array) -> None:
        everything = np.array_equal(new, np.arange(self.design.X.shape[1]))
        own = self.design.X if everything else self.design.X[:, new]
        before = len(self.columns) > 0
        self.X = sp.csc_array(sp.hstack([self.X, own], format="csc")) if before else own
        self.columns = np.concatenate([self.columns, new])

    def entries(self, k: int) -> Array:
        new = self.columns[len(self.columns) - k :]
        plain = np.asarray((self.X.T @ self.X[:, -k:]).toarray(), dtype=np.float64)
        mean = self.design.mean
        return plain - np.outer(mean[self.columns], mean[new])

    def shorter_than_gram(self, once: bool) -> bool:
        return (READS_ONCE if once else READS_PER_ENTRY) * self.X.nnz < len(self.columns) ** 2

    def residual(self, b: Array) -> Array:
        return np.ascontiguousarray(self.design.y - self.X @ b)

    def gradient(self, b: Array, r: Array) -> Array:
        mean = self.design.mean[self.columns]
        return np.asarray(self.X.T @ r + mean * (mean @ b))

    def descend(
        self, penalty: Penalty, b: Array, r: Array, *, tol: float, max_epochs: int
    ) -> tuple[Array, int, bool]:
        design, X = self.design, self.X
        own = SparseColumns(
            np.ascontiguousarray(X.data, dtype=np.float64),
            np.ascontiguousarray(X.indices, dtype=np.int32),
            np.ascontiguousarray(X.indptr, dtype=np.int64),
            np.ascontiguousarray(design.mean[self.columns]),
            design.norms[self.columns] ** 2,
        )
        b = b.copy()
        epochs, change = column_descent(own, penalty, b, r, tol=tol, max_epochs=max_epochs)
        return b, epochs, change <= tol

    def correlations(self, B: Array) -> tuple[Array, Array]:
        design = self.design
        R = design.y[:, None] - self.X @ B
        R += np.outer(design.ones, design.mean[self.columns] @ B)
        C = np.asarray(design.X.T @ R) - np.outer(design.mean, design.ones @ R)
        return C, np.einsum("ij,ij->j", R, R)

    def support_gram(self, support: Array) -> None:
        """Sparse columns have short epochs."""


class _ScaledColumns:
    """The columns of another design, divided by `scale`."""

    small = False

    def __init__(self, design: ScaledDesign):
        self.scale, self.inner = design.scale, design_columns(design.inner)
        self.columns = np.empty(0, dtype=np.int64)

    def append(self, new: Array) -> None:
        self.columns = np.concatenate([self.columns, new])
        self.inner.append(new)

    def entries(self, k: int) -> Array:
        scale = self.scale[self.columns]
        return self.inner.entries(k) / np.outer(scale, scale[len(scale) - k :])

    def correlations(self, B: Array) -> tuple[Array, Array]:
        C, squares = self.inner.correlations(B / self.scale[self.columns][:, None])
        return C / self.scale[:, None], squares


class _AnyColumns:
    """Of a design that copies nothing: its own Gram entries and correlations."""

    small = False

    def __init__(self, design: Design):
        self.design = design
        self.columns = np.empty(0, dtype=np.int64)

    def append(self, new: Array) -> None:
        self.columns = np.concatenate([self.columns, new])

    def entries(self, k: int) -> Array:
        return self.design.gram(self.columns, self.columns[len(self.columns) - k :])

    def correlations(self, B: Array) -> tuple[Array, Array]:
        found: list[tuple[Any, float]] = [
            self.design.correlations(b, self.columns, None) for b in B.T
        ]
        return np.stack([c for c, _ in found], axis=1), np.array([rr for _, rr in found])

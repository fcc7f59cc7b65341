"""Mean and spread of every column, as a value with `+`; products with centred rows.

For roads that never form the d x d scatter: one pass gives the mean m and the squared deviations of
each column, and after it centred rows are multiplied without being written out,

    (X - 1 m') V = X V - 1 (m'V),          (X - 1 m')'U = X'U - m (1'U).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, sum_dtype
from kilogram.arrays.rows import block_length, is_streamed, reduce_rows
from kilogram.statistics.moments import pilot, total_weight


@dataclass(frozen=True, eq=False)
class Columns:
    """Number of rows, total weight, mean (d,) and weighted squared deviations (d,)."""

    rows: int
    weight: float
    mean: Any
    squares: Any

    @classmethod
    def of(cls, X: Any, w: Any = None) -> Columns:
        """Of the rows of X (n, d), dense or sparse, with weights w (n,)."""
        W, p = total_weight(X, w), pilot(X)
        s, q = _sparse_sums(X, w) if is_sparse(X) else _dense_sums(X, w, p)
        e = s / W if W else 0 * s
        q = q - W * e * e
        # rounding below 0 is cut off; NaN must pass, for it tells of NaN in X
        q = namespace(q).where(q < 0, namespace(q).zeros_like(q), q)
        return cls(X.shape[0], W, e if p is None else p + e, q)

    def __add__(self, other: Columns | int) -> Columns:
        if other == 0:  # so that sum() works
            return self
        if not isinstance(other, Columns):
            return NotImplemented
        W = self.weight + other.weight
        share = other.weight / W if W else 0.0
        e = other.mean - self.mean
        squares = self.squares + other.squares + self.weight * share * e * e
        return Columns(self.rows + other.rows, W, self.mean + share * e, squares)

    __radd__ = __add__

    @property
    def total(self) -> float:
        """The trace of the scatter matrix."""
        return float(namespace(self.squares).sum(self.squares))

    @property
    def far(self) -> bool:
        """Whether the mean is so far out that subtracting it after a product costs digits."""
        xp = namespace(self.mean)
        lengths = float(xp.sum(self.mean * self.mean)) * self.weight
        return lengths > FAR**2 * self.total


# |mean| / deviation above which centred products subtract first; below it three digits are lost
FAR = 1e3


def columns_of(X: Any, w: Any = None) -> Columns:
    """One pass in blocks of rows: the squared deviations of a block are its only temporary."""
    in_memory = is_numpy(X)
    found: Columns = reduce_rows(
        Columns.of, X, w, block_rows=block_length(X) if in_memory else None
    )
    return found


def _dense_sums(X: Any, w: Any, p: Any) -> tuple[Any, Any]:
    """sum w (x - p) and sum w (x - p)^2, in float64 where the device has it."""
    xp = namespace(X)
    D = xp.astype(X, sum_dtype(X, xp), copy=False) - p
    wD = D if w is None else xp.astype(w, D.dtype)[:, None] * D
    return xp.sum(wD, axis=0), xp.sum(wD * D, axis=0)


def _sparse_sums(X: Any, w: Any) -> tuple[Any, Any]:
    xp = namespace(X)
    X = X.astype(xp.float64)
    v = xp.ones(X.shape[0]) if w is None else xp.asarray(w, dtype=xp.float64)
    return X.T @ v, X.multiply(X).T @ v


class Scatter:
    """The scatter matrix (X - 1 m')' diag(w) (X - 1 m'), (d, d), by one pass over X a product.

    Works on every container of rows; only V and the result are ever whole.
    """

    def __init__(self, X: Any, w: Any, stats: Columns):
        self.X, self.w, self.mean, self.far = X, w, stats.mean, stats.far

    @property
    def shape(self) -> tuple[int, int]:
        d = self.mean.shape[0]
        return d, d

    def __matmul__(self, V: Any) -> Any:
        m, first = self.mean, self.far
        step = None if is_streamed(self.X) or is_sparse(self.X) else block_length(self.X)

        def products(block: Any, w: Any = None) -> Any:
            """[X'(w Y); sum w Y] with Y = (X - 1 m') V."""
            xp = namespace(V)
            mean = like(m, V)
            if first and not is_sparse(block):
                block, mean = block - like(mean, block), xp.zeros_like(mean)
            B = block if is_sparse(block) else like(block, V)
            Y = B @ V - mean @ V
            Y = Y if w is None else like(w, V)[:, None] * Y
            sums = xp.sum(Y, axis=0)
            return xp.concat([B.T @ Y - mean[:, None] * sums[None, :], sums[None, :]], axis=0)

        return reduce_rows(products, self.X, self.w, block_rows=step)[:-1, :]


class SparseRows:
    """A = diag(s) (X - 1 m') for a sparse X, with s the roots of the weights: products, A' A, A A'.

    X is kept in the order whose products scatter into the shorter of the two sides, so that the
    scattered side stays in cache.
    """

    def __init__(self, X: Any, s: Any, mean: Any):
        n, d = X.shape
        self.X, self.s, self.mean = (X.tocsc() if n < d else X.tocsr()), s, mean

    def times(self, V: Any) -> Any:
        """A V."""
        Y = self.X @ V - self.mean @ V
        return Y if self.s is None else self.s[:, None] * Y

    def transposed_times(self, U: Any) -> Any:
        """A'U."""
        U = U if self.s is None else self.s[:, None] * U
        return self.X.T @ U - self.mean[:, None] * namespace(U).sum(U, axis=0)[None, :]


class ShortSide:
    """A A' (n, n) or A'A (d, d), whichever is smaller, of a `SparseRows` A."""

    def __init__(self, A: SparseRows):
        self.A = A
        self.of_rows = A.X.shape[0] < A.X.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        side = min(self.A.X.shape)
        return side, side

    def __matmul__(self, V: Any) -> Any:
        if self.of_rows:
            return self.A.times(self.A.transposed_times(V))
        return self.A.transposed_times(self.A.times(V))

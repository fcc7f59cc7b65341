"""Mean of the columns and spread of the rows, as a value with `+`; products with centred rows.

For solvers that never form the d x d scatter: one pass gives the mean m and the sum of the squared
deviations, and after it centred rows are multiplied without being written out,

    (X - 1 m') V = X V - 1 (m'V),          (X - 1 m')'U = X'U - m (1'U).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, sum_dtype
from kilogram.arrays.rows import block_length, reduce_rows
from kilogram.statistics.moments import pilot, total_weight

# |mean| / deviation above which the mean is subtracted first: below it, forming the large sums and
# then taking their difference costs three digits in a product and six in a sum of squares
FAR = 1e3


@dataclass(frozen=True, eq=False)
class CentredTotals:
    """Number of rows, total weight, mean (d,), and total = sum_i w_i |x_i - mean|^2."""

    rows: int
    weight: float
    mean: Any
    total: float

    @classmethod
    def of(cls, X: Any, w: Any = None) -> CentredTotals:
        """Of the rows of X (n, d), dense or sparse, with weights w (n,)."""
        if is_sparse(X):
            return cls._about(X, w, None, *_sparse_sums(X, w))
        if is_numpy(X) and w is None and X.dtype == "float64":
            # two passes at the speed of memory: no deviation is ever written
            found = cls._about(X, w, None, *_plain_sums(X))
            if not found.far:
                return found
        p = pilot(X)
        return cls._about(X, w, p, *_shifted_sums(X, w, p))

    @classmethod
    def _about(cls, X: Any, w: Any, p: Any, s: Any, q: float) -> CentredTotals:
        """The statistic from s = sum w (x - p) and q = sum w |x - p|^2."""
        W = total_weight(X, w)
        e = s / W if W else 0 * s
        total = q - W * float(namespace(e).sum(e * e))
        # rounding below 0 is cut off; NaN must pass, it shows NaN in X
        return cls(X.shape[0], W, e if p is None else p + e, 0.0 if total < 0 else total)

    def __add__(self, other: CentredTotals | int) -> CentredTotals:
        if other == 0:  # so that sum() works
            return self
        if not isinstance(other, CentredTotals):
            return NotImplemented
        W = self.weight + other.weight
        fraction = other.weight / W if W else 0.0
        e = other.mean - self.mean
        apart = self.weight * fraction * float(namespace(e).sum(e * e))
        total = self.total + other.total + apart
        return CentredTotals(self.rows + other.rows, W, self.mean + fraction * e, total)

    __radd__ = __add__

    @property
    def far(self) -> bool:
        """Whether the mean is so far out that subtracting it after a product costs digits."""
        lengths = float(namespace(self.mean).sum(self.mean * self.mean)) * self.weight
        return lengths > FAR**2 * self.total


def columns_of(X: Any, w: Any = None) -> CentredTotals:
    """One run over the rows in blocks: the deviations of a block are its only temporary."""
    in_memory = is_numpy(X)
    found: CentredTotals = reduce_rows(
        CentredTotals.of, X, w, block_rows=block_length(X) if in_memory else None
    )
    return found


def _plain_sums(X: Any) -> tuple[Any, float]:
    """sum x and sum |x|^2 of float64 rows."""
    xp = namespace(X)
    flat = X.reshape(-1) if X.flags.c_contiguous else X.T.reshape(-1)
    return xp.sum(X, axis=0), float(flat @ flat)


def _shifted_sums(X: Any, w: Any, p: Any) -> tuple[Any, float]:
    """sum w (x - p) and sum w |x - p|^2, in float64 where the device has it."""
    xp = namespace(X)
    D = xp.astype(X, sum_dtype(X, xp), copy=False) - p
    wD = D if w is None else xp.astype(w, D.dtype)[:, None] * D
    return xp.sum(wD, axis=0), float(xp.sum(wD * D))


def _sparse_sums(X: Any, w: Any) -> tuple[Any, float]:
    xp = namespace(X)
    X = X.astype(xp.float64)
    v = xp.ones(X.shape[0]) if w is None else xp.asarray(w, dtype=xp.float64)
    return X.T @ v, float(xp.sum(X.multiply(X).T @ v))


class Scatter:
    """The scatter matrix (X - 1 m')' diag(w) (X - 1 m'), (d, d), by one pass over X a product.

    Works on every container of rows; only V and the result are ever whole.
    """

    def __init__(self, X: Any, w: Any, stats: CentredTotals):
        self.X, self.w, self.mean, self.far = X, w, stats.mean, stats.far

    @property
    def shape(self) -> tuple[int, int]:
        d = self.mean.shape[0]
        return d, d

    def __matmul__(self, V: Any) -> Any:
        m, first = self.mean, self.far
        # whole products are the faster ones; only centred copies are made block by block
        step = block_length(self.X) if first and is_numpy(self.X) else None

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

"""The design matrix as coordinate descent sees it: correlations, and Gram entries of few columns.

Four forms, centred at the weighted means (or at 0 without an intercept) and divided by the root of
the total weight, so that G = X'X and q = X'y are means over the rows:

    dense      a centred, scaled copy of X in Fortran order
    shifted    X as it is; the centring is applied to products, where no digits are lost by it
    sparse     X as it is, in CSC; the centring is applied to products
    moments    only G (p, p) and q: for few columns, rows that stream, and folds by subtraction

Of the first two, Gram entries are made for the columns that enter the working set, once. The target
is a vector (n,), or a matrix (n, t) for methods that treat several targets together; then q, b and
the correlations have a second axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from kilogram.statistics import JointMoments

Array = np.ndarray[Any, np.dtype[Any]]


class Design(Protocol):
    """The interface of a design matrix with p columns."""

    q: Array  # (p,) or (p, t) = X'y
    yy: float  # y'y, summed over targets
    norms: Array  # (p,), the lengths of the columns

    def gram(self, old: Array, new: Array) -> Array:
        """X[:, old]' X[:, new]."""

    def correlations(self, b: Array, support: Array, columns: Array | None) -> tuple[Array, float]:
        """X_j'r of some columns (all if None) for r = y - X[:, support] b, and r'r."""


def column_squares(X: Array) -> Array:
    """The sums of squares (p,) of the columns, along the memory of X."""
    if X.flags.f_contiguous:
        return np.asarray(np.einsum("ij,ij->i", X.T, X.T, dtype=np.float64))
    return np.asarray(np.einsum("ij,ij->j", X, X, dtype=np.float64))


def take_columns(X: Array, columns: Array) -> Array:
    """Some columns of X, copied along the memory of X."""
    return X.T[columns].T if X.flags.f_contiguous else X[:, columns]


@dataclass
class DenseDesign:
    """Rows in memory: X (n, p) in Fortran order, already centred and scaled like y."""

    X: Array
    y: Array
    q: Array = field(init=False)
    yy: float = field(init=False)
    norms: Array = field(init=False)

    def __post_init__(self) -> None:
        self.q = np.asarray(self.X.T @ self.y, dtype=np.float64)
        self.yy = float(np.vdot(self.y, self.y))
        self.norms = np.sqrt(column_squares(self.X))

    def gram(self, old: Array, new: Array) -> Array:
        return np.asarray(take_columns(self.X, old).T @ take_columns(self.X, new), dtype=np.float64)

    def residual(self, b: Array, support: Array) -> Array:
        """y - X[:, support] b."""
        return self.y - take_columns(self.X, support) @ b.astype(self.X.dtype)

    def correlations(self, b: Array, support: Array, columns: Array | None) -> tuple[Array, float]:
        r = self.residual(b, support)
        X = self.X if columns is None else take_columns(self.X, columns)
        wide = r.astype(np.float64)
        return np.asarray(X.T @ r, dtype=np.float64), float(np.vdot(wide, wide))


@dataclass
class SparseDesign:
    """Sparse rows: X (n, p) in CSC with weights folded in, `ones` the column that is centred on.

    The centred matrix is X - ones mean'; y is centred, and ones'y = 0, so X'y needs no correction.
    """

    X: sp.csc_array
    y: Array
    mean: Array  # (p,), zeros without an intercept
    ones: Array  # (n,), the roots of the weights
    q: Array = field(init=False)
    yy: float = field(init=False)
    norms: Array = field(init=False)

    def __post_init__(self) -> None:
        self.q = np.asarray(self.X.T @ self.y, dtype=np.float64)
        self.yy = float(np.vdot(self.y, self.y))
        squares = np.zeros(self.X.shape[1])
        filled = np.flatnonzero(np.diff(self.X.indptr))
        if len(filled):
            squares[filled] = np.add.reduceat(self.X.data**2, self.X.indptr[filled])
        left = squares - self.mean**2
        rounding = len(self.y) * float(np.finfo(float).eps) * squares  # of sums over the rows
        self.norms = np.sqrt(np.where(left > rounding, left, 0.0))

    def gram(self, old: Array, new: Array) -> Array:
        plain = (self.X[:, old].T @ self.X[:, new]).toarray().astype(np.float64)
        return plain - self.mean[old][:, None] * self.mean[new][None, :]

    def correlations(self, b: Array, support: Array, columns: Array | None) -> tuple[Array, float]:
        r = self.y - self.X[:, support] @ b
        r += np.multiply.outer(self.ones, self.mean[support] @ b)
        X = self.X if columns is None else self.X[:, columns]
        mean = self.mean if columns is None else self.mean[columns]
        shifted = np.asarray(X.T @ r) - np.multiply.outer(mean, self.ones @ r)
        return shifted, float(np.vdot(r, r))


@dataclass
class ShiftedDesign:
    """Rows in memory, as they came: X (n, p) in any order, y centred. Without weights.

    Products of X are centred afterwards, so means must not exceed the deviations by far.
    """

    X: Array
    y: Array
    mean: Array  # (p,), zeros without an intercept
    norms: Array
    q: Array = field(init=False)
    yy: float = field(init=False)

    def __post_init__(self) -> None:
        self.q = np.asarray(self.X.T @ self.y) / len(self.X)
        self.yy = float(np.vdot(self.y, self.y)) / len(self.X)

    def gram(self, old: Array, new: Array) -> Array:
        plain = take_columns(self.X, old).T @ take_columns(self.X, new) / len(self.X)
        return np.asarray(plain - np.outer(self.mean[old], self.mean[new]))

    def correlations(self, b: Array, support: Array, columns: Array | None) -> tuple[Array, float]:
        r = self.y - (take_columns(self.X, support) @ b - self.mean[support] @ b)
        X = self.X if columns is None else take_columns(self.X, columns)
        mean = self.mean if columns is None else self.mean[columns]
        found = (X.T @ r - np.multiply.outer(mean, r.sum(axis=0))) / len(self.X)
        return np.asarray(found), float(np.vdot(r, r)) / len(self.X)


@dataclass
class ScaledDesign:
    """Another design with its columns divided by `scale` (p,)."""

    inner: Design
    scale: Array
    q: Array = field(init=False)
    yy: float = field(init=False)
    norms: Array = field(init=False)

    def __post_init__(self) -> None:
        self.q = (self.inner.q.T / self.scale).T
        self.yy, self.norms = self.inner.yy, self.inner.norms / self.scale

    def gram(self, old: Array, new: Array) -> Array:
        return self.inner.gram(old, new) / np.outer(self.scale[old], self.scale[new])

    def correlations(self, b: Array, support: Array, columns: Array | None) -> tuple[Array, float]:
        c, rr = self.inner.correlations((b.T / self.scale[support]).T, support, columns)
        return (c.T / (self.scale if columns is None else self.scale[columns])).T, rr


@dataclass
class MomentDesign:
    """A design known by its moments alone."""

    G: Array
    q: Array
    yy: float
    norms: Array = field(init=False)

    def __post_init__(self) -> None:
        self.norms = np.sqrt(np.maximum(np.diagonal(self.G), 0.0))

    @classmethod
    def of(cls, moments: JointMoments, target: int | None, *, centred: bool) -> MomentDesign:
        """About the means, or about 0 without an intercept; means over the rows.

        Of one target, or of all together if it is None.
        """
        W, which = moments.weight, slice(None) if target is None else target
        G, q = np.asarray(moments.scatter), np.asarray(moments.cross)[:, which]
        yy = float(np.sum(np.diagonal(np.asarray(moments.scatter_y))[which]))
        if not centred:
            mean, mean_y = np.asarray(moments.mean), np.asarray(moments.mean_y)[which]
            G, q = G + W * np.outer(mean, mean), q + W * np.multiply.outer(mean, mean_y)
            yy += W * float(np.vdot(mean_y, mean_y))
        return cls(np.ascontiguousarray(G / W), np.ascontiguousarray(q / W), yy / W)

    def gram(self, old: Array, new: Array) -> Array:
        return self.G[np.ix_(old, new)]

    def correlations(self, b: Array, support: Array, columns: Array | None) -> tuple[Array, float]:
        which = slice(None) if columns is None else columns
        Gb = self.G[:, support] @ b
        rr = self.yy - 2.0 * float(np.vdot(self.q[support], b)) + float(np.vdot(b, Gb[support]))
        return self.q[which] - Gb[which], max(rr, 0.0)

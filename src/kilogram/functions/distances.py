"""Inner products and distances between the rows of two tables.

    inner      <x, y>                                    X Y'
    squared    |x - y|^2 = |x|^2 - 2 <x, y> + |y|^2      one matrix product
    separable  sum_j t(x_j, y_j)  or  prod_j t(x_j, y_j) one column at a time
    Hamming    number of columns that differ             half the squared distance of one-hot rows
    Mahalanobis  (x - y)' S^-1 (x - y)                   Euclidean after whitening by S = L L'

Squares leave the range of floats long before distances do: rows near 1e200 or 1e-200 are divided
by a power of two first (`common_scale`), which costs no digit.

One body for dense and sparse: sparse matrices are used by matrix products or column by column, and
only the (n, m) result is dense. `Y=None` stands for `Y = X`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kilogram.arrays.namespace import is_sparse, namespace


def inner(X: Any, Y: Any = None) -> Any:
    """<x_i, y_j> for all rows, (n, m), dense."""
    Y = X if Y is None else Y
    K = X @ Y.T
    return K.toarray() if is_sparse(K) else K


def squared_norms(X: Any) -> Any:
    """|x_i|^2, (n,)."""
    if is_sparse(X):
        xp = namespace(X)
        return xp.asarray(X.multiply(X).sum(axis=1)).reshape(-1)
    return namespace(X).sum(X * X, axis=1)


def squared_distances(X: Any, Y: Any = None) -> Any:
    """|x_i - y_j|^2, (n, m), never negative; exactly 0 on the diagonal when Y is None."""
    xp = namespace(X, Y)
    X, Y = centred_pair(X, Y)
    a = squared_norms(X)
    b = a if Y is None else squared_norms(Y)
    D = a[:, None] + b[None, :] - 2.0 * inner(X, Y)
    # clipped at 0: the three terms cancel for near points
    D = xp.where(D > 0, D, xp.zeros_like(D))
    return without_diagonal(D) if Y is None else D


def common_scale(*tables: Any, dtype: Any = None) -> float:
    """A power of two by which the tables are divided so that their squared distances are in range.

    1.0 where they are. `dtype` is the float type of the squares, if it is not that of the tables.
    """
    parts = [X.data if is_sparse(X) else X for X in tables if X is not None]
    parts = [part for part in parts if math.prod(part.shape)]
    if not parts:
        return 1.0
    xp = namespace(*parts)
    far = max(max(float(xp.max(part)), -float(xp.min(part))) for part in parts)
    kind = xp.finfo(parts[0].dtype if dtype is None else dtype)
    columns = max(X.shape[1] for X in tables if X is not None)
    most = 0.5 * (float(kind.max) / columns) ** 0.5
    least = float(kind.smallest_normal) ** 0.5 / float(kind.eps)  # near rows differ by eps
    if not math.isfinite(far) or far == 0.0 or least <= far <= most:
        return 1.0
    return power_below(far)


def power_below(size: float) -> float:
    """The largest power of two up to a positive number: dividing by it costs no digit."""
    return math.ldexp(1.0, math.frexp(size)[1] - 1)


def divide_by_scale(X: Any, scale: float) -> Any:
    """X over a power of two, in its own float type."""
    if scale == 1.0 or X is None:
        return X
    if not is_sparse(X):
        return X / scale
    X = X.copy()
    X.data /= X.dtype.type(scale)
    return X


def centred_pair(X: Any, Y: Any) -> tuple[Any, Any]:
    """X and Y moved to mean 0: distances stay, their cancellation error shrinks."""
    if is_sparse(X) or is_sparse(Y):
        return X, Y  # moving would fill the zeros
    xp = namespace(X, Y)
    centre = xp.mean(X if Y is None else Y, axis=0)
    return X - centre, (None if Y is None else Y - centre)


def without_diagonal(D: Any) -> Any:
    """D with an exactly zero diagonal."""
    xp = namespace(D)
    on_diagonal = xp.eye(D.shape[0], dtype=xp.bool, device=D.device)
    return xp.where(on_diagonal, xp.zeros_like(D), D)


def separable(
    term: Callable[[Any, Any], Any], X: Any, Y: Any = None, *, product: bool = False
) -> Any:
    """Sum (or product) over columns j of term(x_ij, y_kj), for all pairs of rows, (n, m)."""
    X = X.tocsc() if is_sparse(X) else X
    Y = X if Y is None else (Y.tocsc() if is_sparse(Y) else Y)
    total = term(_column(X, 0)[:, None], _column(Y, 0)[None, :])
    for j in range(1, X.shape[1]):
        next_term = term(_column(X, j)[:, None], _column(Y, j)[None, :])
        total = total * next_term if product else total + next_term
    return total


def city_block(X: Any, Y: Any = None) -> Any:
    """sum_j |x_j - y_j|, (n, m)."""
    xp = namespace(X, Y)
    return separable(lambda x, y: xp.abs(x - y), X, Y)


def chi_squared(X: Any, Y: Any = None) -> Any:
    """sum_j (x_j - y_j)^2 / (x_j + y_j) with 0/0 = 0, (n, m), for nonnegative rows."""
    xp = namespace(X, Y)

    def term(x: Any, y: Any) -> Any:
        total, gap = x + y, x - y
        safe = xp.where(total > 0, total, xp.ones_like(total))
        return gap * gap / safe

    return separable(term, X, Y)


def euclidean(X: Any, Y: Any = None) -> Any:
    """|x_i - y_j|, (n, m)."""
    return namespace(X, Y).sqrt(squared_distances(X, Y))


def hamming(X: Any, Y: Any = None) -> Any:
    """The number of columns in which two rows of codes differ, (n, m)."""
    xp = namespace(X, Y)
    return separable(lambda x, y: xp.astype(x != y, xp.float64), X, Y)


def squared_mahalanobis(X: Any, Y: Any, S: Any) -> Any:
    """(x_i - y_j)' S^-1 (x_i - y_j), (n, m), for a positive definite S."""
    xp = namespace(X, S)
    L = xp.linalg.cholesky(S)
    white = [None if Z is None else xp.linalg.solve(L, Z.T).T for Z in (X, Y)]
    return squared_distances(*white)


def _column(X: Any, j: int) -> Any:
    return X[:, [j]].toarray()[:, 0] if is_sparse(X) else X[:, j]

"""Logistic regression as sums over rows: loss, gradient and curvature of a block are added.

    F(W) = sum_i c_i loss(y_i, W x~_i) + 1/2 sum_kj lambda_j W_kj^2 + sum_kj mu_j |W_kj|

x~ = [x - shift, 1]: the shift only improves the conditioning and is undone at the end. W has one
row for two classes and one for each of more classes, where a common shift of all rows of W changes
nothing: it is kept at 0. The curvature comes in three sizes:

    full        (t D, t D)    Newton's Hessian  X~'diag(p_a (1[a = b] - p_b)) X~
    shared      (D, D)        the mean of its diagonal blocks
    diagonal    (t, 2, D)     sums h_i x~_i^2 and h_i x~_i: its diagonal, and the mean row
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.linalg import scatter
from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import reduce_rows
from kilogram.functions.logistic import LogisticTerms, logistic_terms, softmax_terms
from kilogram.native.logistic import logistic_pass, logistic_sparse, softmax_rows, softmax_sparse

Array = np.ndarray
ROWS = 4096  # rows of which the products p_k x are formed at a time: 8 MB for 250 columns


@dataclass(frozen=True)
class SoftmaxSums:
    """Loss, gradient G (t, D) and curvature H (one of three sizes, or None) of some rows."""

    loss: float
    G: Array
    H: Array | None = None

    def __add__(self, other: SoftmaxSums) -> SoftmaxSums:
        H = None if self.H is None or other.H is None else self.H + other.H
        return SoftmaxSums(self.loss + other.loss, self.G + other.G, H)


class Block(NamedTuple):
    """Rows, codes of their classes (+-1 for two classes) and weights (None: 1)."""

    X: Any
    y: Any
    c: Any


def sums_of(block: Block, W: Array, shift: Array, kind: str | None) -> SoftmaxSums:
    """The sums of a block at W (t, D)."""
    X, y, c = block
    b = W[:, -1] - (W[:, :-1] * shift).sum(axis=1)  # not BLAS: its idle threads take the cores
    sparse = is_sparse(X)
    if W.shape[0] == 1 and (sparse or is_numpy(X)):
        one_pass = logistic_sparse if sparse else logistic_pass
        found = one_pass(X, y, c, W[0, :-1], float(b[0]), curvatures=kind is not None)
        G = np.append(found.pulled - found.pull * shift, found.pull)[None, :]
        H = None if kind is None else curvature(X, found.h, None, shift, kind)
        return SoftmaxSums(found.loss, G, H)
    if kind is None and (sparse or is_numpy(X)):
        loss, pulled, total = (softmax_sparse if sparse else softmax_rows)(X, y, c, W[:, :-1], b)
        return SoftmaxSums(loss, np.column_stack([pulled - total[:, None] * shift, total]))
    terms = _terms(block, W, b, kind is not None)
    R = terms.R if terms.R.ndim == 2 else terms.R[:, None]
    pulled = np.asarray(to_numpy(_transposed(X, R)), dtype=np.float64)
    total = np.asarray(to_numpy(namespace(R).sum(R, axis=0)), dtype=np.float64)
    G = np.column_stack([pulled - total[:, None] * shift, total])
    H = None if kind is None else curvature(X, terms.curved, c, shift, kind)
    return SoftmaxSums(terms.loss, G, H)


def _terms(block: Block, W: Array, b: Array, curved: bool) -> LogisticTerms:
    X, y, c = block
    # a vector times sparse rows is three times as fast as a matrix of one column
    right = W[0, :-1] if W.shape[0] == 1 else np.ascontiguousarray(W[:, :-1].T)
    if is_sparse(X):
        Z = np.asarray(X @ right.astype(X.dtype, copy=False)) + b.astype(X.dtype)
    else:
        Z = X @ like(right, X) + like(b, X)
    if W.shape[0] > 1:
        return softmax_terms(Z, y, c, keep=curved)
    ones = namespace(Z).ones_like(Z)
    return logistic_terms(Z, y, ones if c is None else c)


def _transposed(X: Any, R: Any) -> Any:
    """R'X, (t, d)."""
    if is_sparse(X):
        return (X.T @ (R[:, 0] if R.shape[1] == 1 else R)).reshape(X.shape[1], -1).T
    return R.T @ X if R.shape[1] > 1 else (X.T @ R[:, 0])[None, :]


def curvature(X: Any, P: Any, c: Any, shift: Array, kind: str) -> Array:
    """The curvature of a block: P holds c p_k (n, t), or for two classes c q (1 - q) (n,)."""
    if P.ndim == 1:
        H = _scattered(X, P, shift, kind)
        return H[None] if kind == "diagonal" else H
    xp, t = namespace(P), P.shape[1]
    ratio = P if c is None else P / xp.where(c > 0, c, xp.ones_like(c))[:, None]
    if kind == "shared":
        return _scattered(X, xp.sum(P * (1.0 - ratio), axis=1) / t, shift, kind)
    if kind == "diagonal":
        return np.stack(
            [_scattered(X, P[:, k] * (1.0 - ratio[:, k]), shift, kind) for k in range(t)]
        )
    D = X.shape[1] + 1
    H = np.zeros((t * D, t * D))
    for k in range(t):
        at = slice(k * D, (k + 1) * D)
        H[at, at] = _scattered(X, P[:, k], shift, "full")
    for start in range(0, X.shape[0], ROWS):
        rows = slice(start, min(start + ROWS, X.shape[0]))
        H -= _outer(X[rows, :], P[rows, :], ratio[rows, :], shift)
    return H


def _scattered(X: Any, h: Any, shift: Array, kind: str) -> Array:
    """sum_i h_i x~_i x~_i', (D, D), or sums of h_i x~_i^2 and h_i x~_i, (2, D)."""
    if kind == "diagonal":
        squares = X.power(2) if is_sparse(X) else X * X
        second, first = (np.asarray(to_numpy(A.T @ h), dtype=np.float64) for A in (squares, X))
        total = float(namespace(h).sum(h))
        # sum h (x - s)^2, kept from falling below 0 by rounding
        second = np.maximum(second - 2 * first * shift + total * shift**2, 0.0)
        return np.stack([np.append(second, total), np.append(first - total * shift, total)])
    S, s = scatter(X, h, None if is_sparse(X) and not shift.any() else like(shift, X))
    D = X.shape[1] + 1
    H = np.empty((D, D))
    H[:-1, :-1] = to_numpy(S)
    H[-1, :-1] = H[:-1, -1] = to_numpy(s)
    H[-1, -1] = float(namespace(h).sum(h))
    return H


def _outer(X: Any, P: Any, ratio: Any, shift: Array) -> Array:
    """sum_i c_i (p_i outer x~_i)(p_i outer x~_i)', the part of the Hessian that ties classes."""
    X = X.toarray() if is_sparse(X) else X
    xp = namespace(X)
    ones = xp.ones_like(X[:, :1])
    rows = xp.concat([X - like(shift, X)[None, :], ones], axis=1)
    B = xp.reshape(xp.sqrt(P * ratio)[:, :, None] * rows[:, None, :], (X.shape[0], -1))
    return np.asarray(to_numpy(scatter(B)[0]), dtype=np.float64)


def centred(W: Array) -> Array:
    """W (t, D) less the mean of its rows, where there are several classes.

    The loss ignores a common shift of all rows of W, so the rows of its gradient sum to 0. What
    rounding leaves of that sum must go: only the penalty opposes a shift, and for a large C it is
    so weak that the noise of float32 would move W by per cents.
    """
    return W - W.mean(axis=0) if W.shape[0] > 1 else W


def strided(r: Any, step: int) -> Any:
    """Every step-th row."""
    return r[::step] if r.ndim == 1 else r[::step, :]


class SoftmaxIterate(NamedTuple):
    """W, the smooth part of F and its gradient there, and the curvature if it was asked for."""

    W: Array
    value: float
    gradient: Array
    H: Array | None = None


@dataclass(frozen=True)
class Problem:
    """The rows, how a block of them becomes a `Block`, and the penalties (D,)."""

    rows: tuple[Any, ...]
    prepare: Callable[..., Block]
    shift: Array
    quadratic: Array
    absolute: Array
    t: int
    #: Total weight of the rows.
    total: float
    intercept: bool = True
    #: Called with the first gradient: the search for NaN costs no pass of its own.
    ensure_finite: Callable[[Any], None] = lambda statistic: None

    @property
    def D(self) -> int:
        return int(self.shift.shape[0]) + 1

    def sums(self, W: Array, kind: str | None = None) -> SoftmaxSums:
        """One pass over the rows."""
        shift, prepare = self.shift, self.prepare

        def block(*rows: Any) -> SoftmaxSums:
            return sums_of(prepare(*rows), W, shift, kind)

        return reduce_rows(block, *self.rows)

    def at(self, W: Array, kind: str | None = None) -> SoftmaxIterate:
        """One pass over the rows, with the penalties."""
        found = self.sums(W, kind)
        value = found.loss + 0.5 * float(np.sum(self.quadratic * W * W))
        G = centred(found.G) + self.quadratic * W
        if not self.intercept:
            G[:, -1] = 0.0
        return SoftmaxIterate(W, value, G, found.H)

    def start(self) -> Array:
        """W = 0."""
        return np.zeros((self.t, self.D))

    def sampled(self, step: int) -> Problem:
        """Every step-th row of arrays in memory, weighing as much as all."""
        rows = tuple(None if r is None else strided(r, step) for r in self.rows)
        prepare = self.prepare

        def scaled(*blocks: Any) -> Block:
            X, y, c = prepare(*blocks)
            ones = namespace(X).ones(X.shape[0], dtype=X.dtype) if c is None else c
            return Block(X, y, ones * float(step))

        return replace(self, rows=rows, prepare=scaled)

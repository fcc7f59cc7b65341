"""One pass over rows for logistic regression, softmax terms, quadratic models with absolute values,
and the steps of online classifiers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, run, vector

_EXP_WORK = 24  # what one exponential and logarithm cost, in multiplications


class Pass(NamedTuple):
    """Of margins z = X w + b: the loss, X'r and sum r with r = dloss/dz, and the curvatures."""

    loss: float
    pulled: Array
    pull: float
    h: Array | None


def logistic_pass(
    X: Array, y: Array, c: Array | None, w: Array, b: float, *, curvatures: bool = False
) -> Pass:
    """Loss and gradient of labels y = +-1 (n,) under weights c, reading X (n, d) once."""
    x = matrix("X", X)
    n, d = x.shape
    labels, weights = vector(y, n, x.dtype, "y"), vector(c, n, x.dtype, "c")
    h = np.empty(n, dtype=x.dtype) if curvatures else None
    sums = np.empty(d + 2)
    work = n * (2 * d + _EXP_WORK)
    run(_core.logistic_pass, work, x, labels, weights, vector(w, d, x.dtype, "w"), b, h, sums)
    return Pass(float(sums[d + 1]), sums[:d], float(sums[d]), h)


def softmax_rows(
    X: Array, y: Array, c: Array | None, W: Array, b: Array
) -> tuple[float, Array, Array]:
    """Loss, R'X (t, d) and sum R (t,) of codes y under margins X W' + b, reading X (n, d) once."""
    x = matrix("X", X)
    if x.strides[1] != x.itemsize or x.strides[0] < x.shape[1] * x.itemsize:
        x = np.ascontiguousarray(x)
    (n, d), t = x.shape, len(W)
    codes = _codes(y, n, t)
    sums = np.empty(t * (d + 1) + 1)
    weights = np.ascontiguousarray(W, dtype=x.dtype)
    run(
        _core.softmax_rows, n * t * (2 * d + _EXP_WORK), x, codes, vector(c, n, x.dtype, "c"),
        weights, vector(b, t, x.dtype, "b"), sums,
    )  # fmt: skip
    return float(sums[-1]), sums[: t * d].reshape(t, d), sums[t * d : -1]


def logistic_sparse(
    X: Any, y: Array, c: Array | None, w: Array, b: float, *, curvatures: bool = False
) -> Pass:
    """`logistic_pass` of a CSR matrix."""
    n, d = X.shape
    labels, weights = vector(y, n, X.dtype, "y"), vector(c, n, X.dtype, "c")
    h = np.empty(n, dtype=X.dtype) if curvatures else None
    sums = np.empty(d + 2)
    run(
        _core.logistic_sparse, _sparse_work(X, 1), *_compressed(X), labels, weights,
        vector(w, d, X.dtype, "w"), b, h, sums,
    )  # fmt: skip
    return Pass(float(sums[d + 1]), sums[:d], float(sums[d]), h)


def softmax_sparse(
    X: Any, y: Array, c: Array | None, W: Array, b: Array
) -> tuple[float, Array, Array]:
    """`softmax_rows` of a CSR matrix."""
    (n, d), t = X.shape, len(W)
    sums = np.empty(t * (d + 1) + 1)
    run(
        _core.softmax_sparse, _sparse_work(X, t), *_compressed(X), _codes(y, n, t),
        vector(c, n, X.dtype, "c"), np.ascontiguousarray(W, dtype=X.dtype),
        vector(b, t, X.dtype, "b"), sums,
    )  # fmt: skip
    return float(sums[-1]), sums[: t * d].reshape(t, d), sums[t * d : -1]


def _sparse_work(X: Any, t: int) -> float:
    """An entry that lies anywhere costs about four multiplications."""
    return t * (8.0 * X.nnz + _EXP_WORK * X.shape[0])


def _compressed(X: Any) -> tuple[Array, Array, Array]:
    """Entries, columns and row starts, the last two of one type."""
    kind = np.promote_types(X.indices.dtype, X.indptr.dtype)
    parts = (X.data, X.indices.astype(kind, copy=False), X.indptr.astype(kind, copy=False))
    return tuple(np.ascontiguousarray(part) for part in parts)  # type: ignore[return-value]


def _codes(y: Array, n: int, t: int) -> Array:
    codes = np.ascontiguousarray(y, dtype=np.int64)
    if codes.shape != (n,):
        raise ValueError(f"y has shape {codes.shape}; ({n},) is needed")
    if n and not 0 <= codes.min() <= codes.max() < t:
        raise ValueError(f"codes of {t} classes lie between 0 and {t - 1}")
    return codes


def softmax_inplace(Z: Array, y: Array, c: Array | None, *, keep: bool = False) -> float:
    """Z (n, t) <- c (softmax(Z) - onehot(y)), or c softmax(Z) if `keep`; returns the loss."""
    n, t = Z.shape
    codes, weights = _codes(y, n, t), vector(c, n, Z.dtype, "c")
    return float(run(_core.softmax_pass, Z.size * _EXP_WORK, Z, codes, weights, keep))


def elastic_step(
    H: Array, g: Array, w: Array, absolute: Array, *, tol: float, passes: int = 1000
) -> Array:
    """d of the smallest g'd + 1/2 d'H d + sum_j absolute_j |w_j + d_j|, by coordinate descent."""
    d, Hd = np.zeros_like(g), np.zeros_like(g)
    _core.elastic_step(
        np.ascontiguousarray(H), np.ascontiguousarray(g), np.ascontiguousarray(w),
        np.ascontiguousarray(absolute), d, Hd, tol, passes,
    )  # fmt: skip
    return d


class OnlineRows(NamedTuple):
    """Entries row by row, columns and row starts (both None if dense), codes of the classes."""

    data: Array
    indices: Array | None
    indptr: Array | None
    codes: Array


class OnlineMean(NamedTuple):
    """Sums of the changes of W and b, each times the number of steps before it."""

    W: Array
    b: Array


LOSSES = ("perceptron", "hinge", "squared", "tanh", "log")


def online_pass(
    rows: OnlineRows,
    c: Array | None,
    order: Array,
    loss: str,
    pace: Array,
    intercept: bool,
    state: tuple[Array, Array],
    mean: OnlineMean | None,
    steps: float,
) -> tuple[float, int]:
    """One step per row of `order`; W (t, d) and b (t,) change in place. The loss, and the changes.

    pace = (eta0, tau, power, l2): eta = eta0 / (1 + step / tau)^power.
    """
    W, b = state
    sum_W, sum_b = (None, None) if mean is None else mean
    data, indices, indptr, codes = rows
    found = _core.online_pass(
        data, indices, indptr, codes, c, order, LOSSES.index(loss), pace, intercept, W, b,
        sum_W, sum_b, steps,
    )  # fmt: skip
    return float(found[0]), int(found[1])

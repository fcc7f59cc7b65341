"""Passes of matrix factors: rows against k components and back, with one reading of the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, run, vector

UPDATES = {"cd": 0, "mu": 1, "poisson": 2}
CONTRASTS = {"logcosh": 0, "exp": 1, "cube": 2}


class PassResult(NamedTuple):
    """What a pass met: projected gradients (or the largest relative change), and the loss.

    Measured, the loss is that of the factors as they came; otherwise the value
    1/2 w'Bw - a'w + l1 sum w of the loadings found (0 for "poisson").
    """

    violation: float
    loss: float


class HalfUpdateRule(NamedTuple):
    """How the loadings of a row are improved, and how often at most."""

    update: str = "cd"
    sweeps: int = 1
    tol: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    floor: float = 0.0


def factor_pass(
    X: Array,
    W: Array,
    H: Array,
    B: Array,
    c: Array,
    rule: HalfUpdateRule,
    *,
    s: Array | None = None,
    missing: bool = False,
    measure: bool = False,
    A: Array | None = None,
    gram: Array | None = None,
) -> PassResult:
    """Improve the loadings W (n, k) of the rows X (n, d) in place, H (k, d) as it is.

    B (k, k) is H H' + l2 I, c (k) the sums of H's rows + l1. A (k, d) gets (sW)'X, for "poisson"
    (sW)'(X / WH), and gram (k, k + 1) gets (sW)'W beside the sums of sW. With `missing`, NaN are
    entries nobody has seen; with `measure` the loss is that of the factors as they came.
    """
    x = matrix("X", X)
    k = len(H)
    gram = np.empty((k, k + 1)) if gram is None else gram
    found = run(
        _core.factor_pass,
        4.0 * x.size * k,
        x,
        W,
        H,
        B,
        vector(c, k, x.dtype, "c"),
        vector(s, len(x), x.dtype, "s"),
        UPDATES[rule.update],
        rule.sweeps,
        rule.tol,
        rule.l1,
        _l2(rule),
        rule.floor,
        missing,
        measure,
        A,
        gram,
    )
    return PassResult(*found)


def _l2(rule: HalfUpdateRule) -> float:
    """B holds the penalty on squares already; the Poisson step has no B."""
    return rule.l2 if rule.update == "poisson" else 0.0


def factor_sweep(H: Array, A: Array, B: Array, sweeps: int, l1: float) -> PassResult:
    """Coordinate descent on 1/2 h'Bh - a'h + l1 sum h, h >= 0, for every column of H (k, d).

    The loss is the value reached.
    """
    work = float(H.size) * len(H) * sweeps
    return PassResult(*run(_core.factor_sweep, work, H, A, B, sweeps, l1))


def factor_sparse(
    X: Any,
    W: Array,
    F: Array,
    B: Array,
    c: Array,
    rule: HalfUpdateRule,
    measure: bool = False,
    *,
    start: Array | None = None,
    value: bool = True,
) -> PassResult:
    """Improve the loadings W (n, ld) of the rows of a CSR matrix; F (d, ld) are the components
    column by column. Rows of W and F are padded with zeros: see `pad_rows`.

    They begin at `start`, which is left as it is, or without it at W. Without `value` a loss that
    is not measured is not returned.
    """
    found = run(
        _core.factor_sparse,
        4.0 * X.nnz * len(B) + 2.0 * len(W) * len(B) ** 2,
        X.data,
        X.indices,
        X.indptr,
        W if start is None else start,
        W,
        F,
        B,
        vector(c, len(B), W.dtype, "c"),
        UPDATES[rule.update],
        rule.sweeps,
        rule.tol,
        rule.l1,
        _l2(rule),
        rule.floor,
        measure,
        value,
    )
    return PassResult(*found)


def sparse_times(X: Any, F: Array, out: Array) -> Array:
    """out (n, ld) = X F of a CSR matrix and rows F (d, ld), padded: see `pad_rows`."""
    run(_core.sparse_times, 4.0 * X.nnz * F.shape[1], X.data, X.indices, X.indptr, F, out)
    return out


def factor_gram(F: Array, k: int, s: Array | None = None) -> Array:
    """F'SF beside the sums F's, (k, k + 1) in float64, of padded rows F (n, ld), weights s (n,)."""
    gram = np.empty((k, k + 1))
    run(_core.factor_gram, float(F.size) * k, F, vector(s, len(F), F.dtype, "s"), gram)
    return gram


def extrapolate(now: Array, before: Array, b: float, out: Array) -> Array:
    """out = max(0, now + b (now - before)), entry by entry; out may be one of the others."""
    run(_core.run_ahead, float(now.size), now, before, b, out)
    return out


def pad_rows(W: Array) -> Array:
    """A copy of W (n, k) whose rows are whole vectors, zeros in the columns added."""
    lanes = int(_core.factor_lanes(W.dtype == np.float64))
    n, k = W.shape
    out = np.zeros((n, -(-k // lanes) * lanes), dtype=W.dtype)
    out[:, :k] = W
    return out


def contrast_pass(X: Array, M: Array, kind: str, alpha: float) -> tuple[Array, Array, Array]:
    """For u = M x: sum g(u) x' (k, d), sums of g'(u) and of G(u), each (k,), over the rows of X."""
    x = matrix("X", X)
    M = np.ascontiguousarray(M, dtype=x.dtype)
    k = len(M)
    G, slope, value = np.empty((k, x.shape[1]), x.dtype), np.empty(k), np.empty(k)
    work = 4.0 * x.size * k
    run(_core.contrast_pass, work, x, M, CONTRASTS[kind], alpha, G, slope, value)
    return G, slope, value

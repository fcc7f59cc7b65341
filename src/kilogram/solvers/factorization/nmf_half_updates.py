"""Half a step of NMF: better loadings of some rows for given components.

    Frobenius   min_{w >= 0} 1/2 w'Bw - a'w + l1 sum w,   B = H H' + l2 I,  a = H x
                one coordinate after the other: w_j <- max(0, w_j - (Bw - a + l1)_j / B_jj)
    Poisson     w_j <- w_j sum_i H_ji x_i / (wH)_i  /  (sum_i H_ji + l1 + l2 w_j)

Beside the loadings a half step yields what the other half needs, sums over the rows: A = W'X and
W'W, or A = W'(X / WH) and the sums of W. They add, so blocks of rows and Dask come for free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.threads import one_team
from kilogram.native.factorization import HalfUpdateRule, factor_pass, factor_sparse, pad_rows


@dataclass(frozen=True, eq=False)
class Half:
    """Sums over rows: A (k, d), gram (k, k + 1); and the loadings themselves, block by block."""

    A: Any
    gram: np.ndarray
    violation: float
    loss: float
    W: tuple[Any, ...]
    summed: bool = True  # violations add, relative changes do not

    def __add__(self, other: Half) -> Half:
        both = (self.violation, other.violation)
        return Half(
            self.A + other.A,
            self.gram + other.gram,
            sum(both) if self.summed else max(both),
            self.loss + other.loss,
            self.W + other.W,
            self.summed,
        )


@dataclass(frozen=True, eq=False)
class Parts:
    """The components H (k, d) with what every row asks of them: H H' + l2 I and sums + l1."""

    H: Any
    B: Any
    c: Any

    @staticmethod
    def of(H: Any, rule: HalfUpdateRule) -> Parts:
        xp = namespace(H)
        with one_team(H.shape[0]):
            B = H @ H.T
        if rule.l2:
            B = B + rule.l2 * xp.eye(H.shape[0], dtype=H.dtype, device=H.device)
        return Parts(H, B, xp.sum(H, axis=1) + rule.l1)

    def like_block(self, block: Any) -> Parts:
        if is_sparse(block):
            dtype = np.float32 if block.dtype == np.float32 else np.float64
            return Parts(*(np.ascontiguousarray(a, dtype) for a in (self.H, self.B, self.c)))
        return Parts(like(self.H, block), like(self.B, block), like(self.c, block))


def half(
    X: Any,
    W: Any,
    s: Any,
    parts: Parts,
    rule: HalfUpdateRule,
    missing: bool = False,
    measure: bool = False,
    sums: bool = True,
) -> Half:
    """Better loadings of one block of rows, in its library; W is not changed."""
    parts = parts.like_block(X)
    if is_sparse(X):
        return _sparse_half(X, W, s, parts, rule, measure, sums)
    if not is_numpy(X):
        return plain_half(X, like(W, X), s, parts, rule, missing, measure)
    W = np.array(W, dtype=X.dtype, order="C")
    A = np.empty_like(parts.H) if sums else None
    gram = np.zeros((len(parts.H), len(parts.H) + 1))
    H, B = np.ascontiguousarray(parts.H), np.ascontiguousarray(parts.B)
    found = factor_pass(
        X, W, H, B, parts.c, rule, s=s, missing=missing, measure=measure, A=A, gram=gram
    )
    return Half(A if sums else 0.0, gram, *found, (W,), rule.update == "cd")


def _sparse_half(
    X: Any, W: Any, s: Any, parts: Parts, rule: HalfUpdateRule, measure: bool, sums: bool
) -> Half:
    X, dtype, k = X.tocsr(), parts.H.dtype, len(parts.H)
    X = X if X.dtype == dtype else X.astype(dtype)
    W = pad_rows(np.asarray(to_numpy(W), dtype=dtype))
    F = pad_rows(parts.H.T)
    found = factor_sparse(X, W, F, parts.B, parts.c, rule, measure)
    W = np.ascontiguousarray(W[:, :k])
    gram = np.zeros((k, k + 1))
    A: Any = 0.0
    if sums:
        scaled = W if s is None else W * np.asarray(s, dtype=dtype)[:, None]
        gram[:, :k], gram[:, k] = scaled.T @ W, scaled.sum(axis=0)
        A = np.asarray(_shares(X, W, parts.H, rule).T @ scaled).T
    return Half(A, gram, *found, (W,), rule.update == "cd")


def _shares(X: Any, W: np.ndarray, H: np.ndarray, rule: HalfUpdateRule) -> Any:
    """X, or for "poisson" X / WH where X has entries."""
    if rule.update != "poisson":
        return X
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    under = np.einsum("ij,ij->i", W[rows], H.T[X.indices])
    ratios = X.copy()
    ratios.data = X.data / np.maximum(under, rule.floor)
    return ratios


def plain_half(
    X: Any,
    W: Any,
    s: Any,
    parts: Parts,
    rule: HalfUpdateRule,
    missing: bool = False,
    measure: bool = False,
) -> Half:
    """Half an update in any array library; the oracle of the native pass."""
    xp, H = namespace(X), parts.H
    weights = None if s is None else like(s, X)[:, None]
    W, loss, violation = xp.asarray(W, copy=True), 0.0, 0.0
    seen = ~xp.isnan(X) if missing else None
    filled = X if seen is None else xp.where(seen, X, W @ H)
    if measure or missing:
        loss = plain_loss(X, W, H, rule, seen, weights)
    if rule.update == "poisson":
        for sweep in range(rule.sweeps):
            ratio = _ratio(X, W @ H, seen, rule.floor)
            W, moved = _multiplied(W, ratio @ H.T, parts.c, rule)
            violation = moved if sweep == 0 else violation
            if not moved > rule.tol:
                break
        filled = _ratio(X, W @ H, seen, rule.floor)
    else:
        P = filled @ H.T
        W, violation = _improved(W, P, parts.B, rule)
        if not (measure or missing):
            loss = float(xp.sum(W * (0.5 * (W @ parts.B) - P + rule.l1)))
    sW = W if weights is None else W * weights
    gram = np.concatenate(
        [np.asarray(to_numpy(sW.T @ W)), np.asarray(to_numpy(xp.sum(sW, axis=0)))[:, None]], axis=1
    )
    return Half(sW.T @ filled, gram.astype(float), violation, loss, (W,), rule.update == "cd")


def _improved(W: Any, P: Any, B: Any, rule: HalfUpdateRule) -> tuple[Any, float]:
    first = 0.0
    for sweep in range(rule.sweeps):
        if rule.update == "mu":
            W, met = _multiplied(W, P, W @ B + rule.l1 - rule.l2 * W, rule)
            moved = met
        else:
            W, met, moved = coordinate_sweep(W, P, B, rule.l1)
        first = met if sweep == 0 else first
        if not moved > rule.tol:
            break
    return W, first


def coordinate_sweep(W: Any, P: Any, B: Any, l1: float) -> tuple[Any, float, float]:
    """One sweep over the coordinates of every row; projected gradients met; largest move."""
    xp = namespace(W)
    met, moved = 0.0, 0.0
    for j in range(W.shape[1]):
        curve = float(B[j, j])
        if not curve > 0:
            continue
        g, old = W @ B[:, j] - P[:, j] + l1, W[:, j]
        pull = xp.where(old > 0, g, xp.clip(g, max=0.0))
        next_ = xp.clip(old - g / curve, min=0.0)
        met += float(xp.sum(xp.abs(pull)))
        moved = max(moved, float(xp.max(xp.abs(next_ - old))))
        W[:, j] = next_
    top = float(xp.max(W)) if W.shape[0] else 0.0
    return W, met, moved / top if top > 0 else 0.0


def _multiplied(W: Any, over: Any, under: Any, rule: HalfUpdateRule) -> tuple[Any, float]:
    xp = namespace(W)
    under = under + rule.l2 * W
    safe = xp.where(under > 0, under, xp.ones_like(under))
    found = xp.where(under > 0, W * (over / safe), W)
    top = float(xp.max(found))
    return found, float(xp.max(xp.abs(found - W))) / top if top > 0 else 0.0


def _ratio(X: Any, P: Any, seen: Any, floor: float) -> Any:
    xp = namespace(X)
    ratio = X / xp.clip(P, min=floor)
    return ratio if seen is None else xp.where(seen, ratio, xp.ones_like(ratio))


def plain_loss(
    X: Any, W: Any, H: Any, rule: HalfUpdateRule, seen: Any = None, weights: Any = None
) -> float:
    """sum (x - p)^2, or for "poisson" sum x log(x / p) - x + p, over what was seen."""
    xp, P = namespace(X), W @ H
    if rule.update == "poisson":
        ratio = xp.where(X > 0, X, xp.ones_like(X)) / xp.where(
            X > 0, xp.clip(P, min=rule.floor), xp.ones_like(P)
        )
        term = xp.where(X > 0, X * xp.log(ratio), xp.zeros_like(X)) - X + P
    else:
        term = (X - P) ** 2
    term = term if seen is None else xp.where(seen, term, xp.zeros_like(term))
    return float(xp.sum(term if weights is None else term * weights))


ENTRIES = 1 << 18  # of a sparse matrix, looked at together: 2 MiB each for rows, columns and values


def sparse_loss(X: Any, W: Any, s: Any, H: Any, rule: HalfUpdateRule) -> float:
    """`plain_loss` of sparse rows, by the entries that are there."""
    X, total = X.tocsr(), 0.0
    w = np.ones(X.shape[0]) if s is None else np.asarray(s, dtype=np.float64)
    W, F = np.asarray(W, dtype=np.float64), np.ascontiguousarray(np.asarray(H, np.float64).T)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    for i in range(0, X.nnz, ENTRIES):
        at = slice(i, i + ENTRIES)
        x, by = X.data[at].astype(np.float64), w[rows[at]]
        p = np.einsum("ij,ij->i", W[rows[at]], F[X.indices[at]])
        if rule.update == "poisson":
            ratio = np.where(x > 0, x, 1.0) / np.where(x > 0, np.maximum(p, rule.floor), 1.0)
            total += float(by @ (x * np.log(ratio) - x))
        else:
            total += float(by @ (x * (x - 2 * p)))
    sW = W * w[:, None]
    if rule.update == "poisson":
        return total + float(sW.sum(axis=0) @ F.sum(axis=0))
    return total + float(np.sum((sW.T @ W) * (F.T @ F)))

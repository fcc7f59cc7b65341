"""The rows of NMF with their loadings: both halves of a step, for every container of rows.

DenseTable    one NumPy array: one reading of X for both products of a step
SparseTable   X and its transpose in CSR: each half visits the entries once, nothing is added up
BlockTable    arrays of other libraries, streams, Dask: sums over blocks, loadings cut where X is
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.native.factorization import (
    HalfUpdateRule,
    extrapolate,
    factor_gram,
    factor_pass,
    factor_sparse,
    factor_sweep,
    pad_rows,
)
from kilogram.solvers.factorization.nmf_half_updates import (
    Half,
    Parts,
    coordinate_sweep,
    half,
    sparse_loss,
)


class DenseTable:
    """X (n, d) in memory with W (n, k), which changes in place."""

    def __init__(self, X: Any, W: Any, s: Any, missing: bool):
        self.X, self.s, self.missing = X, s, missing
        self.W = np.array(W, dtype=X.dtype, order="C")
        k = self.W.shape[1]
        self.A, self.gram = np.empty((k, X.shape[1]), X.dtype), np.empty((k, k + 1))

    def loadings(self, H: Any, rule: HalfUpdateRule, measure: bool = False) -> tuple[float, float]:
        """Improve W; the violation met and the loss (see `native.factors.Terms`)."""
        parts = Parts.of(H, rule)
        return factor_pass(
            self.X,
            self.W,
            np.ascontiguousarray(H),
            np.ascontiguousarray(parts.B),
            parts.c,
            rule,
            s=self.s,
            missing=self.missing,
            measure=measure,
            A=self.A,
            gram=self.gram,
        )

    def components(self, H: Any, rule: HalfUpdateRule) -> tuple[Any, float, float]:
        """Better components for W as it is: H, the violation met and the value reached."""
        return improve_components(H, self.A, self.gram, rule)

    def extrapolate(self, H: Any, before: Any, b: float) -> Any:
        """H, the best so far, and b times its last change; nothing below 0."""
        return plain_onward(H, before, b)

    def scale(self, c: np.ndarray) -> None:
        """Multiply the columns of W by c (k,)."""
        self.W *= c.astype(self.W.dtype)
        self.gram = scaled_gram(self.gram, c)


class BlockTable:
    """Rows that are seen block by block; the loadings stay beside, cut where the rows are."""

    def __init__(self, X: Any, W: Any, s: Any, missing: bool):
        self.X, self.W, self.s, self.missing = X, W, s, missing
        self.A: Any = None
        self.gram: Any = None

    def loadings(self, H: Any, rule: HalfUpdateRule, measure: bool = False) -> tuple[float, float]:
        f = partial(half, parts=Parts.of(H, rule), rule=rule, missing=self.missing, measure=measure)
        found: Half = reduce_rows(f, self.X, self.W, self.s)
        xp = namespace(found.W[0])
        self.W = found.W[0] if len(found.W) == 1 else xp.concat(list(found.W), axis=0)
        self.A, self.gram = found.A, found.gram
        return found.violation, found.loss

    def components(self, H: Any, rule: HalfUpdateRule) -> tuple[Any, float, float]:
        return improve_components(H, self.A, self.gram, rule)

    def extrapolate(self, H: Any, before: Any, b: float) -> Any:
        return plain_onward(H, before, b)

    def scale(self, c: np.ndarray) -> None:
        """Multiply the columns of W by c (k,)."""
        self.W = self.W * like(c, self.W)[None, :]
        self.gram = scaled_gram(self.gram, c)


class SparseTable:
    """X (n, d) in CSR and its transpose; both factors are rows of k numbers, padded.

    Three buffers hold components: the best, those extrapolated from it, and the next. What is given
    is a view of a buffer, which is written to again only when no step reads it any more.
    """

    def __init__(self, X: Any, W: Any, s: Any):
        self.X = X.tocsr()
        scaled = self.X
        if s is not None:
            scaled = self.X.copy()
            scaled.data = scaled.data * np.repeat(s, np.diff(scaled.indptr)).astype(X.dtype)
        self.Xt, self.s = scaled.T.tocsr(), s
        self._W = pad_rows(np.asarray(W, dtype=X.dtype))
        self.k = W.shape[1]
        self.gram = np.empty((self.k, self.k + 1))
        shape = (X.shape[1], self._W.shape[1])
        self._buffers = [np.zeros(shape, dtype=X.dtype) for _ in range(3)]
        self._best: Any = None

    def loadings(self, H: Any, rule: HalfUpdateRule, measure: bool = False) -> tuple[float, float]:
        F = self._output_buffer(H)
        _, B, c = self._normal(F, None, rule)
        plain = measure and self.s is None and rule.update == "poisson"
        loss = 0.0
        if plain:  # the pass leaves out the entries that are 0
            loss = float(self._W.sum(axis=0)[: self.k] @ H.sum(axis=1))
        elif measure:
            loss = sparse_loss(self.X, self.W, self.s, H, rule)
        found = factor_sparse(self.X, self._W, F, B, c, rule, plain, value=False)
        return found.violation, loss + found.loss

    def components(self, H: Any, rule: HalfUpdateRule) -> tuple[Any, float, float]:
        W, F = self._W, self._output_buffer(H)
        self.gram, B, c = self._normal(W, self.s, rule)
        out = self._unused_buffer(F, self._best)
        found = factor_sparse(self.Xt, out, W, B, c, rule, start=F)
        out[:, : self.k][:, unused_parts(self.gram, rule)] = 0.0
        return self._given_order(out), found.violation, found.loss

    def extrapolate(self, H: Any, before: Any, b: float) -> Any:
        self._best, last = self._output_buffer(H), self._output_buffer(before)
        out = self._unused_buffer(self._best, last)
        extrapolate(self._best, last, b, out)
        return self._given_order(out)

    def _normal(self, F: np.ndarray, s: Any, rule: HalfUpdateRule) -> tuple[Any, Any, Any]:
        """F'SF beside the sums F's; the same + l2 I; the sums + l1."""
        k = self.k
        gram = factor_gram(F, k, s)
        B = np.ascontiguousarray(gram[:, :k])
        B.flat[:: k + 1] += rule.l2
        return gram, B.astype(F.dtype), (gram[:, k] + rule.l1).astype(F.dtype)

    def _given_order(self, buffer: np.ndarray) -> np.ndarray:
        return buffer[:, : self.k].T  # column by column in memory

    def _output_buffer(self, H: Any) -> np.ndarray:
        """The buffer that H is a view of, or a copy of components from elsewhere."""
        for buffer in self._buffers:
            if getattr(H, "base", None) is buffer:
                return buffer
        return pad_rows(np.asarray(H.T, dtype=self._W.dtype))

    def _unused_buffer(self, *used: Any) -> np.ndarray:
        return next(buffer for buffer in self._buffers if not any(buffer is u for u in used))

    @property
    def W(self) -> np.ndarray:
        return np.ascontiguousarray(self._W[:, : self.k])

    def scale(self, c: np.ndarray) -> None:
        """Multiply the columns of W by c (k,)."""
        self._W[:, : self.k] *= c.astype(self._W.dtype)
        self.gram = scaled_gram(self.gram, c)


def improve_components(
    H: Any, A: Any, gram: np.ndarray, rule: HalfUpdateRule
) -> tuple[Any, float, float]:
    """Components from the sums of a half step: A (k, d) and gram (k, k + 1)."""
    k = H.shape[0]
    xp = namespace(H)
    if rule.update == "poisson":
        under = like(gram[:, k : k + 1] + rule.l1, H) + rule.l2 * H
        H, moved = _scaled(H, like(A, H), under)
        return H, moved, 0.0
    B = like(gram[:, :k] + rule.l2 * np.eye(k), H)
    A = like(A, H)
    idle = unused_parts(gram, rule)
    if idle.any():
        H = H * like(1.0 - idle, H)[:, None]
    if rule.update == "mu":
        H, moved = _scaled(H, A, B @ H + rule.l1)
    elif is_numpy(H):
        H = np.array(H, order="C")
        B = np.ascontiguousarray(B)
        moved, value = factor_sweep(H, np.ascontiguousarray(A), B, rule.sweeps, rule.l1)
        return H, moved, value
    else:
        Ht, moved = xp.asarray(H.T, copy=True), 0.0
        for sweep in range(rule.sweeps):
            Ht, met, _ = coordinate_sweep(Ht, A.T, B, rule.l1)
            moved = met if sweep == 0 else moved
        H = Ht.T
    return H, moved, float(xp.sum(H * (0.5 * (B @ H) - A + rule.l1)))


def unused_parts(gram: np.ndarray, rule: HalfUpdateRule) -> np.ndarray:
    """Parts (k,) that no row has and that cost something: sweeps pass over them, as B_jj is 0."""
    return (np.diag(gram) == 0) & (rule.l1 > 0)


def plain_onward(H: Any, before: Any, b: float) -> Any:
    """max(0, H + b (H - before))."""
    return namespace(H).clip(H + b * (H - before), min=0.0)


def scaled_gram(gram: np.ndarray, c: np.ndarray) -> np.ndarray:
    """(k, k + 1) of W with its columns multiplied by c."""
    return gram * c[:, None] * np.append(c, 1.0)


def _scaled(H: Any, over: Any, under: Any) -> tuple[Any, float]:
    xp = namespace(H)
    safe = xp.where(under > 0, under, xp.ones_like(under))
    found = xp.where(under > 0, H * (over / safe), H)
    top = float(xp.max(found))
    return found, float(xp.max(xp.abs(found - H))) / top if top > 0 else 0.0


def table(X: Any, W: Any, s: Any, missing: bool) -> Any:
    """The table for this container of rows."""
    if is_sparse(X):
        return SparseTable(X, to_numpy(W), s)
    if is_numpy(X) and not is_streamed(X) and type(X) is np.ndarray:
        return DenseTable(X, W, s, missing)
    return BlockTable(X, W, s, missing)

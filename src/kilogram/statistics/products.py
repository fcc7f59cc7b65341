"""Weighted products of rows, panel by panel, in any namespace."""

from __future__ import annotations

from typing import Any

from kilogram.arrays.namespace import is_sparse, namespace, sum_dtype

PANEL = 4096


def scatter(X: Any, w: Any = None, shift: Any = None) -> tuple[Any, Any]:
    """S = sum w (x - shift)(x - shift)' and s = sum w (x - shift)."""
    S, _, _, s, _ = scatter_pair(X, X, w, shift, shift)
    return S, s


def scatter_pair(X: Any, Y: Any, w: Any = None, shift_x: Any = None, shift_y: Any = None):
    """(Sxx, Sxy, Syy, sx, sy) about the shifts."""
    total = None
    for i in range(0, max(X.shape[0], 1), PANEL):
        stop = min(i + PANEL, X.shape[0])
        A, B = _panel(X, i, stop, shift_x), _panel(Y, i, stop, shift_y)
        v = None if w is None else namespace(w).astype(w[i:stop], sum_dtype(w, namespace(w)))
        wA = A if v is None else v[:, None] * A
        wB = B if v is None else v[:, None] * B
        xp = namespace(A)
        found = (wA.T @ A, wA.T @ B, wB.T @ B, xp.sum(wA, axis=0), xp.sum(wB, axis=0))
        total = found if total is None else tuple(t + f for t, f in zip(total, found, strict=True))
    return total


def _panel(X: Any, start: int, stop: int, shift: Any) -> Any:
    P = X[start:stop, ...]
    P = P.toarray() if is_sparse(P) else P
    xp = namespace(P)
    P = xp.astype(P, sum_dtype(P, xp))
    return P if shift is None else P - shift

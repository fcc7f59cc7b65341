"""Small subsets of rows, the fits through them, and many weighted fits at once."""

from __future__ import annotations

from itertools import combinations, islice
from math import comb

import numpy as np

Array = np.ndarray
MOST_ENTRIES = 2**22  # entries of batches of subsets or residuals held at once: 32 MiB
MOST_COMPARISONS = 8  # of rows of a subset, for each row of all: beyond, sorting numbers is faster


def draw_subsets(n: int, k: int, count: int, rng: np.random.Generator) -> Array:
    """Indices (B, k) without repetition in a row: all subsets if there are at most `count`.

    Every subset has the same probability; the order of its rows means nothing.
    """
    if comb(n, k) <= count:
        return np.array(list(islice(combinations(range(n), k), count)), dtype=np.intp)
    if k * k > MOST_COMPARISONS * n:  # cheaper in one go: the places of the k smallest numbers
        rows = max(1, MOST_ENTRIES // n)
        parts = [
            np.argpartition(rng.random((min(rows, count - at), n)), k - 1, axis=1)[:, :k]
            for at in range(0, count, rows)
        ]
        return np.concatenate(parts)
    drawn = np.empty((count, k), dtype=np.intp)
    for j in range(k):  # Floyd: row n - k + j itself if the one drawn up to it is in already
        last = n - k + j
        row = rng.integers(last + 1, size=count)
        drawn[:, j] = np.where((drawn[:, :j] == row[:, None]).any(axis=1), last, row)
    return drawn


def subset_fits(Q: Array, y: Array, subsets: Array) -> Array:
    """Coefficients (B', r) of the least squares fits to subsets (B, k); singular ones left out."""
    r = Q.shape[1]
    rows = max(1, MOST_ENTRIES // max(subsets.shape[1] * r, 1))
    parts = [
        _fits(Q[subsets[at : at + rows]], y[subsets[at : at + rows]])
        for at in range(0, len(subsets), rows)
    ]
    return np.concatenate(parts) if parts else np.empty((0, r))


def _fits(A: Array, t: Array) -> Array:
    """Least-squares fits of stacks A (B, k, r), t (B, k)."""
    if A.shape[1] == A.shape[2]:
        size = np.prod(np.linalg.norm(A, axis=2), axis=1)
        sound = np.abs(np.linalg.det(A)) > 1e-12 * size
        return np.linalg.solve(A[sound], t[sound, :, None])[:, :, 0]
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    sound = (s > 1e-12 * s[:, :1]).all(axis=1)  # no column: every subset is
    inner = np.einsum("bkr,bk->br", U[sound], t[sound]) / s[sound]
    return np.einsum("brj,br->bj", Vt[sound], inner)


def weighted_fits(Q: Array, y: Array, V: Array) -> Array:
    """Coefficients (B, r) of least squares with weights V (B, n), by normal equations.

    The columns of Q are nearly orthogonal; a tiny penalty keeps singular weightings solvable.
    """
    n, r = Q.shape
    rows = max(1, MOST_ENTRIES // (n * max(r, 1)))
    found = np.empty((len(V), r))
    for at in range(0, len(V), rows):
        W = V[at : at + rows]
        weighted = W[:, :, None] * Q
        G = np.matmul(weighted.transpose(0, 2, 1), Q)
        trace = np.trace(G, axis1=1, axis2=2) / max(r, 1)
        G += (1e-14 * trace + 1e-300)[:, None, None] * np.eye(r)
        found[at : at + rows] = np.linalg.solve(G, (weighted.transpose(0, 2, 1) @ y)[:, :, None])[
            :, :, 0
        ]
    return found


def weighted_fit(Q: Array, y: Array, w: Array) -> Array:
    """Least squares with weights w (n,)."""
    if Q.shape[1] == 0:  # no column varies
        return np.empty(0)
    Qw = Q * w[:, None]
    G = Qw.T @ Q
    try:
        L = np.linalg.cholesky(G)
        if np.diag(L).min() > 1e-6 * np.diag(L).max():
            theta = np.linalg.solve(G, Qw.T @ y)
            return theta + np.linalg.solve(G, Qw.T @ (y - Q @ theta))
    except np.linalg.LinAlgError:  # weights that leave fewer rows than unknowns
        pass
    root = np.sqrt(w)
    return np.linalg.lstsq(root[:, None] * Q, root * y, rcond=None)[0]

"""Concentration steps: the best h of n rows for least squares or for the smallest determinant.

From a fit to a small subset: keep the h rows of smallest residual (distance), fit them, repeat. No
step increases the sum of squares (the determinant), so the steps end. Many starts take two steps
on at most 1500 rows; the best are iterated to the end on all rows.

References: Rousseeuw and Van Driessen 1999, 2006.
"""

from __future__ import annotations

import numpy as np

from kilogram.models.robust.subsets import (
    MOST_ENTRIES,
    draw_subsets,
    subset_fits,
    weighted_fit,
    weighted_fits,
)

Array = np.ndarray
SCREENED = 1500  # rows that select the starts
REFINED = 10  # best starts iterated to the end on all rows


def smallest(D: Array, h: int) -> Array:
    """1.0 for the h smallest values of every row of D (B, n), 0.0 elsewhere."""
    mask = np.zeros(D.shape)
    at = np.argpartition(D, h - 1, axis=1)[:, :h]
    np.put_along_axis(mask, at, 1.0, axis=1)
    return mask


def _part(n: int, h: int, rng: np.random.Generator) -> tuple[Array, int]:
    """Rows that select the starts, and how many of them are kept."""
    if n <= SCREENED:
        return np.arange(n), h
    at = rng.choice(n, SCREENED, replace=False)
    return at, min(SCREENED, int(np.ceil(h * SCREENED / n)))


def trimmed_squares(
    Q: Array, y: Array, h: int, n_starts: int, rng: np.random.Generator, max_iter: int
) -> tuple[Array, Array, float, int]:
    """theta, the mask of the h rows, the sum of their squares, the steps of the best start."""
    n, p = Q.shape
    at, few = _part(n, h, rng)
    A, t = Q[at], y[at]
    starts = subset_fits(A, t, draw_subsets(len(at), max(p, 1), n_starts, rng))
    starts = np.vstack([weighted_fit(Q, y, np.ones(n))[None, :], starts])
    values = np.empty(len(starts))
    rows = max(1, MOST_ENTRIES // len(at))
    for k in range(0, len(starts), rows):
        batch = starts[k : k + rows]
        for _ in range(2):
            batch = weighted_fits(A, t, smallest((t - batch @ A.T) ** 2, few))
        squares = np.sort((t - batch @ A.T) ** 2, axis=1)[:, :few]
        starts[k : k + rows], values[k : k + rows] = batch, squares.sum(axis=1)
    best: tuple[Array, Array, float, int] | None = None
    for theta in starts[np.argsort(values, kind="stable")[:REFINED]]:
        found = _trim(Q, y, h, theta, max_iter)
        if best is None or found[2] < best[2]:
            best = found
    assert best is not None  # there is at least the start from all rows
    return best


def _trim(
    Q: Array, y: Array, h: int, theta: Array, max_iter: int
) -> tuple[Array, Array, float, int]:
    """Steps until the sum of squares stays."""
    best, kept, value = theta, np.zeros(len(y), dtype=bool), np.inf
    steps = 0
    for steps in range(1, max_iter + 1):  # noqa: B007
        mask = smallest(((y - Q @ theta) ** 2)[None, :], h)[0] > 0
        theta = weighted_fit(Q[mask], y[mask], np.ones(h))
        r = (y - Q @ theta)[mask]
        now = float(r @ r)
        if now >= value * (1.0 - 1e-12):
            break
        best, kept, value = theta, mask, now
    return best, kept, value, steps


def _moments(X: Array, V: Array) -> tuple[Array, Array]:
    """Means (B, d) and covariances (B, d, d) of rows weighted by masks V (B, n)."""
    total = V.sum(axis=1)
    m = V @ X / total[:, None]
    C = np.empty((len(V), X.shape[1], X.shape[1]))
    rows = max(1, MOST_ENTRIES // X.size)
    for k in range(0, len(V), rows):
        Z = X[None] - m[k : k + rows, None, :]
        C[k : k + rows] = np.matmul((Z * V[k : k + rows, :, None]).transpose(0, 2, 1), Z)
    return m, C / total[:, None, None]


def _distances(X: Array, m: Array, C: Array) -> tuple[Array, Array]:
    """Squared Mahalanobis distances (B, n) and log determinants; -inf for singular C."""
    d = X.shape[1]
    sign, logdet = np.linalg.slogdet(C)
    logdet = np.where(sign > 0, logdet, -np.inf)
    trace = np.trace(C, axis1=1, axis2=2) / d
    P = np.linalg.inv(C + (1e-12 * trace + 1e-300)[:, None, None] * np.eye(d))
    XP = np.matmul(X[None], P)
    Pm = np.matmul(P, m[:, :, None])
    D = (XP * X[None]).sum(axis=2) - 2.0 * np.matmul(X[None], Pm)[:, :, 0]
    return D + np.matmul(m[:, None, :], Pm)[:, :, 0], logdet


def smallest_determinant(
    X: Array, h: int, n_starts: int, rng: np.random.Generator, max_iter: int
) -> Array:
    """The mask of the h of n rows whose covariance has the smallest determinant (FAST-MCD)."""
    n, d = X.shape
    if d == 1:
        return _shortest_window(X[:, 0], h)
    at, few = _part(n, h, rng)
    A = X[at]
    subsets = draw_subsets(len(at), min(d + 1, len(at)), n_starts, rng)
    rows = max(1, MOST_ENTRIES // A.size)
    found_m, found_C, found_v = [], [], []
    for k in range(0, len(subsets), rows):
        V = np.zeros((len(subsets[k : k + rows]), len(at)))
        np.put_along_axis(V, subsets[k : k + rows], 1.0, axis=1)
        m, C = _moments(A, V)
        for _ in range(2):
            D, _ = _distances(A, m, C)
            m, C = _moments(A, smallest(D, few))
        sign, logdet = np.linalg.slogdet(C)
        found_m.append(m)
        found_C.append(C)
        found_v.append(np.where(sign > 0, logdet, -np.inf))
    m, C, values = np.concatenate(found_m), np.concatenate(found_C), np.concatenate(found_v)
    best, least = np.ones(n, dtype=bool), np.inf
    for b in np.argsort(values, kind="stable")[:REFINED]:
        mask, value = _concentrate(X, h, m[b], C[b], max_iter)
        if value < least:
            best, least = mask, value
    return best


def _concentrate(X: Array, h: int, m: Array, C: Array, max_iter: int) -> tuple[Array, float]:
    """Steps until the h rows stay; their mask and the log determinant."""
    kept = np.zeros(len(X), dtype=bool)
    value = np.inf
    for _ in range(max_iter):
        D, _ = _distances(X, m[None], C[None])
        mask = smallest(D, h)[0] > 0
        if (mask == kept).all():
            break
        kept, Z = mask, X[mask]
        m = Z.mean(axis=0)
        C = (Z - m).T @ (Z - m) / h
        sign, value = np.linalg.slogdet(C)
        if sign <= 0:
            return kept, -np.inf
    return kept, float(value)


def _shortest_window(x: Array, h: int) -> Array:
    """Of one column, the h neighbouring order statistics of smallest variance: exact."""
    order = np.argsort(x, kind="stable")
    s = x[order] - np.median(x)
    sums, squares = np.cumsum(np.append(0.0, s)), np.cumsum(np.append(0.0, s * s))
    spread = (squares[h:] - squares[:-h]) - (sums[h:] - sums[:-h]) ** 2 / h
    first = int(np.argmin(spread))
    mask = np.zeros(len(x), dtype=bool)
    mask[order[first : first + h]] = True
    return mask

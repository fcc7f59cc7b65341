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
from kilogram.native.concentration import determinant_steps

Array = np.ndarray
SCREENED = 1500  # rows that select the starts: five groups of 300, as in FAST-MCD (1999)
REFINED = 10  # best starts iterated to the end on all rows: ten, as in FAST-MCD and FAST-LTS
#: Of the determinant, whose steps are compiled: with 10 it ended above scikit-learn's (1000 x 10).
REFINED_DETERMINANTS = 30


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
    for steps in range(1, max_iter + 1):  # noqa: B007 - counts the steps taken
        mask = smallest(((y - Q @ theta) ** 2)[None, :], h)[0] > 0
        theta = weighted_fit(Q[mask], y[mask], np.ones(h))
        r = (y - Q @ theta)[mask]
        now = float(r @ r)
        if now >= value * (1.0 - 1e-12):
            break
        best, kept, value = theta, mask, now
    return best, kept, value, steps


def smallest_determinant(
    X: Array, h: int, n_starts: int, rng: np.random.Generator, max_iter: int
) -> Array:
    """The mask of the h of n rows whose covariance has the smallest determinant (FAST-MCD)."""
    n, d = X.shape
    if d == 1:
        return _shortest_window(X[:, 0], h)
    at, few = _part(n, h, rng)
    A = X[at]
    rows = A[draw_subsets(len(at), min(d + 1, len(at)), n_starts, rng)]
    m = rows.mean(axis=1)
    Z = rows - m[:, None, :]
    C = np.matmul(Z.transpose(0, 2, 1), Z) / Z.shape[1]
    m, C, _, values = determinant_steps(A.T, few, m, C, steps=2)
    best = np.argsort(values, kind="stable")[:REFINED_DETERMINANTS]
    _, _, kept, values = determinant_steps(X.T, h, m[best], C[best], steps=max_iter)
    return np.asarray(kept[int(np.argmin(values))])


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

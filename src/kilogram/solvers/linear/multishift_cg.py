"""Ridge on sparse rows for all penalties, from one run of multi-shift conjugate gradients.

With A = S (X - 1 mu') for weights S^2 and means mu, the predictions need c of

    (A A' + alpha I) c = S (Y - mean)          for every alpha

These systems have the same Krylov spaces: the iterations for the smallest alpha, which needs the
most of them, give those for all others by a recurrence of numbers (zeta below), without further
products with X. In the space of the rows vectors are short, whatever the number of terms.

Stopped at a residual of `TOLERANCE`, or after `MOST_STEPS`: on text the predictions converge
long before the coefficients. Reference: B. Jegerlehner, Krylov space solvers for shifted linear
systems, 1996.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

TOLERANCE = 1e-2  # leave-one-out scores order the penalties alike, see above
MOST_STEPS = 60  # what text needs; a slower system is ill-conditioned
_GONE = 1e-100  # a residual of zero, in any unit: its square is above the smallest number


def sparse_path(X: Any, Y: np.ndarray, test: Any, alphas: Any, weights: Any = None) -> np.ndarray:
    """Predictions (m, t, alphas) of the rows `test` by ridge on the sparse rows X."""
    w = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    s = np.sqrt(w)[:, None]
    mean_x, mean_y = X.T @ w / w.sum(), w @ Y / w.sum()

    def back(c: np.ndarray) -> np.ndarray:
        return X.T @ (s * c) - np.outer(mean_x, (s * c).sum(axis=0))

    def along(W: np.ndarray) -> np.ndarray:
        return s * (X @ W - mean_x @ W)

    found = shifted(lambda c: along(back(c)), s * (Y - mean_y), np.asarray(alphas, dtype=float))
    coefficients = [back(c) for c in found]
    predictions = [test @ W - mean_x @ W + mean_y for W in coefficients]
    return np.stack(predictions, axis=2)


def shifted(
    product: Callable[[np.ndarray], np.ndarray], B: np.ndarray, shifts: np.ndarray
) -> np.ndarray:
    """Solutions (shifts, n, t) of (A A' + shift I) c = B, column by column of B."""
    low = shifts.min()
    more = (shifts - low)[:, None]
    X = np.zeros((len(shifts), *B.shape))
    P = np.broadcast_to(B, X.shape).copy()
    r, p = B.copy(), B.copy()
    zeta = before = np.ones((len(shifts), B.shape[1]))
    last_step, beta = np.ones(B.shape[1]), np.zeros(B.shape[1])
    size = (B * B).sum(axis=0)
    rr = size.copy()
    for _ in range(MOST_STEPS):
        if np.all(rr <= TOLERANCE**2 * size):
            break
        q = product(p) + low * p
        step = _safe_ratio(rr, (p * q).sum(axis=0))
        below = step * beta * (before - zeta) + before * last_step * (1.0 + more * step)
        after = _safe_ratio(zeta * before * last_step, below)
        ratio = _safe_ratio(after, zeta)
        X += (step * ratio)[:, None, :] * P
        r = r - step * q
        new = (r * r).sum(axis=0)
        beta = _safe_ratio(new, rr)
        P *= (beta * ratio**2)[:, None, :]
        P += after[:, None, :] * r
        p = r + beta * p
        zeta, before, last_step, rr = after, zeta, step, new
    return X


def _safe_ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, 0 where nothing is left: that column, or that shift, is solved."""
    here = np.abs(b) > _GONE
    return np.where(here, a / np.where(here, b, 1.0), 0.0)

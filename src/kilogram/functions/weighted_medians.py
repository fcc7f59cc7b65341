"""Medians of weighted rows: where the weights up to a value reach half of them all."""

from __future__ import annotations

import numpy as np

# Sums of weights that differ from the wanted fraction of them all by less than this, relatively,
# reach it: the rounding of 4 500 additions at worst.
TIE = 1e-12


def weighted_medians(X: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    """Of each column: the middle value, or the mean of the two, of rows repeated as they weigh."""
    if w is None:
        return np.median(X, axis=0)
    order = np.argsort(X, axis=0, kind="stable")
    reached, half = np.cumsum(w[order], axis=0), w.sum() / 2
    at = np.arange(X.shape[1])
    lower = np.argmax(reached >= half * (1 - TIE), axis=0)
    upper = np.argmax(reached > half * (1 + TIE), axis=0)
    return (X[order[lower, at], at] + X[order[upper, at], at]) / 2

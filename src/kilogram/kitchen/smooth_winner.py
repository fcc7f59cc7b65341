"""Which point of a search wins: the smoothest of those that are as good as the best.

The winner is the largest alpha whose leave-one-out loss is not worse than the least by more than
half the standard error of their difference, row by row: the same quality, a smoother function,
and a choice that changes less from sample to sample.
"""

from __future__ import annotations

import numpy as np


def smooth_winner(losses: np.ndarray, tolerance: float = 0.5) -> tuple[int, int]:
    """Place (width, alpha) of the winner among (widths, alphas, n) losses of rows left out."""
    mean = losses.mean(axis=2)
    least = np.unravel_index(np.argmin(mean), mean.shape)
    worse = losses - losses[least]
    error = worse.std(axis=2, ddof=1) / np.sqrt(losses.shape[2])
    good = mean - mean[least] <= tolerance * error
    column = int(np.flatnonzero(good.any(axis=0))[-1])
    return int(np.argmin(np.where(good[:, column], mean[:, column], np.inf))), column

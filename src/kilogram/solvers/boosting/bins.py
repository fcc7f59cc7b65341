"""Limits of the bins into which boosting sorts the values of every column, once."""

from __future__ import annotations

import numpy as np

from kilogram.native.boosting import bin_limits

SUBSAMPLE = 200_000  # rows that give the limits, as in scikit-learn: quantiles to 0.2 %


def column_limits(X: np.ndarray, n_categories: np.ndarray, max_bins: int, seed: int) -> list:
    """Limits of the bins of every column, from at most `SUBSAMPLE` rows."""
    n = len(X)
    if n > SUBSAMPLE:
        drawn = np.random.default_rng(seed).choice(n, SUBSAMPLE, replace=False)
        X = X[np.sort(drawn)]
    limits = bin_limits(X, max_bins)
    return [np.empty(0) if c else a for a, c in zip(limits, n_categories, strict=True)]

"""Is a new row within the distribution of the training rows?

    D^2(z) = (z - m)' C^-1 (z - m)      Mahalanobis distance of its features z; m and C are the mean
                                        and covariance of the training rows

C is shrunk towards its diagonal, so that features which never varied together do not count as
certain. A row is out of distribution when D^2 exceeds the 0.999 quantile of training rows that were
left out of m and C, a fold at a time, by half: rows that C was estimated from lie nearer, above all
with many features. Above `MAX_FEATURES` features C is its diagonal, above `MAX_WIDE` no
distance is computed. Besides, each column has the range of the training rows; cells outside it name
the columns, and a row with more of them than left-out rows have is out of distribution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_FEATURES = 300  # its square, in float32, is below 1 MB
# Wider features are counts of words, whose distances say little; 80 MB for MAX_ROWS.
MAX_WIDE = 2000
MAX_ROWS = 5000  # bounds the time; the largest distance of so many rows hardly grows with more
# Of the identity: C stays invertible with dependent columns, its condition below 20 times their
# number.
MIX = 0.05
MARGIN = 1.5  # beyond the farthest held-out row by half, our choice: few new rows are
FAR = 0.1  # of a column's range: new rows lie a little outside by chance; our choice
FOLDS = 5  # distances are those of rows that did not make C; kg cook's number of folds


def describe(X: np.ndarray, Z: Any) -> dict[str, Any]:
    """Mean, scale, covariance factor and ranges of (n, d) cells X with (n, p) features Z."""
    if Z.shape[1] > MAX_WIDE:
        return {"mean": None} | ranges(X) | {"most_outside": most_outside(X)}
    few = np.unique(np.linspace(0, Z.shape[0] - 1, min(MAX_ROWS, Z.shape[0])).astype(int))
    Z = dense(Z[few])
    found = _moments(Z)
    part = np.arange(len(Z)) % FOLDS
    folds = [part == k for k in range(FOLDS)] if len(Z) >= 2 * FOLDS else [np.ones(len(Z), bool)]
    far = [distances(_moments(Z[~fold] if len(folds) > 1 else Z), Z[fold]) for fold in folds]
    reach = float(np.quantile(np.concatenate(far), 0.999))
    found["limit"] = MARGIN * reach if reach > 0 else 1.0  # constant features: nothing is far
    return found | ranges(X) | {"most_outside": most_outside(X)}


def _moments(Z: np.ndarray) -> dict[str, Any]:
    """Mean, scale and covariance factor of (n, p) features, with the limit 1."""
    mean = _mean(Z, np.isfinite(Z))
    spread = np.sqrt(_mean((Z - mean) ** 2, np.isfinite(Z)))
    scale = np.where(spread > 0, spread, 1.0)
    found: dict[str, Any] = {"mean": mean, "scale": scale, "factor": None}
    if Z.shape[1] <= MAX_FEATURES:
        U = _standardised(found, Z)
        C = (1 - MIX) * (U.T @ U) / len(U) + MIX * np.eye(U.shape[1])
        found["factor"] = np.linalg.inv(np.linalg.cholesky(C))
    return found | {"limit": 1.0}


def most_outside(X: np.ndarray) -> int:
    """Cells outside the range that a row of the same kind may have: as many as left-out rows.

    Rows are left out a fold at a time; 99 of 100 of them have no more than this.
    """
    few = np.unique(np.linspace(0, len(X) - 1, min(MAX_ROWS, len(X))).astype(int))
    X = X[few]
    if len(X) < 2 * FOLDS:
        return 0
    part = np.arange(len(X)) % FOLDS
    counts = [outside_range(ranges(X[part != k]), X[part == k]).sum(axis=1) for k in range(FOLDS)]
    return int(np.quantile(np.concatenate(counts), 0.99))


def ranges(X: np.ndarray) -> dict[str, Any]:
    """Range of each column, widened by `FAR`, and whether it has missing values; NaN for text."""
    low, high = np.full((2, X.shape[1]), np.nan)
    gaps = np.zeros(X.shape[1], dtype=bool)
    for k in range(X.shape[1]):
        try:
            column = X[:, k].astype(float)
        except ValueError:
            continue
        known = column[np.isfinite(column)]
        gaps[k] = len(known) < len(column)
        if len(known):
            margin = FAR * (known.max() - known.min())
            low[k], high[k] = known.min() - margin, known.max() + margin
    return {"low": low, "high": high, "gaps": gaps}


def distances(found: dict[str, Any], Z: Any) -> np.ndarray:
    """D^2 of (n, p) features over its limit: above 1 a row is out of distribution."""
    out = np.zeros(Z.shape[0])
    if found["mean"] is None:
        return out
    for start in range(0, len(out), MAX_ROWS):
        U = _standardised(found, dense(Z[start : start + MAX_ROWS]))
        if found["factor"] is not None:
            U = U @ np.asarray(found["factor"]).T
        out[start : start + MAX_ROWS] = np.sum(U * U, axis=1) / found["limit"]
    return out


def _standardised(found: dict[str, Any], Z: np.ndarray) -> np.ndarray:
    """Standardised features; a missing value, which trees take as it is, counts as the mean."""
    U = (Z - found["mean"]) / found["scale"]
    return np.where(np.isfinite(U), U, 0.0)


def _mean(Z: np.ndarray, known: np.ndarray) -> np.ndarray:
    return np.where(known, Z, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def outside_range(found: dict[str, Any], X: np.ndarray) -> np.ndarray:
    """(n, d) booleans: cells outside the range of their column, or missing where none was."""
    out = np.zeros(X.shape, dtype=bool)
    for k in np.flatnonzero(np.isfinite(found["low"])):
        column = X[:, k].astype(float)
        missing = ~np.isfinite(column) & (not found["gaps"][k])
        out[:, k] = (column < found["low"][k]) | (column > found["high"][k]) | missing
    return out


def dense(Z: Any) -> np.ndarray:
    """Features as a dense float64 array."""
    return np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=float)

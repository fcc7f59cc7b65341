"""Which columns permutation importance looks at, and how many shuffled rows are predicted at once.

Importance is computed on held-out rows (`judge.evidence`) and on the example rows of a model
(`explain.importance`), with the same limits.
"""

from __future__ import annotations

import numpy as np

MAX_COLUMNS = 60  # of a wide table: each costs a prediction of all rows; more than a plot shows
ROWS_AT_ONCE = 8000  # shuffled rows of one prediction: 64 MB for 1 000 features


def most_correlated_columns(X: np.ndarray, outputs: np.ndarray, classes: int) -> np.ndarray:
    """At most `MAX_COLUMNS` columns of X: text, then those most correlated with the outputs.

    X may hold missing values; `outputs` are numbers, or class numbers if `classes` is not 0.
    """
    if X.shape[1] <= MAX_COLUMNS:
        return np.arange(X.shape[1])
    Y = np.eye(classes)[outputs] if classes else outputs.reshape(-1, 1)
    Y = (Y - Y.mean(axis=0)) / (Y.std(axis=0) + 1e-300)
    strength = np.array([_strength(X[:, k], Y) for k in range(X.shape[1])])
    return np.argsort(-strength, kind="stable")[:MAX_COLUMNS]


def _strength(cells: np.ndarray, Y: np.ndarray) -> float:
    if isinstance(cells[0], str):
        return np.inf
    z = cells.astype(float)
    known = np.isfinite(z)
    if not known.any():
        return 0.0
    z = np.where(known, z - z[known].mean(), 0.0)
    return float(np.abs(z @ Y).max() / (np.sqrt(z @ z) + 1e-300))

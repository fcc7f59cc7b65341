"""How large an error to expect for a row: prediction intervals that are wider where errors are.

    sigma(x)   expected absolute error: a forest on the cells and the prediction, fitted to the
               errors of held-out rows
    r_i        |y_i - f(x_i)| / sigma_-i(x_i), with sigma from the trees that did not see row i
    interval   f(x) -+ sigma(x) times the conformal quantile of r

Where errors cannot be predicted, sigma is 1 and the interval has one width. A missing cell goes
its own way down the trees, so intervals widen where it matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kitchen.recipes.forests import ForestRegressor
from kilogram.kitchen.recipes.tree_predictions import predict_trees

TREES, LEAF = 60, 15
MIN_ROWS, MAX_ROWS = 100, 5000
# Smaller values are replaced by this part of the mean: a leaf of lucky rows promises nothing. Our
# choice: no interval is narrower than a quarter of the usual.
FLOOR = 0.25
# The forest must explain this part of the variance of the errors of rows it has not seen: our
# choice; less may be chance.
WORTH = 0.02


def inputs(X: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Columns that hold numbers, NaN where missing, and the prediction."""
    columns = [np.asarray(prediction, dtype=float)]
    for k in range(X.shape[1]):
        try:
            columns.append(X[:, k].astype(float))
        except (TypeError, ValueError):  # text and images
            continue
    Z = np.column_stack(columns)
    return np.where(np.isfinite(Z), Z, np.nan)


def fit_scale(
    X: np.ndarray, prediction: np.ndarray, error: np.ndarray, seed: int = 0
) -> tuple[np.ndarray, dict[str, Any]]:
    """Expected absolute errors of the held-out rows, and what `expected_error` needs for others."""
    n = len(error)
    if n < MIN_ROWS or not np.ptp(error) > 0:
        return np.ones(n), {}
    Z = inputs(X, prediction)
    rows = np.arange(n)
    if n > MAX_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(n, MAX_ROWS, replace=False))
    forest = ForestRegressor(
        n_estimators=TREES, min_samples_leaf=LEAF, max_features=0.5, oob_score=True,
        random_state=seed,
    ).fit(Z[rows], error[rows])  # fmt: skip
    unseen = np.asarray(forest.oob_prediction_, dtype=float)
    unseen = np.where(np.isfinite(unseen), unseen, error.mean())
    explained = 1 - np.mean((error[rows] - unseen) ** 2) / np.var(error[rows])
    if explained < WORTH:
        return np.ones(n), {}
    floor = FLOOR * float(error.mean())
    found: dict[str, Any] = {"trees": forest.arrays(), "floor": floor}
    sigma = expected_error(found, X, prediction)
    sigma[rows] = np.maximum(unseen, floor)
    return sigma, found


def expected_error(found: dict[str, Any], X: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """sigma(x) of new rows; ones where nothing was found."""
    if not found:
        return np.ones(len(X))
    values = predict_trees(found["trees"], inputs(X, prediction))[:, 0]
    return np.maximum(values, float(found["floor"]))

"""Which columns are monotone, checked against the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.native.trees import Target

NO_DIRECTIONS = np.empty(0, np.int8)


def monotone_directions(monotonic_cst: Any, n_features: int, target: Target) -> np.ndarray:
    """-1, 0 or 1 for every feature, (d,); empty without constraints.

    1: the prediction (of two classes the probability of the second) does not fall with the feature.
    """
    if monotonic_cst is None:
        return NO_DIRECTIONS
    if max(target.y.shape[1], len(target.classes)) > 1:
        raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
    directions = np.asarray(monotonic_cst)
    if directions.shape != (n_features,):
        raise ValueError(
            f"monotonic_cst has shape {directions.shape[0]} but the input data X has "
            f"{n_features} features."
        )
    if not np.isin(directions, (-1, 0, 1)).all():
        raise ValueError(
            "monotonic_cst must be None or an array-like of -1, 0 or 1, but got "
            f"{np.unique(directions)}"
        )
    if target.width > 2:
        raise ValueError(
            "Monotonicity constraints are not supported with multiclass classification"
        )
    directions = directions.astype(np.int8)
    return directions if directions.any() else NO_DIRECTIONS

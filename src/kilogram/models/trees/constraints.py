"""Which columns are monotone or categorical, checked against the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.native.trees import MAX_CATEGORIES, CodedColumns, Target

NO_DIRECTIONS, NO_COLUMNS = np.empty(0, np.int8), np.empty(0, np.uint8)


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


def categorical_columns(features: Any, columns: CodedColumns, names: list[str]) -> np.ndarray:
    """1 for every categorical feature, (d,); empty without any.

    `features` are positions, some of `names`, or a boolean for every feature.
    """
    if features is None or len(features) == 0:
        return NO_COLUMNS
    d = columns.shape[1]
    given = np.asarray(features)
    if given.dtype == bool:
        if given.shape != (d,):
            raise ValueError(
                f"categorical_features set as a boolean mask should have shape ({d},), got "
                f"{given.shape}."
            )
        at = np.flatnonzero(given)
    elif given.dtype.kind in "iu":
        at = given
        if at.min() < 0 or at.max() >= d:
            raise ValueError(f"categorical_features must be positions in [0, {d - 1}].")
    else:
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(
                f"categorical_features has {unknown[0]!r}, which is no feature name of X."
            )
        at = np.array([names.index(name) for name in given])
    found = np.zeros(d, np.uint8)
    found[at] = 1
    for k in at:
        values = columns.values[columns.starts[k] : columns.starts[k + 1]]
        whole = (values >= 0) & (values < MAX_CATEGORIES) & (values == np.floor(values))
        if not whole.all():
            raise ValueError(
                f"Categorical feature {k} must have integers from 0 to {MAX_CATEGORIES - 1}, got "
                f"{values[~whole][0]:g}. Encode it with OrdinalEncoder."
            )
    return found if found.any() else NO_COLUMNS

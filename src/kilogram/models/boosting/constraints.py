"""Monotone and interaction constraints as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np


def monotone_signs(given: Any, n_features: int, names: Any, mask: np.ndarray | None) -> np.ndarray:
    """-1, 0 or 1 for every feature, from an array-like or a dict by feature name."""
    if given is None:
        return np.zeros(n_features, np.int8)
    if isinstance(given, Mapping):
        signs = _signs_by_name(given, n_features, names)
    else:
        signs = np.asarray(given)
        if signs.shape != (n_features,):
            raise ValueError(
                f"monotonic_cst has shape {signs.shape} but the input data X has {n_features} "
                "features."
            )
    unexpected = np.setdiff1d(signs, [-1, 0, 1])
    if len(unexpected):
        raise ValueError(
            "monotonic_cst must be an array-like of -1, 0 or 1. Observed values: "
            f"{np.unique(signs).tolist()}."
        )
    if mask is not None and np.any(signs[mask] != 0):
        raise ValueError("Categorical features cannot have monotonic constraints.")
    return signs.astype(np.int8)


def _signs_by_name(given: Mapping[str, int], n_features: int, names: Any) -> np.ndarray:
    if names is None:
        raise ValueError(
            "monotonic_cst was passed as a dict for data without feature names. Pass an array "
            "of n_features values instead."
        )
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise ValueError(f"monotonic_cst contains unexpected feature names: {unknown[:5]}.")
    signs = np.zeros(n_features)
    for k, name in enumerate(names):
        signs[k] = given.get(name, 0)
    return signs


def interaction_groups(given: Any, n_features: int) -> list[list[int]]:
    """Sets of features that may be split together in a tree; empty without constraints.

    Features that no set names form a set of their own.
    """
    if given is None:
        return []
    if isinstance(given, str):
        size = 2 if given == "pairwise" and n_features > 1 else 1
        return [list(group) for group in combinations(range(n_features), size)]
    try:
        groups = [sorted(set(group)) for group in given]
    except TypeError:
        raise ValueError(
            f"Interaction constraints must be a sequence of tuples or lists, got: {given!r}."
        ) from None
    for group in groups:
        if not all(isinstance(k, Integral) and 0 <= int(k) < n_features for k in group):
            raise ValueError(
                "Interaction constraints must consist of integer indices in [0, n_features - 1] "
                f"= [0, {n_features - 1}], specifying the position of features, got invalid "
                f"indices: {set(group)!r}"
            )
    rest = sorted(set(range(n_features)).difference(*groups))
    return [[int(k) for k in group] for group in [*groups, rest] if group]

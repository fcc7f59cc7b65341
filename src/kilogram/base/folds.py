"""The folds that scikit-learn's `cv` asks for, as checked lists of row numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

Folds = list[tuple[np.ndarray, np.ndarray]]


def split_rows(cv: Any, X: Any, y: Any, *, classifier: bool = False, groups: Any = None) -> Folds:
    """The rows for training and those left out, for each fold."""
    if not hasattr(cv, "split") and isinstance(cv, Iterable) and not isinstance(cv, str):
        cv = _pairs(cv)
    folds = list(check_cv(cv, y, classifier=classifier).split(X, y, groups))
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    return [(_row_numbers(train, n), _row_numbers(test, n)) for train, test in folds]


def _pairs(cv: Iterable[Any]) -> list[Any]:
    folds = list(cv)
    if not folds or not all(isinstance(fold, Iterable) and len(list(fold)) == 2 for fold in folds):
        raise ValueError(
            f"cv must be an integer, a splitter or pairs (train, test) of row numbers, got {cv!r}."
        )
    return folds


def _row_numbers(rows: Any, n: int) -> np.ndarray:
    found = np.asarray(rows)
    if found.dtype == bool and found.shape == (n,):
        return np.flatnonzero(found)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ValueError(f"cv must yield arrays of row numbers, got {rows!r}.")
    for row in (found.min(initial=0), found.max(initial=0)):
        if found.size and not -n <= row < n:
            raise ValueError(
                f"cv yields the row {row}, but X has {n} rows: give splits of these rows."
            )
    return found.astype(np.intp)

"""The row and the column of the first invalid entry, for error messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.frames import is_frame
from kilogram.arrays.namespace import is_sparse

NAN, WORDS = "Input X contains NaN", "could not convert string to float"
RAGGED = "setting an array element with a sequence"


def add_location(message: str, X: Any, estimator: BaseEstimator) -> str | None:
    """scikit-learn's or NumPy's message about an invalid entry, with its place; None for others."""
    name = type(estimator).__name__
    if message.startswith(NAN):
        own = ' or give missing="em",' if hasattr(estimator, "missing") else ""
        return (
            f"{NAN}{_place(X, _is_nan, estimator)}.\n{name} does not accept missing values: fill "
            f"them (an imputer in a pipeline does),{own} or leave those rows out."
        )
    if message.startswith(WORDS):
        return (
            f"Input X has strings where {name} needs numbers{_place(X, _is_word, estimator)}: "
            f"{message}. Encode such columns (OneHotEncoder, OrdinalEncoder) or leave them out."
        )
    if message.startswith(RAGGED):
        return _unequal_rows(X) or (
            "Input X or y has entries that are sequences: give one number for each feature of a "
            "row, and one or the same number of targets for each row."
        )
    return None


def _unequal_rows(X: Any) -> str | None:
    """What to say of the first row whose length is not that of row 0; None if there is none."""
    if is_sparse(X) or is_frame(X):
        return None
    sizes = [len(row) if isinstance(row, list | tuple | np.ndarray) else 0 for row in X]
    other = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    if other is None:
        return None
    return (
        f"The rows of X have different lengths: row {other} has {sizes[other]} values, row 0 has "
        f"{sizes[0]}. Fill what is missing, or leave such rows out."
    )


def _place(X: Any, wrong: Any, estimator: BaseEstimator) -> str:
    """', first in row i of column c'; nothing where X shows no such entry."""
    known = getattr(estimator, "feature_names_in_", None)  # of a frame that came in before
    for j, values in _columns(X):
        column = j if known is None or isinstance(j, str) else known[j]
        rows = np.flatnonzero(wrong(values))
        if len(rows):
            many = f", {len(rows)} of {len(values)} rows" if len(rows) > 1 else ""
            return f", first in row {rows[0]} of column {column!r}{many}"
    return ""


def _columns(X: Any) -> Iterator[tuple[int | str, np.ndarray]]:
    if is_frame(X):
        yield from ((str(name), np.asarray(X[name])) for name in X.columns)
        return
    if is_sparse(X):
        X = X.tocsc()
        yield from ((int(j), X[:, [j]].toarray()[:, 0]) for j in np.unique(X.nonzero()[1]))
        return
    table = np.asarray(X) if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    if table.ndim == 2:
        yield from ((j, table[:, j]) for j in range(table.shape[1]))


def _is_nan(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isnan(values)
    return np.array([v is None or v != v for v in values.astype(object)], dtype=bool)


def _is_word(values: np.ndarray) -> np.ndarray:
    return np.array([isinstance(v, str) and not _reads(v) for v in values.astype(object)], bool)


def _reads(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True

"""Validated rows of the boosting family in host memory, with labels or targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.memory import human_bytes, memory_limit
from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import is_streamed
from kilogram.base import Estimator
from kilogram.base.host_rows import as_float64, rows_in_memory
from kilogram.base.labels import validate_labels
from kilogram.base.regression_data import gather_regression_data, validate_regression_data


def dense_rows(model: Estimator, X: Any) -> np.ndarray:
    """Rows in host memory, float32 or float64."""
    if not is_sparse(X):
        return np.asarray(to_numpy(X))
    size = X.dtype.itemsize * X.shape[0] * X.shape[1]
    if 2 * size > memory_limit():
        raise MemoryError(
            f"{type(model).__name__} needs dense rows, and X of {X.shape[0]:,} x {X.shape[1]:,} "
            f"takes {human_bytes(size)} when dense. Use fewer features, or a linear method."
        )
    return np.asarray(X.toarray())


def sparse_columns(X: Any) -> scipy.sparse.csc_array:
    """Sparse rows by columns, each entry once; X itself is left as it is."""
    columns = scipy.sparse.csc_array(X)
    if not columns.has_canonical_format:
        columns = columns.copy()
        columns.sum_duplicates()
    return columns


def _sparse_rows(X: Any) -> Any:
    """Sparse rows that can be indexed; a matrix stays a matrix, for weak learners that multiply."""
    return X if X.format in ("csr", "csc") else X.tocsr()


def labelled_rows(
    model: Estimator, X: Any, y: Any, w: Any, *, sparse: bool = False, **checks: Any
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Rows, labels and weights or None. `sparse`: sparse rows stay so."""
    X, y, w = validate_labels(model, X, y, w, **checks)
    if is_streamed(X):
        names = getattr(model, "feature_names_in_", None)
        X, y, w = validate_labels(model, *rows_in_memory(X, y, w), **checks)
        if names is not None:
            model.feature_names_in_ = names
    rows = _sparse_rows(X) if sparse and is_sparse(X) else dense_rows(model, X)
    return rows, y, None if w is None else as_float64(w)


def target_rows(
    model: Estimator, X: Any, y: Any, w: Any, *, sparse: bool = False, **checks: Any
) -> tuple[Any, Any, np.ndarray | None]:
    """Rows, targets (n,) as they came and weights or None. `sparse`: as in `labelled_rows`."""
    found = validate_regression_data(model, X, y, w, **checks)
    if is_streamed(found.X):
        found = gather_regression_data(model, found, **checks)
    if found.flat is False:
        column_or_1d(to_numpy(found.Y), warn=True)
    weights = None if found.w is None else as_float64(found.w)
    X = found.X
    rows = _sparse_rows(X) if sparse and is_sparse(X) else dense_rows(model, X)
    return rows, found.Y[:, 0], weights

"""Arguments of the displays: arrays, columns and names from any container, fitted estimators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kilogram.arrays.frames import is_frame, to_array
from kilogram.arrays.namespace import is_array, is_sparse, like, to_numpy
from kilogram.arrays.rows import column_names
from kilogram.base.labels import plain_labels
from kilogram.base.validation.values import plain


def as_matrix(X: Any, name: str = "X") -> np.ndarray:
    """A matrix of floats on the host, from any array or data frame."""
    if is_sparse(X):
        X = X.toarray()
    elif is_frame(X):
        X = to_array(X)
    elif hasattr(X, "shape"):
        X = to_numpy(X)
    return check_array(plain(X, name), dtype=np.float64, input_name=name)


def as_column(y: Any, name: str = "y") -> np.ndarray:
    """A column of labels or numbers on the host, without missing values."""
    values = np.asarray(to_numpy(y))
    values = column_or_1d(plain_labels(values) if values.dtype.kind == "O" else values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return values


def as_columns(a: Any, b: Any, names: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of the same length."""
    first, second = as_column(a, names[0]), as_column(b, names[1])
    check_consistent_length(first, second)
    if not len(first):
        raise ValueError(f"{names[0]} has no rows.")
    return first, second


def as_points(X: Any, display: str, width: int = 2) -> np.ndarray:
    """The rows as points of a plane (or a line)."""
    points = as_matrix(X)
    if points.shape[1] != width:
        what = "1 feature" if width == 1 else f"{width} features"
        raise ValueError(
            f"{display} draws {what}, X has {points.shape[1]}. Fit the model on {what} of X, or "
            "on components of it."
        )
    return points


def feature_labels(X: Any, names: Any = None) -> list[str]:
    """Given names, those of a data frame, or "feature 0", ..."""
    if names is None:
        names = column_names(X)
    width = feature_count(X)
    if names is None:
        return [f"feature {j}" for j in range(width)]
    if len(names) != width:
        raise ValueError(f"feature_names must contain {width} names, got {len(names)}.")
    return [str(name) for name in names]


def feature_count(X: Any) -> int:
    """The number of features of an array, a data frame or a list of rows."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    return int(shape[1]) if len(shape) > 1 else 1


def rows_like(grid: np.ndarray, X: Any) -> Any:
    """Rows to predict on in the container of X: a frame keeps its names, a GPU array its device."""
    if is_frame(X):
        backend = nw.get_native_namespace(X)
        columns = {name: grid[:, j] for j, name in enumerate(column_names(X) or [])}
        return nw.from_dict(columns, backend=backend).to_native()
    if hasattr(X, "shape") and not is_sparse(X) and not isinstance(X, np.ndarray):
        return like(grid, X) if is_array(X) else grid
    return grid


def check_fitted(estimator: BaseEstimator, display: str, *methods: str) -> None:
    """Raise unless the estimator is fitted and has one of the methods."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(f"{display} needs a fitted estimator, got {estimator!r:.60}.")
    check_is_fitted(estimator)
    if methods and not any(hasattr(estimator, method) for method in methods):
        raise TypeError(
            f"{display} needs an estimator with {' or '.join(methods)}, "
            f"{type(estimator).__name__} has none."
        )


def first_attribute(
    estimator: BaseEstimator, display: str, attributes: Iterable[str], instead: str
) -> Any:
    """The first of the fitted attributes that is there; otherwise an error that says what to do."""
    for name in attributes:
        found = getattr(estimator, name, None)
        if found is not None and len(found):
            return to_numpy(found)
    raise TypeError(
        f"{type(estimator).__name__} has no {' or '.join(attributes)}: {display} takes {instead}."
    )


def estimator_name(estimator: BaseEstimator) -> str:
    """The class name, of the last step in a pipeline."""
    return type(estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator).__name__

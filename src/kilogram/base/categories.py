"""Categorical features: which they are, and their categories as numbers 0, 1, ..."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from kilogram.arrays.frames import is_frame
from kilogram.arrays.namespace import is_array, is_sparse, like, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows


def categorical_mask(X: Any, given: Any) -> np.ndarray | None:
    """Which columns of X are categorical, (d,); None if none is.

    `given` is None, "from_dtype", a mask, positions or names.
    """
    if given is None or is_streamed(X):
        if given is not None and not isinstance(given, str):
            raise ValueError(
                "categorical_features needs rows in memory, got streaming rows. Encode the "
                "categories as numbers first and leave the parameter at None."
            )
        return None
    if isinstance(given, str):  # "from_dtype"
        if not is_frame(X):
            return None
        kinds = nw.from_native(X, eager_only=True).schema.values()
        mask = np.array([isinstance(kind, (nw.Categorical, nw.Enum)) for kind in kinds])
        return mask if mask.any() else None
    wanted = np.asarray(given)
    if wanted.size == 0:
        return None
    if wanted.dtype.kind not in "biuUSO":
        raise ValueError(
            "categorical_features must be an array-like of bool, int or str, got "
            f"{wanted.dtype.name}."
        )
    mask = _as_mask(X, wanted)
    return mask if mask.any() else None


def _as_mask(X: Any, wanted: np.ndarray) -> np.ndarray:
    d = X.shape[1] if hasattr(X, "shape") else len(X[0])
    if wanted.dtype.kind == "b":
        if wanted.shape != (d,):
            raise ValueError(
                "categorical_features set as a boolean mask must have shape (n_features,), got: "
                f"{wanted.shape}"
            )
        return wanted.copy()
    if wanted.dtype.kind in "iu":
        if wanted.max() >= d or wanted.min() < 0:
            raise ValueError(
                "categorical_features set as integer indices must be in [0, n_features - 1]"
            )
        places = wanted
    else:
        if not is_frame(X):
            raise ValueError(
                "categorical_features should be passed as an array of integers or as a boolean "
                "mask when the model is fitted on data without feature names."
            )
        names = [str(name) for name in X.columns]
        missing = [str(name) for name in wanted if str(name) not in names]
        if missing:
            raise ValueError(
                f"categorical_features has a item value {missing[0]!r} which is not a valid "
                f"feature name of the training data. Observed feature names: {names}"
            )
        places = np.array([names.index(str(name)) for name in wanted])
    mask = np.zeros(d, bool)
    mask[places] = True
    return mask


class CategoricalMixin:
    """Rows with numbers for the categories of `categorical_features`."""

    categorical_features: Any
    is_categorical_: np.ndarray | None
    _codes: CategoryCodes | None = None  # also of models saved before there were codes

    def _most_categories(self) -> int:
        """The most categories of one feature."""
        raise NotImplementedError

    def _encoded(self, X: Any, reset: bool) -> Any:
        """X with numbers for categories; `reset` reads which there are."""
        if reset:
            mask = categorical_mask(X, self.categorical_features)
            self.is_categorical_ = mask
            most = self._most_categories()
            self._codes = None if mask is None else CategoryCodes.fit(X, mask, most)
        if self._codes is None:
            return X
        transform = self._codes.transform
        return map_rows(transform, X) if is_streamed(X) else transform(X)


@dataclass(frozen=True)
class CategoryCodes:
    """The categories of the categorical columns; a code is the position of a category."""

    categories: dict[int, list[Any]]  # by column, in order
    n_features: int

    @classmethod
    def fit(cls, X: Any, mask: np.ndarray, max_bins: int) -> CategoryCodes:
        """Read the categories of these columns; more than `max_bins` of one are refused."""
        found = {}
        for k in np.flatnonzero(mask):
            column = _column(X, int(k))
            if isinstance(column, np.ndarray):
                column = np.unique(column).tolist()
            values = {v for v in column if not _is_missing(v)}
            if len(values) > max_bins:
                name = repr(str(X.columns[int(k)])) if is_frame(X) else f"at index {k}"
                raise ValueError(
                    f"Categorical feature {name} is expected to have a cardinality <= {max_bins} "
                    f"but actually has a cardinality of {len(values)}."
                )
            found[int(k)] = sorted(values, key=lambda v: (isinstance(v, str), v))
        return cls(found, len(mask))

    def counts(self) -> np.ndarray:
        """Categories of every column, (d,): 0 for numeric ones, 1 where all values are missing."""
        counts = np.zeros(self.n_features, np.int64)
        for k, known in self.categories.items():
            counts[k] = max(len(known), 1)
        return counts

    def transform(self, X: Any) -> Any:
        """X with codes for categories, NaN for missing and unknown ones; frames stay frames."""
        codes = {k: self._codes(k, _column(X, k)) for k in self.categories}
        if is_frame(X):
            frame = nw.from_native(X, eager_only=True)
            new = [
                nw.new_series(frame.columns[k], c, nw.Float64(), native_namespace=_library(frame))
                for k, c in codes.items()
            ]
            return frame.with_columns(*new).to_native()
        table = np.asarray(_as_table(X))
        numbers = table.dtype.kind in "biuf"
        values = np.array(table, dtype=np.float64 if numbers else object)
        for k, c in codes.items():
            values[:, k] = c
        found = values.astype(np.float64, copy=False)
        return like(found, X) if is_array(X) else found

    def _codes(self, k: int, values: Any) -> np.ndarray:
        known = self.categories[k]
        if isinstance(values, np.ndarray):
            return _positions(values.astype(np.float64), known)
        places = {v: float(i) for i, v in enumerate(self.categories[k])}
        found = (np.nan if _is_missing(v) else places.get(v, np.nan) for v in values)
        return np.fromiter(found, np.float64, len(values))


def _library(frame: Any) -> Any:
    return nw.get_native_namespace(frame)


def _as_table(X: Any) -> Any:
    if is_sparse(X):
        return X.toarray()
    return to_numpy(X) if is_array(X) else X


def _positions(values: np.ndarray, known: list[Any]) -> np.ndarray:
    """The positions of numbers among sorted categories; NaN for unknown and missing ones."""
    numbers = np.array([v for v in known if not isinstance(v, str)], dtype=np.float64)
    if not len(numbers):
        return np.full(len(values), np.nan)
    at = np.minimum(np.searchsorted(numbers, values), len(numbers) - 1)
    return np.where(numbers[at] == values, at, np.nan)


def _column(X: Any, k: int) -> Any:
    """Values of one column: an array of numbers, or a list of plain Python values."""
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        if k >= len(frame.columns):
            raise ValueError(
                f"X has {len(frame.columns)} features, but feature {k} is one of the categorical "
                "features of the fit."
            )
        return list(frame.get_column(frame.columns[k]).to_list())
    table = np.asarray(_as_table(X))
    if table.ndim != 2 or table.shape[1] <= k:
        raise ValueError(
            f"Expected 2D array with the features of the fit, got the shape {table.shape}."
        )
    return table[:, k] if table.dtype.kind in "biuf" else list(table[:, k].tolist())


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value

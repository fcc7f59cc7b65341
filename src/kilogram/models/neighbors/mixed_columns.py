"""Tables of numbers, ordered levels and categories as rows of numbers, for Gower's distance.

    number      itself, seconds of a time           bool, integer, float, date-time columns
    ordinal     place of the level, lowest first    ordered categories of pandas, `ordinal`
    category    code of the value                   other columns, `categorical`
    missing     NaN

A category that training did not have gets a code of its own: it is equal to none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from kilogram.arrays.frames import column_names, is_frame

Array = np.ndarray[Any, np.dtype[Any]]


def is_table(X: Any) -> bool:
    """Whether X has columns that need not be numbers: a data frame, or rows of objects or words."""
    if is_frame(X):
        return True
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and any(isinstance(v, (str, type(None))) for row in X for v in _row(row))
    return isinstance(X, np.ndarray) and X.dtype.kind in "OUS"


class MixedColumns:
    """What each column of a training table is: `levels` of words, None for numbers."""

    def __init__(self, levels: list[list[Any] | None], ordered: list[bool]):
        self.levels, self.ordered = levels, ordered

    @classmethod
    def of(cls, X: Any, params: Mapping[str, Any]) -> MixedColumns:
        """From a table and the `categorical` and `ordinal` columns among the metric_params."""
        columns, names = _columns(X)
        categorical = {place(c, names) for c in params.get("categorical", ())}
        ordinal = {place(c, names): list(v) for c, v in dict(params.get("ordinal", {})).items()}
        if outside := [j for j in (categorical | set(ordinal)) if not 0 <= j < len(columns)]:
            raise ValueError(
                f"X has {len(columns)} columns, metric_params name column {outside[0]}."
            )
        levels: list[list[Any] | None] = []
        for j, column in enumerate(columns):
            if j in ordinal:
                levels.append(ordinal[j])
            elif (known := _ordered_levels(X, j)) is not None and j not in categorical:
                levels.append(known)
                ordinal[j] = known
            elif j in categorical or not _is_numeric(column):
                levels.append(sorted({v for v in column if not _is_missing(v)}, key=_order))
            else:
                levels.append(None)
        return cls(levels, [j in ordinal for j in range(len(columns))])

    @property
    def n(self) -> int:
        return len(self.levels)

    @property
    def categorical(self) -> list[int]:
        """Positions of the columns that are equal or not."""
        pairs = zip(self.levels, self.ordered, strict=True)
        return [j for j, (known, ordered) in enumerate(pairs) if known is not None and not ordered]

    def encoded(self, X: Any) -> Array:
        """(n, d) float64, NaN where a value is missing."""
        columns, names = _columns(X)
        if len(columns) != self.n:
            raise ValueError(f"X has {len(columns)} columns, but the fit had {self.n}.")
        out = np.empty((len(columns[0]) if columns else 0, len(columns)))
        for j, column in enumerate(columns):
            name = names[j] if names else j
            out[:, j] = self._encoded_column(column, j, name)
        return out

    def _encoded_column(self, column: Sequence[Any], j: int, name: Any) -> Any:
        levels = self.levels[j]
        if levels is None:
            try:
                return [np.nan if _is_missing(v) else _number(v) for v in column]
            except (TypeError, ValueError):
                raise ValueError(
                    f"column {name!r} was numeric in training and has other values now."
                ) from None
        code = {value: float(i) for i, value in enumerate(levels)}
        if self.ordered[j]:
            unknown = [v for v in column if not _is_missing(v) and v not in code]
            if unknown:
                raise ValueError(
                    f"column {name!r} has the value {unknown[0]!r}, which is not among its ordered "
                    f"levels {levels}."
                )
        return [np.nan if _is_missing(v) else code.get(v, float(len(code))) for v in column]


def place(column: Any, names: list[str] | None) -> int:
    """The position of a column given by position or name."""
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        return int(column)
    if names is None or column not in names:
        known = "positions, as X has no column names" if names is None else f"positions or {names}"
        raise ValueError(f"columns in metric_params must be {known}, got {column!r}.")
    return names.index(column)


def _row(row: Any) -> Any:
    return row if isinstance(row, (list, tuple)) else ()


def _columns(X: Any) -> tuple[list[list[Any]], list[str] | None]:
    """Columns as lists of Python values, and their names."""
    if is_frame(X):
        wrapped = nw.from_native(X, eager_only=True)
        return [wrapped.get_column(c).to_list() for c in wrapped.columns], column_names(X)
    rows = np.asarray(X, dtype=object)
    if rows.ndim != 2:
        raise ValueError(f"Expected 2D array, got {rows.ndim}D array instead.")
    return [rows[:, j].tolist() for j in range(rows.shape[1])], None


def _ordered_levels(X: Any, j: int) -> list[Any] | None:
    """The levels of an ordered categorical column of pandas."""
    if not is_frame(X):
        return None
    wrapped = nw.from_native(X, eager_only=True)
    dtype: Any = getattr(nw.to_native(wrapped.get_column(wrapped.columns[j])), "dtype", None)
    return list(dtype.categories) if getattr(dtype, "ordered", False) is True else None


def _is_numeric(column: Sequence[Any]) -> bool:
    kinds = (bool, int, float, np.number, datetime)
    return all(_is_missing(v) or isinstance(v, kinds) for v in column)


def _number(value: Any) -> float:
    return value.timestamp() if isinstance(value, datetime) else float(value)


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")


def _order(value: Any) -> tuple[str, str]:
    """Sorts values of several types."""
    return type(value).__name__, str(value)

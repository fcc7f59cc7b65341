"""Data frames as input: pandas, polars and pyarrow tables become arrays.

A frame of features becomes one C-ordered (n, d) float array: float32 when every column is float32,
float64 otherwise; missing values become NaN, booleans 0 and 1. A column that is no number is named
in the error. A series (a target, weights) becomes a 1-D array of its own type.
"""

from __future__ import annotations

import sys
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

FRAME_LIBRARIES = frozenset({"pandas", "polars", "pyarrow", "modin", "cudf", "narwhals"})


def is_frame(x: Any) -> bool:
    """True for a two-dimensional table of a data-frame library."""
    return _may_be_frame(x) and isinstance(_wrapped(x), nw.DataFrame)


def is_series(x: Any) -> bool:
    """True for one column of a data-frame library."""
    return _may_be_frame(x) and isinstance(_wrapped(x), nw.Series)


def _may_be_frame(x: Any) -> bool:
    # decided by the type's module first: narwhals is asked only about likely objects
    return type(x).__module__.partition(".")[0] in FRAME_LIBRARIES


def _wrapped(x: Any) -> Any:
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(x, pyarrow.RecordBatch):
        x = pyarrow.Table.from_batches([x])
    elif pyarrow is not None and isinstance(x, pyarrow.Array):
        x = pyarrow.chunked_array([x])
    return nw.from_native(x, eager_only=True, allow_series=True, pass_through=True)


def column_names(frame: Any) -> list[str]:
    """The names of the columns, as strings."""
    return [str(name) for name in _wrapped(frame).columns]


def frame_length(frame: Any) -> int:
    """The number of rows of a frame or series."""
    return len(_wrapped(frame))


def frame_rows(frame: Any, start: int, stop: int) -> Any:
    """Rows start to stop of a frame or series, as a narwhals value, without converting the rest."""
    return _wrapped(frame)[start:stop]


def to_array(frame: Any) -> np.ndarray:
    """The frame as an (n, d) float array; TypeError names columns that are no numbers."""
    wrapped = _wrapped(frame)
    dtype = frame_dtype(wrapped)
    if set(wrapped.schema.values()) <= {nw.Float64()}:  # one copy, at most
        return np.ascontiguousarray(wrapped.to_numpy(), dtype=dtype).reshape(wrapped.shape)
    out = np.empty(wrapped.shape, dtype=dtype)
    for j, name in enumerate(wrapped.columns):
        out[:, j] = _column(wrapped.get_column(name), dtype)
    return out


def frame_dtype(frame: Any) -> np.dtype:
    """float32 if every column is float32, else float64; TypeError if a column is not numeric."""
    schema = _wrapped(frame).schema
    refuse_columns({name: t for name, t in schema.items() if not _is_number(t)})
    single = bool(schema) and all(t == nw.Float32 for t in schema.values())
    return np.dtype(np.float32 if single else np.float64)


def refuse_columns(bad: dict[str, Any]) -> None:
    """Raise the one error about columns that are not numeric (name -> type), if there are any."""
    if bad:
        named = ", ".join(f"{name!r} ({kind})" for name, kind in list(bad.items())[:10])
        more = f" and {len(bad) - 10} more" if len(bad) > 10 else ""
        raise TypeError(
            f"non-numeric columns: {named}{more}. Encode them as numbers (for example with "
            "sklearn.preprocessing.OneHotEncoder) or leave them out."
        )


def series_to_array(series: Any) -> np.ndarray:
    """The series as a 1-D array of its own type; missing numbers become NaN."""
    wrapped = _wrapped(series)
    if not _is_number(wrapped.dtype) or isinstance(wrapped.dtype, nw.Boolean):
        return np.asarray(wrapped.to_numpy())
    if wrapped.null_count() or isinstance(wrapped.dtype, nw.Decimal):
        return _column(wrapped, np.dtype(np.float64))
    return np.asarray(wrapped.to_numpy())


def _is_number(dtype: Any) -> bool:
    return dtype.is_numeric() or dtype == nw.Boolean


def _column(series: Any, dtype: np.dtype) -> np.ndarray:
    if dtype != np.float32 or series.null_count():
        series = series.cast(nw.Float64)
    return np.asarray(series.to_numpy(), dtype=dtype)

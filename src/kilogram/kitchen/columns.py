"""What each column is, with the reason, and the numbers it becomes.

    numeric       numbers                                      -> itself, missing as NaN
    date          days and times                               -> days since 1970
    categorical   words that come back, truth values           -> number of the word in `levels`
    identifier    a name or a counter of the row               left out: it is new for every new row
    text          long free text                               left out
    constant      one value everywhere                         left out: it tells nothing
    missing       no value anywhere                            left out
    unsupported   lists, records, bytes                        left out

Kinds are found from the inputs alone, never from the target, so finding them on all rows leaks
nothing. A word that was not seen before becomes -1, which the encoder of the recipe knows.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kilogram.kitchen.errors import KitchenError, close_names, some
from kilogram.kitchen.sniff import is_number

Kind = Literal[
    "numeric", "date", "categorical", "identifier", "text", "constant", "missing", "unsupported"
]
USED: tuple[Kind, ...] = ("numeric", "date", "categorical")
NEW_LEVEL = -1.0

# A name that says "I count rows"; believed only when the values are mostly different too.
_ID_NAME = re.compile(
    r"^(id|index|idx|key|uuid|guid|row|nr|no)$|[ _.-](id|uuid|key)$|^unnamed", re.I
)
_FEW_ROWS = 20
_LONG = 25


@dataclass(frozen=True)
class Column:
    """One column: what it was taken for and why."""

    name: str
    kind: Kind
    reason: str
    missing: int = 0
    distinct: int = 0
    levels: tuple[str, ...] = ()

    @property
    def used(self) -> bool:
        return self.kind in USED


@dataclass(frozen=True)
class Layout:
    """The columns of a table in order; turns tables like it into arrays."""

    columns: tuple[Column, ...]

    @property
    def used(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.used)

    def positions(self, *kinds: Kind) -> list[int]:
        """Places of these kinds among the used columns."""
        return [k for k, column in enumerate(self.used) if column.kind in kinds]

    def array(self, data: pa.Table) -> np.ndarray:
        """The used columns of a table as (n, d) float64."""
        lost = [column.name for column in self.used if column.name not in data.column_names]
        if lost:
            hint = close_names(lost[0], data.column_names)
            raise KitchenError(f"The table lacks the column {some(lost)}.{hint}")
        out = np.empty((data.num_rows, len(self.used)))
        for k, column in enumerate(self.used):
            out[:, k] = values(column, data.column(column.name))
        return out

    def new_levels(self, X: np.ndarray) -> dict[str, int]:
        """Cells of (n, d) X per column that hold a word the layout has not seen."""
        counts = {c.name: int(np.sum(X[:, k] == NEW_LEVEL))
                  for k, c in enumerate(self.used) if c.kind == "categorical"}  # fmt: skip
        return {name: count for name, count in counts.items() if count}


def find_layout(
    data: pa.Table,
    target: str,
    *,
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
) -> Layout:
    """The kinds of all columns but the target; the three lists overrule what would be found."""
    names = [name for name in data.column_names if name != target]
    for name in (*numeric, *categorical, *ignore):
        if name not in names:
            raise KitchenError(f"There is no input column {name!r}.{close_names(name, names)}")
    found = []
    for name in names:
        if name in ignore:
            found.append(Column(name, "identifier", "left out as asked"))
        elif name in categorical:
            found.append(_categorical(name, data.column(name), "words, as asked"))
        elif name in numeric:
            column = Column(name, "numeric", "numbers, as asked", data.column(name).null_count)
            values(column, data.column(name))
            found.append(column)
        else:
            found.append(find_kind(name, data.column(name)))
    return Layout(tuple(found))


def find_kind(name: str, column: Any) -> Column:
    """The kind of one Arrow column."""
    column = plain(column)
    if _nested(column.type):
        return Column(name, "unsupported", f"cells of type {column.type} are no single values")
    missing, rows = column.null_count, len(column)
    if missing == rows:
        return Column(name, "missing", "no value in any row", missing)
    distinct = int(pc.count_distinct(column, mode="only_valid").as_py())
    if distinct == 1 and missing == 0:
        value = column[0].as_py()
        return Column(name, "constant", f"the same value, {value!r}, in every row", 0, 1)
    if pa.types.is_boolean(column.type):
        return _categorical(name, column, "true or false")
    if pa.types.is_temporal(column.type):
        return Column(name, "date", "dates, counted in days", missing, distinct)
    if _is_number(column.type):
        why = _counts_rows(name, column, distinct)
        if why:
            return Column(name, "identifier", why, missing, distinct)
        return Column(name, "numeric", f"numbers, {distinct} different", missing, distinct)
    return _words(name, column, distinct, rows - missing)


def _words(name: str, column: Any, distinct: int, filled: int) -> Column:
    missing = column.null_count
    share = distinct / filled
    if share > 0.5 and filled >= _FEW_ROWS:
        length = pc.mean(pc.utf8_length(column)).as_py()
        if length > _LONG:
            why = f"free text, {length:.0f} characters on average"
            return Column(name, "text", why, missing, distinct)
        why = f"{distinct} different values in {filled} rows: a name of the row"
        return Column(name, "identifier", why, missing, distinct)
    return _categorical(name, column, f"{distinct} different words{_stray(column)}")


def _categorical(name: str, column: Any, reason: str) -> Column:
    text = as_text(plain(column))
    levels = tuple(sorted(pc.unique(text).drop_null().to_pylist()))
    return Column(name, "categorical", reason, text.null_count, len(levels), levels)


def _stray(column: Any) -> str:
    """Which words keep a column of numbers from being one."""
    words = pc.unique(column).drop_null().to_pylist()
    odd = [word for word in words if not is_number(word)]
    if 0 < len(odd) <= len(words) / 5:
        return f", text because of {some(odd, 3)} among numbers"
    return ""


def _counts_rows(name: str, column: Any, distinct: int) -> str:
    if not pa.types.is_integer(column.type) or len(column) < _FEW_ROWS:
        return ""
    ends = pc.min_max(column).as_py()
    if distinct == len(column) == ends["max"] - ends["min"] + 1:
        return f"counts the rows from {ends['min']} to {ends['max']}"
    if _ID_NAME.search(name) and distinct > 0.5 * len(column):
        return "a number that names the row"
    return ""


def values(column: Column, data: Any) -> np.ndarray:
    """An Arrow column as (n,) float64 by its kind; infinite values count as missing."""
    data = plain(data)
    if column.kind == "categorical":
        return _level_numbers(column.levels, as_text(data))
    try:
        if column.kind == "date":
            moments = pc.cast(data, pa.timestamp("s"), safe=False)
            out = (
                pc.cast(pc.cast(moments, pa.int64()), pa.float64()).to_numpy(zero_copy_only=False)
                / 86400.0
            )
        else:
            out = pc.cast(data, pa.float64()).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise KitchenError(
            f"Column {column.name!r} should hold {column.kind} values but has "
            f"{_offender(column.kind, data)}."
        ) from None
    return np.where(np.isfinite(out), out, np.nan)


def _level_numbers(levels: tuple[str, ...], text: Any) -> np.ndarray:
    found = pc.fill_null(pc.index_in(text, pa.array(levels, pa.string())), int(NEW_LEVEL))
    numbers = pc.cast(found, pa.float64()).to_numpy(zero_copy_only=False)
    return np.where(pc.is_valid(text).to_numpy(zero_copy_only=False), numbers, np.nan)


def _offender(kind: Kind, data: Any) -> str:
    if kind == "numeric" and pa.types.is_string(data.type):
        words = pc.unique(data).drop_null().to_pylist()
        odd = [word for word in words if not is_number(word)]
        if odd:
            return some(odd, 3)
    return f"type {data.type}"


def plain(column: Any) -> Any:
    """One array without dictionaries, views and chunks; empty words become missing."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # more than one chunk's worth of text
        column = pa.concat_arrays(column.chunks)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = pc.cast(column, pa.string())
    return column


def as_text(column: Any) -> Any:
    """Values as words; whole numbers are written the same whether read as 3 or as 3.0."""
    if pa.types.is_floating(column.type):
        whole = pc.all(pc.equal(pc.round(column), column)).as_py()
        column = pc.cast(column, pa.int64()) if whole else column
    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise KitchenError(f"Cells of type {column.type} cannot be told apart as words.") from None


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _nested(kind: pa.DataType) -> bool:
    return pa.types.is_nested(kind) or not (
        _is_number(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
        or pa.types.is_string(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
    )

"""The columns of a table and their encoding as cells.

    numeric       numbers                              -> itself, missing as NaN
    ordinal       ordered categories                   -> r / R for the r-th of R levels
    date, time    dates and times; `time` orders rows  -> days since 1970
    categorical   categories, booleans                 -> index of the category in `levels`
    text, image   free text; paths of images           -> the text itself
    group         groups of rows                       left out: folds are split along it
    identifier    an identifier of the row             left out: it is different for every new row
    constant      one value everywhere                 left out: it carries no information
    missing       no value anywhere                    left out
    unsupported   lists, records, bytes                left out

`column_types.py` detects the types; here they are stored and applied. A category that was not in
the training rows becomes -1, which the encoder of the recipe knows; in an ordinal column it becomes
missing, since its place in the order is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kilogram.kitchen.errors import KitchenError, lacking, quoted
from kilogram.kitchen.features.number_formats import NumberFormat
from kilogram.kitchen.read.dialect import MISSING, is_number

Kind = Literal[
    "numeric", "ordinal", "date", "time", "categorical", "text", "image", "group", "identifier",
    "constant", "missing", "unsupported",
]  # fmt: skip
USED: tuple[Kind, ...] = ("numeric", "ordinal", "date", "time", "categorical", "text", "image")
WORDS: tuple[Kind, ...] = ("text", "image")
NEW_LEVEL = -1.0  # a code below those of the known levels
# the form of a time that is a plain number, such as a year
AS_NUMBER = "number"
# Between the forms of dates that are written in several ways.
FORMS_APART = "|"
# No measurement: tables mark missing values by the largest float. Squares of it would overflow.
LARGEST = 1e100

# Reason of a column that the user leaves out.
IGNORED = "left out, as requested"


@dataclass(frozen=True)
class Column:
    """One column: its type and the reason for it.

    `form` is the format of its dates, or of numbers that are written as text.
    """

    name: str
    kind: Kind
    reason: str
    missing: int = 0
    distinct: int = 0
    levels: tuple[str, ...] = ()
    form: str = ""

    @property
    def used(self) -> bool:
        return self.kind in USED

    @property
    def ignored(self) -> bool:
        """Was it left out on request, whatever its type?"""
        return self.reason == IGNORED


@dataclass(frozen=True)
class Layout:
    """The columns of a table in order; converts tables with these columns to arrays."""

    columns: tuple[Column, ...]

    @property
    def used(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.used)

    def positions(self, *kinds: Kind) -> list[int]:
        """Indices of these types among the used columns."""
        return [k for k, column in enumerate(self.used) if column.kind in kinds]

    def array(self, data: pa.Table, folder: Path | None = None) -> np.ndarray:
        """The used columns of a table as (n, d): float64, or objects if some of them are words.

        `folder` is where paths of pictures start.
        """
        there = set(data.column_names)  # Arrow makes a new list at every access
        needed = [column.name for column in self.used]
        lost = [name for name in needed if name not in there]
        if lost:
            raise KitchenError(lacking(lost, data.column_names, needed))
        kind: Any = object if self.positions(*WORDS) else np.float64
        out = np.empty((data.num_rows, len(self.used)), dtype=kind)
        for k, column in enumerate(self.used):
            cells = data.column(column.name)
            if column.kind in WORDS:
                out[:, k] = _texts(cells, folder if column.kind == "image" else None)
            else:
                out[:, k] = values(column, cells)
        return out

    def new_levels(self, X: np.ndarray) -> dict[str, int]:
        """Number of new categories in (n, d) X by column."""
        counts = {c.name: int(np.sum(X[:, k] == NEW_LEVEL))
                  for k, c in enumerate(self.used) if c.kind == "categorical"}  # fmt: skip
        return {name: count for name, count in counts.items() if count}


def refuse_unusable(layout: Layout) -> None:
    """An error with the reasons if no column is usable."""
    if layout.used:
        return
    if not layout.columns:
        raise KitchenError("The target is the only column: there are no inputs.")
    reasons = "; ".join(f"{c.name!r}: {c.reason}" for c in layout.columns[:5])
    raise KitchenError(f"No usable input column is left ({reasons}).")


def values(column: Column, data: Any) -> np.ndarray:
    """An Arrow column as (n,) float64 by its kind; infinite values count as missing, and so do
    those of `LARGEST` and beyond.
    """
    data = plain(data)
    if column.kind == "categorical":
        return _level_numbers(column.levels, as_text(data))
    if column.kind == "ordinal":
        place = _level_numbers(column.levels, as_text(data))
        return np.where(place == NEW_LEVEL, np.nan, (place + 1.0) / len(column.levels))
    try:
        if column.kind in ("date", "time"):
            out = days(data, column.form)
        elif column.form and pa.types.is_string(data.type):
            out = NumberFormat.from_text(column.form).read(data)
        elif pa.types.is_string(data.type):
            out = _plain_numbers(data)
        else:
            out = as_floats(data)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise KitchenError(
            f"Column {column.name!r} should hold {column.kind} values but has "
            f"{_offender(column.kind, data)}."
        ) from None
    return np.where(np.abs(out) < LARGEST, out, np.nan)


def _plain_numbers(data: Any) -> np.ndarray:
    """Text as a file's reader takes it: `?` is missing, and 1,234.5 is a number."""
    data = pc.if_else(pc.is_in(data, pa.array(MISSING)), None, data)
    if NumberFormat().unreadable(data):
        raise pa.ArrowInvalid("a cell is no number")
    return NumberFormat().read(data)


def days(data: Any, form: str = "") -> np.ndarray:
    """Days since 1970 of dates and times, or of words and whole numbers written as `form` says."""
    if form == AS_NUMBER:
        return as_floats(data)
    if form:
        words = as_text(data)
        data = pc.coalesce(*(pc.strptime(words, format=one, unit="s", error_is_null=True)
                             for one in form.split(FORMS_APART)))  # fmt: skip
        if data.null_count > words.null_count:
            raise pa.ArrowInvalid("a date is written in another way")
    moments = pc.cast(data, pa.timestamp("s"), safe=False)
    seconds = pc.cast(pc.cast(moments, pa.int64()), pa.float64())
    return seconds.to_numpy(zero_copy_only=False) / 86400.0


def _texts(data: Any, folder: Path | None) -> np.ndarray:
    """Text as it is, missing values empty; paths joined to their folder."""
    cells = as_text(plain(data)).to_pylist()
    if folder is not None:
        cells = [cell and str(folder / cell) for cell in cells]
    return np.asarray(["" if cell is None else cell for cell in cells], dtype=object)


def _level_numbers(levels: tuple[str, ...], text: Any) -> np.ndarray:
    found = pc.fill_null(pc.index_in(text, pa.array(levels, pa.string())), int(NEW_LEVEL))
    numbers = pc.cast(found, pa.float64()).to_numpy(zero_copy_only=False)
    return np.where(pc.is_valid(text).to_numpy(zero_copy_only=False), numbers, np.nan)


def _offender(kind: Kind, data: Any) -> str:
    if kind == "numeric" and pa.types.is_string(data.type):
        words = pc.unique(data).drop_null().to_pylist()
        odd = [word for word in words if not is_number(word)]
        if odd:
            return quoted(odd, 3)
    if kind in ("date", "time") and len(data.drop_null()):
        return f"cells such as {data.drop_null()[0].as_py()!r}"
    return f"type {data.type}"


def plain(column: Any) -> Any:
    """One array without dictionaries, views and chunks."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # more than one chunk's worth of text
        column = pa.concat_arrays(column.chunks)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = pc.cast(column, pa.string())
    return column


def as_floats(column: Any) -> np.ndarray:
    """Numbers as float64; integers beyond 2^53 are rounded."""
    return pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def as_text(column: Any) -> Any:
    """Values as text; integers are written the same whether read as 3 or as 3.0."""
    if pa.types.is_floating(column.type):
        exact = pc.less(pc.abs(column), 2.0**63)  # beyond it there is no int64
        whole = pc.all(pc.and_(exact, pc.equal(pc.round(column), column))).as_py()
        column = pc.cast(column, pa.int64()) if whole else column
    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise KitchenError(f"Values of type {column.type} cannot be converted to text.") from None

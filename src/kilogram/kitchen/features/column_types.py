"""The type of each column, detected from its values and its name, with the reason.

Types are detected from the inputs alone, never from the target, so detecting them on all rows leaks
nothing. Every type can be overridden by `ColumnOverrides`.

    image         paths that end like image files
    numeric       numbers, also written as text ($1,234.50, 12 kg, 12.3 %)
    date          dates, also written as text (14.3.2020) or numbers (20200314)
    time          dates that order the rows: sorted, and almost all distinct
    ordinal       levels of a known scale, ranges of numbers, or ordered categories of a data frame
    group         a name such as patient or user, with repeated values
    identifier    numbers the rows, or has almost only distinct values
    text          long strings, almost all distinct
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kilogram.kitchen.errors import KitchenError, close_names, quoted
from kilogram.kitchen.features.columns import (
    AS_NUMBER,
    FORMS_APART,
    IGNORED,
    Column,
    Kind,
    Layout,
    as_text,
    plain,
    values,
)
from kilogram.kitchen.features.number_formats import describe_format, number_format
from kilogram.kitchen.features.ordinal_scales import date_form, scale_order
from kilogram.kitchen.features.overrides import ColumnOverrides
from kilogram.kitchen.read.dialect import is_number

# Names of identifiers; used only when the values are mostly distinct too.
_ID_NAME = re.compile(
    r"^(id|index|idx|key|uuid|guid|row|nr|no)$|[ _.-](id|uuid|key)$|[a-z]ID$|^unnamed", re.I
)
_GROUP_NAME = re.compile(
    r"^(patient|subject|person|participant|individual|user|customer|client|member|household|family|"
    r"speaker|author|session|device|account|group|student|donor|animal|player)s?"
    r"([ _.-]?(id|no|nr|number|name|key|code))?$",
    re.I,
)
_DATE_NAME = re.compile(r"date|day|time|datum|_at$|_on$", re.I)
_PICTURE = r"(?i)\.(png|jpe?g|bmp|gif|tiff?|webp)$"
_FEW_ROWS = 20  # fewer distinct values mean nothing: our choice
_LONG, _MANY = 25, 100


def find_layout(
    data: pa.Table,
    target: str | None,
    *,
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
    overrides: ColumnOverrides | None = None,
) -> Layout:
    """The types of all columns but the target; `overrides` take precedence."""
    if overrides is None:
        overrides = ColumnOverrides(tuple(numeric), tuple(categorical), ignore=tuple(ignore))
    names = [name for name in data.column_names if name != target]
    given = overrides.kinds()
    for name in given:
        if name not in names:
            raise KitchenError(f"There is no input column {name!r}.{close_names(name, names)}")
    found = [
        as_overridden(name, data.column(name), given[name], overrides.ordinal.get(name, ()))
        if name in given
        else find_kind(name, data.column(name))
        for name in names
    ]
    return Layout(tuple(_one_time(found, overrides.time)))


def _one_time(columns: list[Column], given: str | None) -> list[Column]:
    """At most one column orders the rows: the one that was given, or the first detected."""
    times = [column.name for column in columns if column.kind == "time"]
    keep = given or (times[0] if times else None)
    return [
        Column(c.name, "date", c.reason, c.missing, c.distinct, c.levels, c.form)
        if c.kind == "time" and c.name != keep
        else c
        for c in columns
    ]


def as_overridden(name: str, cells: Any, kind: Kind, order: tuple[str, ...] = ()) -> Column:
    """A column of the given type, or an error if its values do not allow it."""
    column = plain(cells)
    if kind == "identifier":
        return Column(name, kind, IGNORED)
    if kind == "categorical":
        return _categorical(name, column, "categories, as requested")
    if kind == "ordinal":
        return _overridden_order(name, column, order)
    missing = column.null_count
    distinct = int(pc.count_distinct(column, mode="only_valid").as_py())
    if kind in ("text", "image", "group"):
        as_text(column)
        return Column(name, kind, _ASKED[kind], missing, distinct)
    if kind == "numeric" and pa.types.is_string(column.type):
        numbers = _written_numbers(name, column, distinct, force=True)
        if numbers is None:
            raise KitchenError(
                f"Column {name!r} should hold numeric values but has {quoted(_first(column), 3)}."
            )
        return replace(numbers, reason=f"{numbers.reason}, as requested")
    form = ""
    if kind in ("date", "time") and not pa.types.is_temporal(column.type):
        form = date_form(column)
        if kind == "time" and not form and is_numeric(column.type):
            form = AS_NUMBER
    found = Column(name, kind, _ASKED[kind], missing, distinct, form=form)
    values(found, column)
    return found


def _first(column: Any) -> list[str]:
    """Some distinct values of a column of text."""
    return pc.unique(column.slice(0, 100)).drop_null().to_pylist()


_ASKED: dict[Kind, str] = {
    "numeric": "numbers, as requested",
    "text": "free text, as requested",
    "image": "images, as requested",
    "date": "dates, as requested",
    "time": "orders the rows, as requested",
    "group": "groups of rows, as requested",
}


def _overridden_order(name: str, column: Any, order: tuple[str, ...]) -> Column:
    text = as_text(column)
    there = pc.unique(text).drop_null().to_pylist()
    odd = sorted(set(there) - set(order))
    if odd:
        raise KitchenError(
            f"The order of {name!r} leaves out {quoted(odd, 5)}. Give all levels, lowest first: "
            f"--ordinal {name}={','.join([*order, '...'])}"
        )
    if len(set(order)) < len(order):
        raise KitchenError(f"The order of {name!r} has a level twice: {quoted(order)}.")
    why = "in the order " + " < ".join(order) + ", as requested"
    return Column(name, "ordinal", why, text.null_count, len(there), tuple(order))


def find_kind(name: str, cells: Any) -> Column:
    """The kind of one Arrow column."""
    order = _own_order(cells)
    column = plain(cells)
    if not _single(column.type):
        return Column(name, "unsupported", f"values of type {column.type} are not scalars")
    missing, rows = column.null_count, len(column)
    if missing == rows:
        return Column(name, "missing", "no value in any row", missing)
    distinct = int(pc.count_distinct(column, mode="only_valid").as_py())
    if distinct == 1 and missing == 0:
        value = column[0].as_py()
        return Column(name, "constant", f"the same value, {value!r:.60}, in every row", 0, 1)
    if order:
        why = f"ordered categories {' < '.join(order)}"
        return Column(name, "ordinal", why, missing, distinct, order)
    if pa.types.is_boolean(column.type):
        return _categorical(name, column, "booleans")
    if pa.types.is_temporal(column.type):
        return _dates(Column(name, "date", "dates", missing, distinct), column)
    if is_numeric(column.type):
        why = f"numbers, {distinct} distinct"
        return _numbers(Column(name, "numeric", why, missing, distinct), column)
    return _words(name, column, distinct, rows - missing)


def _own_order(cells: Any) -> tuple[str, ...]:
    kind = cells.type
    if not (pa.types.is_dictionary(kind) and kind.ordered):
        return ()
    chunk = cells.chunk(0) if isinstance(cells, pa.ChunkedArray) else cells
    return tuple(as_text(chunk.dictionary).to_pylist())


def _dates(column: Column, cells: Any) -> Column:
    """Dates, or the time of the rows where they order them."""
    moments = values(column, cells)
    moments = moments[moments == moments]
    if len(moments) >= _FEW_ROWS and column.distinct >= 0.9 * len(cells):
        steps = moments[1:] - moments[:-1]
        if (steps >= 0).all() or (steps <= 0).all():
            why = "dates that order the rows"
            return Column(column.name, "time", why, column.missing, column.distinct, (),
                          column.form)  # fmt: skip
    return column


def _numbers(column: Column, cells: Any) -> Column:
    name, distinct = column.name, column.distinct
    if not pa.types.is_integer(cells.type) or len(cells) < _FEW_ROWS:
        return column
    form = date_form(cells) if _DATE_NAME.search(name) else ""
    if form:
        why = "dates written as numbers"
        return _dates(Column(name, "date", why, column.missing, distinct, (), form), cells)
    ends = pc.min_max(cells).as_py()
    if distinct == len(cells) == ends["max"] - ends["min"] + 1:
        why = f"numbers the rows from {ends['min']} to {ends['max']}"
        return Column(name, "identifier", why, column.missing, distinct)
    if _ID_NAME.search(name) and distinct > 0.5 * len(cells):
        return Column(
            name,
            "identifier",
            "almost all values distinct, under the name of an identifier",
            column.missing,
            distinct,
        )
    return _group(name, distinct, len(cells), column.missing) or column


def _group(name: str, distinct: int, rows: int, missing: int) -> Column | None:
    """Repeated values, under a name such as patient or user."""
    if not (_GROUP_NAME.search(name) or _ID_NAME.search(name)) or rows < _FEW_ROWS:
        return None
    if not 5 <= distinct <= rows / 2:
        return None
    why = f"{distinct} groups of {rows / distinct:.0f} rows on average"
    return Column(name, "group", why, missing, distinct)


def _words(name: str, column: Any, distinct: int, filled: int) -> Column:
    missing = column.null_count
    found = _written(name, column, distinct) or _written_numbers(name, column, distinct)
    if found is not None:
        return found
    length = pc.mean(pc.utf8_length(column)).as_py()
    fraction = distinct / filled
    if length > _LONG and filled >= _FEW_ROWS and (fraction > 0.5 or distinct > _MANY):
        why = f"free text, {length:.0f} characters on average"
        return Column(name, "text", why, missing, distinct)
    group = _group(name, distinct, filled, missing)
    if group is not None:
        return group
    if fraction > 0.5 and filled >= _FEW_ROWS:
        why = f"{distinct} distinct values in {filled} rows"
        return Column(name, "identifier", why, missing, distinct)
    return _categorical(name, column, f"{distinct} categories{_unparsed_values(column)}")


def _written(name: str, column: Any, distinct: int) -> Column | None:
    """Text in a known format: image paths, dates, levels of a scale."""
    missing = column.null_count
    if pc.all(pc.match_substring_regex(column, _PICTURE), min_count=1).as_py():
        return Column(name, "image", "paths of image files", missing, distinct)
    form = date_form(column)
    if form:
        why = f"dates written as {_spelled(form)}"
        return _dates(Column(name, "date", why, missing, distinct, (), form), column)
    if distinct <= 20:
        order = scale_order(pc.unique(column).drop_null().to_pylist())
        if order:
            why = "levels of a known scale: " + " < ".join(order)
            return Column(name, "ordinal", why, missing, distinct, order)
    return None


def _written_numbers(
    name: str, column: Any, distinct: int, *, force: bool = False
) -> Column | None:
    """Numbers in a known format; unreadable cells count as missing."""
    form = number_format(column, force=force)
    if form is None:
        return None
    unreadable = sum(form.unreadable(column).values())
    missing = int(np.isnan(form.read(column)).sum())
    codes = not unreadable and all(map(_whole_number, pc.unique(column).drop_null().to_pylist()))
    named_id = bool(_ID_NAME.search(name)) and distinct > 0.5 * len(column)
    if (codes or named_id) and not force:
        return None  # whole numbers as text are codes: 08540, 1002
    why = describe_format(form, unreadable)
    return Column(name, "numeric", why, missing, distinct, form=str(form))


def _whole_number(word: str) -> bool:
    return word.strip().lstrip("+-").isdigit()


def _spelled(form: str) -> str:
    form = form.replace(FORMS_APART, " or ")
    for mark, letters in (("%d", "day"), ("%m", "month"), ("%b", "month"),
                          ("%Y", "year"), ("%H", "hour"),
                          ("%M", "minute"), ("%S", "second")):  # fmt: skip
        form = form.replace(mark, letters)
    return form


def _categorical(name: str, column: Any, reason: str) -> Column:
    text = as_text(column)
    levels = tuple(sorted(pc.unique(text).drop_null().to_pylist()))
    return Column(name, "categorical", reason, text.null_count, len(levels), levels)


def _unparsed_values(column: Any) -> str:
    """Which text values keep a column from being numeric."""
    words = pc.unique(column).drop_null().to_pylist()
    odd = [word for word in words if not is_number(word)]
    if 0 < len(odd) <= len(words) / 5:
        return f", not numeric because of {quoted(odd, 3)}"
    return ""


def is_numeric(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _single(kind: pa.DataType) -> bool:
    """Is a cell of this type one value?"""
    return (
        is_numeric(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
        or pa.types.is_string(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
    )

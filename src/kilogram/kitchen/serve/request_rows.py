"""The rows of a request as a table, or as cells.

    application/json   {"rows": [{"column": value, ...}, ...]} or the bare list; null is missing
    text/csv           a table with a header, of any delimiter and encoding

Every used column must be present: an absent one is an error that names it, not a missing value.
Rows of JSON become cells directly, without a table in between, since one row takes longer to put
into a table than to predict.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pyarrow as pa

from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.errors import KitchenError, close_names, lacking, quoted
from kilogram.kitchen.features.columns import NEW_LEVEL, Column, Layout, values
from kilogram.kitchen.read.text import text_bytes
from kilogram.kitchen.serve.limits import Limits, RequestError

JSON, CSV = "application/json", "text/csv"
# Half of a pair of code units, which is no character and has no UTF-8 form.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_FORM = 'Send {"rows": [{"column": value, ...}, ...]}; null is a missing value.'


def media_type(header: str | None) -> str:
    """The format of a body by its Content-Type."""
    kind = (header or JSON).split(";")[0].strip().lower()
    if kind not in (JSON, CSV):
        raise RequestError(415, f"Send rows as {JSON} or {CSV}, not as {kind}.")
    return kind


def table_of(body: bytes, kind: str, model: Model, limits: Limits) -> tuple[pa.Table, list[str]]:
    """The table in a body, and a note on the columns that were ignored."""
    check_body(body)
    if kind == CSV:
        table = _from_csv(body, model, limits)
    else:
        table = from_rows(rows_of(body), model.layout, limits)
    _check(table.num_rows, limits)
    return table, ignored_note(set(table.column_names), model)


def check_body(body: bytes) -> None:
    """An error for an empty body."""
    if not body.strip():
        raise RequestError(400, f"The request is empty. {_FORM}")


def ignored_note(names: set[str], model: Model) -> list[str]:
    """A note on columns that the model does not know."""
    odd = sorted(names - {column.name for column in model.layout.columns} - {model.target})
    return [f"Unknown columns were ignored: {quoted(odd)}."] if odd else []


class CellParser:
    """Rows of JSON to the (n, d) cells of a layout; what it needs is prepared once per model."""

    def __init__(self, layout: Layout):
        self.columns = layout.used
        self.has_text = bool(layout.positions("text", "image"))
        self.places = [{level: float(k) for k, level in enumerate(column.levels)}
                       for column in self.columns]  # fmt: skip

    def cells(self, rows: list[dict[str, Any]], limits: Limits) -> np.ndarray:
        """The cells of rows of a request: `layout.array(from_rows(rows))` without a table."""
        _check(len(rows), limits)
        kind: Any = object if self.has_text else np.float64
        out = np.empty((len(rows), len(self.columns)), dtype=kind)
        for k, column in enumerate(self.columns):
            cells = [_cell(row, column.name, i) for i, row in enumerate(rows)]
            out[:, k] = self._column(column, self.places[k], cells)
        return out

    def _column(self, column: Column, places: dict[str, float], cells: list[Any]) -> Any:
        if _is_number(column):
            found = [_number(column.name, i, cell) for i, cell in enumerate(cells)]
            return [math.nan if cell is None else cell for cell in found]
        words = [_word(column.name, i, cell) for i, cell in enumerate(cells)]
        if column.kind == "text":
            return ["" if word is None else word for word in words]
        if column.kind == "categorical":
            return [math.nan if w is None else places.get(w, NEW_LEVEL) for w in words]
        if column.kind == "ordinal":
            count = len(column.levels)
            found = [None if w is None else places.get(w) for w in words]
            return [math.nan if place is None else (place + 1.0) / count for place in found]
        return values(column, pa.array(words, pa.string()))


def _from_csv(body: bytes, model: Model, limits: Limits) -> pa.Table:
    first = body.split(b"\n", 1)[0]
    if max(first.count(mark) for mark in b",;\t|") > limits.max_columns:
        raise RequestError(413, f"A table may have {limits.max_columns:,} columns.")
    try:
        data = text_bytes(body, "The request", written=model.about.get("written"))
    except KitchenError as bad:
        raise RequestError(400, str(bad)) from None
    there = set(data.column_names)
    needed = [c.name for c in model.layout.used]
    lost = [name for name in needed if name not in there]
    if lost:
        raise RequestError(422, lacking(lost, data.column_names, needed), column=lost[0])
    return data


def _check(rows: int, limits: Limits) -> None:
    if not rows:
        raise RequestError(422, f"There are no rows to predict. {_FORM}")
    if rows > limits.max_rows:
        raise RequestError(
            413,
            f"A request may have {limits.max_rows:,} rows, got {rows:,}. Send "
            "them in parts, or use kg predict.",
        )


def rows_of(body: bytes) -> list[dict[str, Any]]:
    """The rows in a JSON body, or an error that says what is wrong with it."""
    try:
        content = json.loads(body, parse_constant=_no_number)
    except json.JSONDecodeError as bad:
        raise RequestError(
            400, f"Not valid JSON: {bad.msg} at line {bad.lineno}, column {bad.colno}. {_FORM}"
        ) from None
    except (ValueError, RecursionError) as bad:
        reason = "nested too deeply" if isinstance(bad, RecursionError) else str(bad)
        raise RequestError(400, f"Not valid JSON: {reason}. {_FORM}") from None
    if _SURROGATE.search(body):
        _check_text(content)
    rows = content.get("rows") if isinstance(content, dict) else content
    if not isinstance(rows, list):
        raise RequestError(400, f"There is no list of rows. {_FORM}")
    for k, row in enumerate(rows):
        if not isinstance(row, dict):
            raise RequestError(
                422, f"Row {k} is not an object of columns and values. {_FORM}", row=k
            )
    return rows


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number; a missing value is null")


def _check_text(value: Any) -> None:
    """An error for text that is not Unicode."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise RequestError(
                400,
                "The request has a lone surrogate (\\ud800 to \\udfff), which is not a character.",
            ) from None
    elif isinstance(value, dict):
        for name, item in value.items():
            _check_text(name)
            _check_text(item)
    elif isinstance(value, list):
        for item in value:
            _check_text(item)


def from_rows(rows: list[dict[str, Any]], layout: Layout, limits: Limits) -> pa.Table:
    """Rows as a table of the used columns, values checked one by one."""
    _check(len(rows), limits)  # before any cell is parsed
    columns: dict[str, Any] = {}
    for column in layout.used:
        take = _number if _is_number(column) else _word
        cells = [take(column.name, k, _cell(row, column.name, k)) for k, row in enumerate(rows)]
        columns[column.name] = pa.array(cells, pa.float64() if _is_number(column) else pa.string())
    extra = sorted(set().union(*rows) - set(columns))[:20] if rows else []
    for name in extra:
        columns[name] = pa.nulls(len(rows), pa.string())
    return pa.table(columns)


def _is_number(column: Column) -> bool:
    return column.kind == "numeric" or (column.kind == "time" and column.form == "number")


def _cell(row: dict[str, Any], name: str, k: int) -> Any:
    if name not in row:
        hint = close_names(name, row) if row else ""
        raise RequestError(
            422,
            f"Row {k} lacks the column {name!r}; use null for a missing value.{hint}",
            row=k,
            column=name,
        )
    return row[name]


def _number(name: str, k: int, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RequestError(
            422, f"Row {k}, column {name!r}: expected a number, got {_abbreviated(value)}.", row=k,
            column=name,
        )  # fmt: skip
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RequestError(422, f"Row {k}, column {name!r}: the number is too large.", row=k,
                      column=name)  # fmt: skip
    return number


def _word(name: str, k: int, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value)) if value == value // 1 else str(value)
    raise RequestError(
        422,
        f"Row {k}, column {name!r}: expected a string, got {_abbreviated(value)}.",
        row=k,
        column=name,
    )


def _abbreviated(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:39] + "…"

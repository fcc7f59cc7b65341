"""The rows of a request as a table.

    application/json   {"rows": [{"column": value, ...}, ...]} or the bare list; null is missing
    text/csv           a table with a header, of any delimiter and encoding

Every used column must be there: a forgotten one is an error that names it, not a missing value.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa

from kilogram.kitchen.columns import Column, Layout
from kilogram.kitchen.errors import KitchenError, close_names, lacking, some
from kilogram.kitchen.model import Model
from kilogram.kitchen.read_text import text_bytes
from kilogram.kitchen.serve.limits import Limits, Refused

JSON, CSV = "application/json", "text/csv"
_FORM = 'Send {"rows": [{"column": value, ...}, ...]}; null is a missing value.'


def media_type(header: str | None) -> str:
    """What a body is, by its Content-Type."""
    kind = (header or JSON).split(";")[0].strip().lower()
    if kind not in (JSON, CSV):
        raise Refused(415, f"Send rows as {JSON} or {CSV}, not as {kind}.")
    return kind


def table_of(body: bytes, kind: str, model: Model, limits: Limits) -> tuple[pa.Table, list[str]]:
    """The table in a body, and what was left aside."""
    if not body.strip():
        raise Refused(400, f"The request is empty. {_FORM}")
    if kind == CSV:
        table = _from_csv(body, model, limits)
    else:
        table = from_rows(_rows(body), model.layout, limits)
    _check(table, limits)
    known = {column.name for column in model.layout.columns} | {model.target}
    odd = [name for name in table.column_names if name not in known]
    return table, [f"Columns the model does not know were left aside: {some(odd)}."] if odd else []


def _from_csv(body: bytes, model: Model, limits: Limits) -> pa.Table:
    first = body.split(b"\n", 1)[0]
    if max(first.count(mark) for mark in b",;\t|") > limits.max_columns:
        raise Refused(413, f"A table may have {limits.max_columns:,} columns.")
    try:
        data = text_bytes(body, "The request", written=model.about.get("written"))
    except KitchenError as bad:
        raise Refused(400, str(bad)) from None
    there = set(data.column_names)
    needed = [c.name for c in model.layout.used]
    lost = [name for name in needed if name not in there]
    if lost:
        raise Refused(422, lacking(lost, data.column_names, needed), column=lost[0])
    return data


def _check(table: pa.Table, limits: Limits) -> None:
    if not table.num_rows:
        raise Refused(422, f"There are no rows to answer. {_FORM}")
    if table.num_rows > limits.max_rows:
        raise Refused(
            413,
            f"A request may hold {limits.max_rows:,} rows, this one has {table.num_rows:,}. Send "
            "them in parts, or use kg predict.",
        )


def _rows(body: bytes) -> list[dict[str, Any]]:
    try:
        held = json.loads(body, parse_constant=_no_number)
    except json.JSONDecodeError as bad:
        raise Refused(
            400, f"No JSON: {bad.msg} at line {bad.lineno}, column {bad.colno}. {_FORM}"
        ) from None
    except (ValueError, RecursionError) as bad:
        reason = "nested too deeply" if isinstance(bad, RecursionError) else str(bad)
        raise Refused(400, f"No JSON: {reason}. {_FORM}") from None
    rows = held.get("rows") if isinstance(held, dict) else held
    if not isinstance(rows, list):
        raise Refused(400, f"There is no list of rows. {_FORM}")
    for k, row in enumerate(rows):
        if not isinstance(row, dict):
            raise Refused(422, f"Row {k} is not an object of columns and values. {_FORM}", row=k)
    return rows


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON; a missing value is null")


def from_rows(rows: list[dict[str, Any]], layout: Layout, limits: Limits) -> pa.Table:
    """Rows as a table of the columns that are used, values checked one by one."""
    if len(rows) > limits.max_rows:  # told before any cell is looked at
        _check(pa.table({"rows": pa.nulls(len(rows))}), limits)
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
        raise Refused(
            422,
            f"Row {k} lacks the column {name!r}; say null where it is not known.{hint}",
            row=k,
            column=name,
        )
    return row[name]


def _number(name: str, k: int, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused(
            422, f"Row {k}, column {name!r}: a number is needed, not {_shown(value)}.", row=k,
            column=name,
        )  # fmt: skip
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Refused(422, f"Row {k}, column {name!r}: the number is too large.", row=k,
                      column=name)  # fmt: skip
    return number


def _word(name: str, k: int, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value)) if value == value // 1 else str(value)
    raise Refused(
        422, f"Row {k}, column {name!r}: a word is needed, not {_shown(value)}.", row=k, column=name
    )


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:39] + "…"

"""A table from a file or a data frame, as one Arrow table with everything odd about it noted.

    path -> bytes (gzip undone, size bounded) -> Parquet | text -> encoding, delimiter, header
         -> columns typed by Arrow -> text columns trimmed, missing marks and numbers recovered

Whatever was guessed or repaired is in `notes`, one sentence each; whatever cannot be repaired is
a `KitchenError` that says where it is.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from kilogram.arrays.memory import available_memory
from kilogram.kitchen.errors import KitchenError, close_names, some
from kilogram.kitchen.sniff import MISSING, Shape, decode, shape

# Rows with a wrong number of cells up to this share are left out and counted; more is an error.
BAD_ROWS = 0.01
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_POINT = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_COMMA = r"^[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?$"
_THOUSANDS = r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$"


@dataclass(frozen=True)
class Table:
    """An Arrow table, where it came from, and what was noticed on the way.

    `path` is the file as it was given, None for a data frame.
    """

    data: pa.Table
    name: str
    notes: tuple[str, ...] = ()
    header: bool = True
    header_looks_like_data: bool = False
    path: str | None = None


def read_table(
    source: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool = True,
) -> Table:
    """A CSV file (gzipped or not), a Parquet file, or any data frame narwhals knows."""
    if not isinstance(source, str | Path):
        return _checked(Table(_from_frame(source), "the table"))
    path = Path(source)
    raw = _bytes(path)
    if raw.startswith(_PARQUET):
        return _checked(Table(_parquet(raw, path.name), path.name, path=str(source)))
    text, used = decode(raw, path.name, encoding)
    found = shape(text, path.name, delimiter, header)
    notes = [] if used in ("utf-8", "utf-8-sig") else [f"{path.name} was read as {used} text."]
    _refuse_twins(found, path.name)
    data, skipped = _parse(text, found, path.name)
    notes += skipped
    data, repaired = _repair(data, found.delimiter)
    notes += repaired
    looks_like_data = header and found.looks_like_data
    return _checked(Table(data, path.name, tuple(notes), header, looks_like_data, str(source)))


def _from_frame(frame: Any) -> pa.Table:
    try:
        return nw.from_native(frame, eager_only=True).to_arrow()
    except TypeError:
        raise KitchenError(
            f"A table is a path or a data frame (pandas, polars, pyarrow), got "
            f"{type(frame).__name__}."
        ) from None


def _bytes(path: Path) -> bytes:
    """All bytes of the file, gzip undone; an error before memory runs out."""
    limit = available_memory() // 4
    try:
        if path.stat().st_size > limit:
            raise KitchenError(_too_large(path))
        raw = path.read_bytes()
    except FileNotFoundError:
        raise KitchenError(f"There is no file {path}.{_neighbours(path)}") from None
    except IsADirectoryError:
        raise KitchenError(f"{path} is a folder; give the table file inside it.") from None
    except OSError as bad:
        raise KitchenError(f"{path} cannot be read: {bad.strerror}.") from None
    if raw.startswith(_GZIP):
        try:
            with gzip.open(io.BytesIO(raw)) as stream:
                raw = stream.read(limit + 1)
        except (EOFError, OSError, zlib.error):
            raise KitchenError(f"{path.name} is a damaged gzip file. Copy it again.") from None
        if len(raw) > limit:
            raise KitchenError(_too_large(path))
    if not raw.strip():
        raise KitchenError(f"{path.name} is empty.")
    return raw


def _too_large(path: Path) -> str:
    return (
        f"{path.name} needs more than a quarter of the free memory. Cook a sample of its rows, "
        "or use the estimators with kilogram.open_rows, which reads in blocks."
    )


def _neighbours(path: Path) -> str:
    try:
        names = sorted(p.name for p in path.parent.iterdir() if p.is_file())
    except OSError:
        return f" There is no folder {path.parent} either."
    hint = close_names(path.name, names) if names else ""
    return hint if hint.startswith(" Did you mean") else ""


def _parquet(raw: bytes, name: str) -> pa.Table:
    try:
        return pyarrow.parquet.read_table(pa.BufferReader(raw))
    except (pa.ArrowException, OSError) as bad:
        raise KitchenError(f"{name} is a damaged Parquet file: {bad}") from None


def _refuse_twins(found: Shape, name: str) -> None:
    twins = [column for column, count in Counter(found.names).items() if count > 1]
    if twins:
        hint = " If the file has no header line, say --no-header." if found.looks_like_data else ""
        raise KitchenError(
            f"{name} has several columns called {some(twins)}. Rename them, so that each column "
            f"can be told apart.{hint}"
        )


def _parse(text: str, found: Shape, name: str) -> tuple[pa.Table, list[str]]:
    """Typed columns, and a note on the rows left out for having a wrong number of cells."""
    bad: list[Any] = []

    def leave_out(row: Any) -> str:
        bad.append(row)
        return "skip"

    try:
        data = pyarrow.csv.read_csv(
            io.BytesIO(text.encode("utf-8")),
            read_options=pyarrow.csv.ReadOptions(
                column_names=list(found.names),
                skip_rows=found.header_lines,
                use_threads=False,
                block_size=16 << 20,
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=found.delimiter, newlines_in_values=True, invalid_row_handler=leave_out
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                null_values=list(MISSING), strings_can_be_null=True
            ),
        )
    except pa.ArrowInvalid as error:
        if not text.splitlines()[found.header_lines :]:
            raise KitchenError(f"{name} has a header but no rows.") from None
        raise KitchenError(f"{name} cannot be read as a table: {error}") from None
    if not bad:
        return data, []
    line = f"line {bad[0].number}" if bad[0].number is not None else "one line"
    what = (
        f"{len(bad)} of {len(data) + len(bad)} rows of {name} have a wrong number of cells "
        f"({line} has {bad[0].actual_columns} where {bad[0].expected_columns} are expected)"
    )
    if len(bad) > BAD_ROWS * (len(data) + len(bad)):
        raise KitchenError(f"{what}. Check the delimiter (found {found.delimiter!r}) and quotes.")
    return data, [f"{what}; they were left out."]


def _repair(data: pa.Table, delimiter: str) -> tuple[pa.Table, list[str]]:
    """Text columns trimmed, missing marks found again, numbers written the local way recovered."""
    notes = []
    for k, field in enumerate(data.schema):
        if not pa.types.is_string(field.type):
            continue
        column = pc.utf8_trim_whitespace(data.column(k))
        column = pc.if_else(pc.is_in(column, pa.array(MISSING)), None, column)
        column, note = _recover_numbers(column, delimiter)
        if note:
            notes.append(f"{field.name!r} {note}")
        data = data.set_column(k, field.name, column)
    return data, notes


def _recover_numbers(column: Any, delimiter: str) -> tuple[Any, str]:
    def all_match(pattern: str) -> bool:
        return bool(pc.all(pc.match_substring_regex(column, pattern), min_count=1).as_py())

    if all_match(_POINT):
        return pc.cast(column, pa.float64()), ""
    if delimiter != "," and all_match(_COMMA):
        plain = pc.replace_substring(pc.replace_substring(column, ".", ""), ",", ".")
        return pc.cast(plain, pa.float64()), "was read as numbers with a decimal comma."
    if all_match(_THOUSANDS):
        plain = pc.replace_substring(column, ",", "")
        return pc.cast(plain, pa.float64()), "was read as numbers with commas between thousands."
    return column, ""


def _checked(table: Table) -> Table:
    names = table.data.column_names
    twins = [name for name, count in Counter(names).items() if count > 1]
    if twins:
        raise KitchenError(f"{table.name} has several columns called {some(twins)}. Rename them.")
    if table.data.num_columns == 0:
        raise KitchenError(f"{table.name} has no columns.")
    if table.data.num_rows == 0:
        raise KitchenError(f"{table.name} has a header but no rows.")
    return table

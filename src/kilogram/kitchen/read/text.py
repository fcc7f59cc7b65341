"""Tables written as text: any delimiter and encoding, typed by Arrow, numbers and gaps recovered.

A file that takes a small part of the memory is read whole. A longer one is read as blocks of words,
of which the rows that are kept are typed together at the end, so that the type of a column does not
depend on what its first block happened to hold.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from kilogram.kitchen.errors import KitchenError, quoted
from kilogram.kitchen.read.blocks import FileSource, RowBlocks
from kilogram.kitchen.read.compressed import unpacked
from kilogram.kitchen.read.dialect import BLANKS, MISSING, Dialect, decode, heading_note, shape

# Rows with a wrong number of cells up to this fraction are left out and counted; more is an error:
# our choice, a wrong delimiter spoils far more.
BAD_ROWS = 0.01
# Bytes that Arrow parses at once: a row must fit, its own 1 MiB is small for long texts.
_BLOCK = 16 << 20
_HEAD = 1 << 20  # bytes from which the types of columns are guessed: Arrow's own block
_POINT = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_COMMA = r"^[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?$"
_THOUSANDS = r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$"
_EITHER = r"^[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?$"
_FORMATS_IN_WORDS = {
    "comma": "numbers with a decimal comma",
    "thousands": "numbers with commas between thousands",
}


@dataclass
class ReadLog:
    """Irregularities met while reading a text table once."""

    notes: list[str] = field(default_factory=list)
    rows: int = 0
    bad: int = 0
    first_bad: Any = None
    written: dict[str, str] = field(default_factory=dict)

    def leave_out(self, row: Any) -> str:
        self.bad += 1
        self.first_bad = self.first_bad or row
        return "skip"

    def judge(self, found: Dialect, name: str) -> None:
        """A note on rows left out for having a wrong number of cells, or an error if many."""
        if not self.bad:
            return
        row, total = self.first_bad, self.rows + self.bad
        line = f"line {row.number}" if row.number is not None else "one line"
        what = (
            f"{self.bad} of {total} rows of {name} have a wrong number of cells "
            f"({line} has {row.actual_columns} where {row.expected_columns} are expected)"
        )
        if self.bad > BAD_ROWS * total:
            raise KitchenError(
                f"{what}. Check the delimiter (found {found.delimiter!r}) and quotes."
            )
        self.notes.append(f"{what}; they were left out.")


def text_table(origin: FileSource) -> RowBlocks:
    """A text table, whole or in blocks by its size."""
    most = origin.limit // 8
    with unpacked(origin) as file:
        raw = file.read(most + 1)
    if not raw.strip():
        raise KitchenError(f"{origin.name} is empty.")
    if len(raw) > most:
        return _in_blocks(raw[:_HEAD], origin)
    text, used = decode(raw, origin.name, origin.encoding)
    found = shape(text, origin.name, origin.delimiter, origin.header)
    _refuse_duplicates(found, origin.name)
    seen = ReadLog(_encoding_note(origin.name, used) + _heading_note(found))

    def run() -> Iterator[pa.Table]:
        data = _parsed(text, found, origin.name, seen, origin.written)
        seen.judge(found, origin.name)
        yield repair(data, found.delimiter, seen, origin.written)

    looks = origin.header and found.looks_like_data
    return RowBlocks(
        run, lambda: seen.notes, looks_like_data=looks, written=lambda: dict(seen.written)
    )


def text_bytes(raw: bytes, name: str, *, written: Mapping[str, str] | None = None) -> pa.Table:
    """A text table with a header that is already in memory."""
    text, _ = decode(raw, name)
    found = shape(text, name)
    _refuse_duplicates(found, name)
    seen = ReadLog()
    data = _parsed(text, found, name, seen, written)
    seen.judge(found, name)
    return repair(data, found.delimiter, seen, written)


def _in_blocks(head: bytes, origin: FileSource) -> RowBlocks:
    """RowBlocks of words of a long table; the rows kept of them are typed at the end."""
    start = head[: head.rfind(b"\n") + 1] or head
    text, used = decode(start, origin.name, origin.encoding)
    found = shape(text, origin.name, origin.delimiter, origin.header)
    if found.delimiter == BLANKS:
        raise KitchenError(
            f"{origin.name} has columns separated by blanks, which is supported only for tables "
            f"that fit "
            "into memory. Use commas."
        )
    _refuse_duplicates(found, origin.name)
    seen = ReadLog(_encoding_note(origin.name, used) + _heading_note(found))

    def run() -> Iterator[pa.Table]:
        with unpacked(origin) as file:
            yield from _word_blocks(file, found, used, origin, seen)
        seen.judge(found, origin.name)

    def typed(table: pa.Table) -> pa.Table:
        return infer_types(table, found, seen, origin.written)

    looks = origin.header and found.looks_like_data
    return RowBlocks(
        run, lambda: seen.notes, typed, looks, effort=16, written=lambda: dict(seen.written)
    )


def _word_blocks(
    file: Any, found: Dialect, encoding: str, origin: FileSource, seen: ReadLog
) -> Iterator[pa.Table]:
    try:
        reader = pyarrow.csv.open_csv(
            file,
            _read_options(found, min(_BLOCK, max(origin.limit // 64, 1 << 16)), encoding),
            _parse_options(found, seen),
            _convert_options(dict.fromkeys(found.names, pa.string())),
        )
        for batch in reader:
            seen.rows += batch.num_rows
            block = pa.Table.from_batches([batch])
            # words stay words until all rows are here, but for what is known to be numbers
            yield _as_written(block, found.delimiter, origin.written)
    except (pa.ArrowInvalid, UnicodeDecodeError) as bad:
        raise KitchenError(
            f"{origin.name} cannot be read as a table: {bad}. Use --encoding or --delimiter if "
            "they were detected wrongly."
        ) from None


def infer_types(
    table: pa.Table, found: Dialect, seen: ReadLog, written: Mapping[str, str] | None = None
) -> pa.Table:
    """A table of words with the types its values have."""
    buffer = io.BytesIO()
    pyarrow.csv.write_csv(table, buffer)
    plain = Dialect(",", found.names, 1, False)
    data = _typed(buffer.getvalue(), plain, ReadLog(), written)
    return repair(data, found.delimiter, seen, written)


def _encoding_note(name: str, used: str) -> list[str]:
    if used in ("utf-8", "utf-8-sig"):
        return []
    return [f"{name} was decoded as {used}; use --encoding if characters look wrong."]


def _heading_note(found: Dialect) -> list[str]:
    return [heading_note(found.heading)] if found.heading else []


def _refuse_duplicates(found: Dialect, name: str) -> None:
    duplicates = [column for column, count in Counter(found.names).items() if count > 1]
    if duplicates:
        hint = " If the file has no header line, use --no-header." if found.looks_like_data else ""
        raise KitchenError(
            f"{name} has several columns called {quoted(duplicates)}. Give each column a "
            f"different name.{hint}"
        )


def _parsed(
    text: str, found: Dialect, name: str, seen: ReadLog, written: Mapping[str, str] | None
) -> pa.Table:
    """Typed columns; rows with a wrong number of cells are counted in `seen`."""
    if found.delimiter == BLANKS:
        text = "\n".join(re.sub(r"[ \t]+", "\t", line.strip()) for line in text.splitlines())
    try:
        return _typed(text.encode("utf-8"), found, seen, written)
    except pa.ArrowInvalid as error:
        if not text.splitlines()[found.header_lines :]:
            raise KitchenError(f"{name} has a header but no rows.") from None
        raise KitchenError(f"{name} cannot be read as a table: {error}") from None


def _typed(
    raw: bytes, found: Dialect, seen: ReadLog, written: Mapping[str, str] | None
) -> pa.Table:
    data = pyarrow.csv.read_csv(
        pa.BufferReader(raw),
        _read_options(found, max(_BLOCK, min(len(raw) + 1, 1 << 30)), "utf-8"),
        _parse_options(found, seen),
        _convert_options({n: pa.string() for n in found.names if n in (written or {})}),
    )
    seen.rows += data.num_rows
    return data


def _read_options(found: Dialect, block: int, encoding: str) -> pyarrow.csv.ReadOptions:
    return pyarrow.csv.ReadOptions(
        column_names=list(found.names),
        skip_rows=found.header_lines,
        use_threads=False,
        block_size=block,
        encoding="utf-8" if encoding == "utf-8-sig" else encoding,
    )


def _parse_options(found: Dialect, seen: ReadLog) -> pyarrow.csv.ParseOptions:
    return pyarrow.csv.ParseOptions(
        delimiter="\t" if found.delimiter == BLANKS else found.delimiter,
        newlines_in_values=True,
        invalid_row_handler=seen.leave_out,
    )


def _convert_options(types: dict[str, pa.DataType]) -> pyarrow.csv.ConvertOptions:
    return pyarrow.csv.ConvertOptions(
        null_values=list(MISSING), strings_can_be_null=True, column_types=types
    )


def repair(
    data: pa.Table, delimiter: str, seen: ReadLog, written: Mapping[str, str] | None = None
) -> pa.Table:
    """Text columns trimmed, missing marks found again, numbers written the local way recovered."""
    for k, column_field in enumerate(data.schema):
        if not pa.types.is_string(column_field.type):
            continue
        name = column_field.name
        column = pc.utf8_trim_whitespace(data.column(k))
        column = pc.if_else(pc.is_in(column, pa.array(MISSING)), None, column)
        column, how = _recover_numbers(column, delimiter, (written or {}).get(name, ""))
        if how:
            seen.notes.append(f"{name!r} was read as {_FORMATS_IN_WORDS[how]}.")
            seen.written[name] = how
        data = data.set_column(k, name, column)
    return data


def _as_written(block: pa.Table, delimiter: str, written: Mapping[str, str] | None) -> pa.Table:
    """A block of words with the numbers of the columns that are known to hold them."""
    for name in set(written or {}) & set(block.column_names):
        k = block.column_names.index(name)
        column = pc.utf8_trim_whitespace(block.column(k))
        column, _ = _recover_numbers(column, delimiter, (written or {})[name])
        block = block.set_column(k, name, column)
    return block


def _recover_numbers(column: Any, delimiter: str, written: str = "") -> tuple[Any, str]:
    """Numbers of a column of words, and how they were written: "" for the plain way, or none."""

    def all_match(pattern: str) -> bool:
        return bool(pc.all(pc.match_substring_regex(column, pattern), min_count=1).as_py())

    # "1.234" and "1,234" can be read in two ways: a table like this one decides
    plain = written == "" or delimiter == ","
    if plain and all_match(_POINT):
        return pc.cast(column, pa.float64()), ""
    if delimiter != "," and written != "thousands" and all_match(_COMMA):
        commas = pc.replace_substring(pc.replace_substring(column, ".", ""), ",", ".")
        return pc.cast(commas, pa.float64()), "comma"
    if all_match(_THOUSANDS) or (written == "thousands" and all_match(_EITHER)):
        return pc.cast(pc.replace_substring(column, ",", ""), pa.float64()), "thousands"
    if all_match(_POINT):
        return pc.cast(column, pa.float64()), ""
    return column, ""

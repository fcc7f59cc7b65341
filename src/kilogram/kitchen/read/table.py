"""A table from a file, a database or a data frame, as one Arrow table with everything odd noted.

    file -> by its first bytes: Parquet | Arrow | SQLite | DuckDB | Excel | JSON | svmlight | text
         -> blocks of rows -> all of them, or what fits of them, drawn at random
    text -> encoding, delimiter, header -> columns typed by Arrow -> numbers and gaps recovered

Memory is bounded by `max_memory` (half of what is free, unless given): a table too large for it
is run over once, block by block, and a uniform sample of its rows is kept, which is noted in
`notes`. `table_blocks` runs over all rows of the same sources without keeping any. What was
guessed or repaired is in `notes`, one sentence each; what cannot be is a `KitchenError`.
"""

from __future__ import annotations

import gzip
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa

from kilogram.arrays.memory import available_memory, parse_memory
from kilogram.kitchen.errors import KitchenError, close_names, quoted
from kilogram.kitchen.read.blocks import FileSource, RowBlocks, gather
from kilogram.kitchen.read.columnar import arrow_file, arrow_stream, parquet
from kilogram.kitchen.read.database import duckdb_table, sqlite_table
from kilogram.kitchen.read.excel import excel, is_workbook
from kilogram.kitchen.read.json_records import json_array, json_lines, like_records
from kilogram.kitchen.read.svmlight import svmlight
from kilogram.kitchen.read.text import text_table

_HEAD = 65536  # bytes from which a format is recognised: many lines of any table
_SPARSE = re.compile(rb"\s*[-+]?[\d.eE+-]+(,[-+\d.eE]+)*( +qid:\d+)?( +\d+:[-+\d.eE]+)+\s*(#.*)?$")


@dataclass(frozen=True)
class Table:
    """An Arrow table, where it came from, and what was noticed on the way.

    `path` is the file as it was given, None for a data frame; `rows` counts the rows of the
    source, more than those of `data` when only a sample of them fitted into memory; `written`
    has the columns of a text table whose numbers were "comma" (1.234,5) or "thousands" (1,234.5).
    """

    data: pa.Table
    name: str
    notes: tuple[str, ...] = ()
    header: bool = True
    header_looks_like_data: bool = False
    path: str | None = None
    rows: int | None = None
    written: Mapping[str, str] = field(default_factory=dict)

    @property
    def sampled(self) -> bool:
        """Is `data` a sample of the rows there are?"""
        return self.rows is not None and self.rows > self.data.num_rows


def read_table(
    source: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    sheet: str | None = None,
    max_memory: str | int | None = None,
    seed: int = 0,
    written: Mapping[str, str] | None = None,
    max_time: float | None = None,
) -> Table:
    """A table from a path or any data frame narwhals knows.

    `delimiter`, `encoding`, `header` are of text tables, where found wrong; `sheet` is the table
    of a database or the sheet of a workbook; `seed` draws the rows kept of what is too large;
    `written` is that of the training table, and decides where 1.234 has two readings; `max_time`
    limits the seconds for a file.
    """
    if not isinstance(source, str | Path):
        return _checked(Table(_from_frame(source), "the table"))
    limit = memory_limit(max_memory)
    deadline = None if max_time is None else time.monotonic() + max_time
    origin = FileSource(Path(source), limit, delimiter, encoding, header, sheet, written, deadline)
    blocks = _timed(open_blocks(origin), origin)
    data, rows = gather(blocks, limit // blocks.effort, seed)
    notes = list(blocks.notes())
    if rows > data.num_rows:
        notes.append(
            f"{origin.name} has {rows:,} rows, too many for {limit / 2**20:,.0f} MiB of memory: a "
            f"random "
            f"sample of {data.num_rows:,} rows is used."
        )
    return _checked(
        Table(
            data,
            origin.name,
            tuple(notes),
            header,
            blocks.looks_like_data,
            str(source),
            rows,
            blocks.written(),
        )
    )


def table_blocks(source: Any, *, block_rows: int = 20_000, **how: Any) -> Iterator[Table]:
    """All rows of a source, a block at a time, whatever its size; `how` as for `read_table`."""
    if not isinstance(source, str | Path):
        whole = read_table(source)
        for start in range(0, whole.data.num_rows, block_rows):
            yield Table(whole.data.slice(start, block_rows), whole.name)
        return
    limit = memory_limit(how.pop("max_memory", None))
    origin = FileSource(Path(source), limit, **how)
    blocks = open_blocks(origin)
    for block in blocks.run():
        for start in range(0, block.num_rows, block_rows):
            yield Table(block.slice(start, block_rows), origin.name, path=str(source))


def _timed(blocks: RowBlocks, origin: FileSource) -> RowBlocks:
    """The blocks of rows, with an error once the time limit has passed."""

    def run() -> Iterator[pa.Table]:
        for block in blocks.run():
            origin.check_time()
            yield block

    return replace(blocks, run=run)


def memory_limit(max_memory: str | int | None) -> int:
    """Bytes that reading may take."""
    try:
        return parse_memory(max_memory) or available_memory() // 2
    except (TypeError, ValueError) as bad:
        raise KitchenError(f"max_memory: {bad}.") from None


def open_blocks(origin: FileSource) -> RowBlocks:
    """The reader that the first bytes of a file ask for."""
    head = _head(origin.path)
    if not head.strip():
        raise KitchenError(f"{origin.name} is empty.")
    for magic, reader in _READERS.items():
        if head.startswith(magic):
            return reader(origin)
    if head[8:12] == b"DUCK":
        return duckdb_table(origin)
    if is_workbook(origin.path, head):
        return excel(origin)
    inside = _unpacked_head(origin) if head.startswith(b"\x1f\x8b") else head
    if origin.delimiter is None and origin.encoding is None:
        start = inside.removeprefix(b"\xef\xbb\xbf").lstrip()
        if start.startswith(b"{") and like_records(start):
            return json_lines(origin)
        if start.startswith(b"[") and like_records(start):
            return json_array(origin)
        if _SPARSE.match(start.splitlines()[0] if start else b""):
            return svmlight(origin)
    return text_table(origin)


_READERS: dict[bytes, Callable[[FileSource], RowBlocks]] = {
    b"PAR1": parquet,
    b"ARROW1": arrow_file,
    b"\xff\xff\xff\xff": arrow_stream,
    b"SQLite format 3\0": sqlite_table,
}


def _head(path: Path) -> bytes:
    try:
        if stat.S_ISFIFO(path.stat().st_mode):  # its beginning could not be read again
            raise KitchenError(
                f"{path} is a pipe, and tables are read twice: write it to a file first."
            )
        with path.open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError:
        raise KitchenError(f"There is no file {path}.{_neighbours(path)}") from None
    except IsADirectoryError:
        raise KitchenError(f"{path} is a folder; give the table file inside it.") from None
    except OSError as bad:
        raise KitchenError(f"{path} cannot be read: {bad.strerror}.") from None


def _unpacked_head(origin: FileSource) -> bytes:
    try:
        with gzip.open(origin.path) as stream:
            return stream.read(_HEAD)
    except (EOFError, OSError):
        return b""  # the reader of the whole file says what is wrong with it


def _neighbours(path: Path) -> str:
    try:
        names = sorted(p.name for p in path.parent.iterdir() if p.is_file())
    except OSError:
        return f" There is no folder {path.parent} either."
    hint = close_names(path.name, names) if names else ""
    return hint if hint.startswith(" Did you mean") else ""


def _from_frame(frame: Any) -> pa.Table:
    try:
        found = nw.from_native(frame, eager_only=True).to_arrow()
        # the index of a pandas frame is no column of it
        hidden = [name for name in found.column_names if name.startswith("__index_level_")]
        return found.drop_columns(hidden)
    except TypeError:
        raise KitchenError(
            f"A table is a path or a data frame (pandas, polars, pyarrow), got "
            f"{type(frame).__name__}."
        ) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError) as bad:
        raise KitchenError(
            f"A column of the data frame mixes types that do not go together ({bad}). Make it "
            "text or numbers throughout."
        ) from None


def _checked(table: Table) -> Table:
    names = table.data.column_names
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise KitchenError(
            f"{table.name} has several columns called {quoted(duplicates)}. Rename them."
        )
    if table.data.num_columns == 0:
        raise KitchenError(f"{table.name} has no columns.")
    if table.data.num_rows == 0:
        raise KitchenError(f"{table.name} has a header but no rows.")
    return table

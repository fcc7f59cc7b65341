"""Tables written block by block: CSV to a file or a stream, Parquet to a file.

A file is written under a temporary name in its folder and moved into place when it is complete.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.files import cannot_write, umask

# OWASP's list of characters with which a cell becomes a formula.
_FORMULA = r"^[=+\-@\t\r]"


class TableWriter(Protocol):
    """Writes the blocks of one table."""

    def write(self, block: pa.Table) -> None: ...

    def close(self) -> None: ...


class CsvWriter:
    """Lines of text, the column names first.

    With `safe`, text that a spreadsheet would take for a formula is preceded by an apostrophe.
    """

    def __init__(self, stream: IO[bytes], *, safe: bool = False):
        self.stream = stream
        self.safe = safe
        self.begun = False

    def write(self, block: pa.Table) -> None:
        options = pyarrow.csv.WriteOptions(include_header=not self.begun)
        block = without_formulas(flat(block)) if self.safe else flat(block)
        pyarrow.csv.write_csv(block, self.stream, options)
        self.begun = True

    def close(self) -> None:
        self.stream.flush()


class ParquetWriter:
    """Row groups of one schema, that of the first block."""

    def __init__(self, stream: IO[bytes], *, safe: bool = False):
        self.stream = stream  # Parquet has no formulas: `safe` changes nothing
        self.writer: Any = None

    def write(self, block: pa.Table) -> None:
        if self.writer is None:
            self.writer = pyarrow.parquet.ParquetWriter(self.stream, block.schema)
        try:
            self.writer.write_table(block.cast(self.writer.schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            raise KitchenError(
                "A column changes its type within the table, which Parquet does not support. "
                "Write a .csv file."
            ) from None

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


_KINDS: dict[str, type[CsvWriter] | type[ParquetWriter]] = {
    ".csv": CsvWriter, ".txt": CsvWriter, ".parquet": ParquetWriter,
}  # fmt: skip


def check_suffix(out: Path) -> None:
    """An error for a file name whose suffix is not .csv, .txt or .parquet."""
    if out.suffix.lower() not in _KINDS:
        raise KitchenError(f"The file name must end with .csv or .parquet, got {out.name!r}.")


def refuse_input(out: Path, *inputs: Path) -> None:
    """An error if `out` is one of the files that are read, under whatever name."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise KitchenError(
                f"{out} is the file that is read: it would be overwritten. Give another --out."
            )


@contextmanager
def writing(out: Path, *, safe_csv: bool = False) -> Iterator[TableWriter]:
    """A writer for the file `out`; nothing of it is left if anything goes wrong."""
    check_suffix(out)
    try:
        handle, temporary = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    except OSError as bad:
        raise KitchenError(cannot_write(out.parent, bad)) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            writer = _KINDS[out.suffix.lower()](stream, safe=safe_csv)
            try:
                yield writer
            finally:
                writer.close()
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~umask())
        os.replace(temporary, out)
    except OSError as bad:
        raise KitchenError(cannot_write(out.parent, bad)) from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def flat(table: pa.Table) -> pa.Table:
    """Lists and records, which CSV does not support, as text."""
    for k, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            text = pa.array([None if v is None else str(v) for v in table.column(k).to_pylist()])
            table = table.set_column(k, field.name, text)
    return table


def without_formulas(table: pa.Table) -> pa.Table:
    """Text cells and names that begin like a formula (= + - @, tab, return) after an apostrophe."""
    for k, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column = table.column(k)
            risky = pc.match_substring_regex(column, _FORMULA)
            quoted = pc.binary_join_element_wise("'", column, "")
            table = table.set_column(k, field.name, pc.if_else(risky, quoted, column))
    names = [f"'{name}" if re.match(_FORMULA, name) else name for name in table.column_names]
    return table.rename_columns(names)

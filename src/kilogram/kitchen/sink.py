"""Tables written block by block: CSV to a file or a stream, Parquet to a file; whole or not there.

A file is written under another name in its folder and moved into place when all of it is there.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.save import cannot_write, umask


class Sink(Protocol):
    """Takes blocks of one table."""

    def write(self, block: pa.Table) -> None: ...

    def close(self) -> None: ...


class CsvSink:
    """Lines of text, the names first."""

    def __init__(self, stream: IO[bytes]):
        self.stream = stream
        self.begun = False

    def write(self, block: pa.Table) -> None:
        options = pyarrow.csv.WriteOptions(include_header=not self.begun)
        pyarrow.csv.write_csv(flat(block), self.stream, options)
        self.begun = True

    def close(self) -> None:
        self.stream.flush()


class ParquetSink:
    """Row groups of one schema, that of the first block."""

    def __init__(self, stream: IO[bytes]):
        self.stream = stream
        self.writer: Any = None

    def write(self, block: pa.Table) -> None:
        if self.writer is None:
            self.writer = pyarrow.parquet.ParquetWriter(self.stream, block.schema)
        try:
            self.writer.write_table(block.cast(self.writer.schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            raise KitchenError(
                "A column changes its type along the table, which Parquet cannot hold. Write a "
                ".csv file."
            ) from None

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


_KINDS: dict[str, type[CsvSink] | type[ParquetSink]] = {
    ".csv": CsvSink, ".txt": CsvSink, ".parquet": ParquetSink,
}  # fmt: skip


def check_name(out: Path) -> None:
    """Refuse a file whose name ends with nothing that can be written."""
    if out.suffix.lower() not in _KINDS:
        raise KitchenError(
            f"Predictions are written as .csv or .parquet, not {out.suffix or 'that'}."
        )


@contextmanager
def writing(out: Path) -> Iterator[Sink]:
    """A sink for the file `out`; nothing of it is left if anything goes wrong."""
    check_name(out)
    try:
        handle, passing = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    except OSError as bad:
        raise KitchenError(cannot_write(out.parent, bad)) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            sink = _KINDS[out.suffix.lower()](stream)
            try:
                yield sink
            finally:
                sink.close()
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(passing, 0o666 & ~umask())
        os.replace(passing, out)
    except OSError as bad:
        raise KitchenError(cannot_write(out.parent, bad)) from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(passing)


def flat(table: pa.Table) -> pa.Table:
    """Lists and records, which a CSV cannot hold, as text."""
    for k, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            text = pa.array([None if v is None else str(v) for v in table.column(k).to_pylist()])
            table = table.set_column(k, field.name, text)
    return table

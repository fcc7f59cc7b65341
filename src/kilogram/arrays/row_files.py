"""Rows in files: Parquet, read block by block, and .npy, mapped into memory.

`open_rows("flights/*.parquet")` gives `ParquetRows`: nothing is read but the schema. `.drop(name)`
gives the features, `.column(name)` the target; both are rows of their own, read in step.

    data = kg.open_rows("flights.parquet")
    kg.Ridge().fit(data.drop("delay"), data.column("delay"))

A run over the rows decodes one block at a time; pages of a row group are read through a small
buffer, so a row group larger than the memory at hand is no obstacle.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kilogram.arrays.frames import frame_dtype, series_to_array, to_array
from kilogram.arrays.memmap_rows import memmap_blocks
from kilogram.arrays.row_streams import RowSource, RowStream

# Of a block of rows read, as in `local_rows`: milliseconds of reading, far less than memory.
BLOCK_BYTES = 8 * 2**20
BUFFER_BYTES = 2**16  # per column: 64 MiB for a thousand columns


def open_rows(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str] | None = None,
    block_rows: int | None = None,
) -> Any:
    """Rows of Parquet files (`ParquetRows`) or .npy files (a memory map), read when needed.

    path: a file, a folder of Parquet files, a pattern with * or ?, or a list of these.
    columns: the names of the columns to read, in this order; for Parquet.
    block_rows: rows read at a time; by default as many as make a block of about 8 MiB.
    """
    files = _found(path)
    if all(file.suffix == ".npy" for file in files):
        if columns is not None:
            raise ValueError("columns= names columns of Parquet files; .npy files have no names")
        maps = [_mapped(file) for file in files]
        if len(maps) == 1 and block_rows is None:
            return maps[0]
        step = block_rows or _default_rows(1 if maps[0].ndim == 1 else maps[0].shape[1])
        return RowStream(lambda: (b for m in maps for b in memmap_blocks(m, step)))
    return ParquetRows.open(files, columns, block_rows)


class OpenedFile(NamedTuple):
    """A file, with its size and modification time when it was opened."""

    path: Path
    size: int
    modified: int

    @classmethod
    def at(cls, path: Path) -> OpenedFile:
        found = path.stat()
        return cls(path, found.st_size, found.st_mtime_ns)

    def check_unchanged(self) -> None:
        """Raise if the file was replaced: the passes of one fit must read the same rows."""
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} was removed after it was opened.")
        if OpenedFile.at(self.path) != self:
            raise ValueError(
                f"{self.path} was changed after it was opened, so the rows read from it may not "
                "belong together. Call open_rows again and repeat the fit."
            )


class ParquetRows(RowSource):
    """Some columns of Parquet files as rows; made by `open_rows`."""

    def __init__(
        self,
        files: tuple[OpenedFile, ...],
        schema: pa.Schema,
        block_rows: int | None,
        *,
        flat: bool,
    ) -> None:
        self._files = files
        self.schema = schema
        self.block_rows = block_rows
        self.flat = flat  # one column as a 1-D array: a target or weights

    @classmethod
    def open(
        cls, files: Sequence[Path], columns: Sequence[str] | None, block_rows: int | None
    ) -> ParquetRows:
        """Read the schema of the first file and check that the others have its columns."""
        schema = _schema(files[0])
        chosen = _chosen(schema, columns if columns is not None else schema.names, files[0])
        for file in files[1:]:
            _chosen(_schema(file), chosen.names, file)
        return cls(tuple(map(OpenedFile.at, files)), chosen, block_rows, flat=False)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files the rows are in."""
        return tuple(file.path for file in self._files)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def select(self, names: Sequence[str]) -> ParquetRows:
        """These columns only, in this order."""
        schema = _chosen(self.schema, names, self.files[0])
        return ParquetRows(self._files, schema, self.block_rows, flat=False)

    def drop(self, *names: str) -> ParquetRows:
        """All columns but these."""
        _chosen(self.schema, names, self.files[0])
        return self.select([name for name in self.columns if name not in names])

    def column(self, name: str) -> ParquetRows:
        """One column, as a 1-D array of its own type in each block."""
        schema = _chosen(self.schema, [name], self.files[0])
        return ParquetRows(self._files, schema, self.block_rows, flat=True)

    def blocks(self, block_rows: int | None) -> Iterator[np.ndarray]:
        step = block_rows or self.block_rows or self._default_rows()
        for file in self._files:
            yield from map(self._array, _batches(file, self.columns, step))

    def _array(self, batch: pa.RecordBatch) -> np.ndarray:
        return series_to_array(batch.column(0)) if self.flat else to_array(batch)

    def _default_rows(self) -> int:
        if not self.flat:  # non-numeric columns raise before anything is read
            frame_dtype(self.schema.empty_table())
        return _default_rows(len(self.columns))

    def row_count(self) -> int:
        total = 0
        for file in self.files:
            with _opened(file) as parquet:
                total += parquet.metadata.num_rows
        return total

    def column_count(self) -> int:
        return len(self.columns)

    def column_names(self) -> list[str] | None:
        return self.columns

    def __repr__(self) -> str:
        shown = ", ".join(self.columns[:5]) + (", ..." if len(self.columns) > 5 else "")
        return f"ParquetRows({len(self.files)} files, {len(self.columns)} columns: {shown})"


def _default_rows(width: int) -> int:
    return max(BLOCK_BYTES // (8 * max(width, 1)), 256)


def _found(path: Any) -> list[Path]:
    """The files meant by a path, a folder, a pattern, or a list of them."""
    if not isinstance(path, (str, os.PathLike)):
        found = [file for one in path for file in _found(one)]
        if not found:
            raise ValueError("no files: the list of paths is empty")
        return found
    at = Path(path)
    if at.is_dir():
        found = sorted(p for p in at.rglob("*") if p.suffix in (".parquet", ".pq"))
        if not found:
            raise FileNotFoundError(f"the folder {at} holds no .parquet files")
        return found
    if not at.exists() and any(c in str(at) for c in "*?["):
        found = sorted(Path(p) for p in glob.glob(str(at), recursive=True))
        if not found:
            raise FileNotFoundError(f"no file matches {at}")
        return found
    if not at.exists():
        raise FileNotFoundError(f"there is no file {at}")
    return [at]


def _opened(file: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file, buffer_size=BUFFER_BYTES, pre_buffer=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"cannot read {file} as Parquet: {error}") from error


def _batches(file: OpenedFile, columns: list[str], step: int) -> Iterator[pa.RecordBatch]:
    """The rows of the named columns, `step` at a time; errors name the file."""
    file.check_unchanged()
    with _opened(file.path) as parquet:
        _chosen(parquet.schema_arrow, columns, file.path)
        batches = parquet.iter_batches(batch_size=step, columns=columns)
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                break
            except (pa.ArrowException, OSError) as error:
                file.check_unchanged()  # written over while it was read
                raise ValueError(f"cannot read {file.path}, it is damaged: {error}") from error
            yield batch.select(columns)
    file.check_unchanged()


def _schema(file: Path) -> pa.Schema:
    with _opened(file) as parquet:
        return parquet.schema_arrow


def _chosen(schema: pa.Schema, names: Sequence[str], file: Path) -> pa.Schema:
    """The schema of the named columns; those that are missing are named, with those there."""
    if isinstance(names, str):
        names = [names]
    missing = [name for name in names if name not in schema.names]
    if missing:
        there = ", ".join(schema.names[:20]) + (", ..." if len(schema.names) > 20 else "")
        raise ValueError(f"no column {', '.join(map(repr, missing))} in {file}; it has: {there}")
    if not names:
        raise ValueError(f"no columns chosen from {file}")
    return pa.schema([schema.field(name) for name in names])


def _mapped(file: Path) -> np.ndarray:
    try:
        found = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"cannot map {file} as a .npy array: {error}") from error
    if found.ndim not in (1, 2):
        raise ValueError(f"{file} holds an array of {found.ndim} dimensions; rows need 1 or 2")
    return found

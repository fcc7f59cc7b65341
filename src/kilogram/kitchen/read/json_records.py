"""Records: one JSON object per line, or one JSON array of objects.

Lines are parsed a few MiB at a time by Arrow, and by Python where Arrow finds a column that changes
its type. Objects in objects become columns `outer.inner`.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import IO

import pyarrow as pa
import pyarrow.json

from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.read.blocks import FileSource, RowBlocks, from_records
from kilogram.kitchen.read.compressed import unpacked

_CHUNK = 8 << 20  # bytes parsed at once: as many as a block of rows has in `arrays.local_rows`
_DEEPEST = 4  # levels of nested records made into columns: names of more parts are unreadable
_RECORDS = re.compile(rb"^(\[\s*)?\{\s*(\"|\})")


def like_records(start: bytes) -> bool:
    """Do these first bytes open a JSON object, or an array of them?"""
    return bool(_RECORDS.match(start))


def json_lines(origin: FileSource) -> RowBlocks:
    """One object per line."""

    def run() -> Iterator[pa.Table]:
        with unpacked(origin) as file:
            done = 0
            for chunk in _chunks(file, min(_CHUNK, max(origin.limit // 16, 1 << 16)), origin):
                yield _flat(_parsed(chunk, done, origin))
                done += chunk.count(b"\n")

    return RowBlocks(run)


def json_array(origin: FileSource) -> RowBlocks:
    """One array of objects, which has to be read whole."""

    def run() -> Iterator[pa.Table]:
        most = origin.limit // 8
        with unpacked(origin) as file:
            raw = file.read(most + 1)
        if len(raw) > most:
            raise KitchenError(
                f"{origin.name} is one JSON array, too long to be read whole. Write one object "
                "per line instead."
            )
        try:
            records = json.loads(raw)
        except (ValueError, RecursionError) as bad:
            raise KitchenError(f"{origin.name} is not valid JSON: {bad}.") from None
        yield _flat(_from_objects(records, 0, origin))

    return RowBlocks(run)


def _chunks(file: IO[bytes], size: int, origin: FileSource) -> Iterator[bytes]:
    """Whole lines, about `size` bytes at a time."""
    while chunk := file.read(size):
        rest = b"" if chunk.endswith(b"\n") else file.readline(origin.limit // 8)
        if rest and not rest.endswith(b"\n") and len(rest) >= origin.limit // 8:
            raise KitchenError(f"{origin.name} has a line too long for the memory at hand.")
        if (chunk + rest).strip():
            yield chunk + rest


def _parsed(chunk: bytes, before: int, origin: FileSource) -> pa.Table:
    try:
        return pyarrow.json.read_json(
            io.BytesIO(chunk), pyarrow.json.ReadOptions(use_threads=False, block_size=len(chunk))
        )
    except pa.ArrowInvalid:
        return _from_objects(_objects(chunk, before, origin), before, origin)


def _objects(chunk: bytes, before: int, origin: FileSource) -> list:
    objects = []
    for k, line in enumerate(chunk.splitlines()):
        if not line.strip():
            continue
        try:
            objects.append(json.loads(line))
        except (ValueError, RecursionError) as bad:
            raise KitchenError(
                f"Line {before + k + 1} of {origin.name} is not valid JSON: {bad}."
            ) from None
    return objects


def _from_objects(records: list, before: int, origin: FileSource) -> pa.Table:
    for k, record in enumerate(records):
        if not isinstance(record, dict):
            raise KitchenError(
                f"Record {before + k + 1} of {origin.name} is {type(record).__name__}, not an "
                "object with named values."
            )
    names = list(dict.fromkeys(name for record in records for name in record))
    return from_records(names, [tuple(record.get(name) for name in names) for record in records])


def _flat(table: pa.Table) -> pa.Table:
    for _ in range(_DEEPEST):
        if not any(pa.types.is_struct(column.type) for column in table.schema):
            break
        table = table.flatten()
    return table

"""One table of a database in a file: SQLite by Python itself, DuckDB by its own package.

The file is opened for reading only; DuckDB may access no other file. The only table is taken, or
the one that was named; views count as tables. Nothing but `SELECT * FROM "table"` is run, and it is
interrupted when the time limit has passed.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from kilogram.kitchen.errors import KitchenError, close_names, quoted
from kilogram.kitchen.read.blocks import FileSource, RowBlocks, from_records

_ROWS = 20_000  # fetched at once: 20 000 rows take milliseconds, the call microseconds
# Instructions of SQLite's machine between two looks at the clock, some milliseconds.
_STEPS = 100_000


def sqlite_table(origin: FileSource) -> RowBlocks:
    """A table of an SQLite database; columns that mix types become text."""

    def run() -> Iterator[pa.Table]:
        try:
            uri = origin.path.resolve().as_uri() + "?mode=ro"
            connection = sqlite3.connect(uri, uri=True)
            # a view can compute for ever before its first row: look at the clock now and then
            connection.set_progress_handler(lambda: int(origin.expired), _STEPS)
            try:
                yield from _sqlite_rows(connection, origin)
            finally:
                connection.close()
        except sqlite3.DatabaseError as bad:
            origin.check_time()
            raise KitchenError(f"{origin.name} is a damaged SQLite database: {bad}.") from None

    return RowBlocks(run)


def _sqlite_rows(connection: sqlite3.Connection, origin: FileSource) -> Iterator[pa.Table]:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
    name = _chosen([row[0] for row in found], origin)
    cursor = connection.execute(f"SELECT * FROM {_quoted(name)}")
    names = [entry[0] for entry in cursor.description]
    yield from_records(names, [])
    while rows := cursor.fetchmany(_ROWS):
        yield from_records(names, rows)


def duckdb_table(origin: FileSource) -> RowBlocks:
    """A table of a DuckDB database."""
    duckdb = _duckdb(origin)

    def run() -> Iterator[pa.Table]:
        try:
            settings = {"enable_external_access": "false"}
            with (
                duckdb.connect(str(origin.path), read_only=True, config=settings) as connection,
                _interrupted(connection, origin),
            ):
                found = connection.execute(
                    "SELECT table_name FROM information_schema.tables "
                    "WHERE table_schema = 'main' ORDER BY table_name"
                ).fetchall()
                name = _chosen([row[0] for row in found], origin)
                answer = connection.sql(f"SELECT * FROM {_quoted(name)}")
                for batch in answer.to_arrow_reader(_ROWS):
                    yield pa.Table.from_batches([batch])
        except duckdb.Error as bad:
            origin.check_time()
            raise KitchenError(f"{origin.name} cannot be read by DuckDB: {bad}") from None

    return RowBlocks(run)


@contextmanager
def _interrupted(connection: Any, origin: FileSource) -> Iterator[None]:
    """Interrupt a query of DuckDB when the time limit has passed."""
    if origin.deadline is None:
        yield
        return
    timer = threading.Timer(max(0.0, origin.deadline - time.monotonic()), connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _duckdb(origin: FileSource) -> Any:
    try:
        import duckdb
    except ImportError:
        raise KitchenError(
            f"{origin.name} is a DuckDB database, which needs the package duckdb: "
            "pip install kilogram[duckdb]."
        ) from None
    return duckdb


def _chosen(names: list[str], origin: FileSource) -> str:
    if not names:
        raise KitchenError(f"{origin.name} is a database without tables.")
    if origin.sheet is not None:
        if origin.sheet not in names:
            hint = close_names(origin.sheet, names)
            raise KitchenError(f"{origin.name} has no table {origin.sheet!r}.{hint}")
        return origin.sheet
    if len(names) > 1:
        raise KitchenError(
            f"{origin.name} has {len(names)} tables: {quoted(names)}. Select one with --sheet NAME."
        )
    return names[0]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

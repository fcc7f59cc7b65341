"""RowBlocks of rows, and as many rows of them as memory holds.

    gather(blocks, limit)   all rows while they take at most `limit` bytes; beyond that a uniform
                            sample without replacement: every row draws a number, the m smallest
                            stay, so one run over blocks of unknown length is enough

Blocks of one file may differ in type (a column of integers in one block and text in a later one);
stacked, they take the common type, text if there is no other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kilogram.kitchen.errors import KitchenError, readable


@dataclass(frozen=True)
class FileSource:
    """A file, the memory and time for reading it, and its format.

    `written` has the number format of columns in the training table: "comma", "thousands";
    `deadline` is the time, on the monotonic clock, by which it must be read.
    """

    path: Path
    limit: int
    delimiter: str | None = None
    encoding: str | None = None
    header: bool = True
    sheet: str | None = None
    written: Mapping[str, str] | None = None
    deadline: float | None = None

    @property
    def expired(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def check_time(self) -> None:
        """An error once the time limit has passed."""
        if self.expired:
            raise KitchenError(
                f"{self.name} was not read within the time limit. Increase --max-time, or give a "
                "smaller table."
            )

    @property
    def name(self) -> str:
        return readable(self.path.name)


@dataclass(frozen=True)
class RowBlocks:
    """Rows of a file: `run` reads them block by block, and can be called again.

    `typed` converts the collected rows to their final types where blocks come as plain text;
    `notes` is called after the run; sampling, merging and typing the rows that are kept takes up
    to `effort` times their size.
    """

    run: Callable[[], Iterator[pa.Table]]
    notes: Callable[[], list[str]] = list
    typed: Callable[[pa.Table], pa.Table] = field(default=lambda table: table)
    looks_like_data: bool = False
    effort: int = 6
    written: Callable[[], dict[str, str]] = dict


def gather(blocks: RowBlocks, limit: int, seed: int = 0) -> tuple[pa.Table, int]:
    """The rows of the blocks, or a sample of them that takes at most `limit` bytes; their count."""
    kept: list[pa.Table] = []
    size = rows = 0
    running = blocks.run()
    for block in running:
        kept.append(block)
        rows += block.num_rows
        size += block.nbytes
        if size > limit:
            table, rows = _sample(stack(kept), running, seed)
            return blocks.typed(table), rows
    return blocks.typed(stack(kept)), rows


def _sample(first: pa.Table, rest: Iterator[pa.Table], seed: int) -> tuple[pa.Table, int]:
    """Half as many rows as `first`, drawn from it and the rest alike; the count of all."""
    rng = np.random.default_rng(seed)
    m = max(first.num_rows // 2, 1)
    kept, keys = _smallest(first, rng.random(first.num_rows), m)
    rows = first.num_rows
    waiting, waiting_keys = [kept], [keys]
    for block in rest:
        rows += block.num_rows
        drawn = rng.random(block.num_rows)
        good = np.flatnonzero(drawn < keys.max())
        if not good.size:
            continue
        waiting.append(block.take(pa.array(good)))
        waiting_keys.append(drawn[good])
        if sum(map(len, waiting_keys)) > 2 * m:  # merge now and then: each merge copies all of it
            kept, keys = _smallest(stack(waiting), np.concatenate(waiting_keys), m)
            waiting, waiting_keys = [kept], [keys]
    kept, _ = _smallest(stack(waiting), np.concatenate(waiting_keys), m)
    return kept, rows


def _smallest(table: pa.Table, keys: np.ndarray, m: int) -> tuple[pa.Table, np.ndarray]:
    """The m rows of smallest key, in the order they had."""
    if len(keys) <= m:
        return table, keys
    stay = np.sort(np.argpartition(keys, m - 1)[:m])
    return table.take(pa.array(stay)).combine_chunks(), keys[stay]


def stack(tables: list[pa.Table]) -> pa.Table:
    """Tables below one another; a column that changes its type becomes what holds both."""
    if not tables:
        return pa.table({})
    if len(tables) == 1:
        return tables[0]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.concat_tables(_agreeing(tables), promote_options="permissive")


def _agreeing(tables: list[pa.Table]) -> list[pa.Table]:
    """The tables with the columns of clashing type as text."""
    types: dict[str, pa.DataType] = {}
    clashing = set()
    for table in tables:
        for column in table.schema:
            known = types.setdefault(column.name, column.type)
            if pa.types.is_null(known):
                types[column.name] = column.type
            elif known != column.type and not pa.types.is_null(column.type):
                clashing.add(column.name)
    return [as_words(table, clashing) for table in tables]


def as_words(table: pa.Table, names: set[str]) -> pa.Table:
    """The table with these columns as text."""
    for k, name in enumerate(table.column_names):
        if name in names:
            table = table.set_column(k, name, words(table.column(k)))
    return table


def words(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Any column as text."""
    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())


def from_records(names: list[str], rows: list[tuple]) -> pa.Table:
    """Python rows as a table; a column of values that share no type becomes text."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    arrays = []
    for values in columns:
        try:
            arrays.append(pa.array(values))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            texts = [None if value is None else str(value) for value in values]
            arrays.append(pa.array(texts, pa.string()))
    return pa.Table.from_arrays(arrays, names=names)

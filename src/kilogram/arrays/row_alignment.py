"""Companions of X (targets, weights) cut where the blocks of X are cut.

X decides the blocks. Each companion has a cursor that gives its next k rows: a slice of an array,
or blocks of its own source glued and cut as needed. Parts of one stream are read in one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kilogram.arrays.frames import is_frame, is_series
from kilogram.arrays.row_streams import (
    RowSource,
    StreamPart,
    as_block,
    length,
    stack_rows,
    width,
)

Blocks = Callable[[Any, int | None], Iterator[Any]]


def aligned_blocks(
    X: Any, others: tuple[Any, ...], blocks: Blocks, block_rows: int | None
) -> Iterator[tuple[Any, ...]]:
    """Tuples (X_b, *others_b); blocks(container, block_rows) runs over one container."""
    together = isinstance(X, StreamPart)
    cursors = [
        None if o is None or (together and _shares(X, o)) else Cursor(o, blocks) for o in others
    ]
    _check_lengths(X, others)
    columns, read = None, 0
    for block in blocks(X.stream if together else X, block_rows):
        parts = block if isinstance(block, tuple) else (block,)
        if not together and len(parts) > 1 and others:
            raise ValueError(
                "the blocks are tuples, which already hold y or the weights: take them apart "
                "first with X, y, w = as_rows(X)"
            )
        x = X.seen(parts[X.index]) if together else parts[0]
        columns = _check_columns(x, columns, read)
        found = [
            o.seen(parts[o.index]) if together and _shares(X, o) else _next(c, x, read)
            for o, c in zip(others, cursors, strict=True)
        ]
        read += length(x)
        yield (x, *found) if together or others else parts
        del block, parts, x, found  # before the next is read: one block at a time
    if columns is None:
        raise ValueError("there are no rows: the iterable of blocks is empty")
    for cursor in cursors:
        if cursor is not None:
            cursor.finish(read)
    for other in others:
        if isinstance(other, RowSource):
            other.ended()


class Cursor:
    """Runs over the rows of one companion in pieces of the length asked for."""

    def __init__(self, container: Any, blocks: Blocks) -> None:
        sized = not isinstance(container, RowSource)
        if sized and not is_frame(container) and not is_series(container):
            self._pieces = iter([as_block(container)])
        else:
            self._pieces = blocks(container, None)
        self._rest: Any = None

    def take(self, k: int, read: int) -> Any:
        """The next k rows; read rows of X came before."""
        while self._rest is None or length(self._rest) < k:
            piece = next(self._pieces, None)
            if piece is None:
                have = 0 if self._rest is None else length(self._rest)
                raise ValueError(
                    f"lengths differ: X has at least {read + k} rows, but a companion (y or "
                    f"weights) has {read + have}"
                )
            self._rest = piece if self._rest is None else stack_rows([self._rest, piece])
        found, self._rest = self._rest[:k, ...], self._rest[k:, ...]
        return found

    def finish(self, read: int) -> None:
        """Complain about surplus rows when X has ended after read rows."""
        left = 0 if self._rest is None else length(self._rest)
        left += sum(length(piece) for piece in self._pieces)
        if left:
            raise ValueError(
                f"lengths differ: X has {read} rows, but a companion (y or weights) has "
                f"{read + left}"
            )


def _next(cursor: Cursor | None, x: Any, read: int) -> Any:
    return None if cursor is None else cursor.take(length(x), read)


def _shares(X: StreamPart, other: Any) -> bool:
    return isinstance(other, StreamPart) and other.stream is X.stream


def _check_lengths(X: Any, others: tuple[Any, ...]) -> None:
    """Compare the lengths that are known before reading."""
    n = _known_length(X)
    for other in others:
        m = None if other is None else _known_length(other)
        if n is not None and m is not None and n != m:
            raise ValueError(
                f"lengths differ: X has {n} rows, but a companion (y or weights) has {m}"
            )


def _known_length(container: Any) -> int | None:
    return None if isinstance(container, RowSource) else int(container.shape[0])


def _check_columns(x: Any, columns: int | None, read: int) -> int:
    if columns is not None and width(x) != columns:
        raise ValueError(
            f"the block at row {read} has {width(x)} columns, the blocks before it {columns}"
        )
    return width(x)

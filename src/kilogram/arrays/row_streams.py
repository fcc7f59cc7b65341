"""Rows that come in blocks: the interface of every container that is not one array in memory.

A `RowSource` knows how to run over its rows in blocks, as often as asked. `RowStream` makes one of
any re-iterable of blocks (a list of arrays, an object with `__iter__`), of a function that returns
an iterator, or of a one-shot iterator, which can be read once and raises when read again.

Blocks are arrays (sparse matrices, frames), or tuples (X, y) and (X, y, weights); `as_rows`
turns the latter into one source each, which share a single run over the stream.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from copy import copy as copy_of
from typing import Any, Self

import numpy as np
import scipy.sparse

from kilogram.arrays.frames import is_frame, is_series, series_to_array, to_array
from kilogram.arrays.namespace import is_array, is_dask, is_sparse, namespace


class RowSource(ABC):
    """Rows in blocks, re-run at will: what `row_blocks` asks of a container that is no array."""

    once: bool = False  # true for a stream that can be run over once only
    watch: Callable[[Any], Any] | None = None  # sees every block that is read and gives it back

    @abstractmethod
    def blocks(self, block_rows: int | None) -> Iterator[Any]:
        """Run over the rows: arrays, or tuples of arrays, of at most block_rows rows if given."""

    @abstractmethod
    def row_count(self) -> int:
        """The number of rows; may need a run over the blocks."""

    @abstractmethod
    def column_count(self) -> int:
        """The number of columns."""

    @abstractmethod
    def column_names(self) -> list[str] | None:
        """The names of the columns, if they have names."""

    def __iter__(self) -> Iterator[Any]:
        """Block after block, so that rows too many for memory can be used as they come."""
        return map(self.seen, self.blocks(None))

    def watched(self, watch: Callable[[Any], Any]) -> Self:
        """The same rows, each block passed through `watch` as it is read."""
        found = copy_of(self)
        found.watch = watch
        return found

    def seen(self, block: Any) -> Any:
        """A block as `watch` gives it back."""
        return block if self.watch is None or block is None else self.watch(block)

    def ended(self) -> None:
        """All rows were read: a watch that judges them together does so in its `finish`."""
        finish = getattr(self.watch, "finish", None)
        if finish is not None:
            finish()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All rows gathered in memory; only on request (`np.asarray(rows)`)."""
        if copy is False:
            raise ValueError("rows that come in blocks cannot become one array without a copy")
        gathered = stack_rows(list(self))
        return np.asarray(gathered.toarray() if is_sparse(gathered) else gathered, dtype=dtype)


class RowStream(RowSource):
    """Blocks from a re-iterable, a function returning an iterator, or an iterator (once)."""

    def __init__(self, source: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        if not callable(source) and not isinstance(source, Iterable):
            raise TypeError(f"rows must come as an iterable of blocks, got {type(source).__name__}")
        self._source = source
        self.once = isinstance(source, Iterator)
        # of a one-shot iterator, and shared with the copies that `watched` makes:
        self._head: list[Any] = []  # its first block, once looked at
        self._begun: list[bool] = []  # not empty once it is read

    def raw_blocks(self) -> Iterator[Any]:
        """One run over the blocks: arrays or tuples; a data loader's lists [X, y] are tuples."""
        for block in self._run():
            yield tuple(block) if isinstance(block, list) and is_block_list(block) else block

    def _run(self) -> Iterator[Any]:
        if self.once:
            if self._begun:
                raise ValueError(
                    "this iterator of blocks was already read and can only be read once. Give a "
                    "list of blocks, or a function that returns a fresh iterator."
                )
            self._begun.append(True)
            yield from self._head
            self._head.clear()
            yield from self._source  # type: ignore[misc]
        else:
            yield from self._source() if callable(self._source) else self._source

    def first(self) -> Any:
        """The first block; a one-shot iterator keeps it for its run."""
        if self.once and not self._begun:
            if not self._head:
                self._head.extend(_take_one(self._source))  # type: ignore[arg-type]
            found = self._head
        else:
            found = _take_one(self.raw_blocks())
        if not found:
            raise ValueError("there are no rows: the iterable of blocks is empty")
        head = found[0]
        return tuple(head) if isinstance(head, list) and is_block_list(head) else head

    def blocks(self, block_rows: int | None) -> Iterator[Any]:
        for number, block in enumerate(self.raw_blocks()):
            if isinstance(block, tuple):
                yield from _split_tuple(as_parts(block, number), block_rows)
            else:
                yield from split(as_block(block), block_rows)

    def row_count(self) -> int:
        if self.once:
            raise ValueError(
                "the number of rows of a one-shot iterator is not known before it is read. Give a "
                "list of blocks, or a function that returns a fresh iterator."
            )
        return sum(length(b[0] if isinstance(b, tuple) else b) for b in self.blocks(None))

    def column_count(self) -> int:
        block = self.first()
        return width(as_block(block[0] if isinstance(block, tuple) else block))

    def column_names(self) -> list[str] | None:
        return None


class StreamPart(RowSource):
    """One member of the tuples of a stream: its X, its y or its weights."""

    def __init__(self, stream: RowStream, index: int) -> None:
        self.stream = stream
        self.index = index
        self.once = stream.once

    def blocks(self, block_rows: int | None) -> Iterator[Any]:
        return (parts[self.index] for parts in self.stream.blocks(block_rows))

    def row_count(self) -> int:
        return self.stream.row_count()

    def column_count(self) -> int:
        return width(as_parts(self.stream.first(), 0)[self.index])

    def column_names(self) -> list[str] | None:
        return None


def as_rows(X: Any, y: Any = None, w: Any = None) -> tuple[Any, Any, Any]:
    """(X, y, w) as the rows functions take them; called once, in validation.

    Iterables of blocks become a `RowStream`; if its blocks are tuples (X, y[, w]), each member
    becomes a source of its own. Everything else stays as it is.
    """
    if not isinstance(X, (RowStream, StreamPart)) and is_stream(X):
        X = RowStream(X)
    if not isinstance(X, RowStream) or not isinstance(first := X.first(), tuple):
        return X, y, w
    inside = [StreamPart(X, i) if i < len(first) else None for i in range(3)]
    for name, given, part in (("y", y, inside[1]), ("sample_weight", w, inside[2])):
        if given is not None and part is not None:
            raise ValueError(f"{name} was given twice: in the blocks of X and as an argument")
    return inside[0], y if y is not None else inside[1], w if w is not None else inside[2]


def refuse_single_rows(X: Any) -> None:
    """Raise if a stream of features yields rows (d,) in place of blocks of rows (n, d)."""
    if not isinstance(X, (RowStream, StreamPart)):
        return
    first = (X if isinstance(X, RowStream) else X.stream).first()
    block = as_block(first[0] if isinstance(first, tuple) else first)
    if len(block.shape) != 2:
        raise ValueError(
            f"Expected blocks of rows (n, d), got a {len(block.shape)}-D array of shape "
            f"{tuple(block.shape)}: this iterable yields single rows. Join them in blocks, or give "
            "np.stack(list(rows)) if they fit in memory."
        )


def is_block_list(x: Any) -> bool:
    """True for a list of blocks (2-D arrays, sparse matrices, frames, or tuples that begin so)."""
    if not isinstance(x, (list, tuple)) or not x:
        return False
    head = x[0][0] if isinstance(x[0], tuple) and x[0] else x[0]
    return is_sparse(head) or is_frame(head) or (is_array(head) and head.ndim == 2)


def is_stream(x: Any) -> bool:
    """True for iterables of blocks and functions returning them: no array, frame or source."""
    if x is None or is_array(x) or is_sparse(x) or is_dask(x) or isinstance(x, (str, bytes)):
        return False
    if isinstance(x, RowSource) or is_frame(x) or is_series(x) or hasattr(x, "__array__"):
        return False
    if isinstance(x, (list, tuple)):
        return is_block_list(x)
    if isinstance(x, (Mapping, Set)):
        return False
    return callable(x) or isinstance(x, Iterable)


def as_block(x: Any) -> Any:
    """One block as a 2-D or 1-D array: frames and series converted, sparse made sliceable."""
    if is_array(x):
        return x
    if is_sparse(x):
        return x if x.format == "csr" else x.tocsr()
    if is_frame(x):
        return to_array(x)
    if is_series(x):
        return series_to_array(x)
    block = np.asarray(x)
    if block.ndim not in (1, 2):
        raise TypeError(f"a block of rows must be an array of rows, got {type(x).__name__}")
    return block


def as_parts(block: tuple[Any, ...], number: int) -> tuple[Any, ...]:
    """The members of a tuple block as arrays of one length."""
    parts = tuple(None if part is None else as_block(part) for part in block)
    lengths = {length(part) for part in parts if part is not None}
    if len(lengths) > 1:
        raise ValueError(f"block {number}: its members differ in length: {sorted(lengths)}")
    return parts


def split(block: Any, block_rows: int | None) -> Iterator[Any]:
    """The block in pieces of at most block_rows rows."""
    if block_rows is None or length(block) <= block_rows:
        yield block
        return
    for start in range(0, length(block), block_rows):
        yield block[start : min(start + block_rows, length(block)), ...]


def _split_tuple(parts: tuple[Any, ...], block_rows: int | None) -> Iterator[tuple[Any, ...]]:
    rows = length(parts[0])
    step = block_rows or max(rows, 1)
    for start in range(0, max(rows, 1), step):
        stop = min(start + step, rows)
        yield tuple(None if part is None else part[start:stop, ...] for part in parts)


def length(block: Any) -> int:
    """The number of rows of one block."""
    return int(block.shape[0])


def width(block: Any) -> int:
    """The number of columns of one block; a 1-D block has one."""
    return int(block.shape[1]) if len(block.shape) > 1 else 1


def stack_rows(blocks: list[Any]) -> Any:
    """The blocks below one another, as one array of their own library."""
    if len(blocks) == 1:
        return blocks[0]
    if any(is_sparse(b) for b in blocks):
        return scipy.sparse.vstack(blocks, format="csr")
    return namespace(*blocks).concat(blocks, axis=0)


def _take_one(iterator: Iterable[Any]) -> list[Any]:
    for block in iterator:
        return [block]
    return []

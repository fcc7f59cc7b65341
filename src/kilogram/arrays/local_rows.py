"""Rows that are here, in memory or in files: run over in blocks, reduced, mapped, picked.

`rows.py` has the same functions for Dask too. A task on a Dask worker calls these for its chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any

import numpy as np

from kilogram.arrays.frames import column_names as frame_columns
from kilogram.arrays.frames import frame_length, frame_rows, is_frame, is_series
from kilogram.arrays.memmap_rows import is_memmap, memmap_blocks
from kilogram.arrays.namespace import is_array, is_dask, is_numpy, is_sparse, namespace
from kilogram.arrays.row_alignment import aligned_blocks
from kilogram.arrays.row_streams import (
    RowSource,
    RowStream,
    as_block,
    is_block_list,
    is_stream,
    length,
    split,
    stack_rows,
    width,
)

# Bounds the memory of what is computed from a block; moments of 400 000 x 20 and 20 000 x 400 rows
# took the same time with 256 KiB to 128 MiB.
BLOCK_BYTES = 8 * 2**20
# Device arrays: fewer, larger launches; a few such arrays fit any GPU.
DEVICE_BLOCK_BYTES = 256 * 2**20
# Rows; moments of 100 000 x 5 took the same time with blocks of 64 to 16 384, with 16 a fifth more.
SMALLEST_BLOCK = 256


def row_blocks(X: Any, *others: Any, block_rows: int | None = None) -> Iterator[tuple[Any, ...]]:
    """Tuples (X_b, *others_b) of blocks of equal length."""
    check_block_rows(block_rows)
    others = tuple(_local(o) for o in others)
    return aligned_blocks(_as_container(X), others, _blocks, block_rows)


def check_block_rows(block_rows: int | None) -> None:
    """An error for blocks of no rows."""
    if block_rows is not None and block_rows < 1:
        raise ValueError(f"block_rows must be at least 1, got {block_rows}")


def reduce_rows(
    statistic: Callable[..., Any], X: Any, *others: Any, block_rows: int | None = None
) -> Any:
    """The sum of statistic(X_b, *others_b) over the blocks of rows."""
    total = None
    for blocks in row_blocks(X, *others, block_rows=block_rows):
        if length(blocks[0]) == 0:
            continue
        found = statistic(*blocks)
        total = found if total is None else total + found
        del blocks, found  # one block and one statistic at a time
    if total is None:
        raise ValueError("there are no rows to reduce: X is empty")
    return total


def map_rows(f: Callable[..., Any], X: Any, *others: Any, block_rows: int | None = None) -> Any:
    """The rows of f(X_b, *others_b) below one another: an array, or a stream of a stream."""
    X = _as_container(X)
    if isinstance(X, RowSource):
        return RowStream(lambda: _mapped(f, row_blocks(X, *others, block_rows=block_rows)))
    return _gather(_mapped(f, row_blocks(X, *others, block_rows=block_rows)), row_count(X))


def _mapped(f: Callable[..., Any], blocks: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
    """f of every block; empty blocks are left out unless there is no other."""
    empty: tuple[Any, ...] | None = None
    some = False
    for block in blocks:
        if length(block[0]):
            some = True
            yield f(*block)
        else:
            empty = block
    if not some and empty is not None:
        yield f(*empty)


def _gather(results: Iterator[Any], n: int) -> Any:
    """The results below one another; NumPy results are written into one array as they come."""
    first = next(results, None)
    if first is None or not is_numpy(first) or length(first) == n:
        return first if first is None or length(first) == n else stack_rows([first, *results])
    out, at = np.empty((n, *first.shape[1:]), dtype=first.dtype), length(first)
    out[:at] = first
    for block in results:
        if block.dtype != out.dtype and np.result_type(block, out) != out.dtype:
            out = out.astype(np.result_type(block, out))  # labels of growing length, for one
        out[at : at + length(block)] = block
        at += length(block)
    if at != n:
        raise ValueError(f"The mapped function returned {at} rows for {n} rows of X.")
    return out


def row_count(X: Any) -> int:
    """The number of rows; streams of unknown length are run over once."""
    X = _as_container(_counted(X))
    if isinstance(X, RowSource):
        return X.row_count()
    return frame_length(X) if is_frame(X) or is_series(X) else length(X)


def column_count(X: Any) -> int:
    """The number of columns."""
    X = _as_container(_counted(X))
    if isinstance(X, RowSource):
        return X.column_count()
    return len(frame_columns(X)) if is_frame(X) else width(X)


def take_rows(X: Any, indices: Any) -> Any:
    """The rows with these indices, in their order, as one array in memory."""
    X = _as_container(X)
    if is_array(X) and not is_numpy(X):
        xp = namespace(X)
        return xp.take(X, xp.asarray(indices, device=X.device), axis=0)
    if is_numpy(X) or is_sparse(X):
        return as_block(X)[np.asarray(indices)]
    return _take_streamed(X, np.asarray(indices))


def _take_streamed(X: Any, indices: np.ndarray) -> Any:
    """Rows of a container that can only be run over: sorted in passing, then put in order."""
    order = np.argsort(indices, kind="stable")
    wanted, at = indices[order], 0
    found: list[Any] = []
    for block, *_ in row_blocks(X):
        here = wanted[np.searchsorted(wanted, at) : np.searchsorted(wanted, at + length(block))]
        if here.size or not found:
            found.append(take_rows(block, here - at))
        at += length(block)
    if indices.size and (wanted[-1] >= at or wanted[0] < 0):
        bad = wanted[-1] if wanted[-1] >= at else wanted[0]
        raise IndexError(f"Row index {bad} is out of bounds for X with {at} rows.")
    inverse = np.empty_like(order)
    inverse[order] = np.arange(order.size)
    return take_rows(stack_rows(found), inverse)


def sample_rows(X: Any, m: int, rng: np.random.Generator) -> Any:
    """m rows drawn without replacement, as one array in memory.

    From one-shot iterators, whose length is not known, those of the smallest random keys."""
    X = _as_container(X)
    if isinstance(X, RowSource) and X.once:
        return _reservoir(X, m, rng)
    return take_rows(X, draw_indices(row_count(X), m, rng))


def draw_indices(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """m of n indices drawn without replacement, in order; all if there are fewer."""
    return np.arange(n) if m >= n else np.sort(rng.choice(n, size=m, replace=False))


def _reservoir(X: RowSource, m: int, rng: np.random.Generator) -> Any:
    kept, keys = None, np.empty(0)
    for block, *_ in row_blocks(X):
        kept = block if kept is None else stack_rows([kept, block])
        keys = np.concatenate([keys, rng.random(length(block))])
        if keys.size > m:
            stay = np.sort(np.argpartition(keys, m - 1)[:m])
            kept, keys = take_rows(kept, stay), keys[stay]
    return kept


def _counted(X: Any) -> Any:
    """Refuse a bare iterator: to look at its first block would lose that block."""
    if isinstance(X, Iterator) and not isinstance(X, RowSource):
        raise ValueError(
            "a bare iterator of blocks can only be read, not counted: wrap it first with "
            "X, y, w = as_rows(X)"
        )
    return X


def _as_container(X: Any) -> Any:
    """Lists of numbers to arrays, iterables of blocks to a stream; the rest as it is."""
    if isinstance(X, (list, tuple)) and not is_block_list(X):
        return np.asarray(X)
    if is_stream(X):
        return RowStream(X)
    if hasattr(X, "shape") or isinstance(X, RowSource) or is_frame(X) or is_series(X):
        return X
    if isinstance(X, (str, PathLike)):
        raise TypeError(f"rows in files are opened with kilogram.open_rows({str(X)!r})")
    if hasattr(X, "__array__"):
        return np.asarray(X)
    raise TypeError(
        "rows come as an array, a sparse matrix, a data frame, a Dask collection, open_rows(path) "
        f"or an iterable of blocks; got {type(X).__name__}"
    )


def _local(other: Any) -> Any:
    """A companion of rows that are here: Dask companions are fetched."""
    if other is None:
        return None
    return other.compute() if is_dask(other) else _as_container(other)


def _blocks(X: Any, block_rows: int | None) -> Iterator[Any]:
    """The rows of one container in blocks of a sensible size."""
    if isinstance(X, RowSource):
        return X.blocks(block_rows) if X.watch is None else map(X.seen, X.blocks(block_rows))
    if is_memmap(X):
        return memmap_blocks(X, block_rows or block_length(X))
    if is_array(X) or is_sparse(X):
        whole = block_rows is None and (is_numpy(X) or is_sparse(X))
        return split(as_block(X), None if whole else block_rows or block_length(X))
    rows = frame_rows if is_frame(X) or is_series(X) else _sliced
    step, n = block_rows or block_length(X), row_count(X)
    return (as_block(rows(X, i, min(i + step, n))) for i in range(0, max(n, 1), step))


def _sliced(X: Any, start: int, stop: int) -> Any:
    return X[start:stop]


def block_length(X: Any) -> int:
    """Rows of X in a block of the default size."""
    item = getattr(getattr(X, "dtype", None), "itemsize", 8)
    size = DEVICE_BLOCK_BYTES if is_array(X) and not is_numpy(X) else BLOCK_BYTES
    return max(size // max(item * column_count(X), 1), SMALLEST_BLOCK)

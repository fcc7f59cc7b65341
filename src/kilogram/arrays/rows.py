"""Rows: run over them in blocks, reduce them to a statistic, map them; one function each.

A statistic is a value with `+`, made from a block of rows:

    reduce_rows(f, X, y)  =  f(X_1, y_1) + f(X_2, y_2) + ...        X_b, y_b the b-th blocks of rows
    map_rows(f, X)        =  [f(X_1); f(X_2); ...]                  the results below one another

The same call takes

    NumPy, torch, CuPy arrays, SciPy sparse, lists        in memory (NumPy and sparse in one block)
    pandas, polars, pyarrow frames                        converted block by block
    memory maps, `open_rows("*.parquet")`, anything       read block by block: one block and one
      sliceable that has a shape, iterables of blocks       statistic are in memory at a time
    dask.array, dask.dataframe                            one task per chunk, tree of `+`; only
                                                            statistics travel

The arguments after X (targets, weights) may be any of these too, or None; they are cut where X is.
`kilogram.arrays.dask_rows` is the only file that imports dask, and only when Dask is given.
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

BLOCK_BYTES = 8 * 2**20  # a block and what is computed from it stay near the last-level cache
DEVICE_BLOCK_BYTES = 256 * 2**20  # device arrays: fewer, larger launches
SMALLEST_BLOCK = 256  # rows; below this the per-block overhead shows


def row_blocks(X: Any, *others: Any, block_rows: int | None = None) -> Iterator[tuple[Any, ...]]:
    """Run over the rows: tuples (X_b, *others_b) of blocks of equal length, None staying None.

    A stream whose own blocks are tuples (X, y[, w]) yields them whole when no others are given.
    """
    if block_rows is not None and block_rows < 1:
        raise ValueError(f"block_rows must be at least 1, got {block_rows}")
    if is_dask(X):
        from kilogram.arrays import dask_rows as rows_dask

        return rows_dask.row_blocks(X, *others, block_rows=block_rows)
    others = tuple(_local(o) for o in others)
    return aligned_blocks(_as_container(X), others, _blocks, block_rows)


def reduce_rows(
    statistic: Callable[..., Any], X: Any, *others: Any, block_rows: int | None = None
) -> Any:
    """The sum, by `+`, of statistic(X_b, *others_b) over the blocks of rows.

    NumPy arrays and sparse matrices in memory go in one block unless block_rows is given.
    On Dask the sum is computed where the chunks are, and only the total is returned.
    """
    if is_dask(X):
        from kilogram.arrays import dask_rows as rows_dask

        return rows_dask.reduce_rows(statistic, X, *others, block_rows=block_rows)
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
    """The rows of f(X_b, *others_b) below one another.

    Arrays, sparse matrices, frames and memory maps give one array in memory, of the library f
    returns. Dask gives a lazy dask.array. Parquet files and streams give a lazy `RowStream`,
    which runs f as it is read; `np.asarray(result)` gathers it.
    """
    if is_dask(X):
        from kilogram.arrays import dask_rows as rows_dask

        return rows_dask.map_rows(f, X, *others, block_rows=block_rows)
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
        raise ValueError(f"the function gave {at} rows for {n} rows")
    return out


def row_count(X: Any) -> int:
    """The number of rows; streams of unknown length are run over once."""
    if is_dask(X):
        from kilogram.arrays import dask_rows as rows_dask

        return rows_dask.row_count(X)
    X = _as_container(_counted(X))
    if isinstance(X, RowSource):
        return X.row_count()
    return frame_length(X) if is_frame(X) or is_series(X) else length(X)


def column_count(X: Any) -> int:
    """The number of columns."""
    if is_dask(X):
        return int(X.shape[1]) if len(X.shape) > 1 else 1
    X = _as_container(_counted(X))
    if isinstance(X, RowSource):
        return X.column_count()
    return len(frame_columns(X)) if is_frame(X) else width(X)


def column_names(X: Any) -> list[str] | None:
    """The names of the columns of frames, Parquet files and Dask frames; None for the others."""
    if is_dask(X):
        names = getattr(X, "columns", None)
        return None if names is None else [str(name) for name in names]
    if isinstance(X, RowSource):
        return X.column_names()
    return frame_columns(X) if is_frame(X) else None


def take_rows(X: Any, indices: Any) -> Any:
    """The rows with these indices, in their order, as one array in memory."""
    if is_dask(X):
        from kilogram.arrays import dask_rows as rows_dask

        return rows_dask.take_rows(X, np.asarray(indices))
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
        raise IndexError(f"row {wanted[-1] if wanted[-1] >= at else wanted[0]} of {at} rows")
    inverse = np.empty_like(order)
    inverse[order] = np.arange(order.size)
    return take_rows(stack_rows(found), inverse)


def sample_rows(X: Any, m: int, rng: np.random.Generator) -> Any:
    """m rows drawn without replacement (all if there are fewer), as one array in memory.

    The same rng draws the same rows from every container of the same rows, one-shot iterators
    excepted: their length is not known beforehand, so they keep the m rows of smallest random key.
    """
    if is_dask(X):
        from kilogram.arrays import dask_rows as rows_dask

        X = rows_dask.known_rows(X)
    X = _as_container(X)
    if isinstance(X, RowSource) and X.once:
        return _reservoir(X, m, rng)
    n = row_count(X)
    chosen = np.arange(n) if m >= n else np.sort(rng.choice(n, size=m, replace=False))
    return take_rows(X, chosen)


def _reservoir(X: RowSource, m: int, rng: np.random.Generator) -> Any:
    kept, keys = None, np.empty(0)
    for block, *_ in row_blocks(X):
        kept = block if kept is None else stack_rows([kept, block])
        keys = np.concatenate([keys, rng.random(length(block))])
        if keys.size > m:
            stay = np.sort(np.argpartition(keys, m - 1)[:m])
            kept, keys = take_rows(kept, stay), keys[stay]
    return kept


def is_streamed(X: Any) -> bool:
    """True for what is not one array in memory: Dask, Parquet, iterables of blocks.

    Memory maps count as arrays: they can be indexed, and `reduce_rows` reads them in blocks.
    """
    return is_dask(X) or isinstance(X, RowSource) or is_stream(X)


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


def row_slices(X: Any, width: int, entries: int) -> Iterator[slice]:
    """Blocks of rows of which `width` numbers each, and `entries` in all, are held at once."""
    n, step = X.shape[0], max(1, entries // max(width, 1))
    return (slice(i, min(i + step, n)) for i in range(0, max(n, 1), step))

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
`dask_rows` is the only module that imports dask, and only when Dask is given; `local_rows` has the
same functions for rows that are in memory or in files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kilogram.arrays import local_rows
from kilogram.arrays.frames import column_names as frame_columns
from kilogram.arrays.frames import is_frame
from kilogram.arrays.local_rows import block_length
from kilogram.arrays.namespace import is_dask
from kilogram.arrays.row_streams import RowSource, is_stream

__all__ = [
    "block_length", "column_count", "column_names", "is_streamed", "map_rows", "reduce_rows",
    "row_blocks", "row_count", "row_slices", "sample_rows", "take_rows",
]  # fmt: skip


def row_blocks(X: Any, *others: Any, block_rows: int | None = None) -> Iterator[tuple[Any, ...]]:
    """Run over the rows: tuples (X_b, *others_b) of blocks of equal length, None staying None.

    A stream whose own blocks are tuples (X, y[, w]) yields them whole when no others are given.
    """
    if is_dask(X):
        from kilogram.arrays import dask_rows

        return dask_rows.row_blocks(X, *others, block_rows=block_rows)
    return local_rows.row_blocks(X, *others, block_rows=block_rows)


def reduce_rows(
    statistic: Callable[..., Any], X: Any, *others: Any, block_rows: int | None = None
) -> Any:
    """The sum, by `+`, of statistic(X_b, *others_b) over the blocks of rows.

    NumPy arrays and sparse matrices in memory go in one block unless block_rows is given.
    On Dask the sum is computed where the chunks are, and only the total is returned.
    """
    if is_dask(X):
        from kilogram.arrays import dask_rows

        return dask_rows.reduce_rows(statistic, X, *others, block_rows=block_rows)
    return local_rows.reduce_rows(statistic, X, *others, block_rows=block_rows)


def map_rows(f: Callable[..., Any], X: Any, *others: Any, block_rows: int | None = None) -> Any:
    """The rows of f(X_b, *others_b) below one another.

    Arrays, sparse matrices, frames and memory maps give one array in memory, of the library f
    returns. Dask gives a lazy dask.array. Parquet files and streams give a lazy `RowStream`,
    which runs f as it is read; `np.asarray(result)` gathers it.
    """
    if is_dask(X):
        from kilogram.arrays import dask_rows

        return dask_rows.map_rows(f, X, *others, block_rows=block_rows)
    return local_rows.map_rows(f, X, *others, block_rows=block_rows)


def row_count(X: Any) -> int:
    """The number of rows; streams of unknown length are run over once."""
    if is_dask(X):
        from kilogram.arrays import dask_rows

        return dask_rows.row_count(X)
    return local_rows.row_count(X)


def column_count(X: Any) -> int:
    """The number of columns."""
    if is_dask(X):
        return int(X.shape[1]) if len(X.shape) > 1 else 1
    return local_rows.column_count(X)


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
        from kilogram.arrays import dask_rows

        return dask_rows.take_rows(X, np.asarray(indices))
    return local_rows.take_rows(X, indices)


def sample_rows(X: Any, m: int, rng: np.random.Generator) -> Any:
    """m rows drawn without replacement (all if there are fewer), as one array in memory.

    The same rng draws the same rows from every container of the same rows, one-shot iterators
    excepted: their length is not known beforehand, so they keep the m rows of smallest random key.
    """
    if is_dask(X):
        from kilogram.arrays import dask_rows

        X = dask_rows.known_rows(X)
        return dask_rows.take_rows(X, local_rows.draw_indices(X.shape[0], m, rng))
    return local_rows.sample_rows(X, m, rng)


def is_streamed(X: Any) -> bool:
    """True for what is not one array in memory: Dask, Parquet, iterables of blocks.

    Memory maps count as arrays: they can be indexed, and `reduce_rows` reads them in blocks.
    """
    return is_dask(X) or isinstance(X, RowSource) or is_stream(X)


def row_slices(X: Any, width: int, entries: int) -> Iterator[slice]:
    """Blocks of rows of which `width` numbers each, and `entries` in all, are held at once."""
    n, step = X.shape[0], max(1, entries // max(width, 1))
    return (slice(i, min(i + step, n)) for i in range(0, max(n, 1), step))

"""Rows on Dask: the only file that imports dask; `rows.py` calls it when a Dask object comes in.

    reduce   one task per chunk makes the statistic where the chunk is; a tree of `+` with fan-in 8
             adds them up; only statistics travel, and only the total comes back
    map      a lazy dask.array, one task per chunk

The function and the state it carries (centres, coefficients) enter the graph once, as one node all
tasks refer to. X is given one chunk of columns; companions are rechunked to the rows of X. Chunks
of unknown length are fine as long as all collections have them alike; otherwise they are counted
first. A lost worker costs its chunks' tasks, which Dask runs again elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import zip_longest
from operator import add
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import delayed

from kilogram.arrays import local_rows
from kilogram.arrays.frames import frame_dtype, is_series, series_to_array
from kilogram.arrays.namespace import is_dask, is_sparse
from kilogram.arrays.row_streams import as_block, length, split, stack_rows

FAN_IN = 8  # statistics merged at once: four levels of the tree serve 8^4 = 4 096 chunks


def reduce_rows(statistic: Callable[..., Any], X: Any, *others: Any, block_rows: int | None) -> Any:
    """The total of the statistic over all chunks, computed."""
    arrays = align(X, others)
    nothing = np.empty(0, dtype=object)
    values = _blockwise(_reduce_chunk, ("row",), (statistic, block_rows), arrays, meta=nothing)
    parts, merge = _chunks(values), delayed(_merge, pure=False)
    while len(parts) > 1:
        parts = [merge(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    (total,) = dask.compute(*parts)
    if total is None:
        raise ValueError("there are no rows to reduce: X is empty")
    return total


def map_rows(f: Callable[..., Any], X: Any, *others: Any, block_rows: int | None) -> Any:
    """A lazy dask.array of the rows of f, in chunks that follow those of X."""
    arrays = align(X, others)
    sample = f(*(None if a is None else _example(a) for a in arrays))
    empty = sample[:0]
    index, width = ("row", "out")[: sample.ndim], dict(zip(["out"], sample.shape[1:], strict=False))
    return _blockwise(_map_chunk, index, (f, block_rows, empty), arrays, meta=empty, width=width)


def _blockwise(
    task: Callable[..., Any],
    index: tuple[str, ...],
    settings: tuple[Any, ...],
    arrays: list[Any],
    *,
    meta: Any,
    width: dict[str, int] | None = None,
) -> Any:
    """task(*settings, *chunks) for every chunk of rows, as a dask.array; the arrays are aligned."""
    arguments: list[Any] = []
    for value in settings:  # a function carries state: one node of the graph, not one per task
        arguments += [delayed(value, pure=False) if callable(value) else value, None]
    for number, a in enumerate(arrays):
        arguments += [a, None if a is None else ("row", f"column {number}")[: a.ndim]]
    return da.blockwise(
        task,
        index,
        *arguments,
        new_axes=width or {},
        concatenate=True,
        align_arrays=False,
        dtype=meta.dtype,
        meta=meta,
    )


def row_blocks(X: Any, *others: Any, block_rows: int | None) -> Iterator[tuple[Any, ...]]:
    """Chunk after chunk, fetched one at a time."""
    local_rows.check_block_rows(block_rows)
    columns = [[] if a is None else _chunks(a) for a in align(X, others)]
    for blocks in zip_longest(*columns):
        x, *rest = _checked(dask.compute(*blocks))
        pieces = [None if b is None else split(b, block_rows) for b in rest]
        for piece in split(x, block_rows):
            yield (piece, *(None if p is None else next(p) for p in pieces))


def row_count(X: Any) -> int:
    """The number of rows, counted if the chunks do not know."""
    return int(sum(known_rows(X).chunks[0]))


def take_rows(X: Any, indices: np.ndarray) -> Any:
    """The rows with these indices, picked where the chunks are."""
    X = known_rows(X)
    n, ends = X.shape[0], np.cumsum(X.chunks[0])
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        bad = indices.min() if indices.min() < 0 else indices.max()
        raise IndexError(f"Row index {bad} is out of bounds for X with {n} rows.")
    order = np.argsort(indices, kind="stable")
    wanted = indices[order]
    cuts = np.searchsorted(wanted, np.concatenate([[0], ends]))
    pick, picked = delayed(local_rows.take_rows, pure=False), []
    for b, block in enumerate(_chunks(X)):
        if cuts[b] < cuts[b + 1]:
            start = 0 if b == 0 else ends[b - 1]
            picked.append(pick(block, wanted[cuts[b] : cuts[b + 1]] - start))
    if not picked:
        return local_rows.take_rows(_example(X), indices)
    return local_rows.take_rows(stack_rows(list(dask.compute(*picked))), np.argsort(order))


def known_rows(X: Any) -> Any:
    """X as a dask.array whose chunks know their number of rows."""
    X = as_array(X)
    if not _unknown(X):
        return X
    lengths = dask.compute(*(delayed(length, pure=False)(block) for block in _chunks(X)))
    return da.Array(X.dask, X.name, chunks=(lengths, *X.chunks[1:]), meta=X._meta)


def as_array(X: Any) -> Any:
    """A dask.array or dask.dataframe as a dask.array with its columns in one chunk."""
    if isinstance(X, da.Array):
        return X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X
    if not hasattr(X, "to_delayed") or not hasattr(X, "_meta"):
        raise TypeError(f"rows must be a dask.array or a dask.dataframe, got {type(X).__name__}")
    one = is_series(X._meta)
    dtype = series_to_array(X._meta).dtype if one else frame_dtype(X._meta)
    shape = (math.nan,) if one else (math.nan, len(X.columns))
    convert = delayed(as_block, pure=True)
    parts = [da.from_delayed(convert(p), shape=shape, dtype=dtype) for p in X.to_delayed()]
    return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)


def watch_blocks(X: Any, look: Callable[[Any], Any]) -> Any:
    """The rows as a dask.array whose blocks pass through `look` where they are read."""
    rows = as_array(X)
    return rows.map_blocks(look, dtype=rows.dtype, meta=rows._meta)


def align(X: Any, others: Sequence[Any]) -> list[Any]:
    """X and its companions as dask.arrays whose chunks of rows agree; None stays None."""
    X = as_array(X)
    remote = [as_array(o) if is_dask(o) else o for o in others]
    given = [o for o in remote if o is not None]
    unknown = [is_dask(a) and _unknown(a) for a in (X, *given)]
    if any(unknown) and not (all(unknown) and len({a.numblocks[0] for a in (X, *given)}) == 1):
        X = known_rows(X)
        remote = [known_rows(o) if is_dask(o) else o for o in remote]
    return [X, *(None if o is None else _rechunked(o, X) for o in remote)]


def _rechunked(other: Any, X: Any) -> Any:
    """A companion in the row chunks of X."""
    other = other if is_dask(other) else as_block(other)
    if _unknown(X):
        return other
    if other.shape[0] != X.shape[0]:
        raise ValueError(
            f"lengths differ: X has {X.shape[0]} rows, but a companion (y or weights) has "
            f"{other.shape[0]}"
        )
    chunks = (X.chunks[0], *((size,) for size in other.shape[1:]))
    return other.rechunk(chunks) if is_dask(other) else da.from_array(other, chunks=chunks)


def _unknown(X: Any) -> bool:
    return any(math.isnan(size) for size in X.chunks[0])


def _chunks(X: Any) -> list[Any]:
    """The chunks of rows as delayed values."""
    return list(X.to_delayed().ravel())


def _checked(blocks: Sequence[Any]) -> list[Any]:
    found = [None if b is None else as_block(b) for b in blocks]
    lengths = [length(b) for b in found if b is not None]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"lengths differ: chunks of X and its companions have {lengths} rows. Their chunk "
            "sizes are unknown: call compute_chunk_sizes() on the arrays, or give columns of one "
            "frame."
        )
    return found


def _reduce_chunk(statistic: Callable[..., Any], block_rows: int | None, *blocks: Any) -> Any:
    """The statistic of one chunk, or None of an empty one; runs on a worker."""
    here = _checked(blocks)
    if length(here[0]) == 0:
        return None
    return local_rows.reduce_rows(statistic, *here, block_rows=block_rows)


def _map_chunk(f: Callable[..., Any], block_rows: int | None, empty: Any, *blocks: Any) -> Any:
    here = _checked(blocks)
    return local_rows.map_rows(f, *here, block_rows=block_rows) if length(here[0]) else empty


def _merge(parts: list[Any]) -> Any:
    filled = [part for part in parts if part is not None]
    return reduce(add, filled) if filled else None


def _example(a: Any) -> Any:
    """Two rows like those of a, to learn the shape and type f returns."""
    block = a._meta
    if is_sparse(block):
        return type(block)(np.ones((2, a.shape[1]), dtype=a.dtype))
    return np.ones_like(block, shape=(2, *a.shape[1:]))

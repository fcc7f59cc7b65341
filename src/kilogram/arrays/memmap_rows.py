"""Memory-mapped arrays, read in blocks whose pages are given back after use.

Pages of a mapped file stay counted as the process's memory until the system needs them. A run over
a file larger than the memory limit therefore hands each block's pages back (`MADV_DONTNEED`); they
remain in the system's file cache as long as memory is free. Copy-on-write maps keep theirs, for
there the pages hold what the user has written.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np


def is_memmap(x: Any) -> bool:
    """True for np.memmap and for plain views of one."""
    return isinstance(x, np.ndarray) and _root(x) is not None


def _root(x: np.ndarray) -> np.memmap | None:
    """The np.memmap x looks into, if there is one."""
    at: Any = x
    while isinstance(at, np.ndarray):
        if isinstance(at, np.memmap) and isinstance(at.base, mmap.mmap):
            return at
        at = at.base
    return None


def memmap_blocks(X: np.ndarray, block_rows: int) -> Iterator[np.ndarray]:
    """Views of block_rows rows; the pages of a block are given back when the next is asked for."""
    n = X.shape[0]
    for start in range(0, max(n, 1), block_rows):
        block = np.asarray(X[start : min(start + block_rows, n)])
        yield block
        release_pages(block)


def release_pages(block: np.ndarray) -> None:
    """Give the pages a block of rows lies on back to the system; read again when touched."""
    root = _root(block)
    if root is None or root.mode == "c" or not block.size or not hasattr(mmap, "MADV_DONTNEED"):
        return
    mapped: mmap.mmap = root.base  # type: ignore[assignment]
    origin = np.frombuffer(mapped, dtype=np.uint8).__array_interface__["data"][0]
    low, high = (address - origin for address in np.lib.array_utils.byte_bounds(block))
    first = low // mmap.PAGESIZE * mmap.PAGESIZE
    mapped.madvise(mmap.MADV_DONTNEED, first, high - first)

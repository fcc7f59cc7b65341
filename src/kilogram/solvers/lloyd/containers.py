"""Arrays of any library on their way into and out of the clustering solvers."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy


def host(X: Any) -> np.ndarray:
    """An array of any library, or a sparse one, as a dense float64 array on the host."""
    return np.asarray(to_numpy(X.toarray() if is_sparse(X) else X), dtype=np.float64)


def like_block(found: Any, block: Any) -> Any:
    """Numbers in the library, on the device and in the float type of a block of rows."""
    if is_sparse(block):
        return found.astype(block.dtype) if found.dtype.kind == "f" else found
    return like(found, block)


def unit_rows(X: Any) -> Any:
    """Rows scaled to length 1; rows of zeros stay. Equal for every memory order of X."""
    if is_sparse(X):
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        scaled = X.tocsr(copy=True)
        scaled.data = scaled.data / np.repeat(
            np.where(norms > 0, norms, 1.0), np.diff(scaled.indptr)
        ).astype(X.dtype)
        return scaled
    xp = namespace(X)
    # a row is summed in the same order however X lies in memory
    squares = np.multiply(X, X, order="C") if is_numpy(X) else X * X
    norms = xp.sqrt(xp.sum(squares, axis=1))[:, None]
    return X / xp.where(norms > 0, norms, xp.ones_like(norms))

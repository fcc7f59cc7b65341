"""Checks and warnings of the methods that build a graph of neighbours."""

from __future__ import annotations

import warnings
from typing import Any

from kilogram.arrays.memory import CACHED_ENTRIES
from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import is_streamed, row_slices
from kilogram.base.constraints import Integer, check_parameter


class DisconnectedGraphWarning(UserWarning):
    """No path connects some rows; the message has their number and what was done."""


def check_neighbours(k: Any, n: int, *, most: int) -> int:
    """n_neighbors, an integer from 1 to `most`."""
    check_parameter("n_neighbors", k, Integer(1))
    if k > most:
        raise ValueError(
            f"n_neighbors={k} is too many for n_samples = {n}: at most {most} rows can be "
            "neighbours of a row."
        )
    return int(k)


def check_components(k: Any, most: int, n: int) -> int:
    """n_components, at most `most`."""
    if k > most:
        raise ValueError(
            f"n_components={k} is too many for n_samples = {n}: at most {most} can be found."
        )
    return int(k)


def check_in_memory(name: str, X: Any) -> None:
    """Every row is compared with every other: streams cannot."""
    if is_streamed(X):
        raise ValueError(f"{name} compares all rows with each other and needs them in memory.")


def check_symmetric(A: Any, what: str) -> None:
    """A matrix (n, n) equal to its transpose, up to rounding; `what` begins the error."""
    if is_sparse(A):
        gap, size = float(abs(A - A.T).max()), float(abs(A).max())
    else:
        xp = namespace(A)
        gap = size = 0.0
        for some in row_slices(A, A.shape[0], CACHED_ENTRIES):
            rows = A[some, :]
            gap = max(gap, float(xp.max(xp.abs(rows - A[:, some].T))))
            size = max(size, float(xp.max(xp.abs(rows))))
    if gap > 1e-6 * size:
        raise ValueError(f"{what} differ by up to {gap:.3g}. Use (A + A.T) / 2.")


JOINED = "The shortest edges between parts were added."


def warn_if_apart(name: str, count: int, done: str = JOINED) -> None:
    """Warn that the graph has several components, and what was done about it."""
    if count > 1:
        warnings.warn(
            f"{name}: the neighbour graph has {count} connected components. "
            f"{done} A larger n_neighbors may connect them.",
            DisconnectedGraphWarning,
            stacklevel=4,
        )

"""What the pages on neighbour graphs share: their checks and their warnings."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import is_streamed


class DisconnectedGraphWarning(UserWarning):
    """No path connects some rows; the message says how many parts there are and what was done."""


def check_neighbours(k: Any, n: int, *, most: int) -> int:
    """n_neighbors, an integer from 1 to `most`."""
    check_count("n_neighbors", k)
    if k > most:
        raise ValueError(
            f"n_neighbors={k} is too many for n_samples = {n}: at most {most} rows can be "
            "neighbours of a row."
        )
    return int(k)


def check_count(name: str, value: Any) -> int:
    """An integer of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")
    return int(value)


def check_components(value: Any, most: int, n: int) -> int:
    """n_components, an integer from 1 to `most`."""
    k = check_count("n_components", value)
    if k > most:
        raise ValueError(
            f"n_components={k} is too many for n_samples = {n}: at most {most} can be found."
        )
    return k


def check_in_memory(model: Any, X: Any) -> None:
    """Every row is compared with every other: streams cannot."""
    if is_streamed(X):
        raise ValueError(
            f"{type(model).__name__} compares all rows with each other and needs them in memory."
        )


def check_symmetric(A: Any, what: str) -> None:
    """A matrix (n, n) equal to its transpose, up to rounding; `what` begins the error."""
    if is_sparse(A):
        gap, size = float(abs(A - A.T).max()), float(abs(A).max())
    else:
        xp = namespace(A)
        gap, size = float(xp.max(xp.abs(A - A.T))), float(xp.max(xp.abs(A)))
    if gap > 1e-6 * size:
        raise ValueError(f"{what} differ by up to {gap:.3g}. Use (A + A.T) / 2.")


JOINED = "The shortest edges between parts were added."


def warn_if_apart(model: Any, count: int, done: str = JOINED) -> None:
    """Say that the graph has several parts, and what was done about it."""
    if count > 1:
        warnings.warn(
            f"{type(model).__name__}: the graph of neighbours falls into {count} parts that no "
            f"edge connects. {done} A larger n_neighbors may connect them.",
            DisconnectedGraphWarning,
            stacklevel=4,
        )

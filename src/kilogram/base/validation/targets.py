"""Validation of targets, labels and weights of streaming input, block by block.

What is in memory is checked at once. A file, a stream or a Dask collection is not read for the
sake of a check: each of its blocks is checked when a fit reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from kilogram.arrays.namespace import is_dask, to_numpy
from kilogram.arrays.row_streams import RowSource, RowStream, as_block, is_stream
from kilogram.arrays.rows import map_rows


def watch_targets(y: Any, *, numeric: bool) -> Any:
    """Numbers (numeric) or class labels that come with streamed rows, to be checked."""
    return None if y is None else _each_block_checked(y, numbers if numeric else labels)


def watch_weights(w: Any, X: Any) -> Any:
    """Weights that come with streamed rows X, to be checked; a number is that of every row."""
    if isinstance(w, Real):
        if getattr(X, "once", False):
            raise ValueError(
                "one sample_weight for all rows of an iterator needs a second run over it: put "
                "the weights in its blocks (X, y, weights), or give a list of blocks."
            )
        w = map_rows(partial(_constant_vector, value=float(w)), X)
    if w is None:
        return None
    found = _each_block_checked(w, check := Weights())
    if is_dask(found):  # a number per row: little beside the rows, which no fit need read in vain
        check.total = float(found.sum().compute())
    if not isinstance(found, RowSource):
        check.finish()
    return found


def _each_block_checked(rows: Any, check: Callable[[Any], Any]) -> Any:
    if is_dask(rows):
        from kilogram.arrays.dask_rows import as_array

        rows = as_array(rows)
        if rows.ndim == 2 and check is not numbers:
            rows = rows[:, 0] if rows.shape[1] == 1 else check(np.empty((0, rows.shape[1])))
        return rows.map_blocks(check, dtype=rows.dtype, meta=rows._meta)
    if is_stream(rows):
        rows = RowStream(rows)
    return rows.watched(check) if isinstance(rows, RowSource) else check(as_block(rows))


def _constant_vector(X: Any, value: float) -> np.ndarray:
    return np.full(X.shape[0], value)


def as_target(y: Any) -> np.ndarray:
    """Targets in their own precision: float32 stays, whatever else is float64.

    The float type of X does not matter: with float32 features, timestamps as targets are not
    rounded to minutes.
    """
    y = np.asarray(y)
    return y if y.dtype == np.float32 else y.astype(np.float64, copy=False)


def numbers(y: Any) -> Any:
    """A block of targets, finite."""
    if to_numpy(y).dtype.kind == "O":
        y = to_numpy(y).astype(np.float64)  # None becomes NaN
    _refuse_not_finite(to_numpy(y), "y")
    return y


def labels(y: Any) -> Any:
    """A block of class labels (n,), one of them to a row, none missing."""
    y = _column(y, "y")
    here = to_numpy(y)
    if here.dtype.kind == "O" and any(label is None for label in here):
        raise ValueError("Input y contains None: leave out the rows without a label.")
    _refuse_not_finite(here, "y")
    if here.dtype.kind == "f" and here.size:
        check_classification_targets(here)
    return y


class Weights:
    """Blocks of weights (n,): finite, not negative, and not zero throughout."""

    def __init__(self) -> None:
        self.total = 0.0

    def __call__(self, w: Any) -> Any:
        w = _column(w, "sample_weight")
        here = to_numpy(w)
        _refuse_not_finite(here, "sample_weight")
        least = here.min() if here.size else 0.0
        if least < 0:
            raise ValueError(
                f"Negative values in data passed to `sample_weight`: the smallest is {least:g}."
            )
        self.total += float(here.sum())
        return w

    def finish(self) -> None:
        """Called when all rows were read."""
        if self.total == 0:
            raise ValueError("All sample weights are zero: no row would count. Give some a weight.")


def _column(block: Any, name: str) -> Any:
    """(n,) of a block that may have come as a column (n, 1)."""
    if block.ndim == 2 and block.shape[1] == 1:
        return block[:, 0]
    if block.ndim != 1:
        raise ValueError(
            f"{name} should be a 1d array, got an array of shape {tuple(block.shape)} instead."
        )
    return block


def _refuse_not_finite(block: np.ndarray, name: str) -> None:
    if block.dtype.kind != "f" or bool(np.isfinite(block).all()):
        return
    kind = "NaN" if bool(np.isnan(block).any()) else "infinity"
    raise ValueError(f"Input {name} contains {kind}: impute, or drop those rows first.")

"""Validation of streaming input: each block is checked for NaN and infinity as it is read.

Most fits see from their sums whether some value was NaN or infinite. A prediction has no such sum,
and what compares numbers (the nearest centre, the largest score) would turn NaN into a class.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from kilogram.arrays.namespace import float_dtype, is_dask, is_numpy, is_sparse, namespace
from kilogram.arrays.row_streams import RowStream, is_stream

FEW = 10_000  # OpenBLAS's ddot keeps to one thread up to so many values


def watch_rows(estimator: BaseEstimator, X: Any, finite: bool | str, *, named: bool = True) -> Any:
    """Streaming input X, checked as it is read; NaN passes where it is a missing value.

    `named`: the columns are those of the fit and have their names.
    """
    check = BlockCheck(estimator, finite, named)
    if is_dask(X):
        from kilogram.arrays.dask_rows import watch_blocks

        return watch_blocks(X, check)
    return (RowStream(X) if is_stream(X) else X).watched(check)


class BlockCheck:
    """Returns a block of rows if it is finite; sent to workers, so it holds names only."""

    def __init__(self, estimator: Any, finite: bool | str, named: bool) -> None:
        self.name = type(estimator).__name__
        self.columns = getattr(estimator, "feature_names_in_", None) if named else None
        #: where the check is left to a statistic, the tags of the estimator decide what NaN means
        self.missing = finite == "allow-nan" or (
            not finite and get_tags(estimator).input_tags.allow_nan
        )
        self.takes_missing = hasattr(estimator, "missing")

    def __call__(self, block: Any) -> Any:
        block = _as_floats(block)
        values = block.data if is_sparse(block) else block
        xp = namespace(values)
        if is_numpy(values) and math.isfinite(finite_sum(values)):  # half the time of a mask
            return block
        wrong = xp.isinf(values) if self.missing else ~xp.isfinite(values)
        if bool(xp.any(wrong)):
            kind = "NaN" if bool(xp.any(xp.isnan(values) & wrong)) else "infinity"
            self._refuse(block, kind)
        return block

    def _refuse(self, block: Any, kind: str) -> None:
        own = ' or give missing="em",' if kind == "NaN" and self.takes_missing else ""
        advice = f"does not accept missing values: fill them,{own} or leave those rows out"
        if kind == "infinity":
            advice = "needs finite numbers: mend those entries, or leave those rows out"
        raise ValueError(
            f"Input X contains {kind}{self._place(block, kind)}.\n{self.name} {advice}."
        )

    def _place(self, block: Any, kind: str) -> str:
        """Where it is: which column, and which row of its block, the one number that is known."""
        if is_sparse(block) or not is_numpy(block) or block.ndim != 2:
            return " in a block of its rows"
        i, j = np.argwhere(np.isnan(block) if kind == "NaN" else np.isinf(block))[0]
        names = self.columns  # a block may have more columns than they should be
        column = int(j) if names is None or j >= len(names) else names[j]
        return f", first in row {i} of column {column!r} of a block of {len(block)} rows"


def _as_floats(block: Any) -> Any:
    """A block in float32 or float64, as arrays in memory are after validation."""
    values = block.data if is_sparse(block) else block
    xp = namespace(values)
    if values.dtype in (xp.float32, xp.float64):
        return block
    if is_sparse(block):
        return block.astype(np.float64)
    return xp.astype(block, float_dtype(block, xp))


def finite_sum(X: np.ndarray) -> float:
    """A sum that is NaN or infinite if some value is: of squares, where they lie dense.

    Of a few by BLAS. On many it would start its threads, which then wait in a loop and take a core
    from whatever comes next.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if not (X.flags.c_contiguous or X.flags.f_contiguous):
            return float(X.sum())
        flat = (X if X.flags.c_contiguous else X.T).reshape(-1)
        if flat.size <= FEW:
            return float(np.dot(flat, flat))
        return float(np.einsum("i,i->", flat, flat))

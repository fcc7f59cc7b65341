"""Stochastic gradient steps on linear regressions, one row a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, vector


class LassoState(NamedTuple):
    """The iterate w (d,), the mean of the iterates (d,), and the intercepts of both (2,)."""

    w: Array
    mean: Array
    b: Array


class SingleRows(NamedTuple):
    """Entries row by row, columns and row starts (both None if dense)."""

    data: Array
    indices: Array | None
    indptr: Array | None


def online_lasso_pass(
    rows: SingleRows,
    y: Array,
    c: Array | None,
    order: Array,
    pace: tuple[float, float, float],
    intercept: bool,
    state: LassoState,
    steps: float,
) -> tuple[float, float]:
    """Proximal steps over the rows of `order`; the state changes in place.

    pace = (eta0, power, l1): step t = 1, 2, ... has the length eta0 t^-power, after `steps` earlier
    ones. Returns the sum of c (y - f)^2 / 2 before each step and the largest |x|^2 + 1.
    """
    weights = vector(c, len(y), np.dtype(np.float64), "c")
    found = _core.online_lasso_pass(
        rows.data, rows.indices, rows.indptr, np.ascontiguousarray(y, dtype=np.float64), weights,
        np.ascontiguousarray(order, dtype=np.int64), np.array(pace, dtype=np.float64), intercept,
        *state, steps,
    )  # fmt: skip
    return float(found[0]), float(found[1])

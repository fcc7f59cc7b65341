"""Validation of regression data: targets of one or several columns, in memory or streaming."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.arrays.row_streams import as_rows, stack_rows
from kilogram.arrays.rows import is_streamed, row_blocks
from kilogram.base import Estimator
from kilogram.solvers.least_squares.data import RegressionData


def validate_regression_data(
    model: Estimator,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    finite: bool | str = True,
    **checks: Any,
) -> RegressionData:
    """Validate X, y and weights; y becomes (n, t) unless it is streaming."""
    if is_streamed(X):
        X, y, sample_weight = as_rows(X, y, sample_weight)
    if y is None:
        name = type(model).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None")
    X, y, w = model._validate(X, y, sample_weight, finite=finite, **checks)
    if is_streamed(X):
        return RegressionData(X, y, w, None if getattr(y, "ndim", None) is None else y.ndim == 1)
    flat = y.ndim == 1
    return RegressionData(X, namespace(y).reshape(y, (-1, 1)) if flat else y, w, flat)


def gather_regression_data(model: Estimator, rows: RegressionData, **checks: Any) -> RegressionData:
    """Streaming rows as arrays in memory, in one pass over them; rows in memory as they are."""
    if not is_streamed(rows.X):
        return rows
    parts = list(zip(*row_blocks(rows.X, rows.Y, rows.w), strict=True))
    X, y, w = (None if part[0] is None else stack_rows(list(part)) for part in parts)
    names = getattr(model, "feature_names_in_", None)
    found = validate_regression_data(model, X, y, w, **checks)
    if names is not None:  # the gathered array has none of its own
        model.feature_names_in_ = names
    return found


def weighted_objective(residual: Any, w: Any, penalties: Sequence[float]) -> float:
    """sum_i w_i |residual_i|^2 + the penalties of the targets."""
    xp = namespace(residual)
    squares = xp.sum(residual * residual, axis=1)
    return float(xp.sum(squares if w is None else w * squares)) + sum(penalties)

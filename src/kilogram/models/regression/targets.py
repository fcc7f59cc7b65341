"""What both twins check at their door: targets of one or many columns, and their penalties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kilogram.arrays.namespace import namespace
from kilogram.arrays.rows import is_streamed, row_blocks
from kilogram.arrays.rows_stream import as_rows, stack_rows
from kilogram.base import Estimator
from kilogram.base.checks import numbers


class Rows(NamedTuple):
    """Rows X (n, d), targets Y (n, t) or a stream of them, weights w (n,) or None."""

    X: Any
    Y: Any
    w: Any
    #: Whether the targets came as one column without a second axis; None for streams yet unread.
    flat: bool | None


def enter_rows(
    model: Estimator, X: Any, y: Any, sample_weight: Any, *, finite: bool = True, **checks: Any
) -> Rows:
    """X, y and weights through the door; y becomes (n, t) unless it is streamed."""
    if is_streamed(X):
        X, y, sample_weight = as_rows(X, y, sample_weight)
    if y is None:
        name = type(model).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None")
    X, y, w = model._enter(X, y, sample_weight, finite=finite, **checks)
    if is_streamed(X):
        return Rows(X, y, w, None if getattr(y, "ndim", None) is None else y.ndim == 1)
    flat = y.ndim == 1
    return Rows(X, namespace(y).reshape(y, (-1, 1)) if flat else y, w, flat)


def enter_gathered(model: Estimator, rows: Rows) -> Rows:
    """Streamed rows as arrays in memory, in one run over them; in-memory rows as they are."""
    if not is_streamed(rows.X):
        return rows
    parts = list(zip(*row_blocks(rows.X, rows.Y, rows.w), strict=True))
    X, y, w = (None if part[0] is None else stack_rows(list(part)) for part in parts)
    names = getattr(model, "feature_names_in_", None)
    found = enter_rows(model, X, y, w)
    if names is not None:  # the gathered array has none of its own
        model.feature_names_in_ = names
    return found


def check_alpha(alpha: Any, targets: int) -> list[float]:
    """One penalty per target, as numbers >= 0."""
    values = numbers(alpha, "alpha").ravel().tolist()
    if not all(a >= 0 for a in values):  # also catches NaN
        raise ValueError(
            f"alpha must be a number >= 0, or one per target, got {alpha!r}: a negative penalty "
            "has no minimum. Use alpha=0 for least squares."
        )
    if len(values) == 1:
        return values * targets
    if len(values) != targets:
        raise ValueError(
            "Number of targets and number of penalties do not correspond: "
            f"{len(values)} penalties for {targets} targets. Give one alpha, or one per target."
        )
    return values


def weighted_objective(residual: Any, w: Any, penalties: Sequence[float]) -> float:
    """sum_i w_i |residual_i|^2 + the penalties of the targets."""
    xp = namespace(residual)
    squares = xp.sum(residual * residual, axis=1)
    return float(xp.sum(squares if w is None else w * squares)) + sum(penalties)


def as_given(column: Any, flat: bool | None) -> Any:
    """(n, t) back in the shape of the targets: (n,) if they came so."""
    return column[:, 0] if flat else column

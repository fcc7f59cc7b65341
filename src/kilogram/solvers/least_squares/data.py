"""The data of a regression problem, and one penalty for each of its targets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import (
    is_array,
    is_sparse,
    namespace,
    sum_dtype,
    to_numpy,
    wide_enough,
)


class RegressionData(NamedTuple):
    """Rows X (n, d), targets Y (n, t) or a stream of them, weights w (n,) or None."""

    X: Any
    Y: Any
    w: Any
    #: Whether y is one-dimensional; None for streams yet unread.
    flat: bool | None


def wide_floats(X: Any) -> Any:
    """X in float64 if the device has it: decompositions in float32 lose too many digits."""
    xp = namespace(X)
    return X.astype(xp.float64) if is_sparse(X) else xp.astype(X, sum_dtype(X, xp), copy=False)


def in_precision_of(coefficients: Any, block: Any) -> Any:
    """float32 rows in float64 if the coefficients are: targets may need all their digits.

    Sparse rows only where float32 has no such numbers: they would be copied.
    """
    if is_sparse(block):
        return wide_enough(block, coefficients)
    single = is_array(block) and "float32" in str(block.dtype)
    return wide_floats(block) if single and "float32" not in str(coefficients.dtype) else block


def in_one_precision(rows: RegressionData) -> RegressionData:
    """Dense float32 rows in float64 if their targets are: nothing rounds the targets then."""
    if is_array(rows.X) and is_array(rows.Y) and rows.X.dtype != rows.Y.dtype:
        w = None if rows.w is None else wide_floats(rows.w)
        return rows._replace(X=wide_floats(rows.X), Y=wide_floats(rows.Y), w=w)
    return rows


def check_alpha(alpha: Any, targets: int) -> list[float]:
    """One penalty per target, as floats of at least 0."""
    try:
        host = to_numpy(alpha) if hasattr(alpha, "shape") else alpha
        values = np.asarray(host, dtype=np.float64).ravel().tolist()
    except (TypeError, ValueError):
        raise ValueError(
            f"alpha must be a float of at least 0 or one per target, got {alpha!r}."
        ) from None
    if not all(a >= 0 for a in values):  # also catches NaN
        raise ValueError(
            f"alpha must be a float of at least 0 or one per target, got {alpha!r}. "
            "Use alpha=0 for least squares."
        )
    if len(values) == 1:
        return values * targets
    if len(values) != targets:
        raise ValueError(
            "Number of targets and number of penalties do not correspond: "
            f"{len(values)} penalties for {targets} targets. Give one alpha, or one per target."
        )
    return values

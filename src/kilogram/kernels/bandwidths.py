"""Widths of stationary kernels, given as a number or by a rule that looks at the data.

    gamma     the rate itself
    None      1 / d, scikit-learn's default for its kernel methods
    "scale"   1 / (d var(X)), scikit-learn's default for support vector machines
    "median"  the width is the median distance between two different rows of a sample

The median rule puts half of all pairs nearer than one width. Equal rows carry no scale: when they
are the majority, the median of the other distances is taken, and 1 if there are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from kilogram.arrays.memory import CACHED_ENTRIES
from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import column_count, reduce_rows, row_count, sample_rows

MEDIAN_ROWS = 1000  # rows in the sample of the median rule: half a million pairs
RULES = ("median", "scale")


def positive(name: str, value: Any, *, zero: bool = False) -> float:
    """A kernel parameter as a number, refused when negative (or zero, unless that is allowed)."""
    if isinstance(value, str) and value in RULES:
        raise ValueError(
            f"{name}={value!r} depends on the data: call kernel.resolve(X) with the training rows "
            "before computing the kernel"
        )
    if not isinstance(value, str) and np.ndim(value):
        raise ValueError(
            f"{name} is one number, got {value!r}; for a width per column give "
            "Stretched(kernel, scales)"
        )
    try:
        number = float(value) if isinstance(value, (Real, np.ndarray)) else math.nan
    except OverflowError:  # an integer beyond the range of floats
        number = math.inf
    if not (number > 0 or (zero and number == 0)) or math.isinf(number):
        bound = "of at least 0" if zero else "greater than 0"
        raise ValueError(f"{name} must be a float {bound}, got {value!r}.")
    return number


def check_rule(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse a rule that the parameter does not have, and what is no number."""
    if isinstance(value, str):
        if value not in allowed:
            raise ValueError(f"{name} must be a float or one of {allowed}, got {value!r}.")
    elif value is not None:
        positive(name, value, zero=True)


def only_one(sigma: Any, gamma: Any) -> None:
    """Refuse a kernel that was given two widths."""
    if sigma is not None and gamma is not None:
        raise ValueError(
            f"give sigma or gamma, not both: they are the same width (sigma={sigma!r}, "
            f"gamma={gamma!r})"
        )


def scale_rule(X: Any) -> float:
    """1 / (d var(X)) over all entries of X; 1 when they are all equal."""
    d, n = column_count(X), row_count(X)
    shift = _entry_sums(sample_rows(X, 1, np.random.default_rng(0)))[0] / d
    # sums about one row's mean: the variance of far-off data does not cancel
    step = max(1, CACHED_ENTRIES // d)
    s1, s2 = reduce_rows(lambda block: _entry_sums(block, shift), X, block_rows=step)
    variance = s2 / (n * d) - (s1 / (n * d)) ** 2
    return float(1.0 / (d * variance)) if variance > 0 else 1.0


def _entry_sums(block: Any, shift: float = 0.0) -> np.ndarray:
    """Sum and sum of squares of all entries minus shift; zeros of a sparse block only counted."""
    entries = block.data if is_sparse(block) else to_numpy(block)
    gaps = np.asarray(entries, dtype=np.float64) - shift
    zeros = block.shape[0] * block.shape[1] - gaps.size
    return np.asarray([gaps.sum() - zeros * shift, (gaps * gaps).sum() + zeros * shift**2])


def median_distance(X: Any, distances: Callable[[Any], Any]) -> float:
    """Median of distances(rows) over the pairs i < j of a fixed sample of the rows of X."""
    rows = sample_rows(X, MEDIAN_ROWS, np.random.default_rng(0))
    rows = rows if is_sparse(rows) else to_numpy(rows)
    D = distances(rows.astype(np.float64))
    pairs = D[np.triu_indices(D.shape[0], 1)]
    if pairs.size == 0 or not np.any(pairs > 0):
        return 1.0
    middle = float(np.median(pairs))
    return middle if middle > 0 else float(np.median(pairs[pairs > 0]))

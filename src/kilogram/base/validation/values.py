"""Validation of masked values, dates and sample weights.

`asarray` drops a mask, and what lies under it becomes data; dates become counts of some unit. Both
raise an error that names the remedy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
from numpy.exceptions import DTypePromotionError
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_consistent_length

from kilogram.arrays.frames import is_frame
from kilogram.arrays.namespace import is_array, is_sparse, to_numpy
from kilogram.arrays.rows import row_count
from kilogram.base.validation.locations import add_location

DATES = "holds dates or durations: give numbers, the days since some date for example."


def plain(
    values: Any, name: str, estimator: BaseEstimator | None = None, dates: bool = False
) -> Any:
    """Without a mask and, unless these are labels, without dates.

    To an estimator that takes NaN for a missing value, masked entries are NaN.
    """
    if name == "X":
        _refuse_no_table(values)
    if isinstance(values, np.ma.MaskedArray):
        hidden = int(np.ma.count_masked(values))
        if hidden and estimator is not None and get_tags(estimator).input_tags.allow_nan:
            return np.ma.filled(values.astype(np.float64), np.nan)
        if hidden:
            raise ValueError(
                f"Input {name} has {hidden} masked entries, missing values: impute them, or drop "
                "their rows first."
            )
        return values.data
    if name == "y" and is_sparse(values):
        raise TypeError(
            "Sparse data was passed for y, but dense data is required. Use '.toarray()' to convert "
            "to a dense numpy array."
        )
    if not dates and _has_dates(values):
        raise ValueError(f"Input {name} {DATES}")
    return values


def _refuse_no_table(X: Any) -> None:
    """What NumPy would make one number, one word or one object of."""
    if X is None:
        raise TypeError("X is None: give rows (n, d), one for each sample.")
    if isinstance(X, (str, bytes, PathLike)):
        raise TypeError(
            f"X is the text {X!r:.60}, not a table. To read a file: kilogram.open_rows(path), "
            "pandas.read_csv(path) and the like."
        )
    if isinstance(X, (Mapping, Set)) and not is_sparse(X):  # as the sparse kind "dok" is a dict
        raise TypeError(
            f"X is a {type(X).__name__}, whose columns have no order to rely on: make a data frame "
            "of it, or an array."
        )


def _has_dates(values: Any) -> bool:
    if not is_frame(values):
        return getattr(getattr(values, "dtype", None), "kind", "") in ("m", "M")
    types = getattr(values, "dtypes", ())  # of pandas and polars
    return any(getattr(kind, "kind", "") in ("m", "M") or _is_temporal(kind) for kind in types)


def _is_temporal(kind: Any) -> bool:
    return hasattr(kind, "is_temporal") and kind.is_temporal()


def canonical(X: Any) -> Any:
    """Sparse rows that hold each entry once, in order: a part of an entry is no entry."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


@contextmanager
def refused_kinds(X: Any, estimator: BaseEstimator) -> Iterator[None]:
    """Errors of NumPy and scikit-learn about entries of X, with the place of the entry."""
    try:
        yield
    except DTypePromotionError as error:
        raise TypeError(f"Input X or y {DATES}") from error
    except OverflowError as error:
        raise ValueError(
            f"Input X or y has a number beyond the range of floats: {error}."
        ) from error
    except ValueError as error:
        message = add_location(str(error), X, estimator)
        if message is None:
            raise
        raise ValueError(message) from error


def _numbers(weights: Any) -> Any:
    kind = getattr(getattr(weights, "dtype", None), "kind", "")
    if isinstance(weights, (str, dict)) or kind in ("U", "S"):
        raise TypeError(f"sample_weight must be numbers, one for each row, got {weights!r:.60}.")
    return weights


def validate_weights(sample_weight: Any, X: Any) -> Any:
    """Weights (n,) as floats, or None; negative, all-zero and boundless weights are errors."""
    if sample_weight is None:
        return None
    n = row_count(X)
    dtype = X.dtype if getattr(X, "dtype", None) in (np.float32, np.float64) else np.float64
    if isinstance(sample_weight, Real):
        if not math.isfinite(sample_weight):
            raise ValueError(f"sample_weight must be finite, got {sample_weight!r}.")
        w = np.full(n, sample_weight, dtype=dtype)
    else:
        here = to_numpy(sample_weight) if is_array(sample_weight) else sample_weight
        given = _numbers(plain(here, "sample_weight"))
        w = check_array(given, ensure_2d=False, dtype=dtype, input_name="sample_weight", order="C")
    if w.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {w.ndim}D array.")
    check_consistent_length(X, w)
    if w.shape[0] and w.min() < 0:
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: the smallest is {w.min():g}."
        )
    if w.shape[0] and not w.any():
        raise ValueError("All sample weights are zero: no row would count. Give some a weight.")
    with np.errstate(over="ignore"):
        total = float(w.sum())
    if 0 < total < np.finfo(w.dtype).smallest_normal:
        raise ValueError(
            f"The sample weights add up to {total:g}, too little for {w.dtype} to divide by: "
            "divide them by their mean."
        )
    if not math.isfinite(total):
        raise ValueError(
            f"The sample weights add up to more than {w.dtype} holds: divide them by their mean."
        )
    return w

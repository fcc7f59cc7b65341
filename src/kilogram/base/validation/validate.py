"""Validation of X, y and sample weights: whatever the container, the method sees floats.

Three kinds of input are accepted:

- NumPy arrays, sparse matrices, lists and data frames pass scikit-learn's own `validate_data`;
- arrays of another library (torch, CuPy, array-api-strict) are checked in that library;
- streaming input (Dask, Parquet, blocks) is checked for columns now, for values as it is read.

The search for NaN and infinity is left to the statistic wherever there is one: a sum over the rows
is not finite when some value is not, so the check costs no extra pass over the data. Streaming
input at prediction time (`reset=False`), or in a fit that asks for it, is checked block by block.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import device, to_device
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_array, check_X_y, validate_data

from kilogram.arrays.frames import column_names, is_frame, to_array
from kilogram.arrays.namespace import (
    float_dtype,
    is_array,
    is_numpy,
    is_sparse,
    like,
    namespace,
    sum_dtype,
    to_numpy,
)
from kilogram.arrays.row_streams import as_rows, refuse_single_rows
from kilogram.arrays.rows import column_count, is_streamed
from kilogram.base.validation.blocks import finite_sum, watch_rows
from kilogram.base.validation.targets import as_target, numbers, watch_targets, watch_weights
from kilogram.base.validation.values import canonical, plain, refused_kinds, validate_weights


class ValidatedData(NamedTuple):
    """Validated rows, targets and weights (the last two may be None)."""

    X: Any
    y: Any = None
    w: Any = None


def is_foreign(X: Any) -> bool:
    """An array of a library other than NumPy: it stays on its device."""
    return hasattr(X, "shape") and not (
        is_numpy(X) or is_sparse(X) or is_frame(X) or is_streamed(X)
    )


def validate(
    estimator: BaseEstimator,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    reset: bool = True,
    finite: bool | str = True,
    sparse: bool = True,
    numeric_y: bool = True,
    min_samples: int = 1,
    order: str | None = None,
    dtype: Any = (np.float64, np.float32),
    alone: bool = False,
) -> ValidatedData:
    """Check X (n, d), y (n,) or (n, t) and weights (n,).

    `finite=False` defers the search for NaN and infinity, "allow-nan" refuses infinity only.
    `alone`: no target belongs to X.
    """
    skip_validation = y is not None or not reset or alone  # else some estimators need a target
    if skip_validation and _is_valid(estimator, X, y, reset, finite, min_samples, order, dtype):
        if y is not None and numeric_y:
            y = as_target(y)
        return ValidatedData(X, y, validate_weights(sample_weight, X))
    if not is_foreign(X):  # targets and weights may still come from a device
        y, sample_weight = (to_numpy(a) if is_array(a) else a for a in (y, sample_weight))
    X, y, sample_weight = as_rows(X, y, sample_weight)  # blocks (X, y, w) are taken apart
    if is_streamed(X):
        refuse_single_rows(X)
        record_columns(estimator, column_count(X), _streamed_names(X), reset)
        y, w = watch_targets(y, numeric=numeric_y), watch_weights(sample_weight, X)
        left = reset and finite is not True  # to the sums of the fit
        return ValidatedData(X if left else watch_rows(estimator, X, finite), y, w)
    if is_foreign(X):
        return _validate_foreign(
            estimator, X, y, sample_weight, reset, finite, min_samples, numeric_y
        )
    X, y = plain(X, "X", estimator), plain(y, "y", dates=not numeric_y)
    params: dict[str, Any] = {
        "accept_sparse": ("csr", "csc") if sparse else False,
        "dtype": list(dtype),
        "order": order,
        "ensure_all_finite": finite,
        "ensure_min_samples": min_samples,
    }
    if y is not None:
        params |= {"multi_output": True, "y_numeric": numeric_y}
    # scikit-learn adds up all values first, which may overflow, as float16 does beyond 65504
    with refused_kinds(X, estimator), np.errstate(all="ignore"):
        if type(X).__module__.startswith("pyarrow") and is_frame(X):
            # scikit-learn reads pandas and polars itself; Arrow tables are ours to read
            X, y = _validate_arrow(estimator, X, y, reset, params)
        elif y is None:
            X = validate_data(estimator, X, reset=reset, **params)
        else:
            X, y = validate_data(estimator, X, y, reset=reset, **params)
    X = canonical(X) if is_sparse(X) else X
    if y is not None and numeric_y:
        y = numbers(as_target(y))
    return ValidatedData(X, y, validate_weights(sample_weight, X))


def validate_inverse_input(
    estimator: BaseEstimator, X: Any, k: int, entries: str, kept: str, *, sparse: bool = False
) -> Any:
    """Rows (n, k) for inverse_transform: the `entries` (scores, loadings) of k `kept`."""
    if is_streamed(X):
        X = watch_rows(estimator, as_rows(X)[0], True, named=False)
    elif not is_foreign(X):
        X = check_array(X, input_name="X", dtype=[np.float64, np.float32], accept_sparse=sparse)
    if column_count(X) != k:
        raise ValueError(
            f"X has {column_count(X)} {entries} per row, but the model has {k} {kept}."
        )
    return X


def _is_valid(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    reset: bool,
    finite: bool | str,
    min_samples: int,
    order: str | None,
    dtype: Any,
) -> bool:
    """Whether plain arrays would pass every check unchanged; in doubt they are checked.

    scikit-learn's checks take a tenth of a millisecond, half the time of a small `predict`.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in dtype:
        return False
    n, d = X.shape
    if n < max(min_samples, 1) or d < 1 or hasattr(estimator, "feature_names_in_"):
        return False
    if order == "F" or (order == "C" and not X.flags.c_contiguous):
        return False
    if not reset and getattr(estimator, "n_features_in_", None) != d:
        return False
    if y is not None and not _is_plain_target(y, n):
        return False
    if finite and not math.isfinite(finite_sum(X)):
        return False
    if reset:
        estimator.n_features_in_ = d
    return True


def _is_plain_target(y: Any, n: int) -> bool:
    """Numbers (n,) or (n, t), finite."""
    if type(y) is not np.ndarray or y.ndim not in (1, 2) or y.dtype.kind not in "iubf":
        return False
    if len(y) != n or y.size == 0:
        return False
    return y.dtype.kind != "f" or (y.flags.c_contiguous and math.isfinite(finite_sum(y)))


def _validate_arrow(
    estimator: BaseEstimator, X: Any, y: Any, reset: bool, params: dict[str, Any]
) -> tuple:
    record_columns(estimator, column_count(X), column_names(X), reset)
    if y is None:
        return check_array(to_array(X), estimator=estimator, **params), None
    return check_X_y(to_array(X), y, estimator=estimator, **params)


def _validate_foreign(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_weight: Any,
    reset: bool,
    finite: bool | str,
    min_samples: int,
    numeric_y: bool,
) -> ValidatedData:
    """Arrays of another library: rows, weights and targets on the device of X, labels on the host.

    Labels may be words, which no device holds; the few numbers made of them are put back later.
    """
    xp = namespace(X)
    name = type(estimator).__name__
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: {name} needs rows (n, d)."
        )
    if X.shape[0] < min_samples:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) (shape={tuple(X.shape)}) while a minimum "
            f"of {min_samples} is required by {name}."
        )
    if X.dtype not in (xp.float32, xp.float64):  # half precision too, as NumPy's is widened
        X = xp.astype(X, float_dtype(X, xp))
    if finite == "allow-nan":
        _raise_unless_finite(xp, xp.where(xp.isnan(X), xp.zeros_like(X), X), "X", name)
    elif finite:
        _raise_unless_finite(xp, X, "X", name)
    record_columns(estimator, X.shape[1], None, reset)
    if y is not None:
        y = _targets_like(y, X, xp) if numeric_y else plain(to_numpy(y), "y", dates=True)
        if y.shape[0] != X.shape[0]:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"[{X.shape[0]}, {y.shape[0]}]"
            )
        if numeric_y:
            _raise_unless_finite(xp, y, "y", name)
        elif y.dtype.kind == "f":
            assert_all_finite(y, input_name="y", estimator_name=name)
    if sample_weight is not None:
        on_host = validate_weights(to_numpy(sample_weight), np.empty((X.shape[0], 0)))
        sample_weight = like(on_host, X)
    return ValidatedData(X, y, sample_weight)


def _targets_like(y: Any, X: Any, xp: Any) -> Any:
    """Targets in the library and on the device of X, in their own precision."""
    widest = sum_dtype(X, xp)  # some devices lack float64
    if is_array(y) and namespace(y) is xp:
        y = to_device(y, device(X))
        return y if y.dtype == xp.float32 else xp.astype(y, widest, copy=False)
    y = as_target(to_numpy(y))
    y = y if widest == xp.float64 else y.astype(np.float32, copy=False)
    return xp.asarray(np.ascontiguousarray(y), device=device(X))


def record_columns(estimator: BaseEstimator, d: int, names: Any, reset: bool) -> None:
    """Remember, or compare with, the number and the names of the columns."""
    if d == 0:
        raise ValueError(
            f"Found array with 0 feature(s) while a minimum of 1 is required by "
            f"{type(estimator).__name__}."
        )
    if reset:
        estimator.n_features_in_ = d
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    if hasattr(estimator, "n_features_in_") and d != estimator.n_features_in_:
        raise ValueError(
            f"X has {d} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and names is not None and list(known) != list(names):
        raise ValueError(
            f"The feature names should match those that were passed during fit: fitted on "
            f"{list(known)[:5]}..., got {list(names)[:5]}...; bring the columns into that order."
        )


def _streamed_names(X: Any) -> Any:
    names = getattr(X, "columns", None)
    if names is None:
        return None
    listed = [str(name) for name in names]
    return listed if all(isinstance(name, str) for name in names) else None


def _raise_unless_finite(xp: Any, array: Any, what: str, name: str) -> None:
    if not xp.isdtype(array.dtype, "real floating"):
        return
    if bool(xp.all(xp.isfinite(array))):
        return
    kind = "NaN" if bool(xp.any(xp.isnan(array))) else "infinity"
    raise ValueError(f"Input {what} contains {kind}.\n{name} does not accept missing values.")


def raise_why_not_finite(estimator: BaseEstimator, X: Any, statistic: Any) -> None:
    """Called when a statistic came out not finite: name the cause the way scikit-learn does."""
    name = type(estimator).__name__
    if not is_streamed(X):
        if is_foreign(X):
            _raise_unless_finite(namespace(X), X, "X", name)
        else:
            with refused_kinds(X, estimator):
                check_array(
                    X, accept_sparse=True, estimator=estimator, input_name="X", ensure_min_samples=0
                )
        raise ValueError(
            f"{name}: the values of X are finite, but their squares overflow {X.dtype}. "
            "Divide the columns by their scale first (StandardScaler does)."
        )
    kind = "NaN" if bool(np.isnan(np.asarray(statistic)).any()) else "infinity"
    raise ValueError(
        f"Input X contains {kind} (or values whose squares overflow) in some block of its rows.\n"
        f"{name} does not accept missing values: impute or drop those rows first."
    )

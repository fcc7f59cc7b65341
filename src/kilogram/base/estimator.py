"""What every estimator is: scikit-learn's BaseEstimator with one door and declared laws."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import is_streamed
from kilogram.base.door import Door, enter, raise_why_not_finite
from kilogram.base.laws import Laws
from kilogram.base.progress import CallbackSupportMixin

FELT = float(np.finfo(np.float32).smallest_normal)  # squares above it have not underflowed


class Estimator(CallbackSupportMixin, BaseEstimator):
    """The contract: `__init__` stores, `fit` validates, calls one function and keeps the result."""

    laws: ClassVar[Laws] = Laws()

    def _enter(self, X: Any, y: Any = None, sample_weight: Any = None, **checks: Any) -> Door:
        """Validate X, y and weights; see `kilogram.base.door.enter`."""
        return enter(self, X, y, sample_weight, **checks)

    def _ensure_finite(self, statistic: Any, X: Any) -> None:
        """The deferred NaN search: `statistic` is a sum over the rows of X."""
        xp = namespace(statistic)
        if not bool(xp.all(xp.isfinite(statistic))):
            raise_why_not_finite(self, X, statistic)

    def _ensure_target(self, statistic: Any) -> None:
        """Refuse targets that are finite, but a sum of whose squares, `statistic`, is not."""
        xp = namespace(statistic)
        if not bool(xp.all(xp.isfinite(statistic))):
            raise ValueError(
                f"{type(self).__name__}: the values of y are finite, but their squares overflow. "
                "Divide y by its scale first."
            )

    def _ensure_squares(self, X: Any, dtype: Any = None) -> None:
        """Refuse rows in memory that are finite, but whose squared distances would not be."""
        far, kind = _reach(X, dtype)
        if far > 0.5 * (float(kind.max) / X.shape[1]) ** 0.5:
            raise_why_not_finite(self, X, namespace(X).asarray([far]))

    def _ensure_felt(self, X: Any, squares: Any = 0.0, dtype: Any = None) -> None:
        """Refuse rows in memory that are not 0 although their squares are: nothing varies then.

        `squares` is a sum of squared deviations, by which most rows are let in without a look.
        """
        if is_streamed(X) or float(squares) > FELT * math.prod(X.shape):
            return
        far, kind = _reach(X, dtype)
        if math.isnan(far):
            far, kind = _reach(_known(X), dtype)
        if 0 < far < float(kind.smallest_normal) ** 0.5:
            raise ValueError(
                f"{type(self).__name__}: the values of X are not 0, but so small that their "
                f"squares underflow {kind.dtype}. Multiply X by a large number first."
            )


def as_written(model: Any, name: str = "transform") -> Any:
    """A method without what `set_output` puts around it: one model asks another for arrays."""
    method = getattr(type(model), name)
    return partial(getattr(method, "__wrapped__", method), model)


def _known(X: Any) -> Any:
    """X with 0 for what is missing, by which no largest value is changed."""
    values = X.data if is_sparse(X) else X
    xp = namespace(values)
    return xp.where(xp.isnan(values), xp.zeros_like(values), values)


def _reach(X: Any, dtype: Any) -> tuple[float, Any]:
    """The largest size of a value, and what is known of its float type, or of another one."""
    values = X.data if is_sparse(X) else X
    xp = namespace(values)
    kind = xp.finfo(values.dtype) if dtype is None else np.finfo(dtype)
    if math.prod(values.shape) == 0:
        return 0.0, kind
    return max(float(xp.max(values)), -float(xp.min(values))), kind

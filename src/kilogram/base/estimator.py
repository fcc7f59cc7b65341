"""What every estimator is: scikit-learn's BaseEstimator with one door and declared laws."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.base.door import Door, enter, raise_why_not_finite
from kilogram.base.laws import Laws
from kilogram.base.progress import CallbackSupportMixin


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

    def _ensure_squares(self, X: Any, dtype: Any = None) -> None:
        """Refuse rows in memory that are finite, but whose squared distances would not be."""
        values = X.data if is_sparse(X) else X
        if math.prod(values.shape) == 0:
            return
        xp = namespace(values)
        far = max(float(xp.max(values)), -float(xp.min(values)))
        kind = xp.finfo(values.dtype) if dtype is None else np.finfo(dtype)
        most = float(kind.max)
        if far > 0.5 * (most / X.shape[1]) ** 0.5:
            raise_why_not_finite(self, X, xp.asarray([far]))

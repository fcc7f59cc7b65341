"""What every estimator is: scikit-learn's BaseEstimator with one door and declared laws."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from kilogram.arrays.namespace import namespace
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

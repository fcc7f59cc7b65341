"""The base class of every estimator: scikit-learn's, with validation, atomic fits and laws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.memory import ALWAYS_ALLOWED, human_bytes, memory_limit
from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import is_streamed
from kilogram.base.atomic_fit import make_fits_atomic
from kilogram.base.budget import Budget
from kilogram.base.constraints import Constraint
from kilogram.base.device_output import follow_rows
from kilogram.base.estimate import Estimate
from kilogram.base.laws import Laws
from kilogram.base.progress import CallbackSupportMixin
from kilogram.base.validation.validate import ValidatedData, raise_why_not_finite, validate
from kilogram.base.warnings import warn

UNDERFLOW = float(np.finfo(np.float32).smallest_normal)  # squares above it are exact


class Estimator(CallbackSupportMixin, BaseEstimator):
    """The contract: `__init__` stores, `fit` validates, calls one function and keeps the result."""

    laws: ClassVar[Laws] = Laws()
    #: What each constructor parameter may be; checked at the start of every fit.
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        make_fits_atomic(cls)
        follow_rows(cls)
        super().__init_subclass__(**kwargs)

    def _validate(
        self, X: Any, y: Any = None, sample_weight: Any = None, **checks: Any
    ) -> ValidatedData:
        """Validate X, y and weights; see `kilogram.base.validation.validate.validate`."""
        return validate(self, X, y, sample_weight, **checks)

    def _ensure_finite(self, statistic: Any, X: Any) -> None:
        """The deferred NaN search: `statistic` is a sum over the rows of X."""
        xp = namespace(statistic)
        if not bool(xp.all(xp.isfinite(statistic))):
            raise_why_not_finite(self, X, statistic)

    def _costs(self, n: int, d: int, method: str, seconds: float, size: float) -> Estimate:
        """The Estimate of one solver, of `size` bytes, against the memory limit."""
        limit = Budget(None, getattr(self, "max_memory", None)).bytes
        return Estimate(type(self).__name__, n, d, method, seconds, int(size), size <= limit)

    def _ensure_memory(
        self, needed: float, what: str, advice: str = "fewer columns (PCA makes some of many)"
    ) -> None:
        """Raise MemoryError before the work if `what` the fit stores exceeds the memory limit."""
        given = getattr(self, "max_memory", None)
        if given is None and needed <= ALWAYS_ALLOWED:
            return
        limit = memory_limit(given)
        if needed > limit:
            raise MemoryError(
                f"{type(self).__name__}: {what} need {human_bytes(int(needed))}, but the memory "
                f"limit is {human_bytes(limit)}. Use {advice}, or "
                f"{'a machine with more memory' if given is None else 'a larger max_memory'}."
            )

    def _begins_anew(self, sums: str, fitted: str) -> bool:
        """Whether `partial_fit` has no sums to add rows to; warn if there was a fit without."""
        if hasattr(self, sums):
            return False
        if hasattr(self, fitted):
            warn(
                f"{type(self).__name__}.partial_fit starts again with these rows: `fit` does not "
                "keep the sums over its rows that partial_fit would add to."
            )
        return True

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
        far, kind = _largest_magnitude(X, dtype)
        if far > 0.5 * (float(kind.max) / X.shape[1]) ** 0.5:
            raise_why_not_finite(self, X, namespace(X).asarray([far]))

    def _ensure_felt(self, X: Any, squares: Any = 0.0, dtype: Any = None) -> None:
        """Refuse rows in memory that are not 0 although their squares are: nothing varies then.

        `squares` is a sum of squared deviations, by which most data pass without a search.
        """
        if is_streamed(X) or float(squares) > UNDERFLOW * math.prod(X.shape):
            return
        far, kind = _largest_magnitude(X, dtype)
        if math.isnan(far):
            far, kind = _largest_magnitude(_missing_as_zero(X), dtype)
        if 0 < far < float(kind.smallest_normal) ** 0.5:
            raise ValueError(
                f"{type(self).__name__}: the values of X are not 0, but so small that their "
                f"squares underflow {kind.dtype}. Multiply X by a large number first."
            )


def as_written(estimator: BaseEstimator, name: str = "transform") -> Any:
    """A method without the wrapper of `set_output`: always arrays, for calls between estimators."""
    method = getattr(type(estimator), name)
    return partial(getattr(method, "__wrapped__", method), estimator)


def _missing_as_zero(X: Any) -> Any:
    """X with 0 for what is missing, by which no largest value is changed."""
    values = X.data if is_sparse(X) else X
    xp = namespace(values)
    return xp.where(xp.isnan(values), xp.zeros_like(values), values)


def _largest_magnitude(X: Any, dtype: Any) -> tuple[float, Any]:
    """The largest size of a value, and what is known of its float type, or of another one."""
    values = X.data if is_sparse(X) else X
    xp = namespace(values)
    kind = xp.finfo(values.dtype) if dtype is None else np.finfo(dtype)
    if math.prod(values.shape) == 0:
        return 0.0, kind
    return max(float(xp.max(values)), -float(xp.min(values))), kind

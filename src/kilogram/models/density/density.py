"""What densities share: log p(x) block by block, its sum over rows, rows in memory for a fit.

A density is 0 where nothing supports it: there log p(x) is -inf, which is a value, not an error. It
is never NaN. A constant column has no width to divide by; it gets width 1, so it adds nothing to
log p at its value.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import like, namespace
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Estimator
from kilogram.base.constraints import Integer, check_parameter
from kilogram.base.host_rows import as_float64, rows_in_memory, rows_of_positive_weight


def checked_n_samples(n_samples: Any) -> int:
    """The number of rows to draw."""
    check_parameter("n_samples", n_samples, Integer(0))
    return int(n_samples)


class DensityEstimator(DensityMixin, Estimator):
    """log p(x) of rows, and what follows from it."""

    @abstractmethod
    def _log_density(self, X: np.ndarray) -> np.ndarray:
        """log p of rows in host memory, (m,), float64."""

    def _validate_in_memory(self, X: Any, sample_weight: Any) -> tuple[Any, np.ndarray, Any]:
        """All rows in the library they came in; rows of positive weight and weights as float64."""
        X, _, w = self._validate(X, None, sample_weight, sparse=False)
        streamed = is_streamed(X)
        X, w = rows_in_memory(X, w)
        if streamed:
            self._ensure_finite(namespace(X).sum(X), X)
        return (X, *rows_of_positive_weight(X, w))

    def _score_block(self, block: Any) -> Any:
        return like(self._log_density(as_float64(block)), block)

    def score_samples(self, X: Any) -> Any:
        """log p of each row, (n,); -inf where the density is 0."""
        check_is_fitted(self)
        X = self._validate(X, reset=False, sparse=False).X
        return map_rows(self._score_block, X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The log likelihood of the rows: the (weighted) sum of log p."""
        check_is_fitted(self)
        X, _, w = self._validate(X, None, sample_weight, reset=False, sparse=False)
        rows, w = rows_of_positive_weight(*rows_in_memory(X, w))
        found = self._log_density(rows)
        return np.float64(found.sum() if w is None else w @ found)

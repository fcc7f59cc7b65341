"""What densities share: log p(x) block by block, their sum, rows gathered for a fit.

A density is 0 where nothing supports it: there log p(x) is -inf, which is an answer, not an error.
It is never NaN. A column that does not vary has no width to divide by; it gets width 1, so it adds
nothing to log p at its value.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, row_blocks
from kilogram.arrays.rows_stream import stack_rows
from kilogram.base import Estimator
from kilogram.base.checks import is_whole


def host(X: Any) -> np.ndarray:
    """An array of any library as float64 on the host."""
    return np.asarray(to_numpy(X), dtype=np.float64)


def generator(random_state: Any) -> np.random.Generator:
    """One generator from a seed, a RandomState or a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))


def check_count(model: Any, name: str, least: int = 1, *, none: bool = False) -> None:
    """A parameter that is a whole number of at least `least`, or None where that is allowed."""
    value = getattr(model, name)
    if value is None and none:
        return
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")


def draws_asked(n_samples: Any) -> int:
    """How many rows to draw, a whole number."""
    if not is_whole(n_samples) or n_samples < 0:
        raise ValueError(f"n_samples must be a whole number from 0, got {n_samples!r}.")
    return int(n_samples)


def gathered(X: Any, w: Any) -> tuple[Any, Any]:
    """Streamed rows as one array: what keeps or sorts all rows needs them in memory."""
    if not is_streamed(X):
        return X, w
    parts = list(zip(*row_blocks(X, w), strict=True))
    rows, weights = (None if part[0] is None else stack_rows(list(part)) for part in parts)
    return rows, weights


def counted(X: Any, w: Any) -> tuple[Any, Any]:
    """The rows of positive weight, on the host in float64, and their weights."""
    X = host(X)
    if w is None:
        return X, None
    w = host(w)
    return (X, w) if (w > 0).all() else (X[w > 0], w[w > 0])


class Density(DensityMixin, Estimator):
    """log p(x) of rows, and all that follows from it."""

    @abstractmethod
    def _log_density(self, X: np.ndarray) -> np.ndarray:
        """log p of rows on the host, (m,), float64."""

    def _enter_all(self, X: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """All rows in memory as they came, then those that count, on the host with weights."""
        X, _, w = self._enter(X, None, sample_weight, sparse=False)
        streamed = is_streamed(X)
        X, w = gathered(X, w)
        if streamed:
            self._ensure_finite(namespace(X).sum(X), X)
        return (X, *counted(X, w))

    def _answer(self, block: Any) -> Any:
        return like(self._log_density(host(block)), block)

    def score_samples(self, X: Any) -> Any:
        """log p of each row, (n,); -inf where the density is 0."""
        check_is_fitted(self)
        X = self._enter(X, reset=False, sparse=False).X
        return map_rows(self._answer, X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The log likelihood of the rows: the (weighted) sum of log p."""
        check_is_fitted(self)
        X, _, w = self._enter(X, None, sample_weight, reset=False, sparse=False)
        rows, w = counted(*gathered(X, w))
        found = self._log_density(rows)
        return float(found.sum() if w is None else w @ found)

"""Rank transform: every column to (0, 1) by the place of its values, and back.

    u_ij = rank_ij / (N + 1)          ranks from 1, equal values get their mean rank

No increasing map of a column changes u: what is left is how columns hang together, their copula.
New values lie between those of their neighbours, on a line; beyond the range they get the first or
the last u. `distribution="normal"` goes on to Phi^-1(u), normal scores. A weight counts as
repetitions do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import like, namespace
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Estimate, Estimator, Laws
from kilogram.base.constraints import Constraint, OneOf
from kilogram.base.host_rows import as_float64, rows_in_memory, rows_of_positive_weight
from kilogram.operators.cost import rates


def mean_ranks(x: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct values of x, sorted, their u = mean rank / (N + 1), and which of them each x is."""
    values, at = np.unique(x, return_inverse=True)
    weight = np.bincount(at, w, len(values)).astype(np.float64)
    before = np.cumsum(weight) - weight
    return values, (before + 0.5 * (weight + 1)) / (weight.sum() + 1), at


class RankTransform(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Columns by their ranks, ``u_ij = rank_ij / (N + 1)``: the copula transform.

    Parameters
    ----------
    distribution : {"uniform", "normal"}, default="uniform"
        Ranks over N + 1, or their normal scores.

    Attributes
    ----------
    values_ : list of d arrays
        The distinct values of each column, sorted.
    places_ : list of d arrays
        Ranks u of the stored values.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    CopulaDensity : A density of the ranks, times those of the columns.

    Examples
    --------
    >>> from kilogram import RankTransform
    >>> RankTransform().fit_transform([[2.0, 6.0], [5.0, 1.0], [3.0, 7.0]]).tolist()
    [[0.25, 0.5], [0.75, 0.25], [0.5, 0.75]]
    """

    laws: ClassVar[Laws] = Laws(
        sparse="ranks of zeros are not zeros: rows are dense",
        permutation="every column keeps its place",
    )

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "distribution": OneOf("uniform", "normal"),
    }

    def __init__(self, distribution: str = "uniform"):
        self.distribution = distribution

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Sort the columns of the rows X (n, d); y is ignored.

        Returns
        -------
        self
        """
        X, _, w = self._validate(X, None, sample_weight, sparse=False)
        streamed = is_streamed(X)
        X, w = rows_in_memory(X, w)
        if streamed:
            self._ensure_finite(namespace(X).sum(X), X)
        rows, w = rows_of_positive_weight(X, w)
        tables = [mean_ranks(rows[:, j], w) for j in range(rows.shape[1])]
        self.values_ = [values for values, _, _ in tables]
        self.places_ = [u for _, u, _ in tables]
        return self

    def transform(self, X: Any) -> Any:
        """u of the rows, (n, d)."""
        check_is_fitted(self)
        X = self._validate(X, reset=False, sparse=False).X
        return map_rows(self._forward, X)

    def inverse_transform(self, X: Any) -> Any:
        """The rows whose u are X, (n, d); between known values on a line."""
        check_is_fitted(self)
        X = self._validate(X, reset=False, sparse=False).X
        return map_rows(self._back, X)

    def _forward(self, block: Any) -> Any:
        X = as_float64(block)
        u = np.empty_like(X)
        for j, (values, places) in enumerate(zip(self.values_, self.places_, strict=True)):
            u[:, j] = np.interp(X[:, j], values, places)
        return like(ndtri(u) if self.distribution == "normal" else u, block)

    def _back(self, block: Any) -> Any:
        u = as_float64(block)
        u = ndtr(u) if self.distribution == "normal" else u
        X = np.empty_like(u)
        for j, (values, places) in enumerate(zip(self.values_, self.places_, strict=True)):
            X[:, j] = np.interp(u[:, j], places, values)
        return like(X, block)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 40.0 * n * d * np.log2(n + 2) / rates(8).multiply_adds
        return self._costs(n, d, "sorting the columns", work, 24 * n * d)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

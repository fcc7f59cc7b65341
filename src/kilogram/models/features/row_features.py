"""The base class of feature maps: parameters learned in `fit`, and a function of single rows.

A map defines what it learns (`_learn`) and the features of a block of rows (`_features`); the
containers of rows are handled here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.rows import map_rows
from kilogram.base import Estimator


class RowFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """phi(x), row by row, for rows of any container."""

    @abstractmethod
    def _learn(self, X: Any) -> None:
        """Store what `_features` needs of validated rows; set attributes last."""

    @abstractmethod
    def _features(self) -> Callable[[Any], Any]:
        """The function of a block of rows (b, d) that gives its features (b, D)."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the features depend on.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
        y : ignored
            Present for pipelines.

        Returns
        -------
        self
        """
        self._learn(self._validate(X).X)
        return self

    def transform(self, X: Any) -> Any:
        """phi of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)

        Returns
        -------
        Z : array of shape (n, D)
            In X's library and float type; lazy if X is a Dask collection or comes in blocks.
        """
        check_is_fitted(self)
        phi, name = self._features(), type(self).__name__

        def rows(block: Any) -> Any:
            try:
                with np.errstate(over="raise"):
                    return phi(block)
            except FloatingPointError:
                raise ValueError(
                    f"{name}: the values of X are finite, but their features overflow. Divide the "
                    "columns by their scale first (StandardScaler does)."
                ) from None

        return map_rows(rows, self._validate(X, reset=False).X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

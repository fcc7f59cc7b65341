"""Shared by the embeddings: coordinates of the training rows, and of new rows from these."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, like
from kilogram.arrays.rows import map_rows


class EmbeddingMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """`fit` leaves `embedding_` (n, k); `_place` finds the coordinates of a block of rows."""

    embedding_: Any

    @abstractmethod
    def _place(self, block: Any) -> Any:
        """Coordinates (m, k) of the rows of a block, in its library and float type."""

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def fit_transform(self: Any, X: Any, y: Any = None) -> Any:
        """Fit, and the coordinates of the training rows, (n, n_components)."""
        return self.fit(X).embedding_

    def transform(self: Any, X: Any) -> Any:
        """Coordinates of the rows of X, (m, n_components); training rows keep theirs."""
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        return map_rows(self._place, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def as_block(found: Any, block: Any) -> Any:
    """Host numbers in the library, on the device and in the float type of a block."""
    return found.astype(block.dtype) if is_sparse(block) else like(found, block)

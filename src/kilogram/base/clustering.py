"""Clustering estimators: the mixin, and the checks that relate their parameters to the data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import is_streamed, row_count
from kilogram.base import ConvergenceWarning


class CentreMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin):
    """A clusterer with centres: labels and distances of new rows."""

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the cluster of each training row, (n,)."""
        return self.fit(X, y, sample_weight=sample_weight).labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_row_count(X: Any, y: Any, n_clusters: int) -> None:
    """At least as many rows as clusters; y is not used, but must have as many rows as X."""
    if y is not None and not is_streamed(X):
        check_consistent_length(X, y)
    n = row_count(X)
    if n < n_clusters:
        raise ValueError(f"n_samples={n} should be >= n_clusters={n_clusters}. Use fewer clusters.")


def warn_if_duplicates(found: int, wanted: int) -> None:
    """Warn where fewer clusters than requested were found: there are fewer distinct rows."""
    if found < wanted:
        warnings.warn(
            f"Number of distinct clusters ({found}) found smaller than n_clusters ({wanted}). "
            "Possibly due to duplicate points in X. The model is usable as it is.",
            ConvergenceWarning,
            stacklevel=3,
        )


def first_labels(init: Any, n: int, k: int) -> np.ndarray:
    """Initial labels, integers from 0 to k - 1, one for each of n rows."""
    labels = np.asarray(to_numpy(init))
    whole = labels.shape == (n,) and labels.dtype.kind in "iub"
    if not whole or labels.min() < 0 or labels.max() >= k:
        raise ValueError(
            f"init must be an array of {n} initial labels, integers from 0 to {k - 1}, got shape "
            f"{labels.shape} and type {labels.dtype}."
        )
    return labels.astype(np.int64)

"""What the clusterers of this page share: their checks, and the answers read off centres."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, row_count
from kilogram.base import ConvergenceWarning
from kilogram.base.checks import number


class CentreMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin):
    """A clusterer with centres: labels and distances of new rows."""

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the cluster of each training row, (n,)."""
        model: Any = self
        return model.fit(X, y, sample_weight=sample_weight).labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_counts(model: Any) -> None:
    """n_clusters, max_iter, n_init and, where there is one, tol make sense."""
    for name in ("n_clusters", "max_iter"):
        value = getattr(model, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")
    starts = model.n_init
    if starts != "auto" and (not isinstance(starts, Integral) or starts < 1):
        raise ValueError(f"n_init must be 'auto' or an integer of at least 1, got {starts!r}.")
    if not number(getattr(model, "tol", 0)) >= 0:
        raise ValueError(f"tol must be 0 or more, got {model.tol!r}.")


def check_rows(model: Any, X: Any, y: Any, least: int | None = None) -> None:
    """Rows enough for the clusters, or `least`; y is not used, but must belong to these rows."""
    if y is not None and not is_streamed(X):
        check_consistent_length(X, y)
    n = row_count(X)
    if n < (model.n_clusters if least is None else least):
        raise ValueError(
            f"n_samples={n} should be >= n_clusters={model.n_clusters}: there is no way to fill "
            "more clusters than there are rows."
        )


def start_count(model: Any) -> int:
    """How many starts: an array or the farthest rows are one; draws at random need several."""
    init = model.init
    if not isinstance(init, str) and not callable(init):
        return 1
    if init == "farthest":
        return 1
    if model.n_init == "auto":
        return 10 if init == "random" or callable(init) else 1
    return int(model.n_init)


def generator(random_state: Any) -> np.random.Generator:
    """One generator for a fit, from a seed or a RandomState as scikit-learn takes them."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))


def warn_if_duplicates(found: int, wanted: int) -> None:
    """Fewer clusters than asked for: there are fewer distinct rows."""
    if found < wanted:
        warnings.warn(
            f"Number of distinct clusters ({found}) found smaller than n_clusters ({wanted}). "
            "Possibly due to duplicate points in X. The model is usable as it is.",
            ConvergenceWarning,
            stacklevel=3,
        )


def unit_rows(X: Any) -> Any:
    """Rows of length 1; rows of zeros stay."""
    if is_sparse(X):
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        scaled = X.tocsr(copy=True)
        scaled.data = scaled.data / np.repeat(
            np.where(norms > 0, norms, 1.0), np.diff(scaled.indptr)
        ).astype(X.dtype)
        return scaled
    xp = namespace(X)
    norms = xp.sqrt(xp.sum(X * X, axis=1))[:, None]
    return X / xp.where(norms > 0, norms, xp.ones_like(norms))


def answer_like(found: Any, block: Any) -> Any:
    """Numbers in the library, on the device and in the float type of a block of rows."""
    if is_sparse(block):
        return found.astype(block.dtype) if found.dtype.kind == "f" else found
    return like(found, block)


def host(X: Any) -> np.ndarray:
    """An array of any library, or a sparse one, as float64 on the host."""
    return np.asarray(to_numpy(X.toarray() if is_sparse(X) else X), dtype=np.float64)


def first_labels(init: Any, n: int, k: int) -> np.ndarray:
    """Labels to begin with, whole numbers below k, one for each of n rows."""
    labels = np.asarray(to_numpy(init))
    whole = labels.shape == (n,) and labels.dtype.kind in "iub"
    if not whole or labels.min() < 0 or labels.max() >= k:
        raise ValueError(
            f"init as an array holds the first label, a whole number from 0 to {k - 1}, of each of "
            f"{n} rows."
        )
    return labels.astype(np.int64)

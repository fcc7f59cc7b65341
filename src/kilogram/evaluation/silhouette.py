"""Silhouettes of a clustering, without a matrix of distances.

s_i = (b_i - a_i) / max(a_i, b_i): a_i the mean distance of row i to the others of its cluster, b_i
the least mean distance to the rows of another. 1: far from the others; 0: on a border; below 0:
nearer to another cluster; 0 in a cluster of one. Reference: Rousseeuw 1987.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d

from kilogram.arrays.frames import is_frame
from kilogram.arrays.namespace import is_numpy, is_sparse, to_numpy
from kilogram.arrays.rows import take_rows
from kilogram.base.constraints import Integer, Null, check_parameter
from kilogram.base.labels import plain_labels
from kilogram.base.validation.values import plain, validate_weights
from kilogram.solvers.lloyd.pairwise_distances import Distance
from kilogram.solvers.lloyd.silhouette import silhouettes


def silhouette_samples(
    X: Any, labels: Any, *, metric: Any = "euclidean", sample_weight: Any = None, **kwds: Any
) -> np.ndarray:
    """The silhouette of every row.

    Parameters
    ----------
    X : array-like of shape (n, d), or (n, n) distances if metric="precomputed"
    labels : array-like of shape (n,)
        The cluster of every row, 2 to n - 1 different ones.
    metric : str, Kernel or callable, default="euclidean"
        As in `KMedoids`.
    sample_weight : array-like of shape (n,) or None, default=None
        A weight counts as so many equal rows.
    **kwds
        More arguments of the metric.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> from kilogram import silhouette_samples
    >>> silhouette_samples([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]).round(3).tolist()
    [0.905, 0.895, 0.895, 0.905]
    """
    X, codes, w = _validated(X, labels, metric, sample_weight)
    return silhouettes(X, codes, w, Distance(metric, kwds).resolved(X))


def silhouette_score(
    X: Any,
    labels: Any,
    *,
    metric: Any = "euclidean",
    sample_size: int | None = None,
    random_state: Any = None,
    sample_weight: Any = None,
    **kwds: Any,
) -> float:
    """The mean silhouette of all rows, weighted; other parameters as in `silhouette_samples`.

    Parameters
    ----------
    sample_size : int or None, default=None
        Take so many rows, drawn at random, for all; n^2 d steps may be too many.
    random_state : int, RandomState or None, default=None
        Seed or generator for that draw.

    Examples
    --------
    >>> from kilogram import silhouette_score
    >>> round(silhouette_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 3)
    0.9
    """
    X, codes, w = _validated(X, labels, metric, sample_weight)
    if sample_size is not None:
        check_parameter("sample_size", sample_size, Integer(3, len(codes)) | Null())
        chosen = check_random_state(random_state).permutation(len(codes))[: int(sample_size)]
        rows, w = take_rows(X, chosen), None if w is None else w[chosen]
        X = rows[:, chosen] if Distance(metric).given else rows
        codes = _counted(codes[chosen])
    s = silhouettes(X, codes, w, Distance(metric, kwds).resolved(X))
    return float(np.average(s, weights=w))


def _validated(X: Any, labels: Any, metric: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Rows, labels as 0..k - 1 and weights on the host, that a silhouette can be made of."""
    if is_sparse(X) or is_numpy(X) or is_frame(X) or not hasattr(X, "shape"):
        X = check_array(plain(X, "X"), accept_sparse="csr", dtype=[np.float64, np.float32])
    names = np.asarray(to_numpy(labels))
    names = column_or_1d(plain_labels(names) if names.dtype.kind == "O" else names)
    check_consistent_length(X, names)
    if names.dtype.kind == "f" and np.isnan(names).any():
        raise ValueError("Input labels contains NaN: leave out the rows without a cluster.")
    given = to_numpy(sample_weight) if hasattr(sample_weight, "shape") else sample_weight
    w = validate_weights(given, np.empty((len(names), 0)))
    if isinstance(metric, str) and metric == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"metric='precomputed' needs a square matrix of distances, not {tuple(X.shape)}."
        )
    codes = _counted(names)
    if w is not None and np.bincount(codes, w).max() <= 1:
        raise ValueError(
            "the weights of every cluster add up to 1 or less: a weight counts as so many rows, "
            "and single rows have no silhouette. Divide the weights by their mean."
        )
    return X, codes, w


def _counted(names: np.ndarray) -> np.ndarray:
    """Labels as 0..k - 1, if k is neither 1 nor the number of rows."""
    found, codes = np.unique(names, return_inverse=True)
    if not 2 <= len(found) <= max(2, len(names) - 1) or len(names) < 3:
        raise ValueError(
            f"Number of labels is {len(found)}. Valid values are 2 to n_samples - 1 (inclusive): "
            "a silhouette compares a row's own cluster with the others."
        )
    return codes.reshape(-1)

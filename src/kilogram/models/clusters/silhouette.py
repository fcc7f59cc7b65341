"""Silhouettes of a clustering, without a matrix of distances.

s_i = (b_i - a_i) / max(a_i, b_i): a_i the mean distance of row i to the others of its cluster, b_i
the least mean distance to the rows of another. 1: far from the others; 0: on a border; below 0:
nearer to another cluster; 0 in a cluster of one. Reference: Rousseeuw 1987.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from kilogram.arrays.frames import is_frame
from kilogram.arrays.namespace import is_numpy, is_sparse, to_numpy
from kilogram.base.door_values import plain
from kilogram.solvers.cluster.pairs import Distance
from kilogram.solvers.cluster.silhouette import silhouettes


def silhouette_samples(
    X: Any, labels: Any, *, metric: Any = "euclidean", sample_weight: Any = None
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

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> from kilogram import silhouette_samples
    >>> silhouette_samples([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]).round(3).tolist()
    [0.905, 0.895, 0.895, 0.905]
    """
    if is_sparse(X) or is_numpy(X) or is_frame(X) or not hasattr(X, "shape"):
        X = check_array(plain(X, "X"), accept_sparse="csr", dtype=[np.float64, np.float32])
    names = np.asarray(to_numpy(labels))
    check_consistent_length(X, names)
    found, codes = np.unique(names, return_inverse=True)
    w = None if sample_weight is None else check_array(sample_weight, ensure_2d=False, dtype=float)
    if w is not None:
        check_consistent_length(X, w)
        if w.min() < 0:
            raise ValueError(f"sample_weight must not be negative, the least is {w.min():g}.")
        if not w.max() > 0:
            raise ValueError("all weights are zero: sample_weight leaves no row to look at.")
    if isinstance(metric, str) and metric == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"metric='precomputed' needs a square matrix of distances, not {tuple(X.shape)}."
        )
    if not 2 <= len(found) <= max(2, len(names) - 1) or len(names) < 3:
        raise ValueError(
            f"Number of labels is {len(found)}. Valid values are 2 to n_samples - 1 (inclusive): "
            "a silhouette compares a row's own cluster with the others."
        )
    return silhouettes(X, codes.reshape(-1), w, Distance(metric).resolved(X))


def silhouette_score(
    X: Any, labels: Any, *, metric: Any = "euclidean", sample_weight: Any = None
) -> float:
    """The mean silhouette of all rows, weighted; parameters as in `silhouette_samples`.

    Examples
    --------
    >>> from kilogram import silhouette_score
    >>> round(silhouette_score([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 3)
    0.9
    """
    s = silhouette_samples(X, labels, metric=metric, sample_weight=sample_weight)
    return float(
        np.average(s, weights=None if sample_weight is None else np.asarray(sample_weight))
    )

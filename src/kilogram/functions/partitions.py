"""Two clusterings of the same rows: how far apart they are, whatever their clusters are called."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment


def clustering_distance(a: Any, b: Any, sample_weight: Any = None) -> float:
    """The smallest fraction of rows in different clusters, over all ways to pair the clusters.

    min over pairings p of the clusters of  sum_i w_i [b_i != p(a_i)] / sum_i w_i: 0 for the same
    clustering under other names, symmetric, and it obeys the triangle inequality. The best pairing
    is an assignment problem, so k clusters take k^3 operations and not k! (Kuhn 1955).

    Parameters
    ----------
    a, b : array-like of shape (n,)
        The cluster of every row.
    sample_weight : array-like of shape (n,) or None, default=None

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from kilogram import clustering_distance
    >>> clustering_distance([0, 0, 1, 1], ["x", "x", "y", "y"])
    0.0
    >>> clustering_distance([0, 0, 1, 1], [0, 0, 0, 1])
    0.25
    """
    first, second = np.asarray(a), np.asarray(b)
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise ValueError(
            f"two clusterings of the same rows are needed, (n,) both: got {first.shape} and "
            f"{second.shape}."
        )
    w = np.ones(len(first)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if w.shape != first.shape or not w.sum() > 0 or w.min() < 0:
        raise ValueError("sample_weight needs one number, 0 or more, for every row, not all 0.")
    i, j = (np.unique(x, return_inverse=True)[1] for x in (first, second))
    table = np.zeros((int(i.max()) + 1, int(j.max()) + 1))
    np.add.at(table, (i, j), w)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return max(0.0, float(1.0 - table[rows, columns].sum() / w.sum()))

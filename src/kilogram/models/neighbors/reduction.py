"""Fewer training rows for nearest-neighbour rules.

condensed   Hart 1968: rows that those kept so far misclassify are added, until none is left.
            Under the 1-nearest-neighbour rule of the rows kept all rows keep their class.
edited      Wilson 1972: rows that the vote of their k neighbours misclassifies are removed;
            what is left has smooth boundaries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Integer, check_parameter
from kilogram.base.random_state import as_generator
from kilogram.solvers.neighbors.nearest import nearest

Array = np.ndarray[Any, np.dtype[Any]]


def condensed_neighbors(X: Any, y: Any, *, random_state: Any = None) -> Array:
    """Positions of a subset of rows that classifies all rows as their labels are.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    random_state : int, RandomState or None, default=None
        Order in which rows are visited.

    Returns
    -------
    indices : ndarray, sorted

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import condensed_neighbors
    >>> X = np.arange(20.0)[:, None]
    >>> len(condensed_neighbors(X, X[:, 0] > 9.5, random_state=0)) < 10
    True
    """
    X, y = np.asarray(to_numpy(X), dtype=np.float64), np.asarray(to_numpy(y))
    _check_pair(X, y)
    order = as_generator(random_state).permutation(len(y))
    kept = [int(order[0])]
    gaps = np.sum((X - X[kept[0]]) ** 2, axis=1)
    owner = np.full(len(y), kept[0])
    while True:
        wrong = order[y[owner[order]] != y[order]]
        if not len(wrong):
            return np.sort(np.asarray(kept))
        new = int(wrong[0])
        kept.append(new)
        squares = np.sum((X - X[new]) ** 2, axis=1)
        nearer = squares < gaps
        nearer[new] = True
        gaps[nearer], owner[nearer] = squares[nearer], new
        if len(kept) == len(y):
            return np.arange(len(y))


def edited_neighbors(X: Any, y: Any, *, n_neighbors: int = 3) -> Array:
    """Positions of the rows whose class agrees with the vote of their neighbours.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    n_neighbors : int, default=3

    Returns
    -------
    indices : ndarray, sorted

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import edited_neighbors
    >>> X = np.r_[np.arange(5.0), np.arange(20.0, 25.0)][:, None]
    >>> y = np.r_[np.zeros(5, int), np.ones(5, int)]
    >>> y[2] = 1
    >>> edited_neighbors(X, y).tolist()
    [0, 1, 3, 4, 5, 6, 7, 8, 9]
    """
    check_parameter("n_neighbors", n_neighbors, Integer(1))
    X, y = np.asarray(to_numpy(X), dtype=np.float64), np.asarray(to_numpy(y))
    _check_pair(X, y)
    k = min(int(n_neighbors), len(y) - 1)
    if k < 1:
        return np.arange(len(y))
    classes, codes = np.unique(y, return_inverse=True)
    votes = np.zeros((len(y), len(classes)))
    np.add.at(votes, (np.arange(len(y))[:, None], codes[nearest(X, k).indices]), 1.0)
    return np.flatnonzero(votes[np.arange(len(y)), codes] >= votes.max(axis=1))


def _check_pair(X: Array, y: Array) -> None:
    if X.ndim != 2 or y.shape != (len(X),) or not len(y):
        raise ValueError(f"X must be (n, d) and y (n,) with n >= 1, got {X.shape} and {y.shape}.")

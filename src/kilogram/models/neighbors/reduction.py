"""Fewer training rows for nearest-neighbour rules.

condensed   Hart 1968: rows that those kept so far misclassify are added, until none is left.
            Under the 1-nearest-neighbour rule of the rows kept all rows keep their class.
edited      Wilson 1972: rows that the vote of their k neighbours misclassifies are removed;
            what is left has smooth boundaries. By Voronoi cells: rows all of whose neighbours in
            the diagram have their class are removed; the boundary of one nearest neighbour stays.
prototypes  the centres of k-means in every class, with the label of the class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import Delaunay
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Integer, OneOf, check_parameter
from kilogram.base.random_state import as_generator
from kilogram.solvers.lloyd.kmeans import KMeansSettings, fit_kmeans
from kilogram.solvers.neighbors.nearest import nearest

Array = np.ndarray[Any, np.dtype[Any]]


def condensed_neighbors(X: Any, y: Any, *, random_state: Any = None) -> Array:
    """Positions of a subset of rows whose nearest-neighbour rule classifies all rows correctly.

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
    X, y = _labelled_rows(X, y)
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


def edited_neighbors(X: Any, y: Any, *, n_neighbors: int = 3, method: str = "vote") -> Array:
    """Positions of the training rows that remain after editing out misleading ones.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    n_neighbors : int, default=3
        Number of neighbours that vote, for method="vote".
    method : {"vote", "voronoi"}, default="vote"
        "vote" keeps the rows whose class agrees with the vote of their neighbours, which smooths
        the boundary. "voronoi" keeps the rows with a Voronoi neighbour of another class: one
        nearest neighbour among them predicts what it predicts among all rows. Its cost grows like
        n to the power d / 2: for a few columns.

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
    check_parameter("method", method, OneOf("vote", "voronoi"))
    X, y = _labelled_rows(X, y)
    if method == "voronoi":
        return _beside_another_class(X, y)
    k = min(int(n_neighbors), len(y) - 1)
    if k < 1:
        return np.arange(len(y))
    classes, codes = np.unique(y, return_inverse=True)
    votes = np.zeros((len(y), len(classes)))
    np.add.at(votes, (np.arange(len(y))[:, None], codes[nearest(X, k).indices]), 1.0)
    return np.flatnonzero(votes[np.arange(len(y)), codes] >= votes.max(axis=1))


def class_prototypes(
    X: Any, y: Any, *, n_prototypes: int = 10, random_state: Any = None
) -> tuple[Array, Array]:
    """Cluster centres of each class, by k-means: few rows for a nearest-neighbour classifier.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    n_prototypes : int, default=10
        Of each class; all distinct rows of a class that has fewer.
    random_state : int, RandomState, Generator or None, default=None
        Seed or generator for the first centres.

    Returns
    -------
    prototypes : ndarray of shape (p, d)
    labels : ndarray of shape (p,)
        The class of each prototype.

    Examples
    --------
    >>> from kilogram import KNeighborsClassifier, class_prototypes, make_two_moons
    >>> X, y = make_two_moons(1000, random_state=0)
    >>> P, labels = class_prototypes(X, y, n_prototypes=8, random_state=0)
    >>> P.shape
    (16, 2)
    >>> bool(KNeighborsClassifier(1).fit(P, labels).score(X, y) > 0.98)
    True
    """
    check_parameter("n_prototypes", n_prototypes, Integer(1))
    X, y = _labelled_rows(X, y)
    rng = as_generator(random_state)
    parts = [(_centers(X[y == c], int(n_prototypes), rng), c) for c in np.unique(y)]
    counts = [len(P) for P, _ in parts]
    return np.vstack([P for P, _ in parts]), np.repeat(np.array([c for _, c in parts]), counts)


def _centers(rows: Array, k: int, rng: np.random.Generator) -> Array:
    """Centres of k-means, or the distinct rows where there are no more than k."""
    distinct = np.unique(rows, axis=0)
    if len(distinct) <= k:
        return distinct
    return fit_kmeans(rows, None, KMeansSettings(k), rng).centers


def _beside_another_class(X: Array, y: Array) -> Array:
    """Rows that share a facet of the Voronoi diagram with a row of another class."""
    places, first, copies = np.unique(X, axis=0, return_index=True, return_inverse=True)
    labels = y[first]
    if (labels[copies.ravel()] != y).any():
        raise ValueError("equal rows have different classes: method='voronoi' has no answer there.")
    n, d = places.shape
    if d == 1:
        pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    elif np.linalg.matrix_rank(places - places[0]) < d or n < d + 2:
        return np.sort(first)  # too few or in a plane: no diagram, all are kept
    else:
        corners = Delaunay(places).simplices
        pairs = np.vstack([corners[:, [a, b]] for a in range(d + 1) for b in range(a)])
    differ = labels[pairs[:, 0]] != labels[pairs[:, 1]]
    kept = np.unique(pairs[differ])
    return np.sort(first[kept]) if len(kept) else np.sort(first[:1])  # one class: any row will do


def _labelled_rows(X: Any, y: Any) -> tuple[Array, Array]:
    """Rows (n, d) of finite numbers and labels (n,) of classes."""
    X, y = np.asarray(to_numpy(X), dtype=np.float64), np.asarray(to_numpy(y))
    if X.ndim != 2 or y.shape != (len(X),) or not len(y):
        raise ValueError(f"X must be (n, d) and y (n,) with n >= 1, got {X.shape} and {y.shape}.")
    assert_all_finite(X, input_name="X")
    check_classification_targets(y)
    return X, y

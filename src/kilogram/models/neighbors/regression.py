"""Regression by the (weighted) mean of the neighbours' targets."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Laws
from kilogram.base.constraints import Function, Integer, Null, OneOf, Real
from kilogram.base.device_output import like_rows
from kilogram.base.fitted import check_is_fitted
from kilogram.models.neighbors.base import (
    NO_WEIGHT,
    SEARCH_CONSTRAINTS,
    KNeighborsMixin,
    NeighborsBase,
    RadiusNeighborsMixin,
    warn_empty,
)
from kilogram.models.neighbors.vote_weights import (
    vote_weights,
    votes_of_first,
    votes_within,
)

Array = np.ndarray[Any, np.dtype[Any]]
NOT_PRINTED = "no text prints it: the mean of the rows that KNeighborsClassifier's version finds"


class NeighborsRegressor(MultiOutputMixin, RegressorMixin, NeighborsBase):
    """Targets of the training rows, and means of those of the neighbours."""

    weights: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the training rows and their targets.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Rows that stream are gathered.
        y : array-like of shape (n,) or (n, n_targets)

        Returns
        -------
        self
        """
        if y is None and not is_streamed(X):
            name = type(self).__name__
            raise ValueError(f"This {name} requires y to be passed, but the target y is None")
        X, y = self._gather(X, y)
        self._fit_search(X)
        self._y = np.asarray(to_numpy(y))
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R2 on rows X, or on the training rows, each predicted by the others, if X is None.

        Parameters
        ----------
        X : array-like, sparse matrix or None
        y : array-like of shape (m,) or (m, n_targets)
        sample_weight : array-like of shape (m,), default=None

        Returns
        -------
        r2 : float
        """
        return float(
            r2_score(to_numpy(y), to_numpy(self.predict(X)), sample_weight=to_numpy(sample_weight))
        )

    def _means(self, queries: Any, Y: Array) -> Array:
        """Predictions (m, t) from targets Y (n, t); of None for the training rows by the others."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """The mean target of the neighbours of each row of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d), or None
            None: the training rows, each predicted by the others.

        Returns
        -------
        y : array of shape (m,) or (m, n_targets)
        """
        check_is_fitted(self)
        flat = self._y.ndim == 1
        Y = np.asarray(self._y[:, None] if flat else self._y, dtype=np.float64)
        if X is None:
            found = self._means(None, Y)
            return found[:, 0] if flat else found
        X = self._validate(X, reset=False).X

        def rows(block: Any) -> Any:
            found = self._means(self._readable(block), Y)
            found = found[:, 0] if flat else found
            return like_rows(found, block, wide=self._y.dtype != np.float32)

        return map_rows(rows, X) if is_streamed(X) else rows(X)


class KNeighborsRegressor(KNeighborsMixin, NeighborsRegressor):
    """Regression by the mean of the k nearest training rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Weights of the neighbours, from their distances.
    algorithm, leaf_size, p, metric, metric_params, n_jobs
        As in `NearestNeighbors`.

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric used.
    effective_metric_params_ : dict
        Parameters of the metric used.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from kilogram import KNeighborsRegressor
    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> model.predict([[1.4]]).tolist()
    [2.5]
    """

    laws: ClassVar[Laws] = Laws(weight=NO_WEIGHT, textbook=NOT_PRINTED)
    parameter_constraints: ClassVar = {
        "n_neighbors": Integer(1),
        "weights": OneOf("uniform", "distance") | Function() | Null(),
        **SEARCH_CONSTRAINTS,
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: Any = None,
        n_jobs: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def _means(self, queries: Any, Y: Array) -> Array:
        distances, places = self._neighbors(queries, int(self.n_neighbors))
        votes = vote_weights(self.weights, distances)
        if votes is None:
            return Y[places].mean(axis=1)
        return np.einsum("mk,mkt->mt", votes, Y[places]) / votes.sum(axis=1, keepdims=True)

    def leave_one_out_scores(self, max_neighbors: int = 30) -> Array:
        """R2 of the training rows predicted by the others, for k = 1, ..., max_neighbors.

        Parameters
        ----------
        max_neighbors : int, default=30
            The largest k; at most one less than the training rows.

        Returns
        -------
        scores : ndarray of shape (max_neighbors,)
            Of several targets the mean.
        """
        distances, places = self._leave_one_out(max_neighbors)
        Y = np.asarray(self._y, dtype=np.float64).reshape(len(self._y), -1)
        total, mass = np.zeros_like(Y), np.zeros((len(Y), 1))
        scores = np.empty(distances.shape[1])
        for k, votes in enumerate(votes_of_first(self.weights, distances)):
            if votes.ndim == 2:  # those of a callable may depend on k
                total = np.einsum("mk,mkt->mt", votes, Y[places[:, : k + 1]])
                mass = votes.sum(axis=1, keepdims=True)
            else:
                total += votes[:, None] * Y[places[:, k]]
                mass += votes[:, None]
            scores[k] = r2_score(Y, total / mass)
        return scores


class RadiusNeighborsRegressor(RadiusNeighborsMixin, NeighborsRegressor):
    """Regression by the mean of all training rows within a radius.

    Parameters
    ----------
    radius : float, default=1.0
        Rows within this distance are neighbours.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Weights of the neighbours, from their distances.
    algorithm, leaf_size, p, metric, metric_params, n_jobs
        As in `NearestNeighbors`.

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric used.
    effective_metric_params_ : dict
        Parameters of the metric used.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from kilogram import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(radius=1.0).fit([[0.0], [1.0], [4.0]], [0.0, 1.0, 9.0])
    >>> model.predict([[0.5]]).tolist()
    [0.5]
    """

    laws: ClassVar[Laws] = Laws(
        weight=NO_WEIGHT,
        textbook=NOT_PRINTED,
        example={"radius": 50.0, "weights": "distance"},
    )
    parameter_constraints: ClassVar = {
        "radius": Real(0),
        "weights": OneOf("uniform", "distance") | Function() | Null(),
        **SEARCH_CONSTRAINTS,
    }

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: Any = None,
        n_jobs: Any = None,
    ):
        self.radius = radius
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def _means(self, queries: Any, Y: Array) -> Array:
        m = len(Y) if queries is None else queries.shape[0]
        out = np.full((m, Y.shape[1]), np.nan)
        empty = 0
        for block, found in self._blocks_within(queries, float(self.radius)):
            size = (block.stop - block.start, len(Y))
            votes = votes_within(self.weights, found)
            votes = sp.csr_array((votes, found.indices, found.start), size)
            some = np.diff(found.start) > 0
            empty += int((~some).sum())
            mass = np.asarray(votes.sum(axis=1)).reshape(-1, 1)
            out[block][some] = (votes @ Y)[some] / mass[some]
        if empty:
            warn_empty(empty, float(self.radius))
        return out

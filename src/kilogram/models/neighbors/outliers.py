"""Outliers by the distance of their neighbours, and by the density of their neighbourhood.

d_k(a)      = distance of a to its k-th neighbour (Ramaswamy, Rastogi and Shim 2000), or the mean or
              median distance of the k

Local outlier factor (Breunig, Kriegel, Ng and Sander 2000):

reach(a, b) = max(d_k(b), d(a, b))                 d_k(b): distance of b to its k-th neighbour
density(a)  = 1 / mean over the neighbours b of a of reach(a, b)
LOF(a)      = mean over the neighbours b of a of density(b) / density(a)

The factor is about 1 inside a cluster.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length

from kilogram.arrays.namespace import is_sparse, like
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Laws
from kilogram.base.constraints import Boolean, Integer, OneOf, Real
from kilogram.base.fitted import check_is_fitted
from kilogram.models.neighbors.base import (
    NO_WEIGHT,
    SEARCH_CONSTRAINTS,
    KNeighborsMixin,
    NeighborsBase,
)

Array = np.ndarray[Any, np.dtype[Any]]

#: Bounds the density of rows at distance 0 from all their neighbours, as in scikit-learn.
LEAST_REACH = 1e-10
#: Factors above it come from neighbours at distance 0, as in scikit-learn.
FACTOR_BESIDE_COPIES = 1e7


def _for_new_rows(self: Any) -> bool:
    if not self.novelty:
        raise AttributeError(
            f"New rows cannot be judged when novelty=False: {type(self).__name__} judges the rows "
            "of its fit (fit_predict, negative_outlier_factor_). Use novelty=True for new rows."
        )
    return True


def _for_own_rows(self: Any) -> bool:
    if self.novelty:
        raise AttributeError(
            "fit_predict is not available when novelty=True: use fit, then predict."
        )
    return True


class NeighborOutliers(KNeighborsMixin, OutlierMixin, NeighborsBase):
    """Scores of outliers from neighbours; a training row is none of its own."""

    novelty: bool
    contamination: Any

    def _fit_factors(self, distances: Array, places: Array) -> Array:
        """The factors (n,) of the training rows, large for outliers."""
        raise NotImplementedError

    def _factors(self, distances: Array, places: Array) -> Array:
        """The factors of new rows."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the training rows and score each of them among the others.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        if y is not None and not is_streamed(X):
            check_consistent_length(X, y)
        X, _ = self._gather(X, min_samples=2)
        self._fit_search(X)
        n = self.n_samples_fit_
        if self.n_neighbors > n - 1:
            warnings.warn(
                f"n_neighbors ({self.n_neighbors}) is greater than the number of other rows; "
                f"n_neighbors is set to {n - 1}.",
                stacklevel=2,
            )
        self.n_neighbors_ = max(1, min(int(self.n_neighbors), n - 1))
        factors = self._fit_factors(*self._neighbors(None, self.n_neighbors_))
        self.negative_outlier_factor_ = -factors
        if isinstance(self.contamination, str):  # "auto"
            self.offset_ = -1.5
        else:
            fraction = 100.0 * float(self.contamination)
            self.offset_ = float(np.percentile(self.negative_outlier_factor_, fraction))
        return self

    @available_if(_for_own_rows)
    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """-1 for outliers among the rows of X, 1 for the others."""
        self.fit(X)
        return np.where(self.negative_outlier_factor_ < self.offset_, -1, 1)

    @available_if(_for_new_rows)
    def score_samples(self, X: Any) -> Any:
        """Minus the outlier factors of new rows: the smaller, the more of an outlier."""
        return self._mapped(X, lambda factors: -factors)

    @available_if(_for_new_rows)
    def decision_function(self, X: Any) -> Any:
        """`score_samples` less `offset_`: negative for outliers."""
        return self._mapped(X, lambda factors: -factors - self.offset_)

    @available_if(_for_new_rows)
    def predict(self, X: Any) -> Any:
        """-1 for outliers among new rows, 1 for the others."""
        return self._mapped(X, lambda factors: np.where(-factors < self.offset_, -1, 1))

    def _mapped(self, X: Any, f: Callable[[Array], Array]) -> Any:
        """f of the outlier factors of new rows, in their library."""
        check_is_fitted(self)
        X = self._validate(X, reset=False).X

        def rows(block: Any) -> Any:
            distances, places = self._neighbors(self._readable(block), self.n_neighbors_)
            found = f(self._factors(distances, places))
            return found if is_sparse(block) else like(found, block)

        return map_rows(rows, X) if is_streamed(X) else rows(X)


class LocalOutlierFactor(NeighborOutliers):
    """Outliers by density: rows whose neighbourhood is sparser than those of their neighbours.

    Takes scikit-learn's parameters.

    Parameters
    ----------
    n_neighbors : int, default=20
        Neighbours of a row; at most one less than the rows.
    algorithm, leaf_size, metric, p, metric_params, n_jobs
        As in `NearestNeighbors`.
    contamination : "auto" or float, default="auto"
        Fraction of outliers, in (0, 0.5]; "auto": factors above 1.5.
    novelty : bool, default=False
        Judge new rows (`predict`, `score_samples`) instead of those of the fit (`fit_predict`).

    Attributes
    ----------
    negative_outlier_factor_ : ndarray of shape (n,)
        Minus the factor of each training row: about -1 inside, much less for outliers.
    n_neighbors_ : int
        Number of neighbours used.
    offset_ : float
        Threshold of the score: rows below it are outliers.
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
    >>> from kilogram import LocalOutlierFactor
    >>> LocalOutlierFactor(n_neighbors=2).fit_predict([[0.0], [0.2], [0.1], [9.0]]).tolist()
    [1, 1, 1, -1]
    """

    laws: ClassVar[Laws] = Laws(
        weight=NO_WEIGHT,
        textbook="no text prints it (Breunig et al. 2000)",
        example={"novelty": True, "n_neighbors": 10},
    )
    parameter_constraints: ClassVar = {
        "n_neighbors": Integer(1),
        **SEARCH_CONSTRAINTS,
        "contamination": OneOf("auto") | Real(0, 0.5, closed="right"),
        "novelty": Boolean(),
    }

    def __init__(
        self,
        n_neighbors: int = 20,
        *,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: Any = None,
        contamination: Any = "auto",
        novelty: bool = False,
        n_jobs: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.contamination = contamination
        self.novelty = novelty
        self.n_jobs = n_jobs

    def _fit_factors(self, distances: Array, places: Array) -> Array:
        self._reach_of_last = distances[:, -1]
        self._density = _density(distances, self._reach_of_last[places])
        factors = np.asarray(np.mean(self._density[places] / self._density[:, None], axis=1))
        if not self.novelty and factors.max() > FACTOR_BESIDE_COPIES:
            warnings.warn(
                "Duplicate values are leading to incorrect results: rows have more copies than "
                f"n_neighbors_={self.n_neighbors_}, so their density is unbounded. Increase "
                "n_neighbors, or drop duplicate rows.",
                stacklevel=3,
            )
        return factors

    def _factors(self, distances: Array, places: Array) -> Array:
        density = _density(distances, self._reach_of_last[places])
        return np.asarray(np.mean(self._density[places] / density[:, None], axis=1))


class KNeighborsOutlierDetector(NeighborOutliers):
    """Outliers by distance: rows that are far from their k nearest neighbours.

    One scale for all regions: rows of a sparse cluster score higher than those of a dense one,
    where `LocalOutlierFactor` compares with the density around.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of a row; at most one less than the rows.
    method : {"largest", "mean", "median"}, default="largest"
        The score: the distance of the k-th neighbour, or the mean or median distance of the k.
    algorithm, leaf_size, metric, p, metric_params, n_jobs
        As in `NearestNeighbors`.
    contamination : float, default=0.1
        Fraction of outliers, in (0, 0.5].
    novelty : bool, default=False
        Judge new rows (`predict`, `score_samples`) instead of those of the fit (`fit_predict`).

    Attributes
    ----------
    negative_outlier_factor_ : ndarray of shape (n,)
        Minus the score of each training row among the others.
    n_neighbors_ : int
        Number of neighbours used.
    offset_ : float
        Threshold of the score: rows below it are outliers.
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
    >>> from kilogram import KNeighborsOutlierDetector
    >>> model = KNeighborsOutlierDetector(n_neighbors=2, contamination=0.25)
    >>> model.fit_predict([[0.0], [0.2], [0.1], [9.0]]).tolist()
    [1, 1, 1, -1]
    """

    laws: ClassVar[Laws] = Laws(
        weight=NO_WEIGHT,
        textbook="the search of KNeighborsClassifier, and a distance of it",
        example={"novelty": True},
    )
    parameter_constraints: ClassVar = {
        "n_neighbors": Integer(1),
        "method": OneOf("largest", "mean", "median"),
        **SEARCH_CONSTRAINTS,
        "contamination": Real(0, 0.5, closed="right"),
        "novelty": Boolean(),
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        method: str = "largest",
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: Any = None,
        contamination: float = 0.1,
        novelty: bool = False,
        n_jobs: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.method = method
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.contamination = contamination
        self.novelty = novelty
        self.n_jobs = n_jobs

    def _fit_factors(self, distances: Array, places: Array) -> Array:
        return self._factors(distances, places)

    def _factors(self, distances: Array, places: Array) -> Array:
        if self.method == "largest":
            return distances[:, -1]
        return np.asarray(getattr(np, self.method)(distances, axis=1))


def _density(distances: Array, reach_of_neighbour: Array) -> Array:
    return 1.0 / (np.maximum(distances, reach_of_neighbour).mean(axis=1) + LEAST_REACH)

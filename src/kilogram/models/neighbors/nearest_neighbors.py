"""Search for neighbours without labels."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_consistent_length

from kilogram.arrays.rows import is_streamed
from kilogram.base import Laws
from kilogram.base.constraints import Integer, Real
from kilogram.models.neighbors.base import (
    NO_WEIGHT,
    SEARCH_CONSTRAINTS,
    KNeighborsMixin,
    NeighborsBase,
    RadiusNeighborsMixin,
)


class NearestNeighbors(KNeighborsMixin, RadiusNeighborsMixin, NeighborsBase):
    """Nearest training rows of queries, exactly, without a matrix of all distances.

    Takes scikit-learn's parameters. Few columns and many rows are searched by a k-d tree, others by
    tiles of inner products with a running top k.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of a query in `kneighbors`.
    radius : float, default=1.0
        Reach of a query in `radius_neighbors`.
    algorithm : {"auto", "brute", "kd_tree", "ball_tree"}, default="auto"
        "ball_tree" is a k-d tree here. Both trees need dense rows and a Minkowski metric; other
        metrics are searched by blocks of distances.
    leaf_size : int, default=30
        Accepted for compatibility with scikit-learn.
    metric : str, callable or DistanceMetric, default="minkowski"
        A metric of `scipy.spatial.distance`, "gower" for mixed tables, "nan_euclidean" for numbers
        with missing values, "haversine" for latitudes and longitudes in radians, "precomputed"
        (distances, or a sparse matrix of those that are known), a function of two rows, or an
        object with a method `pairwise` such as scikit-learn's DistanceMetric. Gower's distance is
        the mean over the columns that both rows know: of numbers and ordered levels |difference| /
        range of the training rows, of categories 0 or 1. It takes data frames and arrays of objects
        as they are, missing values included; rows that share no known value are at distance 1.
        ``metric_params={"categorical": [columns]}`` names numbers that are categories,
        ``{"ordinal": {column: levels}}`` ordered levels, lowest first.
    p : float, default=2
        Power of the Minkowski metric; 1 is city-block, 2 Euclidean.
    metric_params : dict, default=None
        Further arguments of the metric, such as V or VI of "mahalanobis".
    n_jobs : int, default=None
        Accepted for compatibility: the threads are those of OpenMP.

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
    >>> from kilogram import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, indices = model.kneighbors([[0.9]])
    >>> indices.tolist(), distances.round(1).tolist()
    ([[1, 0]], [[0.1, 0.9]])
    """

    laws: ClassVar[Laws] = Laws(
        weight=NO_WEIGHT,
        shift="keeps rows and has no function of a row to compare",
        permutation="answers with the numbers of rows",
        block="keeps rows and has no function of a row to compare",
        backend="keeps rows and has no function of a row to compare",
        sparse="keeps rows and has no function of a row to compare",
        threads="keeps rows and has no function of a row to compare",
        textbook="the search of KNeighborsClassifier",
    )
    parameter_constraints: ClassVar = {
        "n_neighbors": Integer(1),
        "radius": Real(0),
        **SEARCH_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: Any = None,
        n_jobs: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the training rows and prepare the search.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Rows that stream are gathered. With ``metric="precomputed"`` distances (n, n).
        y : ignored

        Returns
        -------
        self
        """
        if y is not None and not is_streamed(X):
            check_consistent_length(X, y)
        X, _ = self._gather(X)
        self._fit_search(X)
        return self

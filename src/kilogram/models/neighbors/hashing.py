"""Approximate neighbours by locality-sensitive hashing.

    code(x) = signs of <x - mean, a_j>, j = 1, ..., n_bits       a_j standard normal

A random hyperplane separates two rows with probability angle / pi (Charikar 2002), so codes of near
rows differ in few bits. A query compares its code with those of all rows (XOR and a count of bits,
64 at once), and measures only the rows whose codes differ least.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import is_streamed, row_slices
from kilogram.base import Laws
from kilogram.base.constraints import Integer, Null, OneOf, RandomState, Real, check_parameter
from kilogram.base.fitted import check_is_fitted
from kilogram.base.random_state import as_generator
from kilogram.models.neighbors.base import NO_WEIGHT, KNeighborsMixin, NeighborsBase
from kilogram.models.neighbors.search import without_themselves
from kilogram.native.neighbors import hashed_nearest
from kilogram.solvers.neighbors.nearest import EuclideanIndex

Array = np.ndarray[Any, np.dtype[Any]]

PRODUCT_ENTRIES = 2**22  # of a block of projections: 32 MiB
# Measuring so many rows, 200 d multiplications, costs no more than finding their codes.
LEAST_CANDIDATES = 200
NO_FUNCTION = "keeps rows and has no function of a row to compare"


class LSHNeighbors(KNeighborsMixin, NeighborsBase):
    """Approximate nearest rows by binary codes, for many rows of many columns.

    Finds most of the k nearest rows, not all: `recall` measures the fraction on your rows. A query
    costs n_bits / 64 operations for each row and d for each candidate, where `NearestNeighbors`
    costs d for each row: faster from some hundred columns and a hundred thousand rows on. Clusters
    help; rows without any structure are all about equally far apart, and recall is low.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of a query in `kneighbors`.
    n_bits : int, default=256
        Length of the codes, rounded up to a multiple of 64. More bits order candidates better.
    n_candidates : int, float or None, default=None
        Rows that are measured for a query, as a number or as a fraction of the training rows; None
        is 0.5 % of them, at least 200. Never fewer than n_neighbors + 1. More raise the recall.
    metric : {"euclidean", "cosine"}, default="euclidean"
        The distance between rows.
    random_state : int, RandomState, Generator or None, default=None
        Seed or generator for the hyperplanes.

    Attributes
    ----------
    planes_ : ndarray of shape (d, bits)
        Normals of the hyperplanes.
    center_ : ndarray of shape (d,)
        The point they pass through: the mean, or the origin for "cosine".
    codes_ : ndarray of shape (n, bits / 64), uint64
        Hash codes of the training rows.
    n_candidates_ : int
        Number of candidates measured in the last search.
    effective_metric_ : str
        The metric used.
    effective_metric_params_ : dict
        Parameters of the metric used.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    NearestNeighbors : Exact search.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import LSHNeighbors
    >>> X = np.random.default_rng(0).standard_normal((2000, 50)).cumsum(axis=1)
    >>> model = LSHNeighbors(n_candidates=400, random_state=0).fit(X[100:])
    >>> distances, indices = model.kneighbors(X[:100])
    >>> bool(model.recall(X[:100]) > 0.95)
    True
    """

    laws: ClassVar[Laws] = Laws(
        weight=NO_WEIGHT,
        shift=NO_FUNCTION,
        permutation="answers with the numbers of rows",
        block=NO_FUNCTION,
        backend=NO_FUNCTION,
        sparse=NO_FUNCTION,
        threads=NO_FUNCTION,
        textbook="tests/books has the codes of the lecture notes in four lines",
        example={"random_state": 0},
    )
    parameter_constraints: ClassVar = {
        "n_neighbors": Integer(1),
        "n_bits": Integer(1, 32768),
        "n_candidates": Integer(1) | Real(0, 1, closed="neither") | Null(),
        "metric": OneOf("euclidean", "cosine"),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        n_bits: int = 256,
        n_candidates: float | None = None,
        metric: str = "euclidean",
        random_state: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_bits = n_bits
        self.n_candidates = n_candidates
        self.metric = metric
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the training rows and their codes.

        Parameters
        ----------
        X : array-like, data frame, Dask or streaming rows of shape (n, d)
            Rows that stream are gathered.
        y : ignored

        Returns
        -------
        self
        """
        if y is not None and not is_streamed(X):
            check_consistent_length(X, y)
        X, _ = self._gather(X, sparse=False)
        rows = np.ascontiguousarray(self._prepared(to_numpy(X)))
        n, d = rows.shape
        bits = 64 * -(-int(self.n_bits) // 64)
        wanted = 0.005 if self.n_candidates is None else self.n_candidates
        count = int(np.ceil(wanted * n)) if isinstance(wanted, float) else int(wanted)
        least = LEAST_CANDIDATES if self.n_candidates is None else 1
        self.n_candidates_ = min(n, max(count, least))
        self.planes_ = as_generator(self.random_state).standard_normal((d, bits)).astype(rows.dtype)
        middle = rows.mean(axis=0, dtype=np.float64) if self.metric == "euclidean" else np.zeros(d)
        self.center_ = middle.astype(rows.dtype)
        self.codes_ = self._codes_of(rows)
        self._fit_X = to_numpy(X)
        self._rows = rows
        self.n_samples_fit_ = n
        self.effective_metric_, self.effective_metric_params_ = self.metric, {}
        return self

    def recall(self, X: Any = None, n_neighbors: int | None = None) -> float:
        """Fraction of the exact nearest rows of queries that `kneighbors` finds.

        Parameters
        ----------
        X : array-like of shape (m, d), default=None
            The queries; a few hundred suffice. None: the training rows, each without itself.
        n_neighbors : int, default=None
            How many; None: the parameter of the same name.

        Returns
        -------
        recall : float
            A row as near as the k-th exact neighbour counts as found.
        """
        distances, _ = self.kneighbors(X, n_neighbors)
        k, index = distances.shape[1], EuclideanIndex(self._rows)
        queries = None if X is None else self._prepared(self._queries(X))
        exact = self._back(index.nearest(k, queries).distances[:, -1:].astype(np.float64))
        return float(np.mean(distances <= exact * (1 + 1e-6)))

    @property
    def _search(self) -> LSHNeighbors:
        check_is_fitted(self)
        return self

    @property
    def n(self) -> int:
        """Number of training rows."""
        return self.n_samples_fit_

    def nearest(self, queries: Any, k: int, *, others: bool = False) -> tuple[Array, Array]:
        """Distances and positions (m, k) among the candidates of each query, nearest first."""
        if others:
            return without_themselves(*self.nearest(queries, k + 1))
        check_parameter("n_neighbors", k, Integer(1))
        queries = np.asarray(to_numpy(queries), dtype=self._rows.dtype)
        Q = np.ascontiguousarray(self._prepared(queries))
        count = min(self.n_samples_fit_, max(self.n_candidates_, k))
        squares, places = hashed_nearest(Q, self._rows, self._codes_of(Q), self.codes_, count, k)
        return self._back(np.sqrt(squares)), places.astype(np.int64)

    def _codes_of(self, rows: Array) -> Array:
        """Signs of the projections, 64 to a word, (m, words)."""
        words = self.planes_.shape[1] // 64
        codes = np.empty((len(rows), words), dtype=np.uint64)
        for block in row_slices(rows, 64 * words, PRODUCT_ENTRIES):
            signs = (rows[block] - self.center_) @ self.planes_ > 0
            codes[block] = np.packbits(signs, axis=1).view(np.uint64)
        return codes

    def _prepared(self, rows: Array) -> Array:
        if self.metric == "euclidean":
            return rows
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        return np.asarray(rows / np.where(norms > 0, norms, 1.0), dtype=rows.dtype)

    def _back(self, distances: Array) -> Array:
        """Of unit vectors |u - v|^2 = 2 (1 - cos)."""
        return distances if self.metric == "euclidean" else distances**2 / 2

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.pairwise = False
        return tags

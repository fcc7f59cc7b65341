"""What the estimators on neighbours share: rows kept in memory, and the two kinds of queries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from kilogram.arrays.frames import column_names, is_frame
from kilogram.arrays.namespace import is_array, is_sparse, like, to_numpy
from kilogram.arrays.row_streams import stack_rows
from kilogram.arrays.rows import is_streamed, row_blocks
from kilogram.base import Estimate, Estimator, ValidatedData
from kilogram.base.constraints import (
    Constraint,
    Dictionary,
    Function,
    Integer,
    Null,
    OneOf,
    Real,
    check_parameter,
)
from kilogram.base.fitted import check_is_fitted
from kilogram.base.validation.validate import record_columns
from kilogram.models.neighbors.mixed_columns import MixedColumns, is_table, place
from kilogram.models.neighbors.search import (
    EuclideanSearch,
    NeighborSearch,
    check_metric_params,
    has_pairwise,
    make_search,
)
from kilogram.native.neighbors import RadiusNeighbours
from kilogram.operators.cost import rates

Array = np.ndarray[Any, np.dtype[Any]]

FOUND_AT_ONCE = 2**24  # rows within the radius of a block of queries: 200 MB
NO_WEIGHT = "a neighbour counts once: scikit-learn's fit takes no weights either"


class _Text(Constraint):
    """Any string: names of metrics are checked where the metric is made."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str)

    def describe(self) -> str:
        return "the name of a metric"


class _Distances(Constraint):
    """An object with distances of its own."""

    def accepts(self, value: Any) -> bool:
        return has_pairwise(value)

    def describe(self) -> str:
        return "an object with a method pairwise"


SEARCH_CONSTRAINTS: dict[str, Constraint] = {
    "algorithm": OneOf("auto", "brute", "kd_tree", "ball_tree"),
    "leaf_size": Integer(1),
    "metric": _Text() | Function() | _Distances(),
    "p": Real(0, closed="right") | Null(),
    "metric_params": Dictionary() | Null(),
    "n_jobs": Integer() | Null(),
}


class NeighborsBase(Estimator):
    """Training rows with the search among them."""

    algorithm: str
    metric: Any
    p: Any
    metric_params: Any

    def _gather(self, X: Any, y: Any = None, **checks: Any) -> tuple[Any, Any]:
        """Validated rows and targets in memory; rows that stream are gathered."""
        X, y, _ = self._validate(X, y, None, **checks)
        if is_streamed(X):
            names = getattr(self, "feature_names_in_", None)
            parts = list(zip(*row_blocks(X, y), strict=True))
            X, y = (None if part[0] is None else stack_rows(list(part)) for part in parts)
            X, y, _ = self._validate(X, y, None, **checks)
            if names is not None:
                self.feature_names_in_ = names
        return X, y

    def _validate(
        self, X: Any, y: Any = None, sample_weight: Any = None, **checks: Any
    ) -> ValidatedData:
        """Tables are coded as numbers under Gower's metric, which takes missing values too."""
        if isinstance(self.metric, str) and self.metric == "nan_euclidean":
            checks = {"finite": "allow-nan", **checks}
        if not (isinstance(self.metric, str) and self.metric == "gower"):
            found = super()._validate(X, y, sample_weight, **checks)
            if isinstance(self.metric, str) and self.metric == "precomputed":
                self._refuse_negative(found.X)
            return found
        names = column_names(X) if is_frame(X) else None
        if not is_table(X):
            if checks.get("reset", True):
                self._columns: MixedColumns | None = None
        elif checks.get("reset", True):
            self._columns = MixedColumns.of(X, self.metric_params or {})
            X = self._columns.encoded(X)
        else:
            known: MixedColumns | None = getattr(self, "_columns", None)
            if known is None:
                raise ValueError("the fit had an array of numbers, not a table: give numbers.")
            record_columns(self, known.n if names is None else len(names), names, reset=False)
            return ValidatedData(known.encoded(X), y, sample_weight)
        found = super()._validate(X, y, sample_weight, finite="allow-nan", **checks)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        return found

    def _refuse_negative(self, distances: Any) -> None:
        """An error for given distances below 0: similarities are often passed by mistake."""
        if is_streamed(distances):
            return  # they are gathered, and validated again
        values = distances.data if is_sparse(distances) else to_numpy(distances)
        if values.size and values.min() < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: the distances of "
                f"metric='precomputed' must be at least 0, got {values.min():g}."
            )

    def _fit_search(self, X: Any) -> None:
        rows = X.tocsr() if is_sparse(X) else to_numpy(X)
        metric, params = self.metric, dict(self.metric_params or {})
        p = 2.0 if self.p is None else float(self.p)
        given = params
        if isinstance(metric, str) and metric == "gower":
            params = self._gower_params(params, rows.shape[1])
        if metric == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise ValueError(
                "Precomputed matrix must be square. Input is a {}x{} matrix.".format(*rows.shape)
            )
        self._fit_X = rows
        self._made_search = make_search(rows, metric, p, params, self.algorithm)
        self._search_settings = (metric, p, dict(params), self.algorithm)
        self.n_samples_fit_ = int(rows.shape[0])
        self.effective_metric_, self.effective_metric_params_ = metric, given
        if isinstance(metric, str) and metric == "minkowski":
            names = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}
            power = float(given.pop("p", p))
            self.effective_metric_ = names.get(power, "minkowski")
            if self.effective_metric_ == "minkowski":
                given["p"] = power

    def _gower_params(self, params: dict[str, Any], d: int) -> dict[str, Any]:
        """The positions of the columns of categories."""
        check_metric_params("gower", params)
        if self._columns is not None:
            return {"categorical": self._columns.categorical}
        if params.get("ordinal"):
            raise ValueError("'ordinal' of metric_params needs a table: a data frame or objects.")
        positions = [place(c, None) for c in params.get("categorical", ())]
        if any(not -d <= j < d for j in positions):
            raise ValueError(f"'categorical' must be positions of {d} columns, got {positions}.")
        return {**params, "categorical": positions}

    @property
    def _search(self) -> NeighborSearch:
        """Made when first needed: a model file holds the rows, not the search structure."""
        if getattr(self, "_made_search", None) is None:
            self._made_search = make_search(self._fit_X, *self._search_settings)
        return self._made_search

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_made_search"}

    def _queries(self, X: Any, on_host: bool = True) -> Any:
        """Queries on the host, or as the search for nearest rows reads them, checked."""
        X = self._validate(X, reset=False).X
        if is_streamed(X):
            parts = [block for (block,) in row_blocks(X)]
            X = stack_rows(parts)
            if isinstance(self.metric, str) and self.metric == "precomputed":
                self._refuse_negative(X)
        return _on_host(X) if on_host else self._readable(X)

    def _readable(self, block: Any) -> Any:
        """Queries as the search reads them."""
        return _on_host(block)

    def _neighbors(self, queries: Any, k: int) -> tuple[Array, Array]:
        """Of queries, or of the training rows without themselves if `queries` is None."""
        n = self._search.n
        most = n - 1 if queries is None else n
        if k > most:
            own = " other" if queries is None else ""
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                f"{n}, n_samples = {n if queries is None else queries.shape[0]}: the{own} rows to "
                f"choose from are {most}."
            )
        others = queries is None
        rows = self._fit_X if others else queries
        distances, places = self._search.nearest(rows, k, others=others)
        self._refuse_infinite(distances)
        return distances, places

    def _refuse_infinite(self, distances: Array) -> None:
        """An error for distances that overflow: rows of finite values are at finite distances."""
        if np.isfinite(distances).all():
            return
        if isinstance(self.metric, str) and self.metric in ("precomputed", "nan_euclidean"):
            return
        power = f" with p={self.p}" if self.metric == "minkowski" else ""
        raise ValueError(
            f"{type(self).__name__}: the values of X are finite, but their {self.metric} "
            f"distances{power} overflow. Divide the columns by their scale first (StandardScaler "
            "does), or use another metric."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        name = self.metric if isinstance(self.metric, str) else ""
        tags.input_tags.pairwise = name == "precomputed"
        tags.input_tags.allow_nan = name == "nan_euclidean"
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        itemsize = 4 if dtype == "float32" else 8
        seconds = float(n) * d / rates(itemsize).multiply_adds
        return self._costs(n, d, "one query against all rows", seconds, float(itemsize) * n * d)


class KNeighborsMixin:
    """Queries for the k nearest rows."""

    n_neighbors: int

    def _readable(self: Any, block: Any) -> Any:
        """As the search reads them: rows on a device stay there if it can search them."""
        search = self._search
        if isinstance(search, EuclideanSearch) and search.reads(block):
            return block
        return _on_host(block)

    def kneighbors(
        self: Any, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """The nearest training rows of each query.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows (m, d), default=None
            The queries; None: the training rows, each without itself. Of a torch or CuPy array the
            results are arrays of its library, on its device. Euclidean neighbours of an array on a
            GPU are searched there, beside a copy of the training rows that the model keeps for
            further queries; other metrics, and few columns (k-d tree), are searched on the host.
        n_neighbors : int, default=None
            How many; None: the parameter of the same name.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (m, n_neighbors)
            Nearest first; only with `return_distance`.
        indices : ndarray of shape (m, n_neighbors)
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        check_parameter("n_neighbors", k, Integer(1))
        queries = None if X is None else self._queries(X, on_host=False)
        distances, indices = self._neighbors(queries, int(k))
        if is_array(X):  # the library and device of the queries
            distances, indices = like(distances, X), like(indices, X)
        return (distances, indices) if return_distance else indices

    def _leave_one_out(self: Any, max_neighbors: int) -> tuple[Array, Array]:
        """Neighbours of the training rows among the others, at most all of them."""
        check_is_fitted(self)
        check_parameter("max_neighbors", max_neighbors, Integer(1))
        return self._neighbors(None, max(1, min(int(max_neighbors), self.n_samples_fit_ - 1)))

    def kneighbors_graph(
        self: Any, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sp.csr_matrix:
        """The k nearest rows as a sparse matrix (m, n) of ones, or of distances with `mode`."""
        check_parameter("mode", mode, OneOf("connectivity", "distance"))
        distances, places = (to_numpy(found) for found in self.kneighbors(X, n_neighbors))
        values = distances if mode == "distance" else np.ones_like(distances)
        m, k = places.shape
        start = k * np.arange(m + 1)
        return sp.csr_matrix((values.ravel(), places.ravel(), start), (m, self.n_samples_fit_))


class RadiusNeighborsMixin:
    """Queries for all rows within a radius."""

    radius: float

    def _rows_within(
        self: Any, queries: Any, radius: float, by_distance: bool = False
    ) -> RadiusNeighbours:
        """Of queries, or of the training rows without themselves if `queries` is None."""
        others = queries is None
        rows = self._fit_X if others else queries
        found: RadiusNeighbours = self._search.within(
            rows, radius, others=others, by_distance=by_distance
        )
        return found

    def _blocks_within(
        self: Any, queries: Any, radius: float
    ) -> Iterator[tuple[slice, RadiusNeighbours]]:
        """Rows within the radius, block by block of queries, so that not all are kept at once."""
        m = self.n_samples_fit_ if queries is None else queries.shape[0]
        if m * self.n_samples_fit_ <= FOUND_AT_ONCE:
            yield slice(0, m), self._rows_within(queries, radius)
            return
        rows = self._fit_X if queries is None else queries
        a, step = 0, max(1, FOUND_AT_ONCE // self.n_samples_fit_)
        while a < m:
            block = slice(a, min(m, a + step))
            found: RadiusNeighbours = self._search.within(rows[block], radius)
            if queries is None:
                found = _without_own(found, a)
            yield block, found
            a = block.stop
            each = max(1.0, len(found.indices) / len(found.start))
            step = max(1, min(4 * step, int(FOUND_AT_ONCE / each)))

    def radius_neighbors(
        self: Any,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """All training rows at most `radius` away from each query.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), default=None
            The queries; None: the training rows, each without itself.
        radius : float, default=None
            None: the parameter of the same name.
        return_distance : bool, default=True
        sort_results : bool, default=False
            Nearest first, instead of in the order of the training rows.

        Returns
        -------
        distances, indices : ndarrays of m arrays
            `distances` only with `return_distance`.
        """
        check_is_fitted(self)
        reach = self.radius if radius is None else radius
        check_parameter("radius", reach, Real(0))
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        queries = None if X is None else self._queries(X)
        start, near, distances = self._rows_within(queries, float(reach), sort_results)
        indices = _ragged(near.astype(np.int64), start)
        return (_ragged(distances, start), indices) if return_distance else indices

    def radius_neighbors_graph(
        self: Any,
        X: Any = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> sp.csr_matrix:
        """The rows within the radius as a sparse matrix (m, n) of ones or distances."""
        check_parameter("mode", mode, OneOf("connectivity", "distance"))
        check_is_fitted(self)
        reach = self.radius if radius is None else radius
        check_parameter("radius", reach, Real(0))
        queries = None if X is None else self._queries(X)
        start, near, distances = self._rows_within(queries, float(reach), sort_results)
        values = distances if mode == "distance" else np.ones_like(distances)
        return sp.csr_matrix((values, near, start), (len(start) - 1, self.n_samples_fit_))


def _on_host(block: Any) -> Any:
    return block.tocsr() if is_sparse(block) else to_numpy(block)


def warn_empty(count: int, radius: float) -> None:
    """Queries without any training row in their neighbourhood."""
    warnings.warn(
        f"{count} queries have no training row within radius={radius:g}; they are predicted NaN.",
        stacklevel=4,
    )


def _ragged(values: Array, start: Array) -> Array:
    """An array of arrays, the values between neighbouring starts."""
    out = np.empty(len(start) - 1, dtype=object)
    for i, (a, b) in enumerate(pairwise(start.tolist())):
        out[i] = values[a:b]
    return out


def _without_own(found: RadiusNeighbours, first: int) -> RadiusNeighbours:
    """Without row first + i among those found for query i."""
    counts = np.diff(found.start)
    query = np.repeat(np.arange(len(counts)), counts)
    kept = found.indices != first + query
    counts = np.bincount(query[kept], minlength=len(counts))
    start = np.concatenate([[0], np.cumsum(counts)])
    return RadiusNeighbours(start, found.indices[kept], found.distances[kept])

"""Searches among training rows, one class for each way a metric can be searched.

    euclidean, mahalanobis,            rows are transformed (whitened, normalised, centred), then
    cosine, correlation                searched by tiles of inner products or a k-d tree
    manhattan, chebyshev, minkowski    a k-d tree where there are few columns, else one by one
    hamming, gower                     one by one: a sum is abandoned once it exceeds the k-th best
    others, a callable                 blocks of distances, of which the k smallest are kept
    nan_euclidean, haversine           scikit-learn's blocks of distances
    precomputed                        the distances are given; of a sparse matrix, those stored

Ties: of rows at equal distance the one that comes first is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from array_api_compat import device
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import haversine_distances, nan_euclidean_distances

from kilogram.arrays.memory import CACHED_ENTRIES
from kilogram.arrays.namespace import is_remote, is_sparse, namespace, sum_dtype, to_numpy
from kilogram.base.constraints import Real, check_parameter
from kilogram.native.neighbors import KDTree, RadiusNeighbours, metric_nearest, metric_within
from kilogram.solvers.neighbors.device_rows import DeviceRows
from kilogram.solvers.neighbors.nearest import TREE_ROWS, EuclideanIndex

Array = np.ndarray[Any, np.dtype[Any]]

TREE_POWERS = {"manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": np.inf}
EUCLIDEAN = ("euclidean", "l2")
TRANSFORMED = ("cosine", "correlation", "mahalanobis", "seuclidean")
NAMES = {"manhattan": "cityblock", "l1": "cityblock", "infinity": "chebyshev"}


class NeighborSearch(Protocol):
    """Neighbours of queries among the training rows.

    `others`: the queries are the training rows themselves, and none is a neighbour of its own.
    """

    n: int

    def nearest(self, queries: Any, k: int, *, others: bool = False) -> tuple[Array, Array]:
        """Distances (m, k), nearest first, and positions (m, k)."""

    def within(
        self, queries: Any, radius: float, *, others: bool = False, by_distance: bool = False
    ) -> RadiusNeighbours:
        """The rows at most `radius` away, in their order or nearest first."""


class EuclideanSearch:
    """Rows and queries are mapped to points whose Euclidean distance orders the neighbours."""

    def __init__(
        self,
        X: Any,
        prepare: Callable[[Any], Any] | None = None,
        back: Callable[[Array], Array] = lambda d: d,
        forth: Callable[[float], float] = lambda r: r,
    ):
        self.plain = prepare is None
        self.prepare = (lambda Q: Q) if prepare is None else prepare
        self.back, self.forth = back, forth
        self.index = EuclideanIndex(self.prepare(X))
        self.n = self.index.n
        self._on_device: dict[str, DeviceRows] = {}  # copies of the rows, by device

    def reads(self, queries: Any) -> bool:
        """Whether these queries are searched on their own device: many rows of moderate size."""
        return self.plain and is_remote(queries) and self.index.suits_products(queries)

    def nearest(self, queries: Any, k: int, *, others: bool = False) -> tuple[Array, Array]:
        if not others and is_remote(queries):
            distances, places = self._rows_beside(queries).nearest(queries, k)
            return to_numpy(distances), to_numpy(places).astype(np.int64)
        found = self.index.nearest(k, None if others else self.prepare(queries))
        return self.back(found.distances), found.indices.astype(np.int64)

    def _rows_beside(self, queries: Any) -> DeviceRows:
        xp, place = namespace(queries), device(queries)
        key = f"{xp.__name__} {place}"
        if key not in self._on_device:
            single = self.index.X.dtype == np.float32 or sum_dtype(queries, xp) == xp.float32
            rows = self.index.X.astype(np.float32 if single else np.float64, copy=False)
            self._on_device[key] = DeviceRows(xp.asarray(rows, device=place))
        return self._on_device[key]

    def within(
        self, queries: Any, radius: float, *, others: bool = False, by_distance: bool = False
    ) -> RadiusNeighbours:
        new = None if others else self.prepare(queries)
        found = self.index.within(self.forth(radius), new, by_distance=by_distance)
        return found._replace(distances=self.back(found.distances))


class KDTreeSearch:
    """A k-d tree under a Minkowski metric."""

    def __init__(self, X: Array, p: float):
        self.tree, self.p, self.n = KDTree.of(X), p, len(X)
        self.metric = {1.0: "cityblock", 2.0: "sqeuclidean", np.inf: "chebyshev"}.get(p, "powers")

    def nearest(self, queries: Any, k: int, *, others: bool = False) -> tuple[Array, Array]:
        sums, places = self.tree.nearest(
            _dense(queries), k, metric=self.metric, p=self.p, others=others
        )
        if self.metric in ("sqeuclidean", "powers"):
            sums = _root(sums, self.p)
        return sums, places.astype(np.int64)

    def within(
        self, queries: Any, radius: float, *, others: bool = False, by_distance: bool = False
    ) -> RadiusNeighbours:
        return self.tree.within(
            _dense(queries), radius, metric=self.metric, p=self.p, others=others,
            by_distance=by_distance,
        )  # fmt: skip


class BlockSearch:
    """Blocks of distances computed by a function of two arrays of rows."""

    def __init__(self, X: Any, pairwise: Callable[[Any, Any], Array]):
        self.X, self.pairwise, self.n = X, pairwise, X.shape[0]

    def _blocks(self, queries: Any) -> Iterator[tuple[int, Array]]:
        step = max(1, CACHED_ENTRIES // max(1, self.n))
        for a in range(0, queries.shape[0], step):
            yield a, np.asarray(self.pairwise(queries[a : a + step], self.X), dtype=np.float64)

    def nearest(self, queries: Any, k: int, *, others: bool = False) -> tuple[Array, Array]:
        if others:
            return without_themselves(*self.nearest(queries, k + 1))
        parts = [_smallest(block, k) for _, block in self._blocks(queries)]
        if not parts:
            return np.empty((0, k)), np.empty((0, k), dtype=np.int64)
        return np.vstack([d for d, _ in parts]), np.vstack([i for _, i in parts])

    def within(
        self, queries: Any, radius: float, *, others: bool = False, by_distance: bool = False
    ) -> RadiusNeighbours:
        found = []
        for a, block in self._blocks(queries):
            near = block <= radius
            if others:
                own = np.arange(len(block))
                near[own, a + own] = False
            i, j = np.nonzero(near)
            found.append((i + a, j, block[i, j]))
        return _gathered(found, queries.shape[0], by_distance)


class DirectSearch(BlockSearch):
    """Distances one by one, each abandoned once it exceeds the k-th best so far."""

    def __init__(self, X: Array, metric: str, *, p: float = 2.0, numbers: int = 0):
        super().__init__(np.ascontiguousarray(X), cdist)
        self.metric, self.p, self.numbers = metric, p, numbers

    def nearest(self, queries: Any, k: int, *, others: bool = False) -> tuple[Array, Array]:
        if others:
            return without_themselves(*self.nearest(queries, k + 1))
        found, places = metric_nearest(
            self.metric, self._like(queries), self.X, k, p=self.p, numbers=self.numbers
        )
        return self._distances(found), places.astype(np.int64)

    def within(
        self, queries: Any, radius: float, *, others: bool = False, by_distance: bool = False
    ) -> RadiusNeighbours:
        unequal = self.metric == "unequal"
        # a fraction of the columns, and its rounding
        reach = radius * self.X.shape[1] * (1 + 1e-12) if unequal else radius
        found = metric_within(
            self.metric, self._like(queries), None if others else self.X, reach, p=self.p,
            numbers=self.numbers, by_distance=by_distance,
        )  # fmt: skip
        return found._replace(distances=found.distances / self.X.shape[1]) if unequal else found

    def _like(self, queries: Any) -> Array:
        return np.asarray(_dense(queries), dtype=self.X.dtype)

    def _distances(self, sums: Array) -> Array:
        if self.metric == "unequal":
            return sums / self.X.shape[1]
        return _root(sums, self.p) if self.metric == "powers" else sums


class PrecomputedSearch(BlockSearch):
    """The distances are given: all of them, or those that a sparse matrix stores."""

    def __init__(self, n: int):
        super().__init__(_Columns(n), lambda D, _: D)

    def nearest(self, queries: Any, k: int, *, others: bool = False) -> tuple[Array, Array]:
        if others:
            return without_themselves(*self.nearest(queries, k + 1))
        if not is_sparse(queries):
            return super().nearest(queries, k)
        rows = list(_stored_rows(queries))
        fewest = min((len(d) for d, _ in rows), default=k)
        if fewest < k:
            raise ValueError(
                f"{k} neighbors per samples are required, but some samples have only {fewest} "
                "neighbors in precomputed graph matrix. Compute it with more neighbours."
            )
        if not rows:
            return np.empty((0, k)), np.empty((0, k), dtype=np.int64)
        return np.array([d[:k] for d, _ in rows]), np.array([near[:k] for _, near in rows])

    def within(
        self, queries: Any, radius: float, *, others: bool = False, by_distance: bool = False
    ) -> RadiusNeighbours:
        if not is_sparse(queries):
            return super().within(queries, radius, others=others, by_distance=by_distance)
        stored = sp.coo_array(queries)
        near = np.asarray(stored.data, dtype=np.float64) <= radius
        if others:
            near &= stored.row != stored.col
        found = (stored.row[near], stored.col[near], stored.data[near].astype(np.float64))
        return _gathered([found], queries.shape[0], by_distance)


def without_themselves(distances: Array, places: Array) -> tuple[Array, Array]:
    """Neighbours of the training rows among the others: k of k + 1."""
    n, k = len(places), places.shape[1] - 1
    own = places == np.arange(n)[:, None]
    own[:, -1] |= ~own.any(axis=1)  # hidden behind copies of itself: the last one goes
    return distances[~own].reshape(n, k), places[~own].reshape(n, k)


def _gathered(
    parts: list[tuple[Array, Array, Array]], m: int, by_distance: bool
) -> RadiusNeighbours:
    """Pairs of a query and a row with their distances, query by query."""
    if not parts:
        return RadiusNeighbours(np.zeros(m + 1, np.int64), np.empty(0, np.int32), np.empty(0))
    i, j, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((j, distances, i) if by_distance else (j, i))
    start = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=m))])
    return RadiusNeighbours(start, j[order].astype(np.int32), distances[order])


def _stored_rows(graph: Any) -> Iterator[tuple[Array, Array]]:
    """The stored distances of each row, nearest first, with their positions."""
    graph = sp.csr_array(graph)
    for a, b in pairwise(graph.indptr):
        distances = np.asarray(graph.data[a:b], dtype=np.float64)
        order = np.argsort(distances, kind="stable")
        yield distances[order], graph.indices[a:b][order].astype(np.int64)


#: Keys of metric_params that each metric uses; those of the others are those of SciPy.
PARAMETERS: dict[str, set[str]] = {
    "minkowski": {"p", "w"},
    "seuclidean": {"V"},
    "mahalanobis": {"V", "VI"},
    "gower": {"categorical", "ordinal"},
    **{
        name: set()
        for name in (
            *EUCLIDEAN,
            *TREE_POWERS,
            "infinity",
            "cosine",
            "correlation",
            "precomputed",
            "nan_euclidean",
            "haversine",
        )
    },
}


def check_metric_params(metric: Any, params: dict[str, Any]) -> None:
    """Refuse parameters that the metric does not use, and powers that are none."""
    known = PARAMETERS.get(metric) if isinstance(metric, str) else None
    if known is not None and set(params) - known:
        use = f"only {', '.join(map(repr, sorted(known)))}" if known else "no parameters"
        raise ValueError(
            f"metric_params must suit the metric: {metric!r} has {use}, got {params!r}."
        )
    if isinstance(metric, str) and metric == "minkowski" and "p" in params:
        check_parameter("metric_params['p']", params["p"], Real(0, closed="right"))


def make_search(
    X: Any, metric: Any, p: float, params: dict[str, Any], algorithm: str
) -> NeighborSearch:
    """The search for a metric, chosen by the metric, the shape of X and `algorithm`."""
    check_metric_params(metric, params)
    if metric == "precomputed":
        return PrecomputedSearch(X.shape[1])
    if has_pairwise(metric):
        return BlockSearch(_dense(X), lambda A, B: metric.pairwise(_wide(A), _wide(B)))
    if metric in BLOCK_METRICS:
        return BlockSearch(_dense(X), partial(_far_if_unknown, BLOCK_METRICS[metric]))
    if callable(metric):
        return BlockSearch(_dense(X), lambda A, B: cdist(A, B, metric=metric, **params))
    if metric == "minkowski":
        p = float(params.get("p", p))
        if params.get("w") is not None:
            return _weighted_minkowski(X, p, np.asarray(params["w"], dtype=np.float64))
        metric = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}.get(p, "minkowski")
        if metric == "minkowski":
            return _tree_or_direct(X, p, algorithm)
    if metric in EUCLIDEAN:
        if algorithm in ("kd_tree", "ball_tree") and not is_sparse(X):
            return KDTreeSearch(_dense(X), 2.0)
        return EuclideanSearch(X)
    if metric in TRANSFORMED:
        return _transformed(X, metric, params)
    if metric in TREE_POWERS:
        return _tree_or_direct(X, TREE_POWERS[metric], algorithm)
    if metric == "gower":
        return _gower(_dense(X), params)
    if metric in ("hamming", "matching") and not params:
        return DirectSearch(_dense(X), "unequal")
    name = NAMES.get(metric, metric)
    _check_metric(name, params)
    return BlockSearch(_dense(X), partial(_share, name=name, **params))


def _share(A: Array, B: Array, name: str, **params: Any) -> Array:
    """A metric of SciPy's; rows without entries, whose distance it divides by 0, are equal."""
    found = cdist(A, B, name, **params)
    found[np.isnan(found)] = 0.0
    return found


def has_pairwise(metric: Any) -> bool:
    """Whether a metric is an object with distances of its own, as scikit-learn's DistanceMetric."""
    return callable(getattr(metric, "pairwise", None))


BLOCK_METRICS = {"nan_euclidean": nan_euclidean_distances, "haversine": haversine_distances}


def _wide(A: Any) -> Array:
    return np.ascontiguousarray(_dense(A), dtype=np.float64)


def _far_if_unknown(distances: Callable[[Any, Any], Array], A: Any, B: Any) -> Array:
    """Rows that share no known column are at infinite distance."""
    found = np.asarray(distances(_dense(A), B), dtype=np.float64)
    return np.where(np.isnan(found), np.inf, found)


def _weighted_minkowski(X: Any, p: float, w: Array) -> NeighborSearch:
    rows = _dense(X)
    if w.shape != (rows.shape[1],) or not (w >= 0).all():
        raise ValueError(
            f"metric_params['w'] must be {rows.shape[1]} weights that are not negative, one for "
            f"each column of X, got {w.tolist()}."
        )
    return BlockSearch(rows, lambda A, B: cdist(_dense(A), B, "minkowski", p=p, w=w))


def _check_metric(name: str, params: dict[str, Any]) -> None:
    try:
        cdist(np.ones((1, 2)), np.ones((1, 2)), name)
        if set(params) - {"w"}:
            raise TypeError(f"{name!r} has only 'w', got {params!r}.")
    except TypeError as error:
        raise ValueError(f"metric_params must suit the metric: {error}") from None
    except ValueError:
        known = "euclidean, manhattan, chebyshev, minkowski, cosine, correlation, mahalanobis, "
        raise ValueError(
            f"metric must be a metric of scipy.spatial.distance ({known}hamming, ...), 'gower', "
            f"'precomputed' or a callable, got {name!r}."
        ) from None


def _tree_or_direct(X: Any, p: float, algorithm: str) -> NeighborSearch:
    rows = _dense(X)
    n, d = rows.shape
    tree = algorithm in ("kd_tree", "ball_tree") or (
        algorithm == "auto" and n >= TREE_ROWS * 2.0**d
    )
    if tree and p >= 1:  # below, the triangle inequality does not hold
        return KDTreeSearch(rows, p)
    if p in (1.0, np.inf):
        return DirectSearch(rows, "cityblock" if p == 1.0 else "chebyshev")
    return DirectSearch(rows, "powers", p=p)


def _root(sums: Array, p: float) -> Array:
    with np.errstate(over="ignore"):  # infinite distances are refused where they are used
        return np.asarray(sums ** (1.0 / p))


def _transformed(X: Any, metric: str, params: dict[str, Any]) -> NeighborSearch:
    """Metrics that are Euclidean distances of transformed rows."""
    if metric in ("cosine", "correlation"):
        centre = metric == "correlation"

        def unit(Q: Any) -> Any:
            return _unit_rows(_dense(Q) - _dense(Q).mean(axis=1, keepdims=True) if centre else Q)

        if not _lengths(unit(X)).all():  # rows of zeros are at distance 1 from all others
            return BlockSearch(unit(X), lambda A, B: 1.0 - _products(unit(A), B))
        # of unit vectors |u - v|^2 = 2 (1 - cos)
        return EuclideanSearch(X, unit, lambda d: d * d / 2, lambda r: np.sqrt(max(2 * r, 0.0)))
    rows = _dense(X)
    if metric == "seuclidean":
        V = np.asarray(params.get("V", np.var(rows, axis=0, ddof=1)), dtype=np.float64)
        scale = np.where(V > 0, np.sqrt(np.where(V > 0, V, 1.0)), 1.0)
        return EuclideanSearch(rows, lambda Q: _dense(Q) / scale)
    VI = params.get("VI")
    if VI is None:
        VI = np.linalg.pinv(np.atleast_2d(params.get("V", np.cov(rows, rowvar=False))))
    values, vectors = np.linalg.eigh(np.asarray(VI, dtype=np.float64))
    if values.min() < -1e-8 * max(values.max(), 0.0):
        raise ValueError("VI of the mahalanobis metric must be positive semi-definite.")
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return EuclideanSearch(rows, lambda Q: _dense(Q) @ root)


def _gower(X: Array, params: dict[str, Any]) -> NeighborSearch:
    """Mean over the columns that both rows know of |difference| / range, or of being unequal.

    Columns of categories, and numbers that are all equal in training, are equal (0) or not (1).
    """
    words = np.zeros(X.shape[1], dtype=bool)
    words[np.asarray(params.get("categorical", ()), dtype=int)] = True
    spans = np.fmax.reduce(X, axis=0) - np.fmin.reduce(X, axis=0)  # NaN only where all are
    words |= spans == 0
    order = np.argsort(words, kind="stable")  # numbers first
    numbers = int((~words).sum())
    scale = np.where(words | np.isnan(spans), 1.0, spans)[order]

    def prepare(Q: Any) -> Array:
        return np.ascontiguousarray(np.asarray(_dense(Q), dtype=np.float64)[:, order] / scale)

    return GowerSearch(prepare(X), numbers, prepare)


class GowerSearch(DirectSearch):
    """Rows of numbers over their ranges, then codes of categories; NaN is unknown."""

    def __init__(self, X: Array, numbers: int, prepare: Callable[[Any], Array]):
        super().__init__(X, "gower", numbers=numbers)
        self.prepare = prepare

    def _like(self, queries: Any) -> Array:
        return self.prepare(queries)


class _Columns:
    """Stands for the training rows where distances are given: only their number is known."""

    def __init__(self, n: int):
        self.shape = (n, 0)


def _smallest(D: Array, k: int) -> tuple[Array, Array]:
    """The k smallest of each row in order; of equal ones the first."""
    if k < D.shape[1]:
        last = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
        near = last > D
        equal = last == D
        left = k - near.sum(axis=1, keepdims=True)
        near |= equal & (np.cumsum(equal, axis=1) <= left)
        places = np.nonzero(near)[1].reshape(len(D), k)
    else:
        places = np.tile(np.arange(D.shape[1]), (len(D), 1))
    distances = np.take_along_axis(D, places, axis=1)
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(places, order, axis=1)


def _unit_rows(Q: Any) -> Any:
    """Rows of length 1; rows of zeros stay."""
    norms = _lengths(Q)
    scale = 1.0 / np.where(norms > 0, norms, 1.0)
    return sp.csr_array(sp.diags_array(scale) @ Q) if is_sparse(Q) else Q * scale[:, None]


def _lengths(Q: Any) -> Array:
    squares = Q.multiply(Q).sum(axis=1) if is_sparse(Q) else np.einsum("ij,ij->i", Q, Q)
    return np.sqrt(np.asarray(squares).ravel())


def _products(A: Any, B: Any) -> Array:
    return _dense(A @ B.T)


def _dense(X: Any) -> Array:
    return X.toarray() if is_sparse(X) else np.asarray(X)

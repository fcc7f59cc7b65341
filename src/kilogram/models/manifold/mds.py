"""Metric and non-metric multidimensional scaling: distances kept as they are, or in their order.

Objective    min_Z  sum_{i<j} (delta_ij - |z_i - z_j|)^2              (stress)

delta are the dissimilarities (metric), or the monotone function of them that fits best
(non-metric, where only their order counts). Found by SMACOF, a majorisation whose stress never
rises (`solvers/scaling/smacof.py`); it ends in a local minimum, so the start matters. Classical
scaling, which fits inner products instead and has a closed form, is the default start.
A new row minimises its own part of the stress, the others staying where they are.
References: Kruskal 1964; Borg and Groenen 2005.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.memory import human_bytes
from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import map_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, warn_if_unfinished
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Dictionary,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.graphs import check_components, check_in_memory
from kilogram.base.progress import Tick, ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.kernels.row_pairs import dense
from kilogram.models.manifold.distances import check_distances, check_metric, row_distances
from kilogram.operators.cost import rates
from kilogram.solvers.scaling.classical import classical_scaling, distances_until
from kilogram.solvers.scaling.smacof import BLOCK_ENTRIES, place_points, random_start, smacof
from kilogram.solvers.solution import Solution, best_of

# n x n matrices at the peak: the distances; disparities, their pairs and the order of these
METRIC_COPIES, NON_METRIC_COPIES = 1.2, 6.0


class MDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Metric or non-metric multidimensional scaling by SMACOF.

    Minimises the stress ``sum_{i<j} (delta_ij - |z_i - z_j|)^2`` over coordinates Z. Takes
    scikit-learn's parameters; can place new rows. `ClassicalMDS` is classical scaling.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    metric_mds : bool, default=True
        Fit the dissimilarities themselves; False: only their order (non-metric MDS, where a
        dissimilarity of 0 counts as missing).
    n_init : int, default=1
        Random starts, of which the one with the least stress is kept; used by init="random".
    init : {"classical_mds", "random"}, default="classical_mds"
        The start: classical scaling, or random coordinates.
    max_iter : int, default=300
        Maximum number of iterations per start.
    verbose : int, default=0
        For compatibility with scikit-learn; progress goes through callbacks.
    eps : float, default=1e-6
        A start ends when the stress falls by less than this fraction of the sum of squared
        distances of the embedding.
    n_jobs : int or None, default=None
        For compatibility with scikit-learn; threads are those of OpenMP.
    random_state : int, RandomState or None, default=None
        Seed of the random starts.
    dissimilarity : {"deprecated", "euclidean", "precomputed"}, default="deprecated"
        scikit-learn's old name for `metric`.
    metric : str or callable, default="euclidean"
        The distance between rows: a name that `scipy.spatial.distance` or
        `sklearn.metrics.pairwise_distances` knows, or a function of two rows. "precomputed": X
        holds dissimilarities, (n, n) in `fit` and (m, n) in `transform`.
    metric_params : dict or None, default=None
        Keyword arguments of the metric.
    normalized_stress : bool or "auto", default="auto"
        Report Stress-1, ``sqrt(stress / sum_{i<j} |z_i - z_j|^2)``; "auto": for non-metric MDS.
    max_memory : int, str or None, default=None
        Memory limit for the matrices of distances; beyond it the fit raises MemoryError.
    max_time : float or None, default=None
        Seconds after which the fit stops with the coordinates it has.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
        Coordinates of the training rows.
    stress_ : float
        Raw stress, or Stress-1 (0 is perfect, 0.05 good, 0.2 poor).
    dissimilarity_matrix_ : array of shape (n, n)
        Distances between the training rows.
    n_iter_ : int
        Iterations of the start that was kept.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    ClassicalMDS : Classical scaling, by eigenvectors.
    Isomap : Classical scaling of distances along the data.

    Examples
    --------
    Three corners of a triangle whose sides are 3, 4 and 5:

    >>> import numpy as np
    >>> import kilogram as kg
    >>> D = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    >>> model = kg.MDS(metric="precomputed").fit(D)
    >>> bool(model.stress_ < 1e-6)
    True
    """

    laws: ClassVar[Laws] = Laws(
        weight="stress counts every pair of rows once",
        block="all distances between rows are needed at once",
        budget=True,
        textbook="the texts print classical scaling only",
        example={"max_iter": 3000, "eps": 1e-12},
        rtol=1e-4,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1),
        "metric_mds": Boolean(),
        "n_init": Integer(1),
        "init": OneOf("classical_mds", "random"),
        "max_iter": Integer(1),
        "verbose": Integer(0) | Boolean(),
        "eps": Real(0, closed="left"),
        "n_jobs": Integer() | Null(),
        "random_state": RandomState(),
        "dissimilarity": OneOf("deprecated", "euclidean", "precomputed"),
        "metric_params": Dictionary() | Null(),
        "normalized_stress": Boolean() | OneOf("auto"),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric_mds: bool = True,
        n_init: int = 1,
        init: str = "classical_mds",
        max_iter: int = 300,
        verbose: int = 0,
        eps: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
        dissimilarity: str = "deprecated",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        normalized_stress: bool | str = "auto",
        max_memory: int | str | None = None,
        max_time: float | None = None,
    ):
        self.n_components = n_components
        self.metric_mds = metric_mds
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.verbose = verbose
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.dissimilarity = dissimilarity
        self.metric = metric
        self.metric_params = metric_params
        self.normalized_stress = normalized_stress
        self.max_memory = max_memory
        self.max_time = max_time

    def fit(self, X: Any, y: Any = None, init: Any = None) -> Self:
        """Embed the rows X (n, d), or dissimilarities (n, n); y is ignored.

        `init` (n, n_components) are coordinates to start from.

        Returns
        -------
        self
        """
        self.fit_transform(X, init=init)
        return self

    @with_callbacks
    def fit_transform(self, X: Any, y: Any = None, init: Any = None) -> Any:
        """Fit, and the coordinates of the training rows, (n, n_components)."""
        budget = Budget(self.max_time, self.max_memory)
        X = self._validate(X).X
        metric = self._metric()
        check_metric(metric, self.metric_params)
        check_in_memory(type(self).__name__, X)
        n = X.shape[0]
        k = check_components(self.n_components, n, n)
        self._check_memory(n, budget)
        D = self._dissimilarities(X, metric)
        with ticking(self, "iteration", budget.deadline) as tick:
            found = self._best(D, k, init, budget, tick)
        best = found.value
        normalized = self.normalized_stress
        if normalized == "auto":
            normalized = not self.metric_mds
        rows = None if metric == "precomputed" else _host(X)
        self.dissimilarity_matrix_, self._rows = D, rows
        self.stress_ = np.float64(best.normalized_stress if normalized else best.stress)
        self._coordinates, self._disparities = best.Z, best.disparities
        self.n_iter_ = found.n_iter
        self.embedding_ = _in_library_of(best.Z, X)
        self._n_features_out = k
        warn_if_unfinished(type(self).__name__, found, "Raise max_iter, eps or max_time.")
        return self.embedding_

    def _metric(self) -> Any:
        if self.dissimilarity == "deprecated":
            return self.metric
        if self.metric != "euclidean":
            raise ValueError("dissimilarity and metric exclude each other: give metric only.")
        return self.dissimilarity

    def _check_memory(self, n: int, budget: Budget) -> None:
        copies = METRIC_COPIES if self.metric_mds else NON_METRIC_COPIES
        needed = copies * 8.0 * n * n
        if needed > budget.bytes:
            raise MemoryError(
                f"MDS: the distances between {n} rows take {human_bytes(needed)}, "
                f"{human_bytes(budget.bytes)} are allowed: fit on a sample of the rows and "
                "transform the others, or use ClassicalMDS."
            )

    def _dissimilarities(self, X: Any, metric: Any) -> np.ndarray:
        if isinstance(metric, str) and metric == "precomputed":
            D = np.asarray(to_numpy(dense(X)), dtype=np.float64)
            check_distances(D)
            return D
        if isinstance(metric, str) and metric == "euclidean":
            self._ensure_squares(X, np.float64)
        rows = _host(X)
        rows = rows.astype(np.float64, copy=False)
        n = rows.shape[0]
        D, _ = distances_until(
            lambda i: np.asarray(row_distances(rows[i], rows, metric, self.metric_params)),
            np.arange(n),
            n,
            at_once=max(1, BLOCK_ENTRIES // n),
            least=n,
            deadline=None,
        )
        np.fill_diagonal(D, 0.0)
        return D

    def _best(self, D: np.ndarray, k: int, init: Any, budget: Budget, tick: Tick) -> Solution:
        """The configuration of least stress over the starts."""
        given = self._first(D, k, init)
        starts = 1 if given is not None else int(self.n_init)
        rng = as_generator(self.random_state) if given is None else None
        best, taken = None, 0
        for _ in range(starts):
            Z = random_start(len(D), k, rng) if given is None else given
            found = smacof(
                D,
                Z,
                metric=bool(self.metric_mds),
                max_iter=int(self.max_iter),
                eps=float(self.eps),
                tick=tick,
            )
            taken += 1
            if best is None or found.value.stress < best.value.stress:
                best = found
            if budget.expired:
                break
        assert best is not None
        return best_of(best, taken, starts)

    def _first(self, D: np.ndarray, k: int, init: Any) -> np.ndarray | None:
        """The coordinates to start from; None: random ones."""
        if init is None and self.init == "random":
            return None
        if init is None:
            return np.asarray(classical_scaling(D, k).place(D), dtype=np.float64)
        Z = np.array(to_numpy(init), dtype=np.float64)
        if Z.shape != (len(D), k) or not np.isfinite(Z).all():
            raise ValueError(
                f"init must be a finite array of shape (n_samples, n_components) = {(len(D), k)}, "
                f"got one of shape {Z.shape}."
            )
        return Z

    def transform(self, X: Any) -> Any:
        """Coordinates of new rows, (m, n_components), of least stress beside the training rows.

        X (m, n) holds dissimilarities to the training rows if the metric is "precomputed".
        """
        check_is_fitted(self)
        return map_rows(self._place, self._validate(X, reset=False).X)

    def _place(self, block: Any) -> Any:
        if self._rows is None:
            D = np.asarray(to_numpy(dense(block)), dtype=np.float64)
        else:
            new = _host(block).astype(np.float64, copy=False)
            new = new.toarray() if is_sparse(new) and not is_sparse(self._rows) else new
            D = np.asarray(
                row_distances(new, self._rows, self._metric(), self.metric_params),
                dtype=np.float64,
            )
        if self._disparities is not None:
            D = np.interp(D, *self._disparities)
        return _in_library_of(place_points(D, self._coordinates), block)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        names = [name for name in (self.dissimilarity, self.metric) if isinstance(name, str)]
        given = "precomputed" in names
        tags.input_tags.sparse, tags.input_tags.pairwise = not given, given
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        each = n * n * (4.0 * int(self.n_components) + 20.0)
        work = (n * n * d + 100 * each) / rates(8).multiply_adds
        size = (METRIC_COPIES if self.metric_mds else NON_METRIC_COPIES) * 8.0 * n * n
        return self._costs(n, d, "100 iterations of SMACOF", work, size)


def _host(X: Any) -> Any:
    """The rows on the host, a copy."""
    rows = to_numpy(X.tocsr() if is_sparse(X) else X)
    return rows.copy() if is_sparse(rows) else np.array(rows)


def _in_library_of(Z: np.ndarray, X: Any) -> Any:
    """Coordinates in the library, on the device and in the float type of X."""
    return Z.astype(X.dtype) if is_sparse(X) else like(Z, X)

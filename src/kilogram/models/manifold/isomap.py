"""Isomap: classical scaling of the distances along the data.

Distances    g(i, j): the shortest path from row i to row j through a graph of the k nearest rows
Objective    min_Z  |B - Z Z'|_F^2,    B = -1/2 H G^2 H,  H = I - 1 1'/n   as in `classical_mds`

All paths take n log n operations from each of n rows and an n by n matrix. With m landmarks only
the paths from these are needed: the landmarks are scaled, and every other row is placed by Gower's
formula from its m distances (landmark MDS). A new row reaches the data through its neighbours,
g(x, j) = min_i (|x - x_i| + g(i, j)).
References: Tenenbaum, de Silva and Langford 2000; de Silva and Tenenbaum 2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.decomposition import KernelPCA
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.memory import human_bytes
from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.threads import n_threads, one_team
from kilogram.base import Budget, Estimate, Estimator, Laws, warn_if_unfinished
from kilogram.base.constraints import (
    Constraint,
    Dictionary,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.graphs import (
    check_components,
    check_in_memory,
    check_neighbours,
    warn_if_apart,
)
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.models.manifold.embedding import EmbeddingMixin, as_block
from kilogram.models.manifold.metric_neighbours import MetricNeighbours
from kilogram.native.graph import shortest_paths
from kilogram.operators.cost import rates
from kilogram.operators.half_squared_distances import half_squares
from kilogram.solvers.eigen.kernel_components import EigenSearch
from kilogram.solvers.neighbors.neighbor_graph import connected_components, symmetric_graph
from kilogram.solvers.scaling.classical import classical_scaling, distances_until

# N x n matrices at the peak: the paths, and their mean with the transposed ones; 0.2 for blocks.
COPIES = 2.2
PATH_ENTRIES = 2**22  # edges looked at between two looks at the clock: about 0.2 s of one core


class Isomap(EmbeddingMixin, Estimator):
    """Coordinates whose distances are lengths of paths along the data.

    Minimises ``|B - Z Z'|^2`` as `ClassicalMDS` does, with lengths of paths through the graph of
    neighbours.

    Parameters
    ----------
    n_neighbors : int or None, default=5
        Number of neighbours; None with a `radius`.
    radius : float or None, default=None
        Rows at most this far away are neighbours; n_neighbors is None then.
    n_components : int, default=2
        Dimension of the embedding.
    eigen_solver : {"auto", "arpack", "dense"}, default="auto"
        "dense" finds all pairs, "arpack" stands for Lanczos with products.
    tol : float, default=0
        Largest residual of an eigenvector relative to its eigenvalue; 0: to rounding.
    max_iter : int or None, default=None
        Maximum number of iterations of Lanczos.
    path_method : {"auto", "FW", "D"}, default="auto"
        For compatibility with scikit-learn: paths are found by Dijkstra's algorithm.
    neighbors_algorithm : {"auto", "brute", "kd_tree", "ball_tree"}, default="auto"
        For compatibility with scikit-learn: the search is exact and chosen by size.
    n_jobs : int or None, default=None
        For compatibility with scikit-learn: threads are those of OpenMP.
    metric : str or callable, default="minkowski"
        The distance between neighbours: a name that `ClassicalMDS` takes or a function of two rows.
        "precomputed": X holds distances, (n, n) in `fit` and (m, n) in `transform`.
    p : float, default=2
        Of "minkowski": 2 is the Euclidean distance, 1 the city-block distance.
    metric_params : dict or None, default=None
        Keyword arguments of the metric.
    n_landmarks : int or None, default=None
        Number of rows whose paths are computed; None: all. For many rows some hundreds are enough.
    max_memory : int, str or None, default=None
        Memory limit for the lengths of paths; beyond it the fit raises MemoryError and advises
        landmarks.
    max_time : float or None, default=None
        Seconds after which no more paths are computed (the rows that have theirs become the
        landmarks) and the eigenvectors are taken as far as they are.
    random_state : int, RandomState or None, default=None
        Seed of the choice of landmarks.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
        Coordinates of the training rows.
    eigenvalues_ : array of shape (n_components,)
        Eigenvalues of B, largest first.
    dist_matrix_ : array of shape (n_landmarks, n)
        Lengths of the shortest paths.
    landmarks_ : array of shape (n_landmarks,)
        Positions of the landmarks.
    nbrs_ : sklearn.neighbors.NearestNeighbors
        Search among the training rows, built when it is asked for.
    kernel_pca_ : sklearn.decomposition.KernelPCA
        The scaling of the landmarks as kernel PCA of ``-dist_matrix_**2 / 2``, fitted when it is
        asked for; its signs may differ from those of `embedding_`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    ClassicalMDS : The same with straight distances.

    Examples
    --------
    A spiral is unrolled: the coordinate is its length, up to a sign and a shift.

    >>> import numpy as np
    >>> import kilogram as kg
    >>> t = np.linspace(1, 9, 300)
    >>> X = np.column_stack([t * np.cos(t), t * np.sin(t)])
    >>> z = kg.Isomap(n_neighbors=4, n_components=1).fit_transform(X)[:, 0]
    >>> length = np.r_[0, np.cumsum(np.linalg.norm(np.diff(X, axis=0), axis=1))]
    >>> bool(abs(np.corrcoef(z, length)[0, 1]) > 0.9999)
    True
    """

    laws: ClassVar[Laws] = Laws(
        weight="in a graph of neighbours a row of weight 2 is not the same as two rows",
        block="paths lead through all rows",
        budget=True,
        example={"n_neighbors": 9},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_neighbors": Integer(1) | Null(),
        "radius": Real(0, closed="left") | Null(),
        "n_components": Integer(1),
        "eigen_solver": OneOf("auto", "arpack", "dense"),
        "tol": Real(0, closed="left"),
        "max_iter": Integer(1) | Null(),
        "path_method": OneOf("auto", "FW", "D"),
        "neighbors_algorithm": OneOf("auto", "brute", "kd_tree", "ball_tree"),
        "n_jobs": Integer() | Null(),
        "p": Real(1, closed="left"),
        "metric_params": Dictionary() | Null(),
        "n_landmarks": Integer(1) | Null(),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        *,
        n_neighbors: int | None = 5,
        radius: float | None = None,
        n_components: int = 2,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        path_method: str = "auto",
        neighbors_algorithm: str = "auto",
        n_jobs: int | None = None,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        max_memory: int | str | None = None,
        max_time: float | None = None,
        random_state: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.path_method = path_method
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_landmarks = n_landmarks
        self.max_memory = max_memory
        self.max_time = max_time
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows X (n, d); y is ignored.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, self.max_memory)
        X = self._validate(X).X
        check_in_memory(type(self).__name__, X)
        self._ensure_squares(X, np.float64)
        self._ensure_felt(X, dtype=np.float64)
        n = X.shape[0]
        neighbors = self._count_or_none(n)
        landmarks = self._landmarks(n, budget)
        k = check_components(self.n_components, len(landmarks), n)
        rows = to_numpy(X.tocsr() if is_sparse(X) else X)
        rows = rows.copy() if rows is X else rows
        near = MetricNeighbours.of(rows, self.metric, self.p, self.metric_params)
        G, reached = self._paths(self._graph(near, neighbors), landmarks, k, budget)
        with (
            one_team(k),  # BLAS has thin work only
            ticking(self, "iteration", budget.deadline) as tick,
        ):
            search = EigenSearch(
                "dense" if self.eigen_solver == "dense" else "auto",
                tol=float(self.tol),
                max_iter=self.max_iter,
                callback=tick,
                deadline=budget.deadline,
            )
            scaling = classical_scaling(_landmark_distances(G, reached), k, None, search)
        if len(reached) < len(landmarks):
            message = (
                f"time was up after the paths from {len(reached)} of {len(landmarks)} rows, which "
                "are the landmarks now."
            )
            scaling = replace(
                scaling, found=replace(scaling.found, converged=False, message=message)
            )
        self._near, self._scaling = near, scaling
        self.dist_matrix_, self.landmarks_ = G, reached
        self.eigenvalues_ = scaling.values
        self.embedding_ = as_block(scaling.place(G.T), X)
        warn_if_unfinished(type(self).__name__, scaling.found, "Raise max_time.")
        return self

    @property
    def nbrs_(self) -> NearestNeighbors:
        """Search among the training rows, built when it is asked for."""
        return NearestNeighbors(
            n_neighbors=self.n_neighbors,
            radius=self.radius,
            algorithm=self.neighbors_algorithm,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        ).fit(self._near.rows)

    @property
    def kernel_pca_(self) -> KernelPCA:
        """The scaling of the landmarks as kernel PCA, fitted when it is asked for."""
        return KernelPCA(
            n_components=self.n_components,
            kernel="precomputed",
            eigen_solver=self.eigen_solver,
            tol=self.tol,
            max_iter=self.max_iter,
        ).fit(half_squares(_landmark_distances(self.dist_matrix_, self.landmarks_)))

    def _landmarks(self, n: int, budget: Budget) -> np.ndarray:
        if self.n_landmarks is None:
            needed = COPIES * 8 * n * n
            if needed > budget.bytes:
                raise MemoryError(
                    f"the paths between all {n} rows take {human_bytes(needed)}, "
                    f"{human_bytes(budget.bytes)} are allowed: set n_landmarks, 500 for example."
                )
            return np.arange(n)
        m = int(self.n_landmarks)
        if m > n:
            raise ValueError(f"n_landmarks={m} must be at most n_samples = {n}.")
        return np.sort(as_generator(self.random_state).choice(n, m, replace=False))

    def _count_or_none(self, n: int) -> int | None:
        """The number of neighbours; None where a radius decides."""
        if self.radius is None:
            return check_neighbours(self.n_neighbors, n, most=n - 1)
        if self.n_neighbors is not None:
            raise ValueError(
                f"Both n_neighbors={self.n_neighbors!r} and radius={self.radius!r} are given: set "
                "one of them to None."
            )
        return None

    def _graph(self, near: MetricNeighbours, k: int | None) -> Any:
        """Lengths of the edges, in both directions, all rows connected."""
        n = near.rows.shape[0]
        if k is None:
            edges = [near.within(float(self.radius or 0.0))]
        else:
            found = near.nearest(k)
            edges = [(np.repeat(np.arange(n), k), found.indices.ravel(), found.distances.ravel())]
        a, b, _ = edges[0]
        count, labels = connected_components(
            scipy.sparse.coo_array((np.ones(len(a)), (a, b)), (n, n))
        )
        if count > 1:
            warn_if_apart(type(self).__name__, count)
            edges.append(near.connecting_edges(labels))
        a, b, length = (np.concatenate(column) for column in zip(*edges, strict=True))
        return symmetric_graph(a, b, length.astype(np.float64), n)

    def _paths(
        self, graph: Any, landmarks: np.ndarray, k: int, budget: Budget
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of paths from as many landmarks as the time allows; a part is left for Z."""
        limit = None if budget.deadline is None else budget.deadline - 0.2 * max(budget.left, 0.0)
        return distances_until(
            lambda some: shortest_paths(graph, some),
            landmarks,
            graph.shape[0],
            at_once=max(n_threads(), PATH_ENTRIES // max(1, graph.nnz)),
            least=min(len(landmarks), max(4 * k, 32)),
            deadline=limit,
        )

    def reconstruction_error(self) -> float:
        """|B - Z Z'|_F / n: what the coordinates leave out."""
        check_is_fitted(self)
        means = self._scaling.means
        K = half_squares(_landmark_distances(self.dist_matrix_, self.landmarks_))
        B = K - means.columns[:, None] - means.columns + means.grand
        rest = float((B * B).sum() - (self.eigenvalues_**2).sum())
        return np.float64(np.sqrt(max(rest, 0.0)) / len(B))

    def _place(self, block: Any) -> Any:
        self._ensure_squares(block, np.float64)
        new = to_numpy(block.tocsr() if is_sparse(block) else block)
        G = np.full((new.shape[0], len(self.landmarks_)), np.inf)
        if self.radius is None:
            near = self._near.nearest(int(self.n_neighbors or 1), new)
            for j in range(near.indices.shape[1]):
                step = self.dist_matrix_[:, near.indices[:, j]].T + near.distances[:, j : j + 1]
                np.minimum(G, step, out=G)
        else:
            a, b, length = self._near.within(float(self.radius), new)
            np.minimum.at(G, a, self.dist_matrix_[:, b].T + length[:, None])
            self._ensure_reached(G)
        return as_block(self._scaling.place(G), block)

    def _ensure_reached(self, G: np.ndarray) -> None:
        """Refuse new rows without a training row within the radius."""
        alone = np.flatnonzero(np.isinf(G).all(axis=1))
        if len(alone):
            raise ValueError(
                f"{type(self).__name__}: {len(alone)} rows have no training row within "
                f"radius={self.radius}, the first of them row {alone[0]}: raise radius, or use "
                "n_neighbors."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        m = n if self.n_landmarks is None else min(n, self.n_landmarks)
        work = (n * n * (d + 8.0) + 400.0 * m * n * (self.n_neighbors or 10)) / rates(
            8
        ).multiply_adds
        return self._costs(n, d, f"paths from {m} rows", work, 8 * COPIES * m * n)


def _landmark_distances(G: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """Lengths of paths between the landmarks, symmetric to the last digit."""
    G = G if len(landmarks) == G.shape[1] else G[:, landmarks]
    K = G + G.T
    K *= 0.5
    return K

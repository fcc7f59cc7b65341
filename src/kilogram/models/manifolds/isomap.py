"""Isomap: multidimensional scaling of the distances along the data.

Distances    g(i, j): the shortest path from row i to row j through a graph of the k nearest rows
Objective    min_Z  |B - Z Z'|_F^2,    B = -1/2 H G^2 H,  H = I - 1 1'/n        as in `mds`

All paths take n log n steps from each of n rows and an n by n matrix. With m landmarks only the
paths from these are needed: the landmarks are scaled, and every other row is placed by Gower's
formula from its m distances (landmark MDS). A new row reaches the data through its neighbours,
g(x, j) = min_i (|x - x_i| + g(i, j)).
References: Tenenbaum, de Silva and Langford 2000; de Silva and Tenenbaum 2004.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.threads import one_team
from kilogram.base import Budget, Estimate, Estimator, Laws, as_written
from kilogram.base.estimate import within
from kilogram.models.features.random_maps import generator
from kilogram.models.manifolds.embedding import EmbeddingMixin, as_block
from kilogram.models.manifolds.graphs import (
    check_components,
    check_count,
    check_in_memory,
    check_neighbours,
    warn_if_apart,
)
from kilogram.models.manifolds.mds import half_squares
from kilogram.models.subspace.kernel_pca import KernelPCA
from kilogram.native.graph import shortest_paths
from kilogram.operators import neighbours
from kilogram.operators.memory_plan import human_bytes, rates


class Isomap(EmbeddingMixin, Estimator):
    """Coordinates whose distances are lengths of paths along the data.

    Minimises ``|B - Z Z'|^2`` as `MDS` does, with lengths of paths through the graph of neighbours.

    Parameters
    ----------
    n_neighbors : int, default=5
    n_components : int, default=2
        Dimensions of the embedding.
    n_landmarks : int or None, default=None
        Rows whose paths are followed; None: all rows. For many rows some hundreds are enough.
    max_memory : int, str or None, default=None
        Most memory for the lengths of paths; beyond it the fit asks for landmarks.
    max_time : float or None, default=None
        Seconds after which the eigenvectors are taken as far as they are.
    random_state : int, RandomState or None, default=None
        Seed of the choice of landmarks.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
    eigenvalues_ : array of shape (n_components,)
        Of B, largest first.
    dist_matrix_ : array of shape (n_landmarks, n)
        Lengths of the shortest paths.
    landmarks_ : array of shape (n_landmarks,)
        Positions of the landmarks.
    kernel_pca_ : KernelPCA
        Of the kernel -g^2 / 2 of the landmarks.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X had any.

    See Also
    --------
    MDS : The same with straight distances.

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

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        n_components: int = 2,
        n_landmarks: int | None = None,
        max_memory: int | str | None = None,
        max_time: float | None = None,
        random_state: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.max_memory = max_memory
        self.max_time = max_time
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows X (n, d); y is ignored.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, self.max_memory)
        X = self._enter(X).X
        check_in_memory(self, X)
        self._ensure_squares(X, np.float64)
        self._ensure_felt(X, dtype=np.float64)
        n = X.shape[0]
        k = check_neighbours(self.n_neighbors, n, most=n - 1)
        self.landmarks_ = self._chosen(n, budget)
        check_components(self.n_components, len(self.landmarks_), n)
        self._rows = to_numpy(X.tocsr() if is_sparse(X) else X)
        graph = self._graph(k)
        self.dist_matrix_ = shortest_paths(graph, self.landmarks_)
        self.kernel_pca_ = KernelPCA(
            int(self.n_components), kernel="precomputed", max_time=self.max_time
        )
        with one_team(int(self.n_components)):  # BLAS has thin work only
            found = as_written(self.kernel_pca_, "fit_transform")(self._products())
        if self.n_landmarks is not None:
            found = as_written(self.kernel_pca_)(half_squares(self.dist_matrix_.T))
        self.eigenvalues_ = self.kernel_pca_.eigenvalues_
        self.embedding_ = as_block(found, X)
        return self

    def _chosen(self, n: int, budget: Budget) -> np.ndarray:
        if self.n_landmarks is None:
            needed = 3 * 8 * n * n
            if needed > budget.bytes:
                raise MemoryError(
                    f"the paths between all {n} rows take {human_bytes(needed)}, "
                    f"{human_bytes(budget.bytes)} are allowed: set n_landmarks, 500 for example."
                )
            return np.arange(n)
        m = check_count("n_landmarks", self.n_landmarks)
        if m > n:
            raise ValueError(f"n_landmarks={m} is more than n_samples = {n}.")
        return np.sort(generator(self.random_state).choice(n, m, replace=False))

    def _graph(self, k: int) -> Any:
        """Lengths of the edges, in both directions, all rows connected."""
        near = neighbours.nearest(self._rows, k)
        n = len(near.indices)
        edges = [(np.repeat(np.arange(n), k), near.indices.ravel(), near.distances.ravel())]
        count, labels = neighbours.components(
            neighbours.graph(np.ones(near.indices.shape), near.indices, n)
        )
        if count > 1:
            warn_if_apart(self, count)
            edges.append(neighbours.joined(self._rows, labels))
        a, b, length = (np.concatenate(column) for column in zip(*edges, strict=True))
        return neighbours.two_way(a, b, length.astype(np.float64), n)

    def _products(self) -> np.ndarray:
        """-g^2 / 2 between the landmarks, symmetric to the last digit."""
        every = self.n_landmarks is None
        G = self.dist_matrix_ if every else self.dist_matrix_[:, self.landmarks_]
        K = G + G.T
        K *= K
        K *= -0.125
        return K

    def reconstruction_error(self) -> float:
        """|B - Z Z'|_F / n: what the coordinates leave out."""
        means = self.kernel_pca_.kernel_means_
        B = self._products() - means.columns[:, None] - means.columns + means.grand
        rest = float((B * B).sum() - (self.eigenvalues_**2).sum())
        return float(np.sqrt(max(rest, 0.0)) / len(B))

    def _place(self, block: Any) -> Any:
        self._ensure_squares(block, np.float64)
        new = to_numpy(block.tocsr() if is_sparse(block) else block)
        near = neighbours.nearest(self._rows, int(self.n_neighbors), new)
        G = np.full((len(near.indices), len(self.landmarks_)), np.inf)
        for j in range(near.indices.shape[1]):
            step = self.dist_matrix_[:, near.indices[:, j]].T + near.distances[:, j : j + 1]
            np.minimum(G, step, out=G)
        return as_block(as_written(self.kernel_pca_)(half_squares(G)), block)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        m = n if self.n_landmarks is None else min(n, self.n_landmarks)
        work = (n * n * (d + 8.0) + 400.0 * m * n * self.n_neighbors) / rates(8).multiply_adds
        return within(self, n, d, f"paths from {m} rows", work, 24.0 * m * n)

"""Classical multidimensional scaling: coordinates from distances alone, by eigenvectors.

Objective    min_Z  |B - Z Z'|_F^2,    B = -1/2 H D^2 H,  H = I - 1 1'/n,  D^2 the squared distances

B holds the inner products of the centred rows if the distances are Euclidean, so Z = U Lambda^1/2
from its k largest eigenpairs: kernel PCA of the kernel -d(x, y)^2 / 2, and PCA for Euclidean
distances between rows, which then need no n by n matrix. Other distances may leave B negative
eigenvalues; what belongs to these has no place in a Euclidean space and is left out.
New rows by Gower's formula: z(x) = 1/2 Lambda^-1/2 U'(mean_j d(x_j, .)^2 - d(x, .)^2).
References: Torgerson 1952; Gower 1968.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace
from kilogram.arrays.rows import map_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, warn_if_unfinished
from kilogram.base.constraints import Constraint, Dictionary, Integer, Null
from kilogram.base.graphs import check_components, check_in_memory
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.projection import KernelProjection, linear_projection
from kilogram.kernels import Linear
from kilogram.kernels.row_pairs import dense
from kilogram.models.manifold.distances import (
    HalfSquares,
    check_distances,
    check_metric,
    row_distances,
)
from kilogram.operators.cost import rates
from kilogram.operators.gram import Gram
from kilogram.solvers.eigen.kernel_components import (
    EigenSearch,
    components_of,
    kernel_components,
)
from kilogram.solvers.scaling.classical import (
    ClassicalScaling,
    classical_scaling,
    distances_until,
    scaling_of,
)
from kilogram.solvers.solution import Solution

COPIES = 1.25  # n x n matrices at the peak: the distances, and a quarter that blocks of them take


class ClassicalMDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Classical multidimensional scaling (principal coordinates analysis).

    Minimises ``|B - Z Z'|^2`` over coordinates Z, B = -1/2 H D^2 H the inner products that the
    squared distances stand for (H centres): kernel PCA of a distance. Takes scikit-learn's
    parameters; with sample weights, new rows (`transform`), and without an n by n matrix for
    Euclidean distances.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    metric : str or callable, default="euclidean"
        The distance between rows: a name that `scipy.spatial.distance` or
        `sklearn.metrics.pairwise_distances` knows, or a function of two rows. "precomputed": X
        holds distances, (n, n) in `fit` and (m, n) in `transform`.
    metric_params : dict or None, default=None
        Keyword arguments of the metric.
    max_memory : int, str or None, default=None
        Memory limit for the matrix of distances; beyond it, it is computed in blocks.
    max_time : float or None, default=None
        Seconds after which no more distances are computed (rows without them are placed from the
        others, as in landmark MDS) and the eigenvectors are taken as far as they are.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
        Coordinates of the training rows.
    eigenvalues_ : array of shape (n_components,)
        Eigenvalues of B, largest first; 0 where the distances have no further dimension.
    dissimilarity_matrix_ : array of shape (n, n)
        The distances, computed when asked for.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    MDS : Minimises the differences between distances (stress) instead.
    Isomap : Classical scaling of distances along the data.
    KernelPCA : The same with a kernel.

    Examples
    --------
    Distances between four towns on a line, and the line again:

    >>> import numpy as np
    >>> import kilogram as kg
    >>> at = np.array([0.0, 1.0, 3.0, 7.0])
    >>> D = np.abs(at[:, None] - at)
    >>> z = kg.ClassicalMDS(1, metric="precomputed").fit_transform(D)[:, 0]
    >>> np.allclose(np.abs(z[:, None] - z), D)
    True
    """

    laws: ClassVar[Laws] = Laws(
        block="all distances between rows are needed at once",
        example={"metric": "euclidean"},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1),
        "metric_params": Dictionary() | Null(),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        max_memory: int | str | None = None,
        max_time: float | None = None,
    ):
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.max_memory = max_memory
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Embed the rows X (n, d), or distances (n, n); y is ignored.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, self.max_memory)
        X, _, w = self._validate(X, None, sample_weight)
        check_metric(self.metric, self.metric_params)
        check_in_memory(type(self).__name__, X)
        k = check_components(self.n_components, X.shape[0], X.shape[0])
        with ticking(self, "iteration", budget.deadline) as tick:
            search = EigenSearch(
                callback=tick, deadline=budget.deadline, max_memory=self.max_memory
            )
            self._fit(X, w, k, search, budget)
        return self

    def _fit(self, X: Any, w: Any, k: int, search: EigenSearch, budget: Budget) -> None:
        """Scale, then store; the rows that new ones are compared with are kept as a copy."""
        project: Any = None
        rows: Any = X
        if self._has_metric("precomputed"):
            D = dense(X)
            check_distances(D)
            scaling = classical_scaling(D, k, w, search)
            embedding = scaling.place(D)
        elif self._has_metric("euclidean"):
            self._ensure_squares(X)
            self._ensure_felt(X)
            scaling = scaling_of(kernel_components(Linear(), X, w, k, search), w)
            rows = _copied(X)
            project = linear_projection(rows, scaling.means.weights, scaling.axes)
            embedding = project(X)
        elif is_numpy(X) and COPIES * 8.0 * X.shape[0] ** 2 <= budget.bytes:
            scaling, rows, embedding = self._by_distances(X, w, k, search, budget)
        else:
            kernel = HalfSquares(self.metric, self.metric_params)
            gram = Gram(kernel, X, max_memory=self.max_memory)
            scaling, rows = scaling_of(components_of(gram, w, k, search), w), _copied(X)
            embedding = KernelProjection(kernel, rows, scaling.means, scaling.axes)(X)
        self._scaling, self._rows, self._linear = scaling, rows, project
        self.embedding_ = embedding.astype(X.dtype) if is_sparse(X) else like(embedding, X)
        self.eigenvalues_ = scaling.values if is_sparse(X) else like(scaling.values, X)
        self._n_features_out = int(self.embedding_.shape[1])
        warn_if_unfinished(type(self).__name__, scaling.found, "Raise max_time.")

    def _by_distances(
        self, X: np.ndarray, w: Any, k: int, search: EigenSearch, budget: Budget
    ) -> tuple[ClassicalScaling, np.ndarray, np.ndarray]:
        """Scaling from as many rows of the distance matrix as the time allows."""
        n = len(X)
        limit = None if budget.deadline is None else budget.deadline - 0.3 * max(budget.left, 0.0)
        D, done = distances_until(
            lambda i: row_distances(X[i], X, self.metric, self.metric_params),
            np.arange(n),
            n,
            at_once=max(1, BLOCK_ENTRIES // (n * max(1, X.shape[1]))),
            least=min(n, max(4 * k, 32)),
            deadline=limit,
        )
        w = None if w is None else np.asarray(w, dtype=np.float64)
        if len(done) == n:
            scaling = classical_scaling(D, k, w, search)
            return scaling, _copied(X), scaling.place(D)
        some = None if w is None else w[done]
        scaling = classical_scaling(np.ascontiguousarray(D[:, done]), k, some, search)
        early = Solution(
            None,
            scaling.found.n_iter,
            converged=False,
            message=f"time was up after the distances of {len(done)} of {n} rows; the others were "
            "placed from these.",
        )
        scaling = ClassicalScaling(scaling.values, scaling.axes, scaling.means, early)
        return scaling, X[done], scaling.place(D.T)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the coordinates of the training rows, (n, n_components)."""
        return self.fit(X, sample_weight=sample_weight).embedding_

    def transform(self, X: Any) -> Any:
        """Coordinates of new rows, (m, n_components), from their distances to the training rows.

        These are given as X (m, n) if the metric is "precomputed".
        """
        check_is_fitted(self)
        return map_rows(self._place, self._validate(X, reset=False).X)

    def _place(self, block: Any) -> Any:
        if self._linear is not None:
            return self._linear(block)
        if self._has_metric("precomputed"):
            D = dense(block)
        else:
            D = row_distances(_stored_like(block, self._rows), self._rows, self.metric,
                              self.metric_params)  # fmt: skip
        scaling, xp = self._scaling, namespace(D)
        D = xp.astype(D, scaling.axes.dtype, copy=False)
        found = scaling.place(D)
        return found.astype(block.dtype) if is_sparse(block) else like(found, block)

    @property
    def dissimilarity_matrix_(self) -> Any:
        """Distances between the training rows, (n, n)."""
        check_is_fitted(self)
        if self._has_metric("precomputed"):
            return self._rows
        return row_distances(self._rows, self._rows, self.metric, self.metric_params)

    def _has_metric(self, metric: str) -> bool:
        return isinstance(self.metric, str) and self.metric == metric

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = self._has_metric("precomputed")
        tags.input_tags.sparse, tags.input_tags.pairwise = not given, given
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size = 4 if dtype == "float32" else 8
        if self._has_metric("euclidean"):
            work = float(n) * d * min(n, d) / rates(size).multiply_adds
            return self._costs(n, d, "principal components", work, size * n * d)
        work = n * n * (d + 160.0) / rates(size).multiply_adds  # ten products of 16 columns
        return self._costs(n, d, "the matrix of distances", work, size * n * n)


def _copied(X: Any) -> Any:
    return X.copy() if is_sparse(X) else namespace(X).asarray(X, copy=True)


def _stored_like(block: Any, rows: Any) -> Any:
    """The block as sparse or as dense as the training rows."""
    if is_sparse(block) and not is_sparse(rows):
        return block.toarray()
    if is_sparse(rows) and not is_sparse(block):
        return type(rows)(block)
    return block

"""Multidimensional scaling: coordinates from distances alone.

Objective    min_Z  |B - Z Z'|_F^2,    B = -1/2 H D^2 H,  H = I - 1 1'/n,  D^2 the squared distances

B holds the inner products of the centred rows if the distances are Euclidean, so Z = U Lambda^1/2
from its k largest eigenpairs: kernel PCA of the kernel -d(x, y)^2 / 2, and PCA for Euclidean
distances between rows, which then need no n by n matrix. Other distances may leave B negative
eigenvalues; what belongs to these has no place in a Euclidean space and is left out.
New rows by Gower's formula: z(x) = 1/2 Lambda^-1/2 U'(mean_j d(x_j, .)^2 - d(x, .)^2).
References: Torgerson 1952; Gower 1968.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.base import Budget, Estimate, Estimator, Laws, as_written
from kilogram.base.estimate import within
from kilogram.functions import distances
from kilogram.kernels import Kernel, Linear
from kilogram.kernels.pairs import as_rows, dense, row_ones
from kilogram.models.manifolds.graphs import check_components, check_in_memory, check_symmetric
from kilogram.models.subspace.kernel_pca import KernelPCA
from kilogram.operators.memory_plan import rates

METRICS = {"cityblock": distances.city_block, "hamming": distances.hamming}


class HalfSquares(Kernel):
    """-d(x, y)^2 / 2 for a distance by name or a function of two tables: a kernel once centred."""

    def __init__(self, metric: Any):
        self.metric = metric

    def formula(self, X: Any, Y: Any) -> Any:
        f: Any = METRICS[self.metric] if isinstance(self.metric, str) else self.metric
        Y = X if Y is None else Y
        D = f(X, Y)
        if getattr(D, "shape", None) != (X.shape[0], Y.shape[0]):
            got = f"of shape {tuple(D.shape)}" if hasattr(D, "shape") else repr(D)
            raise ValueError(
                f"metric must give the distances of two tables of rows, (n, m): for tables of "
                f"{X.shape[0]} and {Y.shape[0]} rows it gave one {got}."
            )
        return half_squares(namespace(X).astype(D, X.dtype) if not is_sparse(X) else D)

    def diag(self, X: Any) -> Any:
        return row_ones(as_rows(X), 0.0)


def half_squares(D: Any) -> Any:
    """-D^2 / 2."""
    return -0.5 * D * D


class MDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Classical multidimensional scaling.

    Minimises ``|B - Z Z'|^2`` over coordinates Z, B = -1/2 H D^2 H the inner products that the
    squared distances stand for (H centres): kernel PCA of a distance.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the embedding.
    metric : {"euclidean", "cityblock", "hamming", "precomputed"} or callable, default="euclidean"
        The distance between rows. "precomputed": X holds distances (n, n), in use (m, n); a
        callable gets two tables of rows and returns their distances.
    max_memory : int, str or None, default=None
        Most memory for the matrix of distances; beyond it, it is computed in blocks.
    max_time : float or None, default=None
        Seconds after which the eigenvectors are taken as far as they are.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
    eigenvalues_ : array of shape (n_components,)
        Of B, largest first; 0 where the distances have no further dimension.
    kernel_pca_ : KernelPCA
        Of the kernel -d^2 / 2.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X had any.

    See Also
    --------
    Isomap : The same with distances along the data.
    KernelPCA : The same with a kernel.

    Examples
    --------
    Distances between four towns on a line, and the line again:

    >>> import numpy as np
    >>> import kilogram as kg
    >>> at = np.array([0.0, 1.0, 3.0, 7.0])
    >>> D = np.abs(at[:, None] - at)
    >>> z = kg.MDS(1, metric="precomputed").fit_transform(D)[:, 0]
    >>> np.allclose(np.abs(z[:, None] - z), D)
    True
    """

    laws: ClassVar[Laws] = Laws(
        block="all distances between rows are looked at",
        example={"metric": "euclidean"},
    )

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        max_memory: int | str | None = None,
        max_time: float | None = None,
    ):
        self.n_components = n_components
        self.metric = metric
        self.max_memory = max_memory
        self.max_time = max_time

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Embed the rows X (n, d), or distances (n, n); y is ignored.

        Returns
        -------
        self
        """
        self._scale(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the coordinates of the training rows, (n, n_components)."""
        return self.fit(X, sample_weight=sample_weight).embedding_

    def _scale(self, X: Any, sample_weight: Any) -> None:
        Budget(self.max_time, self.max_memory)
        kernel = self._kernel()
        X, _, w = self._enter(X, None, sample_weight)
        check_in_memory(self, X)
        k = check_components(self.n_components, X.shape[0], X.shape[0])
        if kernel == "precomputed":
            check_distances(X)
            X = half_squares(dense(X))
        elif self.metric == "euclidean":
            self._ensure_squares(X)
            self._ensure_felt(X)
        self.kernel_pca_ = KernelPCA(
            k, kernel=kernel, max_memory=self.max_memory, max_time=self.max_time
        )
        scaled = as_written(self.kernel_pca_, "fit_transform")
        self.embedding_ = scaled(X, sample_weight=w)
        self.eigenvalues_ = self.kernel_pca_.eigenvalues_
        self._n_features_out = int(self.embedding_.shape[1])

    def _kernel(self) -> Any:
        metric = self.metric
        if callable(metric):
            return HalfSquares(metric)
        known = ("euclidean", *METRICS, "precomputed")
        if metric not in known:
            raise ValueError(f"metric must be one of {known} or a callable, got {metric!r}.")
        if metric == "euclidean":
            return Linear()
        return metric if metric == "precomputed" else HalfSquares(metric)

    def transform(self, X: Any) -> Any:
        """Coordinates of the rows of X, (m, n_components), from their distances to the training
        rows: given as X (m, n) if these are precomputed."""
        check_is_fitted(self)
        X = self._enter(X, reset=False).X
        if isinstance(self.metric, str) and self.metric == "precomputed":
            X = half_squares(dense(X))
        return as_written(self.kernel_pca_)(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = isinstance(self.metric, str) and self.metric == "precomputed"
        tags.input_tags.sparse, tags.input_tags.pairwise = not given, given
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size = 4 if dtype == "float32" else 8
        if self.metric == "euclidean":
            work = float(n) * d * min(n, d) / rates(size).multiply_adds
            return within(self, n, d, "principal components", work, size * n * d)
        work = n * n * (d + 160.0) / rates(size).multiply_adds  # ten products of 16 columns
        return within(self, n, d, "the matrix of distances", work, size * n * n)


def check_distances(D: Any) -> None:
    """A symmetric matrix of distances, none negative."""
    xp = namespace(D)
    D = dense(D)
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"Precomputed distances are square (n, n), got shape {tuple(D.shape)}.")
    if float(xp.min(D)) < 0:
        raise ValueError(f"Distances must not be negative, the smallest is {float(xp.min(D)):g}.")
    check_symmetric(D, "Distances must be symmetric; d(i, j) and d(j, i)")

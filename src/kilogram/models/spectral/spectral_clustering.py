"""Spectral clustering: k clusters that few affinities cross, through eigenvectors.

Objective    max_Z  tr(H'A H)         H = Z L^1/2, L = diag(1 / N_c), Z the memberships  (trace)
             max_Z  sum_c  (z_c'A z_c) / (z_c'D z_c)       D = diag(A 1)                   (ncut)

"trace" is kernel k-means: its cost is tr A - tr(H'A H). "ncut" weighs each row by its degree, so
that clusters of different density are treated alike. Both are hard over memberships and easy over
all H with H'H = I (H'D H = I): the eigenvectors of the k largest eigenvalues,

    A u = lambda u                        D^-1/2 A D^-1/2 u = lambda u,   f = D^-1/2 u

whose sum bounds what any memberships reach. Rows of H are points on or near k directions (for
"trace" they are scaled to length 1), and k-means finds these. H is known up to an orthogonal
matrix, so a threshold on its entries is a poorer way back to memberships.

Kernel PCA is something else: it centres the kernel matrix and scales by sqrt(lambda). New rows get
their f by Nystroem's extension (`base.affinity`).
References: Welling, A First Encounter with Machine Learning, ch. 11; Shi and Malik 2000;
Ng, Jordan and Weiss 2001; von Luxburg 2007.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import like, namespace
from kilogram.arrays.rows import map_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, warn_if_unfinished
from kilogram.base.affinity import (
    GRAPHS,
    SOLVERS,
    AffinityMixin,
    Functions,
    connected,
    smoothest_functions,
)
from kilogram.base.clustering import (
    CentreMixin,
    check_row_count,
    warn_if_duplicates,
)
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
from kilogram.base.graphs import check_in_memory
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.models.spectral.rounding import ROUNDINGS, labels_of
from kilogram.operators.cost import rates
from kilogram.solvers.lloyd.cluster_sums import nearest
from kilogram.solvers.lloyd.containers import host, like_block, unit_rows
from kilogram.solvers.lloyd.kmeans import KMeansSettings, count_starts, fit_kmeans
from kilogram.statistics.products import weight_unit


class SpectralClustering(AffinityMixin, CentreMixin, Estimator):
    """Cluster rows by the leading eigenvectors of their affinities.

    Maximises ``sum_c z_c'A z_c / z_c'D z_c`` over memberships z ("ncut"), or kernel k-means'
    ``sum_c z_c'A z_c / N_c`` ("trace"): over all orthonormal vectors first, then to the nearest
    memberships. A holds the affinities, D = diag(A 1).
    Takes scikit-learn's parameters, any Kilogram kernel and new rows (`predict`).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    eigen_solver : {None, "dense", "factor", "arpack", "lobpcg", "amg"}, default=None
        None chooses. "dense" finds all pairs, "factor" is shift-invert by a sparse factor (graphs
        only); scikit-learn's three names stand for block Lanczos.
    n_components : int or None, default=None
        Eigenvectors used; None is n_clusters.
    random_state : int, RandomState or None, default=None
        Seed of the starts of k-means.
    n_init : int, default=10
        Number of initialisations of k-means.
    gamma : float or None, default=1.0
        Rate of a kernel given by name; None is 1 / d.
    affinity : str, Kernel or callable, default="rbf"
        "nearest_neighbors": a graph of `n_neighbors` neighbours. Else a kernel: its name, an object
        such as `Gaussian(sigma=1.0)` or a function of two rows. "precomputed": X is the affinity
        matrix, dense or sparse; "precomputed_nearest_neighbors": X is a sparse graph of neighbours.
    n_neighbors : int, default=10
        Of the graph, counting the row itself.
    eigen_tol : float or "auto", default="auto"
        Largest residual of an eigenvector; "auto" is 1e-6.
    assign_labels : {"kmeans", "discretize", "cluster_qr", "threshold"}, default="kmeans"
        From rows of eigenvectors to labels; see `kilogram.models.spectral.rounding`.
        All but k-means name one cluster for each eigenvector: they take the first n_clusters.
    degree, coef0 : float, default=3 and 1
        Of a polynomial or sigmoid kernel given by name.
    kernel_params : dict or None, default=None
        Further parameters of a kernel given by name, or keyword arguments of a callable.
    n_jobs : int or None, default=None
        For compatibility with scikit-learn: all threads that OpenMP and BLAS may use are used.
    verbose : bool, default=False
        For compatibility with scikit-learn; progress goes through callbacks.
    relaxation : {"ncut", "trace"}, default="ncut"
        Normalised cut, or the kernel matrix itself with rows of length 1.
    max_memory : int, str or None, default=None
        Memory limit for a kernel matrix; beyond it, it is computed in blocks for every product.
    max_time : float or None, default=None
        Seconds after which the eigenvectors are taken as far as they are.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of every training row.
    embedding_ : array of shape (n, n_components)
        Rows of eigenvectors that were clustered.
    eigenvalues_ : array of shape (n_components,)
        Largest first; of "ncut" at most 1, and 1 once for each part of a disconnected graph.
    affinity_matrix_ : sparse matrix or array of shape (n, n)
        Affinities of the rows; those of a kernel are computed when asked for.
    bound_ : float
        The sum of the eigenvalues: no memberships reach more of the objective.
    n_iter_ : int
        Number of iterations of the eigensolver.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    KernelKMeans : The objective of "trace", without relaxation.
    LaplacianEigenmaps : The eigenvectors of "ncut" as coordinates.

    Examples
    --------
    >>> import kilogram as kg
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import adjusted_rand_score
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> model = kg.SpectralClustering(2, affinity="nearest_neighbors", random_state=0).fit(X)
    >>> adjusted_rand_score(y, model.labels_)
    1.0
    """

    laws: ClassVar[Laws] = Laws(
        block="all rows meet in one graph or kernel matrix",
        budget=True,
        example={"n_clusters": 3, "gamma": 0.2, "assign_labels": "cluster_qr"},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_clusters": Integer(1),
        "eigen_solver": OneOf(*SOLVERS),
        "n_components": Integer(1) | Null(),
        "random_state": RandomState(),
        "n_init": Integer(1),
        "n_neighbors": Integer(1),
        "eigen_tol": Real(0, closed="left") | OneOf("auto"),
        "assign_labels": OneOf("kmeans", *ROUNDINGS),
        "kernel_params": Dictionary() | Null(),
        "n_jobs": Integer() | Null(),
        "verbose": Boolean() | Integer(0),
        "relaxation": OneOf("ncut", "trace"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        eigen_solver: str | None = None,
        n_components: int | None = None,
        random_state: Any = None,
        n_init: int = 10,
        gamma: float | None = 1.0,
        affinity: Any = "rbf",
        n_neighbors: int = 10,
        eigen_tol: float | str = "auto",
        assign_labels: str = "kmeans",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        relaxation: str = "ncut",
        max_memory: int | str | None = None,
        max_time: float | None = None,
    ):
        self.n_clusters = n_clusters
        self.eigen_solver = eigen_solver
        self.n_components = n_components
        self.random_state = random_state
        self.n_init = n_init
        self.gamma = gamma
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.eigen_tol = eigen_tol
        self.assign_labels = assign_labels
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.relaxation = relaxation
        self.max_memory = max_memory
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows X (n, d), or an affinity matrix; y is ignored.

        `sample_weight` (n,) is for kernels; a graph of neighbours has none.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, self.max_memory)
        X, y_, w = self._validate(X, None, sample_weight)
        check_in_memory(type(self).__name__, X)
        check_row_count(X, y if y_ is None else y_, self.n_clusters)
        w = None if w is None else w / weight_unit(w)  # only their proportions count
        k = int(self.n_components or self.n_clusters)
        if self.assign_labels != "kmeans":
            k = max(k, int(self.n_clusters))
        affinity = self._affinity_of(X, w)
        affinity = connected(type(self).__name__, affinity, most=max(k, self.n_clusters))
        tol = 1e-6 if self.eigen_tol == "auto" else float(self.eigen_tol)
        with ticking(self, "iteration", budget.deadline) as tick:
            self._functions = smoothest_functions(
                type(self).__name__,
                affinity,
                min(k, X.shape[0]),
                self.relaxation == "ncut",
                tol=tol,
                solver=SOLVERS[self.eigen_solver],
                callback=tick,
                deadline=budget.deadline,
            )
        self._affinity = affinity.kept()
        self._assign(X, w)
        return self

    def _assign(self, X: Any, w: Any) -> None:
        functions: Functions = self._functions
        F = _without_rounding(self._points(functions.f))
        if self.assign_labels == "kmeans":
            starts = count_starts("k-means++", self.n_init)
            settings = KMeansSettings(int(self.n_clusters), n_init=starts)
            weights = None if w is None else like(w, F)
            found = fit_kmeans(F, weights, settings, as_generator(self.random_state))
            self._rule: Any = (found.centers, found.origin)
            labels = found.labels
            distinct = len(np.unique(host(labels)))
            warn_if_duplicates(distinct, int(self.n_clusters))
            advice = "assign_labels='cluster_qr' needs no iterations."
            warn_if_unfinished(f"{type(self).__name__}: k-means", found.solution, advice)
        else:
            self._rule = ROUNDINGS[self.assign_labels](host(F)[:, : int(self.n_clusters)])
            labels = labels_of(host(F), self._rule)
        xp = namespace(functions.values)
        self.bound_ = float(xp.sum(functions.values))
        self.eigenvalues_, self.n_iter_ = functions.values, functions.found.n_iter
        self.embedding_ = like_block(host(F), X)
        self._n_features_out = self.embedding_.shape[1]
        self.labels_ = like_block(host(labels).astype(np.int32), X)

    def _points(self, f: Any) -> Any:
        return f if self.relaxation == "ncut" else unit_rows(f)

    @property
    def affinity_matrix_(self) -> Any:
        """A (n, n), sparse for graphs."""
        check_is_fitted(self)
        return self._affinity.A.dense()

    def predict(self, X: Any) -> Any:
        """The cluster of each row of X, (m,), by Nystroem's extension of the eigenvectors.

        With an affinity matrix given, X holds the affinities of the new rows to the training rows.
        """
        check_is_fitted(self)
        return map_rows(self._labels, self._validate(X, reset=False).X)

    def transform(self, X: Any) -> Any:
        """The rows that are clustered, (m, n_components): of new rows by Nystroem's extension."""
        check_is_fitted(self)
        return map_rows(self._coordinates, self._validate(X, reset=False).X)

    def _extended(self, block: Any) -> Any:
        return self._points(self._affinity.extend(block, self._functions))

    def _coordinates(self, block: Any) -> Any:
        return like_block(host(self._extended(block)), block)

    def _labels(self, block: Any) -> Any:
        F = self._extended(block)
        if isinstance(self._rule, tuple):  # centres and origin of k-means
            labels = host(nearest(F, *self._rule)[0])
        else:
            labels = labels_of(host(F), self._rule)
        return like_block(labels.astype(np.int32), block)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = isinstance(self.affinity, str) and self.affinity.startswith("precomputed")
        tags.input_tags.pairwise = given
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        speed = rates(8)
        if isinstance(self.affinity, str) and self.affinity in GRAPHS:
            work = n * n * (d + 8.0) / speed.multiply_adds
            entries = 2.0 * n * self.n_neighbors
            return self._costs(n, d, "a graph of neighbours", work, 100 * entries)
        work = 15 * (n * n * (d / 2 + 16.0) / speed.multiply_adds + n * n / 2 / speed.values)
        return self._costs(n, d, "15 products with the kernel matrix", work, 8 * n * 64)


def _without_rounding(F: Any) -> Any:
    """F with columns that differ by rounding only made constant: k-means would look at it."""
    xp = namespace(F)
    flat = xp.max(F, axis=0) - xp.min(F, axis=0) <= 1e-9 * xp.max(xp.abs(F))
    return xp.where(flat[None, :], xp.mean(F, axis=0)[None, :] + 0.0 * F, F)

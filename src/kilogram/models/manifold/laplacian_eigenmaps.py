"""Laplacian eigenmaps: coordinates that change little between rows that are near.

Objective    min_Z  1/2 sum_ij A_ij |z_i - z_j|^2 = tr(Z'L Z)     Z'D Z = I,  Z'D 1 = 0
             A the affinities, D = diag(A 1), L = D - A the Laplacian of the graph

             L z = mu D z:  D^-1/2 A D^-1/2 u = (1 - mu) u,  z = D^-1/2 u

without the constant solution mu = 0. Spectral clustering runs k-means on the same coordinates: the
two are related, not identical. New rows by Nystroem's extension (`affinity`).
Reference: Belkin and Niyogi 2003; Bengio et al. 2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from kilogram.arrays.namespace import to_numpy
from kilogram.base import Budget, Estimate, Estimator, Laws
from kilogram.base.affinity import SOLVERS, AffinityMixin, connected, smoothest_functions
from kilogram.base.constraints import Constraint, Integer, Null, OneOf, Real
from kilogram.base.graphs import check_components, check_in_memory
from kilogram.base.progress import ticking, with_callbacks
from kilogram.models.manifold.embedding import EmbeddingMixin, as_block
from kilogram.operators.cost import rates


class LaplacianEigenmaps(AffinityMixin, EmbeddingMixin, Estimator):
    """Embed rows by the smoothest functions on their graph.

    Minimises ``1/2 sum_ij A_ij |z_i - z_j|^2`` over Z'D Z = I, A the affinities, D = diag(A 1).
    scikit-learn calls it SpectralEmbedding and takes the same parameters; here a row counts among
    its own neighbours, and new rows can be embedded.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    affinity : str, Kernel or callable, default="nearest_neighbors"
        A graph of neighbours, or a kernel: its name, an object such as `Gaussian(sigma=1.0)` or a
        function of two rows. "precomputed": X is the affinity matrix, dense or sparse;
        "precomputed_nearest_neighbors": X is a sparse graph of neighbours.
    gamma : float or None, default=None
        Rate of a kernel given by name; None is 1 / d.
    n_neighbors : int or None, default=None
        Of the graph, counting the row itself; None is n / 10, at least 2.
    eigen_solver : {None, "dense", "factor", "arpack", "lobpcg", "amg"}, default=None
        None chooses. "dense" finds all pairs, "factor" is shift-invert by a sparse factor (graphs
        only); scikit-learn's three names stand for block Lanczos.
    eigen_tol : float or "auto", default="auto"
        Largest residual of an eigenvector; "auto" is 1e-9.
    max_memory : int, str or None, default=None
        Memory limit for a kernel matrix; beyond it, it is computed in blocks for every product.
    max_time : float or None, default=None
        Seconds after which the eigenvectors are taken as far as they are.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
        Coordinates of the training rows.
    eigenvalues_ : array of shape (n_components,)
        mu, smallest first. `objective_` is their sum.
    n_neighbors_ : int
        Number of neighbours used.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    SpectralClustering : Clusters from the same coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> import kilogram as kg
    >>> t = np.linspace(0, 4, 200)
    >>> X = np.column_stack([t * np.cos(t), t * np.sin(t)])
    >>> z = kg.LaplacianEigenmaps(1, n_neighbors=5).fit_transform(X)[:, 0]
    >>> bool(np.all(np.diff(z) > 0) or np.all(np.diff(z) < 0))
    True
    """

    laws: ClassVar[Laws] = Laws(
        weight="in a graph of neighbours a row of weight 2 is not the same as two rows",
        block="all rows meet in one graph or kernel matrix",
        budget=True,
        example={"n_neighbors": 9},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1),
        "n_neighbors": Integer(1) | Null(),
        "eigen_solver": OneOf(*SOLVERS),
        "eigen_tol": Real(0, closed="left") | OneOf("auto"),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        affinity: Any = "nearest_neighbors",
        gamma: float | None = None,
        n_neighbors: int | None = None,
        eigen_solver: str | None = None,
        eigen_tol: float | str = "auto",
        max_memory: int | str | None = None,
        max_time: float | None = None,
    ):
        self.n_components = n_components
        self.affinity = affinity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.eigen_solver = eigen_solver
        self.eigen_tol = eigen_tol
        self.max_memory = max_memory
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows X (n, d), or an affinity matrix (n, n); y is ignored.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, self.max_memory)
        X = self._validate(X).X
        check_in_memory(type(self).__name__, X)
        n = X.shape[0]
        k = check_components(self.n_components, n - 1, n)
        neighbors = max(n // 10, 2) if self.n_neighbors is None else int(self.n_neighbors)
        affinity = connected(type(self).__name__, self._affinity_of(X, n_neighbors=neighbors))
        with ticking(self, "iteration", budget.deadline) as tick:
            found = smoothest_functions(
                type(self).__name__,
                affinity,
                k + 1,
                True,
                tol=1e-9 if self.eigen_tol == "auto" else float(self.eigen_tol),
                solver=SOLVERS[self.eigen_solver],
                callback=tick,
                deadline=budget.deadline,
            )
        self._affinity, self.n_neighbors_ = affinity.kept(), neighbors
        self._functions = replace(
            found, f=found.f[:, 1:], g=found.g[:, 1:], values=found.values[1:]
        )
        self.eigenvalues_, self.n_iter_ = 1.0 - self._functions.values, found.found.n_iter
        self.objective_ = float(to_numpy(self.eigenvalues_).sum())
        self.embedding_ = as_block(to_numpy(self._functions.f), X)
        return self

    def _place(self, block: Any) -> Any:
        return as_block(to_numpy(self._affinity.extend(block, self._functions)), block)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = isinstance(self.affinity, str) and self.affinity.startswith("precomputed")
        tags.input_tags.pairwise = given
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        k = max(n // 10, 2) if self.n_neighbors is None else self.n_neighbors
        work = (n * n * (d + 8.0) + 1000.0 * n * k) / rates(8).multiply_adds
        return self._costs(n, d, "a graph of neighbours", work, 100.0 * n * k)

"""Locally linear embedding: every row as a mixture of its neighbours, in fewer dimensions too.

Weights      min_w |x_i - sum_j w_j x_j|^2    over the k neighbours j of i, sum_j w_j = 1
             C w = 1, then divide w by its sum;  C_jl = (x_j - x_i)'(x_l - x_i), a k by k matrix
Embedding    min_Z sum_i |z_i - sum_j W_ij z_j|^2 = tr(Z'M Z),  M = (I - W)'(I - W),  Z'Z = I
             eigenvectors of the smallest eigenvalues of M, but for the constant one (M 1 = 0)

The sum, not the norm, makes M 1 = 0 and the weights blind to shifts; turns and scales they do not
see either. With k > d the matrix C is singular: reg tr(C) is added to its diagonal. Columns of Z
have length 1 and mean 0. A new row gets the mixture of the places of its neighbours.

The constant is projected out of (M + sigma I)^-1, so the factor may come close to singular without
harm, and the eigenvectors wanted are the leading ones.
Reference: Roweis and Saul 2000.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.neighbors import NearestNeighbors

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.base import Budget, Estimate, Estimator, Laws, warn_if_unfinished
from kilogram.base.constraints import Constraint, Integer, Null, OneOf, RandomState, Real
from kilogram.base.graphs import (
    check_components,
    check_in_memory,
    check_neighbours,
    warn_if_apart,
)
from kilogram.base.progress import ticking, with_callbacks
from kilogram.functions.distances import common_scale, divide_by_scale
from kilogram.models.manifold import local_charts
from kilogram.models.manifold.embedding import EmbeddingMixin, as_block
from kilogram.operators.cost import rates
from kilogram.solvers.eigen.graphs import smallest_but_constant
from kilogram.solvers.eigen.signs import row_signs
from kilogram.solvers.neighbors.nearest import nearest
from kilogram.solvers.neighbors.neighbor_graph import connected_components, neighbor_graph

#: Name -> fewest neighbours for d components, and how the message says it.
FEWEST: dict[str, tuple[Any, str]] = {
    "standard": (lambda d: 1, "1"),
    "modified": (lambda d: d + 1, "n_components + 1"),
    "hessian": (lambda d: d * (d + 3) // 2 + 1, "n_components * (n_components + 3) / 2 + 1"),
    "ltsa": (lambda d: d + 1, "n_components + 1"),
}


class LocallyLinearEmbedding(EmbeddingMixin, Estimator):
    """Coordinates in which each row is the same mixture of its neighbours.

    Minimises ``sum_i |z_i - sum_j W_ij z_j|^2`` over Z'Z = I, the weights W, of sum 1 in each row,
    being those that mix the neighbours of x_i to what is nearest to it. Takes scikit-learn's
    parameters and its other methods.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours.
    n_components : int, default=2
        Dimension of the embedding.
    reg : float, default=1e-3
        Fraction of its trace added to the diagonal of each local matrix; 0 takes the shortest of
        the weights that fit best.
    eigen_solver : {"auto", "arpack", "dense"}, default="auto"
        "dense" finds all pairs; the others block Lanczos on a sparse factor, for small n dense.
    tol : float, default=1e-6
        Largest residual of an eigenvector relative to the inverse of its eigenvalue.
    max_iter : int, default=100
        Maximum number of iterations of the search for eigenvectors.
    method : {"standard", "hessian", "modified", "ltsa"}, default="standard"
        - "standard": one set of weights for each row;
        - "modified": several sets of weights, which keeps the embedding from collapsing;
        - "hessian": second derivatives along the data shall vanish (Hessian eigenmaps); needs more
          than n_components (n_components + 3) / 2 neighbours;
        - "ltsa": the coordinates of neighbours shall be affine in those of their tangent plane.
    hessian_tol : float, default=1e-4
        For compatibility with scikit-learn: estimates of second derivatives are orthonormal here.
    modified_tol : float, default=1e-12
        Of "modified": shorter Householder vectors are taken for 0.
    neighbors_algorithm : {"auto", "brute", "kd_tree", "ball_tree"}, default="auto"
        For compatibility with scikit-learn: the search is exact and chosen by size.
    random_state : int, RandomState or None, default=None
        For compatibility with scikit-learn: nothing here is drawn.
    n_jobs : int or None, default=None
        For compatibility with scikit-learn: threads are those of OpenMP and BLAS.
    max_time : float or None, default=None
        Seconds after which the eigenvectors are taken as far as they are. A sparse factor that is
        not ready by then is given up; its thread ends when the library returns.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
        Orthonormal columns of mean 0.
    eigenvalues_ : array of shape (n_components,)
        Of M, smallest first: the squared error of each column.
    reconstruction_error_ : float
        Sum of the eigenvalues. `objective_` is the same.
    n_iter_ : int
        Number of iterations.
    nbrs_ : sklearn.neighbors.NearestNeighbors
        Search among the training rows, built when it is asked for.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    LaplacianEigenmaps : Affinities instead of weights.
    Isomap : Keeps lengths along the data.

    Examples
    --------
    A curved band is laid flat: the first coordinate follows its length.

    >>> import numpy as np
    >>> import kilogram as kg
    >>> t = np.linspace(0, 4, 200)
    >>> X = np.column_stack([t * np.cos(t), t * np.sin(t)])
    >>> z = kg.LocallyLinearEmbedding(n_neighbors=6, n_components=1).fit_transform(X)[:, 0]
    >>> bool(np.all(np.diff(z) > 0) or np.all(np.diff(z) < 0))
    True
    """

    laws: ClassVar[Laws] = Laws(
        weight="in a graph of neighbours a row of weight 2 is not the same as two rows",
        block="all rows are looked through for neighbours",
        budget=True,
        example={"n_neighbors": 9},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_neighbors": Integer(1),
        "n_components": Integer(1),
        "reg": Real(0, closed="left"),
        "eigen_solver": OneOf("auto", "arpack", "dense"),
        "tol": Real(0, closed="left"),
        "max_iter": Integer(1),
        "method": OneOf(*FEWEST),
        "hessian_tol": Real(0, closed="left"),
        "modified_tol": Real(0, closed="left"),
        "neighbors_algorithm": OneOf("auto", "brute", "kd_tree", "ball_tree"),
        "random_state": RandomState(),
        "n_jobs": Integer() | Null(),
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        n_components: int = 2,
        reg: float = 1e-3,
        eigen_solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        method: str = "standard",
        hessian_tol: float = 1e-4,
        modified_tol: float = 1e-12,
        neighbors_algorithm: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        max_time: float | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.reg = reg
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.method = method
        self.hessian_tol = hessian_tol
        self.modified_tol = modified_tol
        self.neighbors_algorithm = neighbors_algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the rows X (n, d); y is ignored.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, None)
        X = self._validate(X).X
        check_in_memory(type(self).__name__, X)
        n = X.shape[0]
        k = check_neighbours(self.n_neighbors, n, most=n - 1)
        check_components(self.n_components, n - 1, n)
        self._check_neighbours_suffice(k)
        rows = to_numpy(X.tocsr() if is_sparse(X) else X)
        unit = common_scale(rows)  # the weights of neighbours do not depend on it
        rows = divide_by_scale(rows, unit)
        at = nearest(rows, k).indices
        self._warn_if_apart(at, n)
        with ticking(self, "iteration", budget.deadline) as tick:
            found = smallest_but_constant(
                self._charts(rows, at),
                int(self.n_components),
                tol=float(self.tol),
                max_iter=int(self.max_iter),
                dense=self.eigen_solver == "dense",
                callback=tick,
                deadline=budget.deadline,
            )
        values, Z = found.value
        self._unit, self._rows, self._places = unit, rows, Z * row_signs(Z.T).T
        self.eigenvalues_, self.n_iter_ = values, found.n_iter
        self.reconstruction_error_ = self.objective_ = np.float64(values.sum())
        self.embedding_ = as_block(self._places, X)
        warn_if_unfinished(type(self).__name__, found, "Raise tol or max_time.")
        return self

    @property
    def nbrs_(self) -> NearestNeighbors:
        """Search among the training rows, built when it is asked for."""
        return NearestNeighbors(
            n_neighbors=int(self.n_neighbors),
            algorithm=self.neighbors_algorithm,
            n_jobs=self.n_jobs,
        ).fit(self._rows * self._unit)

    def _check_neighbours_suffice(self, k: int) -> None:
        """Enough neighbours, in enough dimensions, for the method."""
        d = int(self.n_components)
        least, formula = FEWEST[self.method]
        if k < least(d):
            raise ValueError(
                f"n_neighbors={k} is too few for method={self.method!r}: it needs at least "
                f"{least(d)} = {formula}."
            )
        if self.method != "standard" and d > self.n_features_in_:
            raise ValueError(
                f"n_components={d} must be at most the number of features, {self.n_features_in_}, "
                f"for method={self.method!r}: the neighbours of a row span no more dimensions."
            )

    def _charts(self, rows: Any, at: np.ndarray) -> scipy.sparse.csr_array:
        """B of the objective |B Z|^2."""
        d = int(self.n_components)
        if self.method == "standard":
            return local_charts.standard(rows, at, self.reg)
        if self.method == "modified":
            return local_charts.modified_weights(rows, at, d, float(self.modified_tol))
        return (local_charts.hessian if self.method == "hessian" else local_charts.ltsa)(
            rows, at, d
        )

    def _warn_if_apart(self, at: np.ndarray, n: int) -> None:
        count, _ = connected_components(neighbor_graph(np.ones(at.shape), at, n))
        done = "Each part is embedded by itself: distances between parts mean nothing."
        warn_if_apart(type(self).__name__, count, done)

    def _place(self, block: Any) -> Any:
        new = divide_by_scale(to_numpy(block.tocsr() if is_sparse(block) else block), self._unit)
        near = nearest(self._rows, int(self.n_neighbors), new)
        W = local_charts.barycentric(self._rows, new, near.indices, self.reg)
        itself = near.distances[:, 0] == 0
        W[itself] = np.eye(1, W.shape[1])  # a training row has its place
        return as_block(np.einsum("ij,ijk->ik", W, self._places[near.indices]), block)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        k = self.n_neighbors
        work = (n * n * (d + 8.0) + n * k * k * (d + k)) / rates(8).multiply_adds
        return self._costs(n, d, "a graph of neighbours", work, 200.0 * n * k * k)

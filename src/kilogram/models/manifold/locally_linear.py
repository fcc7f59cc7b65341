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

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.base import Budget, Estimate, Estimator, Laws, warn_if_unfinished
from kilogram.base.constraints import Constraint, Integer, OneOf, Real
from kilogram.base.graphs import (
    check_components,
    check_in_memory,
    check_neighbours,
    warn_if_apart,
)
from kilogram.base.progress import ticking, with_callbacks
from kilogram.functions.distances import common_scale, divided
from kilogram.models.manifold.embedding import EmbeddingMixin, as_block
from kilogram.operators.cost import rates
from kilogram.solvers.eigen.graphs import smallest_but_constant
from kilogram.solvers.eigen.signs import row_signs
from kilogram.solvers.neighbors import nearest as neighbours

BLOCK_ENTRIES = 2**21  # coordinates of neighbours in memory at once


def barycentric(X: Any, new: Any, indices: np.ndarray, reg: float) -> np.ndarray:
    """Weights (m, k), each row with sum 1, that mix rows X[indices[i]] to be near new[i]."""
    m, k = indices.shape
    W = np.empty((m, k))
    step = max(1, BLOCK_ENTRIES // (k * max(X.shape[1], 1)))
    for a in range(0, m, step):
        at = indices[a : a + step]
        Z = _dense(X[at.ravel()]).reshape(*at.shape, -1) - _dense(new[a : a + step])[:, None]
        far = np.abs(Z).max(axis=(1, 2), keepdims=True, initial=0.0)
        Z = np.ldexp(Z, -np.frexp(far)[1])  # the weights know no unit, and squares stay in range
        C = Z @ Z.swapaxes(1, 2)
        trace = np.trace(C, axis1=1, axis2=2)
        ridge = reg * np.where(trace > 0, trace, 1.0)
        C[:, np.arange(k), np.arange(k)] += ridge[:, None]
        w = np.linalg.solve(C, np.ones((len(at), k, 1)))[:, :, 0] if reg > 0 else _shortest(C)
        W[a : a + step] = w / w.sum(axis=1, keepdims=True)
    return W


def _shortest(C: np.ndarray) -> np.ndarray:
    """Of the weights (m, k) that minimise w'C w over sum w = 1, the shortest, up to their sum.

    Where the null space of C has vectors whose sum is not 0 (more neighbours than dimensions,
    copies), these fit exactly, and the shortest is the projection of 1 onto it.
    """
    k = C.shape[1]
    values, V = np.linalg.eigh(C)
    null = values <= k * np.finfo(np.float64).eps * np.maximum(values[:, -1:], 0.0)
    along = V.sum(axis=1)  # V'1
    exact = (np.where(null, along, 0.0) ** 2).sum(axis=1) > 1e-8 * k
    scale = np.where(exact[:, None], null, ~null / np.where(null, 1.0, values))
    return np.einsum("mij,mj->mi", V, scale * along)


def _dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)


class LocallyLinearEmbedding(EmbeddingMixin, Estimator):
    """Coordinates in which each row is the same mixture of its neighbours.

    Minimises ``sum_i |z_i - sum_j W_ij z_j|^2`` over Z'Z = I, the weights W, of sum 1 in each row,
    being those that mix the neighbours of x_i to what is nearest to it. scikit-learn's standard
    method with its parameters.

    Parameters
    ----------
    n_neighbors : int, default=5
    n_components : int, default=2
        Dimensions of the embedding.
    reg : float, default=1e-3
        Fraction of its trace added to the diagonal of each local matrix; 0 takes the shortest of
        the weights that fit best.
    eigen_solver : {"auto", "arpack", "dense"}, default="auto"
        "dense" finds all pairs; the others block Lanczos on a sparse factor, for small n dense.
    tol : float, default=1e-6
        Largest residual of an eigenvector relative to the inverse of its eigenvalue.
    method : {"standard"}, default="standard"
        scikit-learn's other variants are not offered.
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
        Their sum. `objective_` is the same.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X had any.

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
        "method": OneOf("standard"),
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        n_components: int = 2,
        reg: float = 1e-3,
        eigen_solver: str = "auto",
        tol: float = 1e-6,
        method: str = "standard",
        max_time: float | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.reg = reg
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.method = method
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
        rows = to_numpy(X.tocsr() if is_sparse(X) else X)
        unit = common_scale(rows)  # the weights of neighbours do not depend on it
        rows = divided(rows, unit)
        at = neighbours.nearest(rows, k).indices
        self._warn_if_apart(at, n)
        W = neighbours.graph(barycentric(rows, rows, at, self.reg), at, n)
        with ticking(self, "iteration", budget.deadline) as tick:
            found = smallest_but_constant(
                scipy.sparse.csr_array(scipy.sparse.eye_array(n) - W),
                int(self.n_components),
                tol=float(self.tol),
                dense=self.eigen_solver == "dense",
                callback=tick,
                deadline=budget.deadline,
            )
        values, Z = found.value
        self._unit, self._rows, self._places = unit, rows, Z * row_signs(Z.T).T
        self.eigenvalues_, self.n_iter_ = values, found.n_iter
        self.reconstruction_error_ = self.objective_ = float(values.sum())
        self.embedding_ = as_block(self._places, X)
        warn_if_unfinished(type(self).__name__, found, "Raise tol or max_time.")
        return self

    def _warn_if_apart(self, at: np.ndarray, n: int) -> None:
        count, _ = neighbours.components(neighbours.graph(np.ones(at.shape), at, n))
        done = "Each part is embedded by itself: distances between parts mean nothing."
        warn_if_apart(type(self).__name__, count, done)

    def _place(self, block: Any) -> Any:
        new = divided(to_numpy(block.tocsr() if is_sparse(block) else block), self._unit)
        near = neighbours.nearest(self._rows, int(self.n_neighbors), new)
        W = barycentric(self._rows, new, near.indices, self.reg)
        itself = near.distances[:, 0] == 0
        W[itself] = np.eye(1, W.shape[1])  # a training row has its place
        return as_block(np.einsum("ij,ijk->ik", W, self._places[near.indices]), block)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        k = self.n_neighbors
        work = (n * n * (d + 8.0) + n * k * k * (d + k)) / rates(8).multiply_adds
        return self._costs(n, d, "a graph of neighbours", work, 200.0 * n * k * k)

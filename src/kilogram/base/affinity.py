"""How near rows are to each other, as a graph, and the smoothest functions on it.

With affinities A (n, n), degrees d = A w and D = diag(d) (w: weights of the rows, or ones),

    normalised   S = W^1/2 D^-1/2 A D^-1/2 W^1/2,  S u = lambda u,  f = W^-1/2 D^-1/2 u
    plain        W^1/2 A W^1/2 u = lambda u,                        f = W^-1/2 u

The f of the largest lambda change least between rows that are near: 1 - lambda is the eigenvalue of
the normalised Laplacian. As D^-1 A W f = lambda f, a new row x has

    f(x) = sum_j a(x, x_j) w_j f_j / (lambda d(x)),    d(x) = sum_j a(x, x_j) w_j

(the plain one without d), which gives the training rows their own f again: Nystroem's extension.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.threads import one_team
from kilogram.base import warn_if_unfinished
from kilogram.base.graphs import check_neighbours, check_symmetric, warn_if_apart
from kilogram.kernels import Precomputed, as_kernel
from kilogram.kernels.row_pairs import cast, wide
from kilogram.operators.gram import Gram
from kilogram.operators.scaled import DiagonallyScaled
from kilogram.solvers.eigen import eigenpairs
from kilogram.solvers.eigen.full import full
from kilogram.solvers.eigen.graphs import smoothest
from kilogram.solvers.eigen.signs import row_signs
from kilogram.solvers.neighbors.nearest import nearest
from kilogram.solvers.neighbors.neighbor_graph import (
    connected_components,
    connecting_edges,
    neighbor_graph,
)
from kilogram.solvers.solution import Solution

FEW_COLUMNS = 64  # 64 multiply-adds take some 2 ns: about as long as reading the value from memory
GRAPHS = ("nearest_neighbors", "precomputed_nearest_neighbors")
SOLVERS = {None: None, "auto": None, "dense": "dense", "factor": "factor"} | dict.fromkeys(
    ("arpack", "lobpcg", "amg"), "products"
)


@dataclass(frozen=True, eq=False)
class Functions:
    """f (n, k) on the rows, g = W f, the eigenvalues (k,), and whether degrees divide."""

    f: Any
    g: Any
    values: Any
    normalised: bool
    found: Solution


@dataclass(frozen=True, eq=False)
class StoredGraph:
    """A sparse matrix by its three arrays: files of fitted models know arrays only."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        n = len(self.indptr) - 1
        return n, n

    def dense(self) -> Any:
        """The sparse matrix, which is all there is."""
        return scipy.sparse.csr_array((self.data, self.indices, self.indptr), self.shape)


@dataclass(frozen=True, eq=False)
class Affinity:
    """A (n, n), a Gram or a sparse matrix, of the rows X; `kernel` is None for graphs.

    X is None where A was given.
    """

    A: Any
    X: Any
    kernel: Any
    n_neighbors: int
    weights: Any = None

    def functions(self, k: int, normalised: bool, **how: Any) -> Functions:
        """The k smoothest; see `solvers.eigen.graphs` for the solvers of graphs."""
        ref = np.empty(0) if is_sparse(self.A) else self.A.diag()
        xp, n = namespace(ref), self.A.shape[0]
        w = like(np.ones(n), ref) if self.weights is None else self.weights
        d = self.A @ w if normalised else like(np.ones(n), ref)
        _check_degrees(d)
        some = xp.where(d > 0, d, xp.ones_like(d))
        r = xp.sqrt(w / some)
        found = self._pairs(r, k, ref, normalised, how)
        values, u = found.value
        known = xp.astype(xp.abs(values) > 1e-12 * xp.max(xp.abs(values)), values.dtype)
        g = r[:, None] * u * known  # W f; of eigenvalue 0 there is any number of f, so none
        f = g if self.weights is None else self._averages(self.A @ g, some, values)
        seen = f if self.weights is None else xp.where((w > 0)[:, None], f, xp.zeros_like(f))
        signs = row_signs(seen.T).T
        return Functions(
            _contiguous_copy(f * signs),
            _contiguous_copy(g * signs),
            _contiguous_copy(values),
            normalised,
            found,
        )

    def _pairs(self, r: Any, k: int, ref: Any, normalised: bool, how: dict[str, Any]) -> Solution:
        if is_sparse(self.A):
            parts, labels = connected_components(self.A)
            if normalised and self.kernel is None and parts == k:
                return _of_parts(labels, r)
            R = scipy.sparse.diags_array(r)
            return smoothest(scipy.sparse.csr_array(R @ self.A @ R), k, **how)
        how = dict(how)
        operator = DiagonallyScaled(self.A, r)
        if how.pop("solver", None) == "dense":
            return full(operator, k)
        # a kernel that is not stored is multiplied by its own threads; BLAS has thin work only
        with nullcontext() if self.A.stores else one_team(k):
            return eigenpairs(operator, k, ref=ref, **how)

    def kept(self) -> Affinity:
        """What a fitted model keeps: no kernel matrix, and graphs in a form that files know."""
        if is_sparse(self.A):
            A = StoredGraph(self.A.data, self.A.indices, self.A.indptr)
            return replace(self, A=A, X=None if is_sparse(self.X) and self.kernel else self.X)
        return replace(self, A=Gram(self.A.kernel, self.A.X, store=False))

    @staticmethod
    def _averages(Ag: Any, d: Any, values: Any) -> Any:
        """A g / (lambda d); a function of eigenvalue 0 is 0 where it is not known."""
        xp = namespace(values)
        size = xp.abs(values)
        kept = size > 1e-12 * xp.max(size)
        scale = xp.where(kept, 1.0 / xp.where(kept, values, xp.ones_like(values)), 0.0 * values)
        return (Ag / d[:, None]) * scale

    def extend(self, block: Any, functions: Functions) -> Any:
        """f of the rows of a block, (m, k), float64 in their library."""
        g, values = functions.g, functions.values
        if self.kernel is None:
            return self._from_neighbours(block, functions)
        precise = wide(block)
        g = to_numpy(g) if is_sparse(precise) else like(g, precise)
        values = to_numpy(values) if is_sparse(precise) else like(values, precise)
        xp = namespace(g)
        w = to_numpy(self.weights) if is_sparse(precise) else self.weights
        ones = xp.ones_like(g[:, 0]) if w is None else like(w, g)
        columns = xp.concat([g, ones[:, None]], axis=1)
        if isinstance(self.kernel, Precomputed):
            found = precise @ columns
        else:
            rows = cast(self.X, precise.dtype)
            rows = rows if is_sparse(rows) or is_sparse(precise) else like(rows, precise)
            found = self.kernel.matmul(precise, rows, columns)
        d = found[:, -1] if functions.normalised else xp.ones_like(found[:, -1])
        lost = d <= 0
        f = self._averages(found[:, :-1], xp.where(lost, xp.ones_like(d), d), values)
        if bool(xp.any(lost)) and not isinstance(self.kernel, Precomputed):
            f = xp.where(lost[:, None], self._from_nearest(block, functions, f), f)
        return f

    def _from_nearest(self, block: Any, functions: Functions, ref: Any) -> Any:
        """Rows so far away that no affinity is left take f of the nearest training row."""
        at = nearest(self.X, 1, _rows_like(block, self.X)).indices[:, 0]
        return like(np.asarray(to_numpy(functions.f))[at], ref)

    def _from_neighbours(self, block: Any, functions: Functions) -> Any:
        """The mean of f over the nearest training rows, over lambda; a training row has its own."""
        f, values = np.asarray(functions.f), np.asarray(functions.values)
        if self.X is None:  # a graph was given: the block holds new rows' edges
            E = scipy.sparse.csr_array(block)
            links = scipy.sparse.csr_array((np.ones(E.nnz), E.indices, E.indptr), E.shape)
            near = None
        else:
            near = nearest(
                self.X, min(self.n_neighbors, self.A.shape[0]), _rows_like(block, self.X)
            )
            links = neighbor_graph(np.ones(near.indices.shape), near.indices, self.A.shape[0])
        d = np.maximum(links.sum(axis=1), 1.0) if functions.normalised else np.ones(block.shape[0])
        found = self._averages(links @ f, d, values)
        if near is not None:
            itself = near.distances[:, 0] == 0
            found[itself] = f[near.indices[itself, 0]]
        return found if is_sparse(block) else like(found, wide(block))


class AffinityMixin:
    """Estimators with the parameters `affinity`, `gamma`, `max_memory` and those of kernels."""

    affinity: Any
    max_memory: int | str | None

    def _affinity_of(self: Any, X: Any, w: Any = None, n_neighbors: Any = None) -> Affinity:
        """What `affinity` means for the rows X: a graph of neighbours or a kernel."""
        if isinstance(self.affinity, str) and self.affinity in GRAPHS:
            if w is not None:
                raise ValueError(
                    "sample_weight needs an affinity that is a kernel: in a graph of neighbours a "
                    "row of weight 2 is not the same as two rows."
                )
            return _graph(self.affinity, X, n_neighbors or self.n_neighbors)
        kernel = self._affinity_kernel().resolve(X)
        if isinstance(kernel, Precomputed):
            _check_square(X)
            check_symmetric(X, "A precomputed affinity is symmetric; a(i, j) and a(j, i)")
            if is_sparse(X):
                A = scipy.sparse.csr_array(X).astype(np.float64)
                return Affinity(A, X, kernel, 0, _wide_or_none(w))
        elif isinstance(self.affinity, str):
            self._ensure_squares(X, np.float64)
        # about ten products follow: for few columns a kernel is computed again in less time than a
        # matrix is written and read
        rows = wide(X)
        again = kernel.is_compiled(rows) and rows.shape[1] <= FEW_COLUMNS
        A = Gram(kernel, rows, max_memory=self.max_memory, store=False if again else "auto")
        return Affinity(A, X, kernel, 0, _wide_or_none(w))

    def _affinity_kernel(self) -> Any:
        """The kernel that `affinity` names, is or calls, with its parameters."""
        params = {name: getattr(self, name, None) for name in ("gamma", "degree", "coef0")}
        given = {name: value for name, value in params.items() if value is not None}
        if not isinstance(self.affinity, str):
            given.pop("gamma", None)
        own = isinstance(self.affinity, str) or callable(self.affinity)
        kernel_params = getattr(self, "kernel_params", None) if own else None
        return as_kernel(self.affinity, params=kernel_params, **given)


def _graph(kind: str, X: Any, n_neighbors: Any) -> Affinity:
    """A_ij = 1 for neighbours of each other, 1/2 if only one is the other's; A_ii = 1."""
    n = X.shape[0]
    if kind == "nearest_neighbors":
        k = check_neighbours(n_neighbors, n, most=n)
        at = nearest(X, k - 1).indices if k > 1 else np.empty((n, 0), np.int32)
        C, rows = neighbor_graph(np.ones(at.shape), at, n), to_numpy(X)
    else:
        _check_square(X)
        G = scipy.sparse.csr_array(X)
        C = scipy.sparse.csr_array((np.ones(G.nnz), G.indices, G.indptr), G.shape)
        C.setdiag(0.0)
        rows, k = None, 1
    A = scipy.sparse.csr_array(0.5 * (C + C.T) + scipy.sparse.eye_array(n))
    return Affinity(A, rows, None, k)


def smoothest_functions(
    name: str, affinity: Affinity, k: int, normalised: bool, **how: Any
) -> Functions:
    """The functions, with a warning that names the estimator if the solver stopped early."""
    functions = affinity.functions(k, normalised, **how)
    found = functions.found
    warn_if_unfinished(name, found, "Raise eigen_tol or max_time.")
    return replace(functions, found=replace(found, value=None))  # f has the vectors


def connected(name: str, affinity: Affinity, most: int = 1) -> Affinity:
    """The graph with its parts joined by the shortest edges, if it has more than `most` parts.

    A warning that names the estimator says so.
    """
    if affinity.kernel is not None:
        return affinity
    count, labels = connected_components(affinity.A)
    if count <= most:
        return affinity
    if affinity.X is None:
        warn_if_apart(name, count, "It was taken as given.")
        return affinity
    warn_if_apart(name, count)
    a, b, _ = connecting_edges(affinity.X, labels)
    extra = scipy.sparse.coo_array((np.full(len(a), 0.5), (a, b)), affinity.A.shape).tocsr()
    A = scipy.sparse.csr_array(affinity.A + (extra + extra.T))
    return Affinity(A, affinity.X, None, affinity.n_neighbors)


def _of_parts(labels: np.ndarray, r: np.ndarray) -> Solution:
    """A graph with as many parts as eigenvectors are wanted: D^1/2 1 on each, of eigenvalue 1."""
    u = np.zeros((len(labels), int(labels.max()) + 1))
    u[np.arange(len(labels)), labels] = 1.0 / np.where(r > 0, r, 1.0)
    return Solution((np.ones(u.shape[1]), u / np.linalg.norm(u, axis=0)))


def _contiguous_copy(a: Any) -> Any:
    """Not a view: eigensolvers return columns of something larger."""
    return np.ascontiguousarray(a) if is_numpy(a) else a


def _rows_like(block: Any, X: Any) -> Any:
    block = to_numpy(block)
    return block if is_sparse(block) or is_sparse(X) else np.asarray(block)


def _wide_or_none(w: Any) -> Any:
    return None if w is None else wide(w)


def _check_square(X: Any) -> None:
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"A precomputed affinity is square (n, n), got shape {tuple(X.shape)}.")


def _check_degrees(d: Any) -> None:
    xp = namespace(d)
    if not bool(xp.all(xp.isfinite(d))):
        raise ValueError(
            "The affinities overflow: their sums over a row are not finite. Scale the features "
            "(StandardScaler), or take a kernel such as 'rbf' or a smaller gamma."
        )
    least = float(xp.min(d))
    if least < 0:
        raise ValueError(
            f"Some row has affinities that sum to {least:.3g}: affinities must not be negative. "
            "Take a kernel such as 'rbf'; SpectralClustering's relaxation='trace' needs no degrees."
        )

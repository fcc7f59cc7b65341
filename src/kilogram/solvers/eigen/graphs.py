"""Eigenpairs of sparse matrices that come from graphs of neighbours.

The wanted pairs lie close together at one end of the spectrum: products alone part them slowly
where the graph is like a sheet, and fast where it is like a cloud in many dimensions. A sparse
factor is the reverse: little fill where the graph is like a sheet, nearly dense for the cloud. So

    factor    (A + sigma I)^-1 by a sparse LU in symmetric mode, and block Lanczos on it
    products  block Lanczos on A itself

and the dimension in which the graph grows, and its mean degree, choose between them. A factor runs
in a thread of its own and is given up at the deadline; products then give what can be had at once.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from kilogram.arrays.interruptible import DeadlinePassed, run_interruptible
from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, cholesky_solve
from kilogram.arrays.memory import memory_limit
from kilogram.arrays.threads import one_team
from kilogram.solvers.eigen.full import full
from kilogram.solvers.eigen.leading import leading
from kilogram.solvers.linear.cg import Tick
from kilogram.solvers.neighbors.neighbor_graph import growth_dimension
from kilogram.solvers.solution import Solution

# Below it all pairs are found in the time of a few iterations: 256^3 operations, some ms.
SMALL_ORDER = 256
# Measured on a rolled sheet and on clouds in 3 and 10 dimensions, n = 3 000 and 8 000, 5 to 80
# neighbours: a factor is faster up to this dimension and this mean degree, products beyond.
FACTOR_DIMENSION = 2.3
FACTOR_DEGREE = 50
# Of products, before a factor is tried after all: several times what graphs need that products
# suit.
MOST_ITERATIONS = 400


def _symmetric_lu(A: Any) -> Any:
    return scipy.sparse.linalg.splu(
        A,
        permc_spec="MMD_AT_PLUS_A",  # the ordering for symmetric patterns
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


class Inverse:
    """(A + sigma I)^-1 of a sparse symmetric positive semidefinite A, through its factor."""

    def __init__(self, A: Any, sigma: float, deadline: float | None = None):
        n = A.shape[0]
        self.shape = (n, n)
        moved = (A + sigma * scipy.sparse.eye_array(n)).tocsc()
        self._factor = run_interruptible(_symmetric_lu, moved, work=math.inf, deadline=deadline)

    def __matmul__(self, V: Any) -> Any:
        return self._factor.solve(np.ascontiguousarray(V))


class DenseInverse:
    """(A + sigma I + 1 1' / n)^-1 of a sparse positive semidefinite A, by a dense Cholesky factor.

    For graphs like a cloud in many dimensions, whose sparse factor would be dense as well.
    """

    def __init__(self, A: Any, sigma: float, deadline: float | None = None):
        dense = A.toarray()
        n = len(dense)
        dense += 1.0 / n
        dense[np.diag_indices(n)] += sigma
        factor = partial(cholesky, overwrite=True)
        self._factor = run_interruptible(factor, dense, work=n**3 / 6, deadline=deadline)
        self.shape = (n, n)

    def __matmul__(self, V: Any) -> Any:
        return cholesky_solve(self._factor, V)


class InverseOfSquare:
    """P (B'B + sigma I)^-1 P for a sparse B with B 1 = 0, P = I - 1 1' / n."""

    def __init__(self, B: Any, sigma: float, deadline: float | None = None):
        M = scipy.sparse.csr_array(B.T @ B)
        self._inverse = self._of(M, sigma, deadline)
        self.shape = self._inverse.shape

    @staticmethod
    def _of(M: Any, sigma: float, deadline: float | None) -> Any:
        n = M.shape[0]
        if growth_dimension(M) > FACTOR_DIMENSION and 16.0 * n * n <= memory_limit():
            with suppress(NotPositiveDefinite):
                return DenseInverse(M, sigma, deadline)
        return Inverse(M, sigma, deadline)

    def __matmul__(self, V: Any) -> Any:
        solved = self._inverse @ (V - V.mean(axis=0))
        return solved - solved.mean(axis=0)


class ShiftedSquare:
    """P (c I - B'B) P for a sparse B with B 1 = 0: its largest eigenvalues are B'B's smallest."""

    def __init__(self, B: Any):
        self._B, self._BT = B, B.T.tocsr()
        self.shape = (B.shape[1],) * 2
        self.bound = float(abs(self._BT @ B).sum(axis=1).max())  # no eigenvalue is above it

    def __matmul__(self, V: Any) -> Any:
        V = V - V.mean(axis=0)
        out = self.bound * V - self._BT @ (self._B @ V)
        return out - out.mean(axis=0)


def smallest_but_constant(
    B: Any,
    k: int,
    *,
    tol: float = 0.0,
    max_iter: int | None = None,
    dense: bool = False,
    callback: Tick | None = None,
    deadline: float | None = None,
) -> Solution:
    """Values (k,), smallest first, and vectors (n, k) of B'B, B (m, n) sparse, but for B 1 = 0."""
    n = B.shape[1]
    if dense or n <= max(SMALL_ORDER, 4 * k):
        M = (B.T @ B).toarray()
        size = float(np.trace(M)) + 1.0
        values, vectors = full(-M - size / n, k).value  # the constant is moved out of the way
        return Solution((np.maximum(-values, 0.0), vectors))
    how: dict[str, Any] = {"max_iter": max_iter, "callback": callback, "deadline": deadline}
    try:
        # beside the entries of B'B of size 1: near enough to 0 for the smallest to differ
        found: Any = _leading(InverseOfSquare(B, 1e-12, deadline), k, tol=tol, **how)
    except DeadlinePassed:
        found = _leading(ShiftedSquare(B), k, tol=tol, **how)
    vectors = found.value[1]
    # of the vectors themselves: 1 / value - sigma has lost the digits of a small eigenvalue
    values = ((B @ vectors) ** 2).sum(axis=0)
    return Solution((values, vectors), found.n_iter, None, found.converged, found.message)


def smoothest(
    S: Any,
    k: int,
    *,
    tol: float,
    solver: str | None = None,
    callback: Tick | None = None,
    deadline: float | None = None,
) -> Solution:
    """Values (k,), largest first, and vectors of S = D^-1/2 A D^-1/2, sparse, values at most 1.

    `solver` is "dense", "factor", "products" or None, which chooses.
    """
    n = S.shape[0]
    if solver == "dense" or (solver is None and n <= max(SMALL_ORDER, 4 * k)):
        return full(S.toarray(), k)
    how: dict[str, Any] = {"callback": callback, "deadline": deadline}
    if solver == "factor" or (solver is None and _is_sheet(S)):
        try:
            return _by_factor(S, k, tol, how)
        except DeadlinePassed:
            return _leading(S, k, tol=tol, **how)
    found = _leading(S, k, tol=tol, max_iter=MOST_ITERATIONS, **how)
    if found.converged or solver is not None or found.n_iter < MOST_ITERATIONS:
        return found
    try:
        return _by_factor(S, k, tol, how)
    except DeadlinePassed:
        return found


def _is_sheet(S: Any) -> bool:
    """Whether a factor of the graph has little fill."""
    if S.nnz > FACTOR_DEGREE * S.shape[0]:
        return False
    return growth_dimension(S) <= FACTOR_DIMENSION


def _by_factor(S: Any, k: int, tol: float, how: dict[str, Any]) -> Solution:
    n = S.shape[0]
    inverse = Inverse(scipy.sparse.eye_array(n) - S, 1e-6, how["deadline"])
    found: Any = _leading(inverse, k, tol=tol, **how)
    vectors = found.value[1]
    values = np.einsum("ij,ij->j", vectors, S @ vectors)
    return Solution((values, vectors), found.n_iter, None, found.converged, found.message)


def _leading(A: Any, k: int, **how: Any) -> Solution:
    """Block Lanczos with few columns: for bases this thin, BLAS is faster on one thread."""
    width = min(A.shape[0], k + 2)
    with one_team(width):
        return leading(A, k, ref=np.empty(0), block=width, **how)

"""The k largest eigenpairs of a symmetric operator that is known only by A @ V.

Block Lanczos: an orthonormal basis Q of the Krylov space span{V, A V, A^2 V, ...} grows by one
block an iteration, and A is seen through it,

    A Q = Q T + P B E',      T = Q'A Q,      Q'Q = I,      Q'P = 0,

with E' picking the last block. So T s = theta s gives the Ritz pair (theta, Q s), and its residual
is known exactly:

    |A Q s - theta Q s| = |B s_last|.

Every block is orthogonalised against the whole basis, twice, so no spurious copies of converged
values appear. A full basis is replaced by its best Ritz vectors and growth goes on (thick restart:
P stays, so nothing is lost but the small end of the spectrum). A block and not one vector: one pass
over a stored matrix serves all its columns, and multiple eigenvalues come with their multiplicity.

Golub and Underwood (1977); Wu and Simon (2000), SIAM J. Matrix Anal. Appl. 22, 602-616.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kilogram.arrays.linalg import qr
from kilogram.arrays.namespace import is_array, like, namespace, to_numpy
from kilogram.solvers.linear.cg import Tick, out_of_budget
from kilogram.solvers.solution import Solution

# Columns of one block: a pass over a stored A costs little more for 16 columns than for one, and
# beyond 32 the arithmetic of the product outweighs the steps saved.
NARROWEST_BLOCK, WIDEST_BLOCK = 16, 32
# Fraction left of a product below which a column is made orthogonal to the basis again: three
# digits lost.
WEAK = 1e-3
# The basis grows by as many before its Ritz pairs are computed again, which cost c^3: as the
# narrowest block.
CHECKED_COLUMNS = 16


def leading(
    A: Any,
    k: int,
    *,
    tol: float = 0.0,
    max_iter: int | None = None,
    rng: Any = None,
    ref: Any = None,
    start: Any = None,
    block: int | None = None,
    floor: float = 0.0,
    callback: Tick | None = None,
    deadline: float | None = None,
) -> Solution:
    """Values (k,), largest first, and orthonormal vectors (n, k) of a symmetric A (n, n).

    `tol` bounds each residual relative to its value; 0 asks for sqrt(eps), where the values are
    exact to rounding. The vectors live in the library, device and dtype of `ref` (A itself when it
    is an array). `start` (n, p) is a guess at the subspace. `callback(step, sum of values)` may
    answer True to stop; `deadline` is a moment of `time.perf_counter`. The best pairs so far are
    always returned. `rng` is a generator or a function that makes one. `block` is the number of
    columns of a product: few where a product costs in proportion to them (sparse A). `floor` is
    the rounding of a product, where it is more than the values show: no residual goes below it.
    """
    n = A.shape[0]
    rng = generator_of(rng)
    ref = A if ref is None and is_array(A) else ref
    b = min(n, block or block_width(k, n))
    P = _first_block(n, b, start, ref, rng)
    basis = KrylovBasis(P, min(n, max(2 * k + 8 * b, 3 * k + 160)), rng)
    fewest = math.ceil(k / b)  # below it the basis has no k directions to speak of
    limit = 10 * math.ceil(n / b) if max_iter is None else max(max_iter, fewest)
    step, why, values = 0, "", np.empty(0)
    while not why:
        step += basis.extend(A, limit - step)
        before, (values, weights, residuals) = values, basis.ritz(k)
        done = step >= fewest and _converged(values, residuals, tol, basis.eps, floor)
        # new directions may hold further copies of a multiple eigenvalue: look at them once
        done = done and not (basis.fresh and _changed(before, values, basis.eps))
        if basis.complete or done:
            return Solution(basis.pairs(values, weights), step, float(values.sum()))
        if step >= fewest:
            why = out_of_budget(step, limit, deadline)
            if not why and callback is not None and callback(step, float(values.sum())):
                why = "it was asked to stop."
        if not why:
            basis.make_room(k + max(b, CHECKED_COLUMNS))
    far = residuals.max() / max(np.abs(values).max(), np.finfo(np.float64).tiny)
    message = f"{why} The largest residual is {far:.1e} of the largest value."
    return Solution(basis.pairs(values, weights), step, float(values.sum()), False, message)


def generator_of(rng: Any) -> Any:
    """The generator meant: made now if a function makes it, a fixed one if none is given."""
    return np.random.default_rng(0) if rng is None else rng() if callable(rng) else rng


def block_width(k: int, n: int) -> int:
    """Twice as many columns as pairs asked for, between 16 and 32, in multiples of 8."""
    return min(n, max(NARROWEST_BLOCK, min(WIDEST_BLOCK, 8 * math.ceil(k / 4))))


class KrylovBasis:
    """Q' (c, n) with T = Q'A Q (c, c), and the next block P with its coupling B.

    T is small and lives on the host in float64, whatever the device and dtype of Q.
    """

    def __init__(self, P: Any, size: int, rng: Any) -> None:
        xp = namespace(P)
        n = P.shape[0]
        self.xp, self.rng, self.n = xp, rng, n
        self.eps = float(xp.finfo(P.dtype).eps)
        self.Qt = xp.empty((size, n), dtype=P.dtype, device=P.device)
        self.T = np.zeros((size, size))
        self.c = 0
        self.P: Any = qr(P)[0]
        self.B = np.zeros((0, 0))
        self.fresh = False

    @property
    def complete(self) -> bool:
        """The basis spans the whole space: its Ritz pairs are the eigenpairs."""
        return self.c == self.n

    def extend(self, A: Any, most: int) -> int:
        """Grow by enough columns to look at the Ritz pairs again; the number of products made."""
        before, products = self.c, 0
        while products < max(most, 1):
            self.grow(A)
            products += 1
            if self.c - before >= CHECKED_COLUMNS or self.c + self.P.shape[1] > self.T.shape[0]:
                break
            if self.complete or self.fresh:
                break
        return products

    def grow(self, A: Any) -> None:
        """Move P into the basis, multiply it by A, and split off what is new."""
        c, e = self.c, self.c + self.P.shape[1]
        self.Qt[c:e, :] = self.P.T
        W = A @ self.P
        scale = float(self.xp.linalg.matrix_norm(W))
        Qt = self.Qt[:e, :]
        H = Qt @ W
        W = W - Qt.T @ H
        again = Qt @ W
        W = W - Qt.T @ again
        column = to_numpy(H + again).astype(np.float64)
        self.T[:e, c:e] = column
        self.T[c:e, :e] = column.T
        self.c = e
        self.P, self.B = self._orthonormal(W, scale)

    def _orthonormal(self, W: Any, scale: float) -> tuple[Any, Any]:
        """W = P B with orthonormal P, orthogonal to Q even where W has lost rank."""
        width = min(W.shape[1], self.n - self.c)
        P, R = qr(W[:, :width])
        B = to_numpy(R).astype(np.float64)
        left = np.abs(np.diag(B))
        lost = left <= 10 * self.eps * scale
        self.fresh = bool(lost.any())
        # what little is left of a column is rounding in part, and that part may lie along Q
        if width == W.shape[1] and bool((left > WEAK * scale).all()):
            return P, B
        # an invariant subspace is found: the columns without a direction of their own take new,
        # random ones, so that what is orthogonal to this subspace is not missed
        kept = self.xp.asarray(np.flatnonzero(~lost), device=P.device)
        fresh = like(self.rng.standard_normal((self.n, int(lost.sum()))), P)
        P = self.xp.concat([self.xp.take(P, kept, axis=1), fresh], axis=1)
        Qt = self.Qt[: self.c, :]
        for _ in range(2):
            P = qr(P - Qt.T @ (Qt @ P))[0]
        return P, to_numpy(P.T @ W).astype(np.float64)

    def ritz(self, k: int) -> tuple[Any, Any, Any]:
        """The (at most) k largest Ritz values, their weights on Q, and their residual norms."""
        # all pairs of the small T from NumPy: SciPy's subset wakes a second pool of BLAS threads
        values, S = np.linalg.eigh(self.T[: self.c, : self.c])
        values, S = values[::-1][:k], S[:, ::-1][:, :k]
        p = self.B.shape[1]
        return values, S, np.linalg.norm(self.B @ S[self.c - p :], axis=0)

    def vectors(self, S: Any) -> Any:
        """Q S."""
        return self.Qt[: self.c, :].T @ like(np.ascontiguousarray(S), self.Qt)

    def pairs(self, values: Any, S: Any) -> tuple[Any, Any]:
        """Ritz values and vectors in the library of the basis."""
        return like(np.ascontiguousarray(values), self.Qt), self.vectors(S)

    def make_room(self, keep: int) -> None:
        """Thick restart, when the next block would not fit: the basis becomes its Ritz vectors."""
        p = self.P.shape[1]
        if self.c + p <= self.T.shape[0]:
            return
        keep = min(keep, self.T.shape[0] - p)
        values, S, _ = self.ritz(keep)
        self.Qt[:keep, :] = self.vectors(S).T
        self.T[:] = 0.0
        self.T[:keep, :keep] = np.diag(values)
        self.c = keep


def _first_block(n: int, b: int, start: Any, ref: Any, rng: Any) -> Any:
    """The guess, filled up with random columns to the width of a block."""
    p = 0 if start is None else min(start.shape[1], b)
    fill = rng.standard_normal((n, b - p))
    V = fill if ref is None else like(fill, ref)
    return V if start is None else namespace(V).concat([like(start, V)[:, :p], V], axis=1)


def _converged(values: Any, residuals: Any, tol: float, eps: float, floor: float) -> bool:
    """Every residual is small beside its value, or as small as products with A are accurate."""
    size = np.abs(values)
    finest = min(eps**0.5, 2e-5)  # the values are then right to its square, the last digit
    goal = np.maximum(max(tol, finest) * size, max(10 * eps * size.max(), floor))
    return bool((residuals <= goal).all())


def _changed(before: Any, values: Any, eps: float) -> bool:
    return len(before) != len(values) or bool(
        (np.abs(values - before) > 100 * eps * np.abs(values).max()).any()
    )

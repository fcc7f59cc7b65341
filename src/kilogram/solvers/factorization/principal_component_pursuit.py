"""Principal component pursuit: low rank plus sparse, X = L + S (Candes, Li, Ma and Wright 2011).

    min |L|_* + lam |S|_1   subject to  L + S = X          |L|_*: the sum of the singular values

Augmented Lagrangian, inexact (Lin, Chen and Ma 2010), with multipliers Y and a growing weight mu:

    L <- singular values of X - S + Y / mu, each less 1 / mu, those below 0 left out
    S <- entries of     X - L + Y / mu, each nearer to 0 by lam / mu
    Y <- Y + mu (X - L - S)

The singular values come from the smaller of M'M and MM', of which only the leading part is needed
once the rank is known: L = M V diag(1 - 1 / (mu sigma)) V'.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.linalg import eigh
from kilogram.arrays.namespace import namespace
from kilogram.solvers.eigen.symmetric import eigenpairs
from kilogram.solvers.solution import Solution

GROWTH = 1.2  # faster growth ends sooner, at a value a little above the least
WIDE = 1500  # order from which only leading eigenpairs are asked for: all take half a second there
# So that a rank that grows by a few is found: oversampling of 10 is usual (Halko et al. 2011).
SPARE = 10


class Split(NamedTuple):
    """X = L + S, with the rank of L and its singular values."""

    L: Any
    S: Any
    values: np.ndarray


def soft(T: Any, by: float) -> Any:
    """Every entry nearer to 0 by `by`."""
    return T - namespace(T).clip(T, min=-by, max=by)


def _leading(G: Any, expected: int) -> tuple[Any, Any]:
    """Eigenpairs of G, the leading ones where few are expected."""
    order = G.shape[0]
    if order >= WIDE and 4 * (expected + SPARE) < order:
        values, vectors = eigenpairs(G, expected + SPARE, rng=np.random.default_rng(0)).value
        return values, vectors
    return eigh(G)


def shrunk(M: Any, by: float, expected: int) -> tuple[Any, np.ndarray]:
    """M with its singular values less `by`; those that are left, largest first."""
    xp, tall = namespace(M), M.shape[0] >= M.shape[1]
    G = M.T @ M if tall else M @ M.T
    values, V = _leading(G, expected)
    sizes = xp.sqrt(xp.clip(values, min=0.0))
    # squares of singular values are known to eps of the largest: below its root is rounding
    floor = max(by, float(xp.finfo(M.dtype).eps) ** 0.5 * float(sizes[0]))
    r = int(xp.sum(xp.astype(sizes > floor, xp.int64)))
    if r == values.shape[0] < G.shape[0]:
        return shrunk(M, by, G.shape[0])
    if r == 0:
        return xp.zeros_like(M), np.zeros(0)
    V, left = V[:, :r], sizes[:r] - by
    kept_part = left / sizes[:r]
    L = (M @ V * kept_part) @ V.T if tall else V @ (kept_part[:, None] * (V.T @ M))
    return L, np.asarray([float(v) for v in left])


def pursuit(X: Any, lam: float, max_iter: int, tol: float, tick: Any) -> Solution:
    """L and S of X (n, d); ends when |X - L - S| <= tol |X|."""
    xp = namespace(X)
    size = float(xp.sqrt(xp.sum(X * X)))
    if size == 0:
        return Solution(Split(X, xp.zeros_like(X), np.zeros(0)), 0, 0.0)
    top = _norm(X)
    dual = max(top, float(xp.max(xp.abs(X))) / lam)
    mu = 1.25 / top
    most, S, D = 1e7 * mu, xp.zeros_like(X), X / (dual * mu)  # D = Y / mu
    values, message, step, L = np.zeros(min(X.shape)), "", 0, X
    for step in range(1, max_iter + 1):
        L, values = shrunk(X - S + D, 1.0 / mu, len(values))
        T = X - L + D
        S = soft(T, lam / mu)
        rest = T - S  # the new multipliers over mu
        gap = float(xp.sqrt(xp.sum((rest - D) ** 2))) / size
        if gap <= tol:
            return Solution(Split(L, S, values), step, _objective(values, S, lam))
        larger = min(GROWTH * mu, most)
        D, mu = rest * (mu / larger), larger
        message = f"L + S differs from X by {gap:.1e} of its size (tol is {tol:g})."
        if tick(step, None):
            message = f"the time was up, and {message}"
            break
    return Solution(Split(L, S, values), step, _objective(values, S, lam), False, message)


def _objective(values: np.ndarray, S: Any, lam: float) -> float:
    xp = namespace(S)
    return float(values.sum()) + lam * float(xp.sum(xp.abs(S)))


def _norm(X: Any) -> float:
    """The largest singular value, from the smaller Gram matrix."""
    G = X.T @ X if X.shape[0] >= X.shape[1] else X @ X.T
    values, _ = _leading(G, 1)
    return max(float(values[0]), 0.0) ** 0.5


def absolute_scores(R: Any, V: Any, max_iter: int = 500, tol: float = 1e-7) -> Any:
    """Z (n, k) of min_z |r - V'z|_1 for every row of R (n, d), V (k, d) orthonormal, by ADMM.

    A gross error in some entries does not move the scores, as it would move V r. A row stops when
    its own steps and the residual of its constraint are small, whatever the others do.
    """
    xp = namespace(R)
    size = xp.max(xp.abs(R), axis=1)[:, None]
    size = xp.where(size > 0, size, xp.ones_like(size))
    R = R / size  # every row on its own scale, so that rows do not depend on each other
    S, U, Z = xp.zeros_like(R), xp.zeros_like(R), R @ V.T
    by = 0.1
    if Z.shape[1] == 0:
        return Z
    going = xp.ones_like(size) > 0
    for _ in range(max_iter):
        before = S
        Z = xp.where(going, (R - S + U) @ V.T, Z)
        T = R - Z @ V + U
        S = xp.where(going, soft(T, by), S)
        far = xp.maximum(xp.abs(T - U - S), xp.abs(S - before))
        U = xp.where(going, T - S, U)
        going = going & (xp.max(far, axis=1)[:, None] > tol)
        if not bool(xp.any(going)):
            break
    return Z * size

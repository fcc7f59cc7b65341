"""K medoids from a matrix of distances D (n, n): starts, swaps, and the book's alternation.

    fasterpam    a sweep over the rows; each that lowers the total by replacing some medoid does so
                 at once; ends when no single swap lowers the total
    pam          the best of all n k swaps, again and again: the same end for every order of rows
    alternate    every row to the nearest medoid, then the best member of each cluster: ends where
                 no member is better for its own cluster, often far above the swaps

Reference: Kaufman and Rousseeuw 1987 (PAM, CLARA); Schubert and Rousseeuw 2021 (swaps in n^2).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kilogram.native.linkage import medoid_build, medoid_sweep
from kilogram.solvers.solution import Solution

METHODS = ("fasterpam", "pam", "alternate")
STARTS = ("build", "k-medoids++", "random")

Tick = Callable[[int, float | None], bool]


def start(
    D: np.ndarray, w: np.ndarray | None, k: int, init: str, rng: np.random.Generator
) -> np.ndarray:
    """k rows to begin with, (k,) int32."""
    if init == "build":
        return np.asarray(medoid_build(D, w, k))
    u = np.ones(len(D)) if w is None else np.asarray(w, dtype=np.float64)
    if init == "random":
        return rng.choice(len(D), k, replace=False, p=u / u.sum()).astype(np.int32)
    return _plus_plus_medoids(D, u, k, rng)


def _plus_plus_medoids(
    D: np.ndarray, u: np.ndarray, k: int, rng: np.random.Generator
) -> np.ndarray:
    """As k-means++: drawn with probability w d, the best of a few candidates each time."""
    n, trials = len(D), 2 + int(np.log(k))
    chosen = [int(rng.choice(n, p=u / u.sum()))]
    closest = D[chosen[0]].astype(np.float64)
    while len(chosen) < k:
        mass = np.cumsum(u * closest)
        if not mass[-1] > 0:  # fewer distinct rows than medoids: any others will do
            left = np.setdiff1d(np.flatnonzero(u > 0), chosen)
            chosen += [int(i) for i in rng.choice(left, k - len(chosen), replace=False)]
            break
        at = np.minimum(np.searchsorted(mass, rng.random(trials) * mass[-1], side="right"), n - 1)
        rows = np.minimum(D[at], closest)
        best = int(np.argmin(rows @ u))
        closest = rows[best].astype(np.float64)
        chosen.append(int(at[best]))
    return np.asarray(chosen, dtype=np.int32)


def improve(
    D: np.ndarray,
    w: np.ndarray | None,
    medoids: np.ndarray,
    *,
    method: str,
    max_iter: int,
    tick: Tick,
) -> Solution:
    """From medoids (k,) to a local minimum of sum_i w_i min_m D_im; the value are the medoids."""
    medoids = np.array(medoids, dtype=np.int32)
    step = _alternate if method == "alternate" else _swap
    quiet, total, message, n_iter = 0, np.inf, "swaps still lower the total.", 0
    for n_iter in range(1, max_iter + 1):
        quiet, total = step(D, w, medoids, quiet, method == "fasterpam")
        if quiet >= len(D):
            message = ""
            break
        if tick(n_iter, total):
            message = "max_time was reached before convergence: swaps still lower the total."
            break
    return Solution(medoids, n_iter, total, not message, message)


def _swap(
    D: np.ndarray, w: np.ndarray | None, medoids: np.ndarray, quiet: int, eager: bool
) -> tuple[int, float]:
    end = medoid_sweep(D, w, medoids, eager=eager, quiet=quiet)
    return end.quiet, end.total


def _alternate(
    D: np.ndarray, w: np.ndarray | None, medoids: np.ndarray, quiet: int, eager: bool
) -> tuple[int, float]:
    """One round; n candidates without a swap when the medoids have converged."""
    near = D[medoids]
    labels, before = near.argmin(axis=0), medoids.copy()
    for c in range(len(medoids)):
        own = np.flatnonzero(labels == c)
        if w is not None:
            own = own[w[own] > 0]
        if len(own):
            costs = _costs(D, own, None if w is None else w[own])
            if costs.min() < costs[own == medoids[c]].min(initial=np.inf):
                medoids[c] = own[int(np.argmin(costs))]
    weights = np.ones(len(D)) if w is None else w
    total = float(D[medoids].min(axis=0).astype(np.float64) @ weights)
    return (len(D) if (medoids == before).all() else 0), total


def _costs(D: np.ndarray, own: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    """The sum of distances from each member to the others, some rows at a time."""
    weights = np.ones(len(own)) if w is None else w.astype(np.float64)
    step = max(1, 2**22 // len(own))
    parts = [D[np.ix_(own[i : i + step], own)] @ weights for i in range(0, len(own), step)]
    return np.concatenate(parts)

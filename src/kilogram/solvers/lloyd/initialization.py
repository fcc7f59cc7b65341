"""Initial centres of k-means.

k-means++    rows drawn one after another with probability w_i |x_i - nearest centre|^2; of a few
             candidates the one that lowers the inertia most (Arthur and Vassilvitskii 2007)
k-means||    five rounds of 2 k rows at a time, then k-means++ among them, weighted by the rows
             they stand for: few passes, for rows that are far away (Bahmani et al. 2012)
farthest     the row farthest from the mean, then the row farthest from all chosen so far: no
             draw, the same for every order of the rows (Gonzalez 1985)
random       rows drawn with probability w_i
"""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, sum_dtype, to_numpy
from kilogram.arrays.rows import reduce_rows, take_rows
from kilogram.native.kmeans_initialization import greedy_rows
from kilogram.solvers.lloyd.cluster_sums import ClusterSums, nearest, row_norms, squared_distances
from kilogram.solvers.lloyd.lloyd import Farthest

ROUNDS = 5  # of k-means||: Bahmani et al. (2012) take 5 with 2 k draws each


def host_rows(X: Any, indices: Any) -> np.ndarray:
    """Rows of X as float64 on the host."""
    if is_numpy(X):
        return np.asarray(X[np.asarray(indices)], dtype=np.float64)
    rows = to_numpy(take_rows(X, np.asarray(indices)))
    return np.asarray(rows.todense() if is_sparse(rows) else rows, dtype=np.float64)


def greedy(
    X: Any,
    w: Any,
    k: int,
    origin: np.ndarray,
    rng: np.random.Generator,
    deadline: float | None = None,
) -> np.ndarray:
    """k-means++ with 2 + log k candidates for each centre, (k, d); X in memory.

    What is left at the `deadline` (`time.perf_counter`) is drawn at random.
    """
    n, trials = X.shape[0], 2 + int(np.log(k))
    u = None if w is None else np.asarray(to_numpy(w), dtype=np.float64)
    draws = rng.random(1 + (k - 1) * trials)  # all before, so that native code draws nothing
    first, uniforms = _row_at(draws[0], u, n), draws[1:].reshape(k - 1, trials)
    if is_numpy(X):
        seconds = np.inf if deadline is None else deadline - time.perf_counter()
        chosen = greedy_rows(X, first, uniforms, u, seconds=seconds)
    else:
        chosen = chosen_rows(X, first, uniforms, u, origin, deadline)
    if len(chosen) < k:  # fewer distinct rows than centres, or no time
        chosen = np.concatenate(
            [chosen, _drawn_without_repeats(chosen, k - len(chosen), u, n, rng)]
        )
    return host_rows(X, chosen)


def _drawn_without_repeats(
    chosen: np.ndarray, m: int, u: np.ndarray | None, n: int, rng: np.random.Generator
) -> np.ndarray:
    """m rows drawn by their weights, that have not been chosen if there are enough."""
    weights = np.ones(n) if u is None else u.copy()
    rest = weights.copy()
    rest[chosen] = 0.0
    if np.count_nonzero(rest) >= m:
        return rng.choice(n, m, replace=False, p=rest / rest.sum())
    return rng.choice(n, m, p=weights / weights.sum())


def _row_at(draw: float, u: np.ndarray | None, n: int) -> int:
    """The row drawn in proportion to the weights u; every row alike if there are none."""
    if u is None:
        return min(int(draw * n), n - 1)
    mass = np.cumsum(u)
    at = int(np.searchsorted(mass, draw * mass[-1], side="right"))
    return min(at, int(np.flatnonzero(u)[-1]))


def chosen_rows(
    X: Any,
    first: int,
    uniforms: np.ndarray,
    u: np.ndarray | None,
    origin: np.ndarray,
    deadline: float | None = None,
) -> np.ndarray:
    """`greedy_rows` of the native module for rows of any library; its reference in the tests."""
    n, chosen, norms = X.shape[0], [first], row_norms(X, origin)
    closest = squared_distances(X, host_rows(X, [first]), origin, norms)[0, :]
    xp = namespace(closest)
    closest = xp.astype(closest, sum_dtype(closest, xp))
    w = None if u is None else like(u, closest)
    for draws in uniforms:
        mass = xp.cumulative_sum(closest if w is None else w * closest)
        total = float(mass[-1])
        if not total > 0 or (deadline is not None and time.perf_counter() > deadline):
            break
        found = to_numpy(xp.searchsorted(mass, like(draws * total, mass)))
        candidates = np.minimum(found, n - 1)
        D = squared_distances(X, host_rows(X, candidates), origin, norms)
        D = xp.minimum(xp.astype(D, closest.dtype), closest)
        best = int(xp.argmin(xp.sum(D, axis=1) if w is None else D @ w))
        closest = D[best, :]
        chosen.append(int(candidates[best]))
    return np.asarray(chosen, dtype=np.int64)


def farthest_rows(X: Any, w: Any, C: np.ndarray, origin: np.ndarray, m: int) -> Farthest:
    """The m rows of a block farthest from their centres; rows of no weight do not count."""
    labels, away = nearest(X, C, origin)
    away = away.astype(np.float64)
    if w is not None:
        u = np.asarray(to_numpy(w), dtype=np.float64)
        away = np.where(u > 0, away, -1.0)
    kept = np.argsort(-away, kind="stable")[:m]
    weights = np.ones(len(kept)) if w is None else u[kept]
    return Farthest(away[kept], host_rows(X, kept), labels[kept], weights, m)


def farthest_first(X: Any, w: Any, k: int, mean: np.ndarray) -> np.ndarray:
    """(k, d), k passes over the rows."""
    C = mean[None, :]
    for j in range(k):
        far = reduce_rows(partial(farthest_rows, C=C, origin=mean, m=1), X, w)
        C = far.rows if j == 0 else np.concatenate([C, far.rows])
    return C


@dataclass(frozen=True, eq=False)
class Drawn:
    """m rows drawn without replacement in proportion to a mass: the m smallest random keys."""

    keys: np.ndarray
    rows: np.ndarray
    m: int

    def __add__(self, other: Drawn | int) -> Drawn:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, Drawn):
            return NotImplemented
        keys = np.concatenate([self.keys, other.keys])
        kept = np.argsort(keys, kind="stable")[: self.m]
        return Drawn(keys[kept], np.concatenate([self.rows, other.rows])[kept], self.m)

    __radd__ = __add__


def block_key(head: np.ndarray) -> int:
    """A number from the first rows of a block, by which every block has its own random draws.

    Three digits of each value count: rounding (a sum in another order) must not change the draws.
    """
    mantissa, exponent = np.frexp(np.nan_to_num(np.ascontiguousarray(head)))
    digits = np.stack([np.rint(1024 * mantissa), exponent]).astype(np.int32)
    return zlib.crc32(digits.tobytes())


def drawn_rows(
    X: Any, w: Any, C: np.ndarray | None, origin: np.ndarray, m: int, seed: int
) -> Drawn:
    """Of a block: keys Exp / mass. Its first rows seed the draw (`block_key`)."""
    n = X.shape[0]
    away = np.ones(n) if C is None else nearest(X, C, origin)[1].astype(np.float64)
    mass = away if w is None else away * np.asarray(to_numpy(w), dtype=np.float64)
    rng = np.random.default_rng([seed, block_key(host_rows(X, np.arange(min(n, 16)))), n])
    there = np.flatnonzero(mass > 0)
    keys = rng.standard_exponential(n)[there] / mass[there]
    kept = np.argsort(keys, kind="stable")[:m]
    return Drawn(keys[kept], host_rows(X, there[kept]), m)


def parallel(X: Any, w: Any, k: int, origin: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """k-means||, for rows of any container, (k, d)."""

    def draw(C: np.ndarray | None, m: int) -> np.ndarray:
        seed = int(rng.integers(2**31))
        found = reduce_rows(partial(drawn_rows, C=C, origin=origin, m=m, seed=seed), X, w)
        return np.asarray(found.rows)

    C = draw(None, 1)
    for _ in range(ROUNDS):
        C = np.concatenate([C, draw(C, 2 * k)])
    stands_for = reduce_rows(partial(ClusterSums.of, C=C, origin=origin), X, w).weights
    some = stands_for > 0
    return greedy(C[some], stands_for[some], k, origin, rng)


def draw_rows(X: Any, w: Any, k: int, origin: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """k rows at random, in proportion to their weights."""
    found = reduce_rows(
        partial(drawn_rows, C=None, origin=origin, m=k, seed=int(rng.integers(2**31))), X, w
    )
    return np.asarray(found.rows[np.arange(k) % len(found.rows)])  # again, if too few have weight

"""Lloyd's algorithm and MacQueen's rule, over any pass that gives the sums of the clusters.

    Lloyd      labels to the nearest centre, centres to the mean of their rows, until they rest
    MacQueen   n_c <- n_c + w,   m_c <- m_c + (w / n_c) (x - m_c)         a batch at a time

Neither step raises the inertia. A cluster without rows is given the row that lies farthest from its
centre, which lowers it. References: Lloyd 1982; MacQueen 1967.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kilogram.solvers.cluster.sums import ClusterSums
from kilogram.solvers.solution import Solution

Project = Callable[[np.ndarray], np.ndarray]
# of centres, at most so many steps and tol: the centres after them, how many, whether they rest
Leap = Callable[[np.ndarray, int, float], tuple[np.ndarray, int, bool]]


@dataclass(frozen=True, eq=False)
class Farthest:
    """The m rows farthest from their centres: distances (m,), rows (m, d), labels, weights."""

    away: np.ndarray
    rows: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    m: int

    def __add__(self, other: Farthest | int) -> Farthest:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, Farthest):
            return NotImplemented
        away = np.concatenate([self.away, other.away])
        kept = np.argsort(-away, kind="stable")[: self.m]
        pairs = ((self.rows, other.rows), (self.labels, other.labels))
        rows, labels = (np.concatenate(pair)[kept] for pair in pairs)
        weights = np.concatenate([self.weights, other.weights])[kept]
        return Farthest(away[kept], rows, labels, weights, self.m)

    __radd__ = __add__


def moved_centres(
    found: ClusterSums,
    C: np.ndarray,
    origin: np.ndarray,
    farthest: Callable[[np.ndarray, int], Farthest],
) -> np.ndarray:
    """The means of the clusters; empty ones take the farthest rows, out of their own clusters."""
    sums, weights = found.sums.copy(), found.weights.copy()
    empty = np.flatnonzero(weights <= 0)
    if empty.size:
        far = farthest(C, empty.size)
        for c, away, x, a, w in zip(
            empty, far.away, far.rows, far.labels, far.weights, strict=False
        ):
            if away <= 0 or weights[a] <= w:
                continue  # every row lies on a centre, or is all that its cluster has
            sums[c], weights[c] = w * (x - origin), w
            sums[a] -= w * (x - origin)
            weights[a] -= w
    there = weights > 0
    return np.where(there[:, None], origin + sums / np.where(there, weights, 1.0)[:, None], C)


def lloyd(
    step: Callable[..., ClusterSums],
    C: np.ndarray,
    origin: np.ndarray,
    farthest: Callable[[np.ndarray, int], Farthest],
    *,
    max_iter: int,
    tol: float,
    project: Project | None,
    tick: Callable[[int, float | None], bool],
    leap: Leap | None = None,
) -> Solution:
    """From centres C (k, d) until they move by no more than tol in all, squared.

    `step(C)` gives the sums of the clusters, `step(C, inertia=True)` the inertia too. `leap` takes
    many steps at a time, and none where a cluster has lost its rows: that one is taken here.
    """
    converged, message = False, "the centres still move."
    n_iter = 0
    while n_iter < max_iter:
        if leap is not None:
            C, taken, converged = leap(C, max_iter - n_iter, tol)
            n_iter += taken
            if converged or n_iter == max_iter:
                break
        n_iter += 1
        found = step(C)
        new = moved_centres(found, C, origin, farthest)
        new = new if project is None else project(new)
        shift = float(((new - C) ** 2).sum())
        C = new
        if shift <= tol:
            converged = True
            break
        if tick(n_iter, None):
            message = "the time was up, and the centres still move."
            break
    message = "" if converged else message
    return Solution(C, n_iter, step(C, inertia=True).inertia, converged, message)


def macqueen(
    found: ClusterSums, C: np.ndarray, counts: np.ndarray, origin: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Centres and counts after a batch whose rows went to their nearest centres C."""
    total = counts + found.weights
    there = (found.weights > 0)[:, None]
    mean = found.sums / np.where(found.weights > 0, found.weights, 1.0)[:, None] + origin
    share = (found.weights / np.where(total > 0, total, 1.0))[:, None]
    return np.where(there, C + share * (mean - C), C), total

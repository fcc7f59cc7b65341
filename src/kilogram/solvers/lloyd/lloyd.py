"""Lloyd's algorithm and MacQueen's rule, over any pass that gives the sums of the clusters.

    Lloyd      labels to the nearest centre, centres to the mean of their rows, until they converge
    MacQueen   n_c <- n_c + w,   m_c <- m_c + (w / n_c) (x - m_c)         a batch at a time

Neither step raises the inertia. A cluster without rows is given the row that lies farthest from its
centre, which lowers it. References: Lloyd 1982; MacQueen 1967.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kilogram.solvers.lloyd.cluster_sums import ClusterSums
from kilogram.solvers.solution import Solution

Project = Callable[[np.ndarray], np.ndarray]
# centres, most iterations, tol -> centres after them, iterations done, whether they converged
Iterate = Callable[[np.ndarray, int, float], tuple[np.ndarray, int, bool]]


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


def not_converged(moved: float | None, late: bool = False) -> str:
    """The message of a fit whose centres moved by `moved`, squared and in all, at last."""
    by = "" if moved is None else f": centres moved by {moved**0.5:.3g} in the last iteration"
    return ("max_time was reached before convergence" if late else "did not converge") + f"{by}."


def lloyd(
    sums_of: Callable[..., ClusterSums],
    C: np.ndarray,
    origin: np.ndarray,
    farthest: Callable[[np.ndarray, int], Farthest],
    *,
    max_iter: int,
    tol: float,
    project: Project | None,
    tick: Callable[[int, float | None], bool],
    iterate: Iterate | None = None,
) -> Solution:
    """From centres C (k, d) until they move by no more than tol in all, squared.

    `sums_of(C)` gives the sums of the clusters, `sums_of(C, inertia=True)` the inertia too.
    `iterate` does many iterations in one call, but none where a cluster has lost its rows: that one
    is done here.
    """
    converged, late, n_iter, moved = False, False, 0, None
    while n_iter < max_iter:
        if iterate is not None:
            C, done, converged = iterate(C, max_iter - n_iter, tol)
            n_iter += done
            if converged or n_iter == max_iter:
                break
        n_iter += 1
        new = moved_centres(sums_of(C), C, origin, farthest)
        new = new if project is None else project(new)
        moved = float(((new - C) ** 2).sum())
        C = new
        if moved <= tol:
            converged = True
            break
        if tick(n_iter, None):
            late = True
            break
    message = "" if converged else not_converged(moved, late)
    return Solution(C, n_iter, sums_of(C, inertia=True).inertia, converged, message)


def macqueen(
    found: ClusterSums, C: np.ndarray, counts: np.ndarray, origin: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Centres and counts after a batch whose rows went to their nearest centres C."""
    total = counts + found.weights
    there = (found.weights > 0)[:, None]
    mean = found.sums / np.where(found.weights > 0, found.weights, 1.0)[:, None] + origin
    fraction = (found.weights / np.where(total > 0, total, 1.0))[:, None]
    return np.where(there, C + fraction * (mean - C), C), total

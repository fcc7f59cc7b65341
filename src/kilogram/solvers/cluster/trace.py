"""K-means from inner products alone: the trace form, for any kernel matrix.

With memberships Z (n, k), weights w and W_c = sum_{i in c} w_i, a centre is
m_c = sum_i a_ic phi(x_i) with a_ic = w_i Z_ic / W_c, and

    |phi(x_i) - m_c|^2 = K_ii - 2 (K a)_ic + (a'K a)_cc

so a pass is one product K a with k columns. The inertia is tr(W K) - sum_c W_c (a'K a)_cc at the
means, and no pass raises it where K is positive semidefinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import like, to_numpy
from kilogram.solvers.solution import Solution


class Space(NamedTuple):
    """Rows in the space of a kernel: products K V, rows of K, the diagonal (n,), weights (n,)."""

    K: Any
    diagonal: np.ndarray
    w: np.ndarray

    def times(self, a: np.ndarray) -> np.ndarray:
        """K a, on the host in float64."""
        put = like(a, self.K.diag())
        return np.asarray(to_numpy(self.K @ put), dtype=np.float64)

    def to_rows(self, chosen: Any) -> np.ndarray:
        """Squared distances of all rows from some of them, (n, m)."""
        K = np.asarray(to_numpy(self.K.rows(chosen)), dtype=np.float64).T
        return np.maximum(self.diagonal[:, None] - 2 * K + self.diagonal[chosen], 0.0)


class Means(NamedTuple):
    """Centres as combinations a (n, k) of the rows, and their squared lengths (k,)."""

    a: np.ndarray
    squares: np.ndarray


def means_of(space: Space, labels: np.ndarray, k: int, old: np.ndarray) -> np.ndarray:
    """a (n, k) of the means of the clusters; an empty one stays where it was."""
    a = np.zeros((len(labels), k))
    a[np.arange(len(labels)), labels] = space.w
    total = a.sum(axis=0)
    return np.where(total > 0, a / np.where(total > 0, total, 1.0), old)


def distances(space: Space, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, k) squared distances from the centres a, and the centres' squares (k,)."""
    Ka = space.times(a)
    squares = (a * Ka).sum(axis=0)
    return np.maximum(space.diagonal[:, None] - 2 * Ka + squares, 0.0), squares


def refilled(space: Space, labels: np.ndarray, D: np.ndarray) -> np.ndarray:
    """Labels in which every empty cluster has the farthest row that its own cluster can spare."""
    k, labels = D.shape[1], labels.copy()
    own = D[np.arange(len(labels)), labels]
    counts = np.bincount(labels, space.w, minlength=k)
    order = iter(np.argsort(np.where(space.w > 0, -own, 1.0), kind="stable"))
    for c in np.flatnonzero(counts <= 0):
        for i in order:
            if own[i] <= 0:
                return labels  # every row lies on a centre
            if counts[labels[i]] > space.w[i]:
                counts[labels[i]] -= space.w[i]
                labels[i], counts[c] = c, space.w[i]
                break
    return labels


def kernel_lloyd(
    space: Space,
    a: np.ndarray,
    *,
    max_iter: int,
    tol: float,
    tick: Callable[[int, float | None], bool],
) -> Solution:
    """From centres a (n, k) until labels repeat, or the inertia falls by less than tol of itself.

    The value is (Means, labels): the centres, and the nearest of each row.
    """
    k = a.shape[1]
    D, squares = distances(space, a)
    labels = D.argmin(axis=1)
    inertia, message, n_iter = _inertia(space, D, labels), "the labels still change.", 0
    for n_iter in range(1, max_iter + 1):
        a = means_of(space, refilled(space, labels, D), k, a)
        D, squares = distances(space, a)
        new = D.argmin(axis=1)
        before, inertia = inertia, _inertia(space, D, new)
        same = bool((new == labels).all())
        labels = new
        if same or before - inertia < tol * before:
            message = ""
            break
        if tick(n_iter, inertia):
            message = "the time was up, and the labels still change."
            break
    return Solution((Means(a, squares), labels), n_iter, inertia, not message, message)


def _inertia(space: Space, D: np.ndarray, labels: np.ndarray) -> float:
    return float(space.w @ D[np.arange(len(labels)), labels])


def greedy(space: Space, k: int, rng: np.random.Generator) -> list[int]:
    """k-means++ in the space of the kernel: the indices of the rows chosen."""
    n, trials, mass = len(space.w), 2 + int(np.log(k)), space.w / space.w.sum()
    chosen = [int(rng.choice(n, p=mass))]
    closest = space.to_rows(chosen)[:, 0]
    while len(chosen) < k:
        mass = np.cumsum(space.w * closest)
        if not mass[-1] > 0:  # fewer distinct rows than centres
            return chosen + [
                int(i) for i in rng.choice(n, k - len(chosen), p=space.w / space.w.sum())
            ]
        at = np.minimum(np.searchsorted(mass, rng.random(trials) * mass[-1]), n - 1)
        D = np.minimum(space.to_rows(at), closest[:, None])
        best = int(np.argmin(space.w @ D))
        closest = D[:, best]
        chosen.append(int(at[best]))
    return chosen


def farthest_first(space: Space, k: int) -> list[int]:
    """The row farthest from the mean, then the row farthest from all chosen so far."""
    away = distances(space, (space.w / space.w.sum())[:, None])[0][:, 0]
    chosen = [int(np.argmax(np.where(space.w > 0, away, -1.0)))]
    closest = space.to_rows(chosen)[:, 0]
    while len(chosen) < k:
        chosen.append(int(np.argmax(np.where(space.w > 0, closest, -1.0))))
        closest = np.minimum(closest, space.to_rows(chosen[-1:])[:, 0])
    return chosen

"""K-means from inner products alone: the trace form, for any kernel matrix.

With memberships Z (n, k), weights w and W_c = sum_{i in c} w_i, a centre is
m_c = sum_i a_ic phi(x_i) with a_ic = w_i Z_ic / W_c, and

    |phi(x_i) - m_c|^2 = K_ii - 2 (K a)_ic + (a'K a)_cc

so a pass is one product K a with k columns. Between two passes only the rows that changed their
cluster change K Z: the sums K W Z are kept and corrected by those rows alone, unless they are many
(a symmetric product of all n rows makes n^2 / 2 values, one with m rows m n). The inertia is
tr(W K) - sum_c W_c (a'K a)_cc at the means, and no pass raises it where K is positive semidefinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import like, to_numpy
from kilogram.solvers.solution import Solution

LANES = 4  # columns of products: whole vectors of four float64
# In multiplications of one coordinate: a kernel value beside its products, and an entry that is
# written to fresh memory and read back. A start makes about PASSES n^2 values, most of them while
# many rows still change. Below SMALL rows all of K stays in cache.
VALUE, MEMORY, PASSES, SMALL = 25, 250, 2, 2_000
# Of what is subtracted: so much may rounding differ in sums of some thousand terms.
TIE = 64 * float(np.finfo(np.float64).eps)


class KernelSpace(NamedTuple):
    """Rows in the space of a kernel: products K V, rows of K, the diagonal (n,), weights (n,).

    `by_rows`: K is symmetric when computed row by row too, as it is without noise.
    """

    K: Any
    diagonal: np.ndarray
    w: np.ndarray
    by_rows: bool = True

    def times(self, a: np.ndarray, some: np.ndarray | None = None) -> np.ndarray:
        """K a, or K[:, some] a, on the host in float64."""
        k = a.shape[1]
        a = a if k == 1 else np.pad(a, ((0, 0), (0, -k % LANES)))
        put = like(a, self.K.diag())
        found = self.K @ put if some is None else self.K.by_rows_of(some, put)
        return np.asarray(to_numpy(found), dtype=np.float64)[:, :k]

    def is_cheap(self, count: int) -> bool:
        """Whether a product with so many rows of K is less work than one with all of them."""
        return self.by_rows and 2 * count < len(self.w)

    def to_rows(self, chosen: Any) -> np.ndarray:
        """Squared distances of all rows from some of them, (n, m)."""
        K = np.asarray(to_numpy(self.K.rows(chosen)), dtype=np.float64).T
        return np.maximum(self.diagonal[:, None] - 2 * K + self.diagonal[chosen], 0.0)


class Means(NamedTuple):
    """Centres as combinations a (n, k) of the rows, and K a (n, k)."""

    a: np.ndarray
    Ka: np.ndarray

    @property
    def squares(self) -> np.ndarray:
        """Squared lengths of the centres, (k,)."""
        return np.einsum("ic,ic->c", self.a, self.Ka)


class ClusterProducts:
    """K W Z of the labels seen last, (n, k), and the means they give."""

    def __init__(self, space: KernelSpace, k: int):
        self.space, self.k = space, k
        self.labels: np.ndarray | None = None
        self.KWZ = np.zeros((len(space.w), k))

    def memberships(self, labels: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """W Z of some rows, (m, k)."""
        w = self.space.w[rows]
        WZ = np.zeros((len(w), self.k))
        WZ[np.arange(len(w)), labels[rows]] = w
        return WZ

    def move(self, labels: np.ndarray) -> None:
        """Let the sums be those of these labels."""
        old, self.labels = self.labels, labels
        changed = None if old is None else np.flatnonzero(labels != old)
        if old is None or changed is None or not self.space.is_cheap(len(changed)):
            self.KWZ = self.space.times(self.memberships(labels))
        elif len(changed):
            V = self.memberships(labels, changed) - self.memberships(old, changed)
            self.KWZ += self.space.times(V, changed)

    def means(self, labels: np.ndarray, old: Means) -> Means:
        """The means of the clusters; an empty one stays where it was."""
        self.move(labels)
        a, total = self.memberships(labels), np.bincount(labels, self.space.w, minlength=self.k)
        full, size = total > 0, np.where(total > 0, total, 1.0)
        return Means(np.where(full, a / size, old.a), np.where(full, self.KWZ / size, old.Ka))


def is_expensive(n: int, d: int, starts: int) -> bool:
    """Whether the values of all passes cost more than memory for them, or K stays in cache."""
    return n <= SMALL or PASSES * starts * (d + VALUE) > MEMORY


def means_of(space: KernelSpace, labels: np.ndarray, k: int) -> np.ndarray:
    """a (n, k) of the means of the clusters; zeros for an empty one."""
    a = ClusterProducts(space, k).memberships(labels)
    total = a.sum(axis=0)
    return a / np.where(total > 0, total, 1.0)


def at(space: KernelSpace, a: np.ndarray) -> Means:
    """The centres a with their products, which a few rows make if a has no others."""
    used = np.flatnonzero(a.any(axis=1))
    few = len(used) > 0 and space.is_cheap(len(used))
    return Means(a, space.times(a[used], used) if few else space.times(a))


def distances(space: KernelSpace, means: Means) -> np.ndarray:
    """(n, k) squared distances of the rows from the centres."""
    D = means.Ka * -2.0
    D += space.diagonal[:, None]
    D += means.squares
    return np.maximum(D, 0.0, out=D)


def nearest(Ka: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """The nearest centre of each row, (n,), of those equally near the first.

    Centres may be copies of each other, where there are fewer distinct rows than centres: products
    made in another order then differ in their last digits, and must not choose among them.
    """
    away = Ka * -2.0
    reach = np.abs(away).max(axis=1) + squares.max()
    away += squares
    return (away <= (away.min(axis=1) + TIE * reach)[:, None]).argmax(axis=1)


def refill_empty(space: KernelSpace, labels: np.ndarray, D: np.ndarray) -> np.ndarray:
    """Labels in which every empty cluster has the farthest row that its own cluster can spare."""
    k = D.shape[1]
    counts = np.bincount(labels, space.w, minlength=k)
    if (counts > 0).all():
        return labels
    labels, own = labels.copy(), D[np.arange(len(labels)), labels]
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
    space: KernelSpace,
    a: np.ndarray,
    *,
    max_iter: int,
    tol: float,
    tick: Callable[[int, float | None], bool],
) -> Solution:
    """From centres a (n, k) until labels repeat, or the inertia falls by less than tol of itself.

    The value is (Means, labels): the centres, and the nearest of each row.
    """
    means, sums = at(space, a), ClusterProducts(space, a.shape[1])
    D = distances(space, means)
    labels = D.argmin(axis=1)
    inertia, message, n_iter = _inertia(space, D, labels), "the labels still change.", 0
    for n_iter in range(1, max_iter + 1):
        means = sums.means(refill_empty(space, labels, D), means)
        D = distances(space, means)
        new = D.argmin(axis=1)
        before, inertia = inertia, _inertia(space, D, new)
        same = bool((new == labels).all())
        labels = new
        if same or before - inertia < tol * before:
            message = ""
            break
        if tick(n_iter, inertia):
            message = "max_time was reached before convergence: labels still change."
            break
    labels = nearest(means.Ka, means.squares)
    return Solution((means, labels), n_iter, inertia, not message, message)


def _inertia(space: KernelSpace, D: np.ndarray, labels: np.ndarray) -> float:
    return float(space.w @ D[np.arange(len(labels)), labels])


def greedy(space: KernelSpace, k: int, rng: np.random.Generator) -> list[int]:
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


def farthest_first(space: KernelSpace, k: int) -> list[int]:
    """The row farthest from the mean, then the row farthest from all chosen so far."""
    away = distances(space, at(space, (space.w / space.w.sum())[:, None]))[:, 0]
    chosen = [int(np.argmax(np.where(space.w > 0, away, -1.0)))]
    closest = space.to_rows(chosen)[:, 0]
    while len(chosen) < k:
        chosen.append(int(np.argmax(np.where(space.w > 0, closest, -1.0))))
        closest = np.minimum(closest, space.to_rows(chosen[-1:])[:, 0])
    return chosen

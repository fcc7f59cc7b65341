"""The fits of `KMeans`: what is known of the rows, where to begin, and the best of several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, reduce_rows, row_blocks, take_rows
from kilogram.models.clusters.centres import answer_like, host, unit_rows
from kilogram.native.kmeans_start import is_small
from kilogram.solvers.cluster import starts
from kilogram.solvers.cluster.lloyd import Farthest, Leap, lloyd, macqueen
from kilogram.solvers.cluster.passes import Passes
from kilogram.solvers.cluster.sums import ClusterSums, nearest
from kilogram.solvers.solution import Solution
from kilogram.statistics.class_variances import ClassVariances

STARTS = ("k-means++", "k-means||", "random", "farthest")
LONGER = 16.0  # squared: so much longer than the mean may rows be
HAIR = 1e-9  # share of the weight that rounding may take
FEW_VALUES = 20_000  # up to which plain sums take less time than the call of a pass


@dataclass(frozen=True, eq=False)
class About:
    """Of the rows: their mean, the mean variance of the columns, their library and float type."""

    origin: np.ndarray
    variance: float
    squares: float  # the sum of w |x - origin|^2
    unseen: np.ndarray  # columns without any value
    sizes: np.ndarray  # not finite where a value is not
    dtype: Any
    put: Callable[[np.ndarray], Any]


@dataclass(frozen=True, eq=False)
class Spread:
    """Variances of rows, and which columns (d,) have missing values."""

    variances: ClassVariances
    lost: np.ndarray

    def __add__(self, other: Spread | int) -> Spread:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, Spread):
            return NotImplemented
        return Spread(self.variances + other.variances, self.lost | other.lost)

    __radd__ = __add__


def _block_spread(X: Any, w: Any) -> Spread:
    found = ClassVariances.of(X, np.zeros(X.shape[0], dtype=np.int64), w, n_classes=1)
    weight = float(host(found.weights)[0])
    lost = host(found.seen)[0] < weight * (1 - HAIR)
    light = np.empty(0, int) if w is None else np.flatnonzero(host(w) <= HAIR * weight)
    if light.size:  # what weighs nothing is not missed in sums
        rows = take_rows(X, light)
        rows = host(rows.toarray() if is_sparse(rows) else rows)
        lost = lost | np.isnan(rows).any(axis=0)
    return Spread(found, lost)


def _variances(X: Any, w: Any) -> tuple[np.ndarray, np.ndarray, float, Any, np.ndarray]:
    """Means and variances of the columns, the weight of all rows, where some or all are missing."""
    if w is None and is_numpy(X) and X.size <= FEW_VALUES:
        means = X.mean(axis=0, dtype=np.float64)
        squares = np.square(X - means).mean(axis=0)
        if np.isfinite(squares).all():
            return means, squares, float(len(X)), False, np.zeros(len(means), bool)
    both = reduce_rows(_block_spread, X, w)
    found, weight = both.variances, float(host(both.variances.weights)[0])
    unseen = host(found.seen)[0] <= HAIR * weight
    return host(found.means)[0], host(found.variances)[0], weight, both.lost, unseen


def spread(X: Any, w: Any) -> About:
    """One pass over the rows."""
    with np.errstate(invalid="ignore", over="ignore"):  # said aloud by the caller
        means, squares, weight, lost, unseen = _variances(X, w)
    sizes = np.where(lost, np.nan, means + squares)
    dtype: Any = np.dtype(np.float64)
    put: Callable[[np.ndarray], Any] = _as_it_is
    if not is_streamed(X):
        dtype = np.dtype(np.float32 if str(X.dtype).endswith("float32") else np.float64)
        if not (is_numpy(X) or is_sparse(X)):
            one_row = X[:1, :]
            put = partial(_like_rows, reference=one_row)
    most = float(np.finfo(dtype).max)
    too_long = float(squares.sum()) > most / LONGER  # the squares of rows, not of columns alone
    sizes = np.where((sizes > most) | too_long, np.inf, sizes)
    with np.errstate(over="ignore", invalid="ignore"):
        # rounded: rows lose nothing else when it is taken off
        origin = means.astype(dtype).astype(np.float64)
        off = float(((means - origin) ** 2).sum())
    total = weight * (float(squares.sum()) + off)
    return About(origin, float(squares.mean()), total, unseen, sizes, dtype, put)


def _as_it_is(found: np.ndarray) -> np.ndarray:
    return found


def _like_rows(found: np.ndarray, reference: Any) -> Any:
    return like(found, reference)


def start(
    model: Any,
    X: Any,
    w: Any,
    about: About,
    rng: np.random.Generator,
    deadline: float | None = None,
) -> np.ndarray:
    """The first centres, (k, d), float64 on the host; `deadline` by `time.perf_counter`."""
    init, k, d = model.init, int(model.n_clusters), len(about.origin)
    if isinstance(init, str):
        if init not in STARTS:
            raise ValueError(f"init must be one of {STARTS}, an array or a callable, got {init!r}.")
        C = _named_start(init, X, w, k, about.origin, rng, deadline)
    else:
        C = host(init(X, k, random_state=int(rng.integers(2**31))) if callable(init) else init)
        if C.shape != (k, d):
            raise ValueError(
                f"The shape of the initial centers {C.shape} does not match the number of clusters "
                f"{k} and the number of features of the data {d}."
            )
        if not np.isfinite(C).all():
            raise ValueError("The initial centers contain NaN or infinity.")
    return unit_rows(C) if model.spherical else C


def _named_start(
    init: str,
    X: Any,
    w: Any,
    k: int,
    origin: np.ndarray,
    rng: np.random.Generator,
    deadline: float | None,
) -> np.ndarray:
    if init == "farthest":
        return starts.farthest_first(X, w, k, origin)
    if init == "random":
        return starts.drawn(X, w, k, origin, rng)
    if init == "k-means||" or is_streamed(X):
        return starts.parallel(X, w, k, origin, rng)
    return starts.greedy(X, w, k, origin, rng, deadline)


def block_labels(X: Any, C: np.ndarray, origin: np.ndarray) -> Any:
    """The nearest centre of every row: (n,), in the library of the rows; streams are gathered."""
    found = map_rows(partial(_labels_of, C=C, origin=origin), X)
    if not is_streamed(X):
        return found
    return np.asarray(found.compute() if hasattr(found, "compute") else found)


def labels_and_inertia(X: Any, w: Any, C: np.ndarray, origin: np.ndarray) -> tuple[Any, float]:
    """The nearest centre of every row, and the weighted sum of squared distances from them."""
    if is_numpy(X) and not is_streamed(X):  # one pass tells both
        labels, away = nearest(X, C, origin)
        return labels, float(away.sum(dtype=np.float64) if w is None else host(away) @ host(w))
    total = reduce_rows(partial(ClusterSums.of, C=C, origin=origin), X, w).inertia
    return block_labels(X, C, origin), float(total)


def _labels_of(block: Any, C: np.ndarray, origin: np.ndarray) -> Any:
    return answer_like(nearest(block, C, origin)[0], block)


class Fit:
    """Several starts on the same rows, and the best of them."""

    def __init__(self, model: Any, X: Any, w: Any, about: About):
        self.model, self.X, self.w, self.about = model, X, w, about
        self.best: Any = Solution(None, 0, np.inf)
        self.found: np.ndarray | None = None  # labels of the best start, where they are at hand
        self.passes = Passes(X, w, about.origin, about.squares) if is_numpy(X) else None

    def run(self, C: np.ndarray, rng: np.random.Generator, tick: Any) -> bool:
        """One start; True when the time is up."""
        late = [False]

        def heard(step: int, objective: float | None) -> bool:
            late[0] = tick(step, objective)
            return late[0]

        if self.model.algorithm == "minibatch":
            found: Any = self._batches(C, rng, heard)
        else:
            found = lloyd(
                self._step,
                C,
                self.about.origin,
                self._farthest,
                max_iter=int(self.model.max_iter),
                tol=float(self.model.tol) * self.about.variance,
                project=unit_rows if self.model.spherical else None,
                tick=heard,
                leap=self._leap(),
            )
        if self.best.value is None or found.objective < self.best.objective:
            self.best = found
            self.found = None if self.passes is None else self.passes.found
        if self.passes is not None:
            self.passes.forget()
        return late[0]

    def _leap(self) -> Leap | None:
        """Many steps in one call, on few rows, unless somebody wants to hear of each."""
        heard = self.model.max_time is not None or hasattr(self.model, "_skl_callbacks")
        if self.passes is None or heard or self.model.spherical:
            return None
        n, d = self.X.shape
        return self.passes.leap if is_small(n, d, int(self.model.n_clusters)) else None

    def _step(self, C: np.ndarray, *, inertia: bool = False) -> ClusterSums:
        if self.passes is not None:
            return self.passes(C, inertia=inertia)
        sums = partial(ClusterSums.of, C=C, origin=self.about.origin)
        found: ClusterSums = reduce_rows(sums, self.X, self.w)
        return found

    def _farthest(self, C: np.ndarray, m: int) -> Farthest:
        rows = partial(starts.farthest_rows, C=C, origin=self.about.origin, m=m)
        found: Farthest = reduce_rows(rows, self.X, self.w)
        return found

    def _batches(self, C: np.ndarray, rng: np.random.Generator, tick: Any) -> Solution:
        """MacQueen's rule over batches, epoch by epoch, until the centres rest."""
        origin, counts = self.about.origin, np.zeros(len(C))
        limit, message, n_iter = float(self.model.tol) * self.about.variance, "", 0
        for n_iter in range(1, int(self.model.max_iter) + 1):
            before = C
            for block, w in self._shuffled(rng):
                C, counts = macqueen(ClusterSums.of(block, w, C, origin), C, counts, origin)
                C = unit_rows(C) if self.model.spherical else C
            if float(((C - before) ** 2).sum()) <= limit:
                message = ""
                break
            message = "the centres still move."
            if tick(n_iter, None):
                message = "the time was up, and the centres still move."
                break
        return Solution(C, n_iter, self._step(C, inertia=True).inertia, not message, message)

    def _shuffled(self, rng: np.random.Generator) -> Any:
        """Batches of rows in random order; streams keep theirs."""
        size = int(self.model.batch_size)
        if is_streamed(self.X):
            yield from row_blocks(self.X, self.w, block_rows=size)
            return
        order = rng.permutation(self.X.shape[0])
        for i in range(0, len(order), size):
            at = order[i : i + size]
            w = None if self.w is None else to_numpy(self.w)[at]
            yield take_rows(self.X, at), w

    def labels(self, C: np.ndarray) -> tuple[Any, np.ndarray]:
        """Of the rows, nearest to C, and the weight of every cluster."""
        labels = self.found
        if labels is None:
            labels = block_labels(self.X, C, self.about.origin)
        w = None if self.w is None or is_streamed(self.X) else host(self.w)
        counts = np.bincount(np.asarray(to_numpy(labels)), w, minlength=len(C)).astype(float)
        return labels, counts

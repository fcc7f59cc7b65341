"""K-means as one function: rows, number of clusters and initialisation to labels and centres.

    fit_kmeans    the best of several starts of Lloyd's algorithm, or of MacQueen's over batches

`KMeans` stores what it returns; mixtures and spectral clustering call it for their own starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, reduce_rows, row_blocks, take_rows
from kilogram.native.kmeans_initialization import is_small
from kilogram.solvers.lloyd import initialization
from kilogram.solvers.lloyd.cluster_sums import ClusterSums, nearest
from kilogram.solvers.lloyd.containers import host, like_block, unit_rows
from kilogram.solvers.lloyd.lloyd import Farthest, lloyd, macqueen, not_converged
from kilogram.solvers.lloyd.passes import LloydPasses
from kilogram.solvers.lloyd.row_summary import RowSummary, summarize_rows
from kilogram.solvers.solution import Solution, best_of

INITIALIZATIONS = ("k-means++", "k-means||", "random", "farthest")
Tick = Callable[[int, float | None], bool]


@dataclass(frozen=True)
class KMeansSettings:
    """What to compute: see the parameters of `KMeans`, whose names these are."""

    n_clusters: int
    init: Any = "k-means++"
    n_init: int = 1
    max_iter: int = 300
    tol: float = 1e-4
    spherical: bool = False
    minibatch: bool = False
    batch_size: int = 1024


@dataclass(frozen=True, eq=False)
class KMeansSolution:
    """Labels (n,), centres (k, d) float64 on the host, and how they were found."""

    labels: Any  # in the library of the rows
    centers: np.ndarray
    inertia: float
    counts: np.ndarray  # weight of the rows of each cluster
    origin: np.ndarray  # subtracted from rows and centres before distances are taken
    solution: Solution  # of the best start: n_iter, converged, message


def count_starts(init: Any, n_init: Any) -> int:
    """Number of starts: an array or the farthest rows are one; random draws need several."""
    if init == "farthest" if isinstance(init, str) else not callable(init):
        return 1
    if isinstance(n_init, str):  # "auto"
        return 10 if init == "random" or callable(init) else 1
    return int(n_init)


def fit_kmeans(
    X: Any,
    w: Any,
    settings: KMeansSettings,
    rng: np.random.Generator,
    *,
    summary: RowSummary | None = None,
    tick: Tick | None = None,
    observed: bool = False,
    deadline: float | None = None,
) -> KMeansSolution:
    """Cluster the rows X (n, d) with weights w (n,) or None, of any container.

    `tick(iteration, objective)` is called once per iteration and returns True to stop; `observed`:
    it must be called for each one, so that none may be merged into a longer native call. `deadline`
    is a value of `time.perf_counter`.
    """
    summary = summarize_rows(X, w) if summary is None else summary
    tick = partial(_is_late, deadline) if tick is None else tick
    fit = _Fit(X, w, summary, settings, observed or deadline is not None)
    taken = 0
    for _ in range(settings.n_init):
        taken += 1
        if fit.run(initial_centers(X, w, settings, summary, rng, deadline), rng, tick):
            break
    assert fit.best is not None
    labels, counts = fit.assigned(fit.best.value)
    best = best_of(fit.best, taken, settings.n_init)
    return KMeansSolution(
        labels, best.value, float(best.objective or 0.0), counts, summary.origin, best
    )


def _is_late(deadline: float | None, iteration: int, objective: float | None) -> bool:
    return deadline is not None and time.perf_counter() >= deadline


def initial_centers(
    X: Any,
    w: Any,
    settings: KMeansSettings,
    summary: RowSummary,
    rng: np.random.Generator,
    deadline: float | None = None,
) -> np.ndarray:
    """The first centres, (k, d), float64 on the host; `deadline` by `time.perf_counter`."""
    init, k, d = settings.init, settings.n_clusters, len(summary.origin)
    if isinstance(init, str):
        C = _named_start(init, X, w, k, summary.origin, rng, deadline)
    else:
        if callable(init):  # it gets a RandomState, as scikit-learn passes one
            init = init(X, k, random_state=np.random.RandomState(rng.integers(2**31)))
        C = host(init)
        if C.shape != (k, d):
            raise ValueError(
                f"The shape of the initial centers {C.shape} does not match the number of clusters "
                f"{k} and the number of features of the data {d}."
            )
        if not np.isfinite(C).all():
            raise ValueError("The initial centers contain NaN or infinity.")
    return unit_rows(C) if settings.spherical else C


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
        return initialization.farthest_first(X, w, k, origin)
    if init == "random":
        return initialization.draw_rows(X, w, k, origin, rng)
    if init == "k-means||" or is_streamed(X):
        return initialization.parallel(X, w, k, origin, rng)
    return initialization.greedy(X, w, k, origin, rng, deadline)


def assign_labels(X: Any, C: np.ndarray, origin: np.ndarray) -> Any:
    """The nearest centre of every row: (n,), in the library of the rows; streams are gathered."""
    found = map_rows(partial(_labels_of, C=C, origin=origin), X)
    if not is_streamed(X):
        return found
    return np.asarray(found.compute() if hasattr(found, "compute") else found)


def labels_and_inertia(X: Any, w: Any, C: np.ndarray, origin: np.ndarray) -> tuple[Any, float]:
    """The nearest centre of every row, and the weighted sum of squared distances from them."""
    if is_numpy(X) and not is_streamed(X):  # one pass computes both
        labels, away = nearest(X, C, origin)
        return labels, float(away.sum(dtype=np.float64) if w is None else host(away) @ host(w))
    total = reduce_rows(partial(ClusterSums.of, C=C, origin=origin), X, w).inertia
    return assign_labels(X, C, origin), float(total)


def _labels_of(block: Any, C: np.ndarray, origin: np.ndarray) -> Any:
    return like_block(nearest(block, C, origin)[0], block)


class _Fit:
    """Several starts on the same rows, and the best of them."""

    def __init__(
        self, X: Any, w: Any, summary: RowSummary, settings: KMeansSettings, observed: bool
    ):
        self.X, self.w, self.summary, self.settings = X, w, summary, settings
        self.best: Solution | None = None
        self.labels: np.ndarray | None = None  # of the best start, where the passes keep them
        self.passes = LloydPasses(X, w, summary.origin, summary.squares) if is_numpy(X) else None
        merged = self.passes is not None and not observed and not settings.spherical
        self.merged = merged and is_small(X.shape[0], X.shape[1], settings.n_clusters)

    def run(self, C: np.ndarray, rng: np.random.Generator, tick: Tick) -> bool:
        """One start; True when it was asked to stop."""
        stopped = False

        def observe(iteration: int, objective: float | None) -> bool:
            nonlocal stopped
            stopped = tick(iteration, objective)
            return stopped

        minibatch = self.settings.minibatch
        found = self._minibatch(C, rng, observe) if minibatch else self._lloyd(C, observe)
        if self.best is None or _objective(found) < _objective(self.best):
            self.best = found
            self.labels = None if self.passes is None else self.passes.labels
        if self.passes is not None:
            self.passes.reset()
        return stopped

    def _lloyd(self, C: np.ndarray, tick: Tick) -> Solution:
        return lloyd(
            self._sums,
            C,
            self.summary.origin,
            self._farthest,
            max_iter=self.settings.max_iter,
            tol=self.settings.tol * self.summary.variance,
            project=unit_rows if self.settings.spherical else None,
            tick=tick,
            iterate=self.passes.iterate if self.merged and self.passes is not None else None,
        )

    def _sums(self, C: np.ndarray, *, inertia: bool = False) -> ClusterSums:
        if self.passes is not None:
            return self.passes(C, inertia=inertia)
        sums = partial(ClusterSums.of, C=C, origin=self.summary.origin)
        found: ClusterSums = reduce_rows(sums, self.X, self.w)
        return found

    def _farthest(self, C: np.ndarray, m: int) -> Farthest:
        rows = partial(initialization.farthest_rows, C=C, origin=self.summary.origin, m=m)
        found: Farthest = reduce_rows(rows, self.X, self.w)
        return found

    def _minibatch(self, C: np.ndarray, rng: np.random.Generator, tick: Tick) -> Solution:
        """MacQueen's rule over batches, epoch by epoch, until the centres converge."""
        origin, counts = self.summary.origin, np.zeros(len(C))
        limit, message, n_iter = self.settings.tol * self.summary.variance, "", 0
        for n_iter in range(1, self.settings.max_iter + 1):
            before = C
            for block, w in self._batches(rng):
                C, counts = macqueen(ClusterSums.of(block, w, C, origin), C, counts, origin)
                C = unit_rows(C) if self.settings.spherical else C
            moved = float(((C - before) ** 2).sum())
            message = "" if moved <= limit else not_converged(moved)
            if not message:
                break
            if tick(n_iter, None):
                message = not_converged(moved, late=True)
                break
        return Solution(C, n_iter, self._sums(C, inertia=True).inertia, not message, message)

    def _batches(self, rng: np.random.Generator) -> Any:
        """Batches of rows in random order; streams keep theirs."""
        size = self.settings.batch_size
        if is_streamed(self.X):
            yield from row_blocks(self.X, self.w, block_rows=size)
            return
        order = rng.permutation(self.X.shape[0])
        for i in range(0, len(order), size):
            at = order[i : i + size]
            w = None if self.w is None else to_numpy(self.w)[at]
            yield take_rows(self.X, at), w

    def assigned(self, C: np.ndarray) -> tuple[Any, np.ndarray]:
        """Labels of the rows under the centres C, and the weight of every cluster."""
        labels = self.labels
        if labels is None:
            labels = assign_labels(self.X, C, self.summary.origin)
        w = None if self.w is None or is_streamed(self.X) else host(self.w)
        counts = np.bincount(np.asarray(to_numpy(labels)), w, minlength=len(C)).astype(float)
        return labels, counts


def _objective(found: Solution) -> float:
    return np.inf if found.objective is None else float(found.objective)

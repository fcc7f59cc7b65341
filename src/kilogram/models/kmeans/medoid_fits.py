"""The fits of `KMedoids`: all rows where their distances fit in memory, else samples of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.memory import human_bytes
from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import is_streamed, reduce_rows, row_blocks, row_count, take_rows
from kilogram.base import Budget
from kilogram.base.warnings import warn_memory_fallback
from kilogram.solvers.lloyd.containers import host, like_block
from kilogram.solvers.lloyd.k_medoids import improve, start
from kilogram.solvers.lloyd.pairwise_distances import Distance
from kilogram.solvers.solution import Solution, best_of

# Rows of a sample: CLARA's 40 + 2 k is small, distances are cheap now (4 million, 16 MB).
LEAST_SAMPLE = 2000
# Of samples, each starting from the best medoids so far; CLARA takes 5 of its smaller ones.
RESTARTS = 3


@dataclass(frozen=True)
class MedoidSettings:
    """What to compute: see the parameters of `KMedoids`, whose names these are."""

    estimator: str  # its name, for messages
    n_clusters: int
    method: str
    init: Any
    n_init: Any
    max_iter: int
    sample_size: Any
    n_draws: int


class MedoidFit:
    """Several starts on the same rows, or several samples of them, and the best."""

    def __init__(
        self,
        X: Any,
        w: Any,
        distance: Distance,
        settings: MedoidSettings,
        rng: np.random.Generator,
    ):
        self.X, self.w, self.distance, self.settings, self.rng = X, w, distance, settings, rng
        self.n, self.k = row_count(X), settings.n_clusters
        self.start: Any = _checked_start(settings.init, self.n, self.k)
        self.u = None if w is None else _gathered(X, w)
        if self.u is not None and int((self.u > 0).sum()) < self.k:
            raise ValueError(
                f"only {int((self.u > 0).sum())} rows have a weight above 0, and medoids are rows: "
                f"n_clusters={self.k} is too many."
            )
        self.strategy = "exact"

    def run(self, tick: Any, budget: Budget) -> Solution:
        m = self._sample_size(budget)
        if m >= self.n and not is_streamed(self.X):
            return self._starts(self.X, self.u, tick, budget, self.start)
        self.strategy = "sampled" if m < self.n else "exact"
        return self._samples(m, tick, budget)

    def rows_of(self, medoids: np.ndarray) -> Any:
        """The medoids themselves; for given distances their indices."""
        if self.distance.given:
            return medoids
        found = take_rows(self.X, medoids)
        return found.toarray() if is_sparse(found) else found

    def distinct(self, labels: Any) -> int:
        return len(np.unique(np.asarray(to_numpy(labels))))

    def _sample_size(self, budget: Budget) -> int:
        size = self.settings.sample_size
        if size != "auto":
            if size < self.k:
                raise ValueError(
                    f"sample_size must be 'auto' or an integer of at least n_clusters={self.k}, "
                    f"got {size!r}."
                )
            return min(int(size), self.n)
        if self.distance.given:
            return self.n
        small = max(LEAST_SAMPLE, 40 + 10 * self.k)
        itemsize = 4 if str(getattr(self.X, "dtype", "")).endswith("float32") else 8
        needed = itemsize * self.n * self.n
        if self.n <= small or (needed <= budget.bytes and not is_streamed(self.X)):
            return self.n
        why = "rows are streamed" if is_streamed(self.X) else f"need {human_bytes(needed)}"
        warn_memory_fallback(
            self.settings.estimator,
            f"the distances of all {self.n:,} rows are not kept ({why}): the medoids are the best "
            f"of {self.settings.n_draws} samples of {small:,} rows each (CLARA). Set max_memory "
            "or sample_size to change that.",
        )
        return small

    def _starts(self, X: Any, u: Any, tick: Any, budget: Budget, init: Any) -> Solution:
        """The best of several starts on rows in memory."""
        D = self.distance.matrix(X)
        w = None if u is None else u.astype(D.dtype)
        if not np.isfinite(D).all():
            raise ValueError(
                "Input X contains values whose distances are NaN or infinite: scale the columns "
                "first, or give a metric that is finite everywhere."
            )
        best: Any = Solution(None, 0, np.inf)
        taken = 0
        for _ in range(self._start_count()):
            taken += 1
            first = start(D, w, self.k, init, self.rng) if isinstance(init, str) else init
            found: Any = improve(
                D,
                w,
                first,
                method=self.settings.method,
                max_iter=self.settings.max_iter,
                tick=tick,
            )
            if best.value is None or found.objective < best.objective:
                best = found
            if budget.expired:
                break
        return best_of(best, taken, self._start_count())

    def _start_count(self) -> int:
        if not isinstance(self.start, str) or self.start == "build":
            return 1
        return RESTARTS if self.settings.n_init == "auto" else int(self.settings.n_init)

    def _samples(self, m: int, tick: Any, budget: Budget) -> Solution:
        """The medoids that serve all rows best; every sample holds the best so far."""
        draws = self.settings.n_draws
        if not isinstance(self.start, str):
            raise ValueError("init as an array of rows needs all rows in memory. Use a named init.")
        best: Any = Solution(None, 0, np.inf)
        for _ in range(draws if m < self.n else 1):
            chosen = self._drawn(m, best.value)
            u = None if self.u is None else self.u[chosen]
            rows = take_rows(self.X, chosen)
            rows = rows[:, chosen] if self.distance.given else rows
            found: Any = self._starts(rows, u, tick, budget, self.start)
            medoids = chosen[found.value]
            total = self._total(medoids)
            if best.value is None or total < best.objective:
                best = Solution(medoids, found.n_iter, total, found.converged, found.message)
            if budget.expired:
                break
        return best

    def _drawn(self, m: int, best: np.ndarray | None) -> np.ndarray:
        if m >= self.n:
            return np.arange(self.n)
        pool = np.arange(self.n) if self.u is None else np.flatnonzero(self.u > 0)
        drawn = self.rng.choice(pool, min(m, len(pool)), replace=False)
        return np.unique(drawn if best is None else np.concatenate([drawn, best]))

    def _total(self, medoids: np.ndarray) -> float:
        rows = self.rows_of(medoids)

        def statistic(block: Any, w: Any) -> float:
            return block_total(block, w, medoids=rows, distance=self.distance)

        return float(reduce_rows(statistic, self.X, self.w))


def _gathered(X: Any, w: Any) -> np.ndarray:
    """All weights, (n,): of a stream they come with its blocks."""
    if not is_streamed(X):
        return host(w)
    return np.concatenate([host(part) for _, part in row_blocks(X, w)])


def _checked_start(init: Any, n: int, k: int) -> Any:
    if isinstance(init, str):
        return init
    rows = np.asarray(to_numpy(init))
    whole = rows.shape == (k,) and rows.dtype.kind in "iu"
    if not whole or rows.min() < 0 or rows.max() >= n or len(set(rows.tolist())) < k:
        raise ValueError(f"init must be an array of {k} different row indices below {n}.")
    return rows.astype(np.int32)


def to_medoids(block: Any, medoids: Any, distance: Distance) -> np.ndarray:
    """(n, k) distances of a block of rows, float64 on the host."""
    if distance.given:
        return host(block)[:, medoids]
    return host(distance.between(block, medoids))


def block_distances(block: Any, medoids: Any, distance: Distance) -> Any:
    return like_block(to_medoids(block, medoids, distance), block)


def block_labels(block: Any, medoids: Any, distance: Distance) -> Any:
    """The nearest medoid of each row of a block, int32."""
    found = to_medoids(block, medoids, distance).argmin(axis=1).astype(np.int32)
    return found if is_sparse(block) else like(found, block)


def block_total(block: Any, w: Any, medoids: Any, distance: Distance) -> float:
    """The sum of the distances from the nearest medoids."""
    least = to_medoids(block, medoids, distance).min(axis=1)
    return float(least.sum() if w is None else least @ host(w))

"""The passes of Lloyd's algorithm over NumPy rows in memory, each by the algorithm that fits it.

    plain           every distance, at the speed of a matrix product
    bounds          once few rows still change their cluster: groups of centres that the triangle
                    inequality excludes are left out (Yinyang k-means; Ding et al. 2015)
    filter          quantised candidate filter: rows and centres as bytes exclude most centres, only
                    the candidates left are measured; with many centres behind groups of them
    filter_bounds   the candidate filter with bounds kept from pass to pass, where rows are wide
    small_k         a bound for each of a few centres, wide rows, most of which are not read (Elkan
                    2003)

All give the same labels, up to ties. Labels and sums are kept from one pass to the next. What each
saves, as the CPU time of a fit without it over that with it (AVX2, one thread, 20 iterations; 5
with k = 1 000):

    small_k         MNIST k = 10: 1.6 (float32), 3.5 (float64)
    filter_bounds   MNIST k = 100: 1.2 to 1.4, 1.4 to 1.8
    filter          MNIST k = 100: 1.7, 2.7; 200 000 x 50, k = 1 000: 2.1, 3.5
    groups          200 000 x 50, k = 1 000: 1.45, 1.41
    bounds          200 000 x 50, k = 100: 1.5 (float32); until convergence 2.8, 1.7
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.native.kmeans import (
    Bounds,
    CentreGroups,
    LloydStep,
    QuantisedRows,
    bounded_pass,
    cluster_pass,
    filtered_pass,
    grouped,
    has_fast_byte_products,
    nearby_order,
)
from kilogram.native.kmeans_filter_bounds import FilterBounds, filtered_bounds_pass
from kilogram.native.kmeans_initialization import lloyd_iterations
from kilogram.native.kmeans_small_k import SmallKBounds, small_k_pass
from kilogram.solvers.lloyd.cluster_sums import ClusterSums

# Thresholds measured on two cores with AVX2, at the point where both sides take the same time.
MIN_BOUNDED_K = 24  # centres from which bounds on groups pay
MAX_GROUPS = 40  # a bound is kept for each row and group
# fraction of the rows that changed their cluster in a pass, below which a pass with bounds takes a
# tenth of the time; above it gathering the rows that are left costs more
SETTLED = 0.02
# Products of a pass, some 10 ms, from which trying the filter costs next to nothing.
FILTER_WORK = 1e8
# centres up to which each has a bound, features from which that is faster (with 50 it takes 1.7
# times as long), and products of a pass
SMALL_K, SMALL_K_FEATURES, SMALL_K_WORK = 26, 128, 1e7
WIDE = 256  # features from which reading a row takes the time, so that bounds pay beside the filter
# centres from which groups of them are compared first, centres of a group, and the fraction of the
# centres that may be left after it
GROUPED_K, GROUP_SIZE, MAX_OPENED = 128, 8, 0.6
# Fraction of the largest cluster's weight below which rounding may be all of it: sums of 10 million
# rows.
FAINT = 1e-9
# On which the number of candidates is counted before all rows are quantised: a fraction within 4 %.
TRIAL_ROWS = 500


class LloydPasses:
    """Passes over the rows X (n, d) with weights w, the centres taken less `origin`.

    `squares` is the sum of w |x - origin|^2.
    """

    def __init__(self, X: np.ndarray, w: Any, origin: np.ndarray, squares: float):
        self.X, self.w, self.origin = X, w, origin
        weight = len(X) if w is None else float(np.sum(w, dtype=np.float64))
        self.unit = float(np.sqrt(squares / weight))  # root mean square length of a row
        self.quantised: QuantisedRows | None = None
        self.filter_bounds: FilterBounds | None = None
        self.small_k: SmallKBounds | None = None
        self.reset()

    def reset(self) -> None:
        """Before another start: labels, sums and bounds of the last one do not hold."""
        self.labels: np.ndarray | None = None
        self.sums: np.ndarray | None = None
        self.bounds: Bounds | None = None
        self.places: CentreGroups | None = None
        self.means: np.ndarray | None = None  # of the groups of centres
        self.grouping = True
        self.filtering: bool | None = None  # not yet decided
        self.settled = False
        for state in (self.quantised, self.filter_bounds, self.small_k):
            if state is not None:
                state.reset()

    def __call__(self, C: np.ndarray, *, inertia: bool = False) -> ClusterSums:
        """The sums of the rows nearest to C; the inertia is 0 unless it is requested."""
        (n, d), k = self.X.shape, len(C)
        centres = (C - self.origin).astype(self.X.dtype, copy=False)
        kept: dict[str, Any] = {"labels": self.labels, "sums": self.sums, "inertia": inertia}
        before = None if self.labels is None else self.labels.copy()
        if is_small_k(n, d, k):
            if self.small_k is None:
                self.small_k = SmallKBounds(self.X, self.origin, k)
            step = small_k_pass(self.small_k, centres, self.w, **kept)
        elif self.settled:
            step = self._bounded(centres, kept)
        elif self._filters(centres):
            step = self._filtered(centres, kept)
        else:
            step = cluster_pass(self.X, centres, self.w, self.origin, **kept)
        if before is not None and not self.settled and self._bounds_pay(k):
            self.settled = bool(np.count_nonzero(before != step.labels) < SETTLED * n)
        self.labels, self.sums = step.labels, step.sums
        self._clear(step.labels, step.sums)
        return ClusterSums(step.sums[:, :-1], step.sums[:, -1], step.inertia)

    def _clear(self, labels: np.ndarray, sums: np.ndarray) -> None:
        """Clear what rounding left in the sums of clusters that have lost all their rows."""
        weights = sums[:, -1]
        faint = weights < FAINT * weights.max()
        if self.w is not None and faint.any():
            there = np.bincount(labels, np.asarray(self.w) > 0, minlength=len(weights)) > 0
            sums[faint & ~there] = 0.0

    def iterate(self, C: np.ndarray, most: int, tol: float) -> tuple[np.ndarray, int, bool]:
        """At most so many iterations of Lloyd from C in one call, for small data; see `lloyd`."""
        (n, d), k = self.X.shape, len(C)
        centres, follow = np.array(C, dtype=np.float64, order="C"), self.labels is not None
        if self.labels is None or self.sums is None:
            self.labels, self.sums = np.empty(n, np.int32), np.empty((k, d + 1))
        self.bounds, self.settled = None, False  # the labels change without them
        kept = (self.labels, self.sums)
        done, converged = lloyd_iterations(
            self.X, self.w, self.origin, centres, *kept, follow=follow, most=most, tol=tol
        )
        return centres, done, converged

    def _bounds_pay(self, k: int) -> bool:
        return k >= MIN_BOUNDED_K and self.filter_bounds is None  # which has its own

    def _bounded(self, centres: np.ndarray, kept: dict[str, Any]) -> LloydStep:
        if self.bounds is None:
            self.bounds = Bounds(len(self.X), centres, group_size(len(centres)))
        return bounded_pass(self.X, centres, self.bounds, self.w, self.origin, **kept)

    def _filters(self, centres: np.ndarray) -> bool:
        """Whether to filter: decided on some rows first, then by the candidates last left."""
        (n, d), k = self.X.shape, len(centres)
        if self.filtering is None:
            self.filtering = may_filter(n, d, k) and self._quantise(centres)
        elif self.filtering and self.quantised is not None:
            self.filtering = filter_pays(self.quantised.looked, d, k, self.X.itemsize)
        return self.filtering

    def _quantise(self, centres: np.ndarray) -> bool:
        """Quantise the rows, if few of some of them are left with many candidates."""
        (n, d), k = self.X.shape, len(centres)
        some = self.X[:: max(1, n // TRIAL_ROWS)]
        if not 1e-30 < self.unit < 1e30:
            return False
        self.places = CentreGroups(np.arange(k, dtype=np.int32))
        trial = QuantisedRows(np.ascontiguousarray(some), self.origin, self.unit)
        filtered_pass(trial, centres, self.places)
        if not filter_pays(trial.looked, d, k, self.X.itemsize):
            return False
        if self.quantised is None:
            self.quantised = QuantisedRows(self.X, self.origin, self.unit)
        return True

    def _filtered(self, centres: np.ndarray, kept: dict[str, Any]) -> LloydStep:
        assert self.quantised is not None
        assert self.places is not None
        if self.X.shape[1] >= WIDE and len(centres) < GROUPED_K:
            if self.filter_bounds is None:
                self.filter_bounds = FilterBounds(self.quantised, len(centres))
            return filtered_bounds_pass(self.filter_bounds, centres, self.w, **kept)
        if kept["labels"] is not None and self.grouping and len(centres) >= GROUPED_K:
            return self._grouped(centres, kept)
        return filtered_pass(self.quantised, centres, self.places, self.w, **kept)

    def _grouped(self, centres: np.ndarray, kept: dict[str, Any]) -> LloydStep:
        """Filter groups of centres first, made anew for every pass, while they exclude many."""
        assert self.quantised is not None
        if self.means is None:
            seeds = centres[nearby_order(centres, GROUP_SIZE)[::GROUP_SIZE]]
            places, self.means = grouped(centres, seeds, steps=3)
        else:
            places, self.means = grouped(centres, self.means)
        step = filtered_pass(self.quantised, centres, places, self.w, **kept)
        self.places, self.grouping = CentreGroups(places.order), self.quantised.opened < MAX_OPENED
        return step


def memory_bytes(n: int, d: int, k: int, size: int) -> int:
    """About the bytes that the passes over X (n, d) of numbers of `size` bytes keep beside it."""
    if is_small_k(n, d, k):
        return n * (d + size * (k + 5))
    bounds = size * n * MAX_GROUPS if k >= MIN_BOUNDED_K else 0
    return bounds + (n * (d + 16) if may_filter(n, d, k) else 0)


def is_small_k(n: int, d: int, k: int) -> bool:
    """Whether a bound for every centre is faster."""
    return k <= SMALL_K and d >= SMALL_K_FEATURES and float(n) * d * k >= SMALL_K_WORK


def may_filter(n: int, d: int, k: int) -> bool:
    """Whether the candidate filter is worth a trial on this machine."""
    return has_fast_byte_products() and k >= MIN_BOUNDED_K and float(n) * d * k >= FILTER_WORK


def group_size(k: int) -> int:
    """Centres of a group with a bound of its own, whole blocks of four."""
    return 4 * max(2, -(-k // (4 * MAX_GROUPS)))


def filter_pays(looked: float, d: int, k: int, size: int) -> bool:
    """Whether the filter and the distances it leaves take fewer cycles than all distances.

    All of them take no less than reading the rows. The cycles of a row were fitted to timings.
    """
    plain = max(k * d * size / 64, d * size / 4)
    return bool(k * d / 32 + 150 + looked * (25 + d / 4) < plain)

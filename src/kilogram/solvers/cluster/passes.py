"""The passes of Lloyd's algorithm over NumPy rows in memory, by the road that is shortest.

    plain     every distance, at the pace of a matrix product
    few       of few centres, a bound for each: rows that cannot have another one are not read, and
              bytes tell it of most others
    sieve     rows and centres as bytes tell which centres can be nearest; only those are measured
    held      the sieve with bounds, where rows are wide
    bounds    once few rows still change their cluster: what lies too far to matter is left out

All end at the same labels, up to ties. They keep labels and sums from one pass to the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.native.kmeans import (
    Bounds,
    Places,
    Sieve,
    bounded_pass,
    cluster_pass,
    grouped,
    near_together,
    sieve_pays,
    sieved_pass,
)
from kilogram.native.kmeans_few import Few, few_pass
from kilogram.native.kmeans_held import Held, held_pass
from kilogram.native.kmeans_start import lloyd_steps
from kilogram.solvers.cluster.sums import ClusterSums

BOUNDED = 24  # centres from which on bounds that leave distances out can pay
GROUPS = 40  # at most of them: a bound is kept for each row and group
# share of the rows that changed their cluster in a pass: below it the centres have all but settled,
# and a pass with bounds takes a tenth of the time; before, gathering what is left costs more
SETTLED = 0.02
# k d from which on the sieve is worth its codes, by the size of a number; measured
SIEVED = {4: 7_500, 8: 1_000}
SIEVED_COLUMNS, SIEVED_WORK = 16, 1e8  # and columns, and products of a pass
# centres up to which every one has a bound, columns from which on that pays, and products of a pass
FEW, FEW_COLUMNS, FEW_WORK = 26, 128, 1e7
WIDE = 256  # columns from which on reading a row takes the time
# centres from which on groups of them are held against the rows first, how many make a group, and
# the share of the centres that may be left after it
GATED, TOGETHER, OPENED = 128, 8, 0.6
# numbers in X from which on the inertia is told from the sums, and the share of the squares that
# has to be left for it: then cancellation costs two digits
MANY_VALUES, TOLD = 1_000_000, 0.01
# bytes of X up to which its rows are copied, those of a cluster side by side: read that way, a pass
# behind groups takes a fifth less time
COPIED = 2**30
# share of the largest cluster's weight below which rounding may be all that is left of one
FAINT = 1e-9
TRIED = 500  # rows that tell how many distances the sieve would let through


class Passes:
    """Passes over the rows X (n, d) with weights w, centres being told less `origin`.

    `squares` is the sum of w |x - origin|^2.
    """

    def __init__(self, X: np.ndarray, w: Any, origin: np.ndarray, squares: float):
        self.X, self.w, self.origin, self.squares = X, w, origin, squares
        weight = len(X) if w is None else float(np.sum(w, dtype=np.float64))
        self.unit = float(np.sqrt(squares / weight))  # about the length of a row
        self.sieve: Sieve | None = None
        self.held: Held | None = None
        self.few: Few | None = None
        self.order: np.ndarray | None = None  # of the rows, where they have been laid out anew
        self.forget()

    @property
    def found(self) -> np.ndarray | None:
        """The labels of the rows as they came."""
        if self.order is None or self.labels is None:
            return self.labels
        labels = np.empty_like(self.labels)
        labels[self.order] = self.labels
        return labels

    def forget(self) -> None:
        """Before another start: the labels, sums and bounds are those of the last one."""
        self.labels: np.ndarray | None = None
        self.sums: np.ndarray | None = None
        self.bounds: Bounds | None = None
        self.places: Places | None = None
        self.means: np.ndarray | None = None  # of the groups of centres
        self.gating = True
        self.sieving: bool | None = None  # not yet asked
        self.settled = False
        if self.sieve is not None:
            self.sieve.forget()
        if self.held is not None:
            self.held.forget()
        if self.few is not None:
            self.few.forget()

    def __call__(self, C: np.ndarray, *, inertia: bool = False) -> ClusterSums:
        """The sums of the rows nearest to C; the inertia is 0 unless it is asked for."""
        (n, d), k = self.X.shape, len(C)
        centres = (C - self.origin).astype(self.X.dtype, copy=False)
        told = inertia and float(self.X.size) >= MANY_VALUES
        kept: dict[str, Any] = {"labels": self.labels, "sums": self.sums}
        kept["inertia"] = inertia and not told
        before, order = None if self.labels is None else self.labels.copy(), self.order
        if _are_few(n, d, k):
            self.few = Few(self.X, self.origin, k) if self.few is None else self.few
            step = few_pass(self.few, centres, self.w, **kept)
        elif self.settled:
            step = self._bounded(centres, kept)
        elif self._sieves(centres):
            step = self._sieved(centres, kept)
        else:
            step = cluster_pass(self.X, centres, self.w, self.origin, **kept)
        compared = before is not None and self.order is order  # else rows have been laid out anew
        if compared and not self.settled and self._bounds_pay(k):
            changed = np.count_nonzero(before != step.labels)
            self.settled = bool(changed < SETTLED * n)
        self.labels, self.sums = step.labels, step.sums
        self._clear(step.labels, step.sums)
        found = ClusterSums(step.sums[:, :-1], step.sums[:, -1], step.inertia)
        return self._told(found, C) if told else found

    def _clear(self, labels: np.ndarray, sums: np.ndarray) -> None:
        """Take out what the weights of rows that left have kept by rounding, where none stayed."""
        weights = sums[:, -1]
        faint = weights < FAINT * weights.max()
        if self.w is not None and faint.any():
            there = np.bincount(labels, np.asarray(self.w) > 0, minlength=len(weights)) > 0
            sums[faint & ~there] = 0.0

    def _told(self, found: ClusterSums, C: np.ndarray) -> ClusterSums:
        """With the inertia, which the sums tell without another look at the rows:

            sum_i w_i |x_i - m_c|^2 = sum_i w_i |x_i|^2 - 2 <S_c, m_c> + W_c |m_c|^2

        summed over the clusters c. Where little is left of the squares, the rows are measured.
        """
        M = C - self.origin
        away = (found.weights * (M * M).sum(axis=1)).sum() - 2 * float((found.sums * M).sum())
        inertia = self.squares + float(away)
        if not inertia > TOLD * self.squares:
            return ClusterSums.of(self.X, self.w, C, self.origin)
        return ClusterSums(found.sums, found.weights, inertia)

    def leap(self, C: np.ndarray, most: int, tol: float) -> tuple[np.ndarray, int, bool]:
        """At most so many steps of Lloyd from C, in one call, for few rows; see `lloyd`."""
        (n, d), k = self.X.shape, len(C)
        centres, follow = np.array(C, dtype=np.float64, order="C"), self.labels is not None
        if self.labels is None or self.sums is None:
            self.labels, self.sums = np.empty(n, np.int32), np.empty((k, d + 1))
        self.bounds, self.settled = None, False  # of labels that change without them
        kept = (self.labels, self.sums)
        steps, rests = lloyd_steps(
            self.X, self.w, self.origin, centres, *kept, follow=follow, most=most, tol=tol
        )
        return centres, steps, rests

    def _bounds_pay(self, k: int) -> bool:
        return k >= BOUNDED and self.held is None  # which has its own

    def _bounded(self, centres: np.ndarray, kept: dict[str, Any]) -> Any:
        if self.bounds is None:
            self.bounds = Bounds(len(self.X), centres, _group(len(centres)))
        return bounded_pass(self.X, centres, self.bounds, self.w, self.origin, **kept)

    def _sieves(self, centres: np.ndarray) -> bool:
        """Whether to go by the sieve: asked of some rows first, then of what the last pass took."""
        (n, d), k = self.X.shape, len(centres)
        if self.sieving is None:
            self.sieving = _may_sieve(n, d, k, self.X.itemsize) and self._tried(centres)
        elif self.sieving and self.sieve is not None:
            self.sieving = _worth(self.sieve.looked, d, k, self.X.itemsize)
        return self.sieving

    def _tried(self, centres: np.ndarray) -> bool:
        (n, d), k = self.X.shape, len(centres)
        some = self.X[:: max(1, n // TRIED)]
        if not 1e-30 < self.unit < 1e30:
            return False
        self.places = Places(np.arange(k, dtype=np.int32))
        trial = Sieve(np.ascontiguousarray(some), self.origin, self.unit)
        sieved_pass(trial, centres, self.places)
        if not _worth(trial.looked, d, k, self.X.itemsize):
            return False
        if self.sieve is None:
            self.sieve = Sieve(self.X, self.origin, self.unit)
        return True

    def _sieved(self, centres: np.ndarray, kept: dict[str, Any]) -> Any:
        assert self.sieve is not None
        assert self.places is not None
        if self.X.shape[1] >= WIDE and len(centres) < GATED:
            self.held = Held(self.sieve, len(centres)) if self.held is None else self.held
            return held_pass(self.held, centres, self.w, **kept)
        if kept["labels"] is not None and self.gating and len(centres) >= GATED:
            return self._gated(centres, kept)
        return sieved_pass(self.sieve, centres, self.places, self.w, **kept)

    def _lay_out(self, places: Places, labels: np.ndarray) -> np.ndarray:
        """The rows of a cluster side by side from here on; the labels in that order."""
        assert self.sieve is not None
        if self.order is not None or not self.X.flags.c_contiguous or self.X.nbytes > COPIED:
            return labels
        self.order = places.of(labels)
        self.sieve.lay_out(self.order)
        self.X = self.sieve.X
        self.w = None if self.w is None else np.asarray(self.w)[self.order]
        return labels[self.order]

    def _gated(self, centres: np.ndarray, kept: dict[str, Any]) -> Any:
        """Behind groups of centres, made anew for every pass, as long as they leave much out."""
        assert self.sieve is not None
        if self.means is None:
            seeds = centres[near_together(centres, TOGETHER)[::TOGETHER]]
            places, self.means = grouped(centres, seeds, steps=3)
            kept["labels"] = self._lay_out(places, kept["labels"])
        else:
            places, self.means = grouped(centres, self.means)
        step = sieved_pass(self.sieve, centres, places, self.w, **kept)
        self.places, self.gating = Places(places.order), self.sieve.opened < OPENED
        return step


def room(n: int, d: int, k: int, size: int) -> int:
    """About the bytes that the passes over X (n, d) of numbers of `size` bytes hold beside it."""
    if _are_few(n, d, k):
        return n * (d + size * (k + 5))
    held = size * n * GROUPS if k >= BOUNDED else 0
    if not _may_sieve(n, d, k, size):
        return held
    copied = size * n * d if k >= GATED and size * n * d <= COPIED else 0
    return held + n * (d + 16) + copied


def _are_few(n: int, d: int, k: int) -> bool:
    return k <= FEW and d >= FEW_COLUMNS and float(n) * d * k >= FEW_WORK


def _may_sieve(n: int, d: int, k: int, size: int) -> bool:
    enough = d * k >= SIEVED[size] and float(n) * d * k >= SIEVED_WORK
    return sieve_pays() and k >= BOUNDED and d >= SIEVED_COLUMNS and enough


def _group(k: int) -> int:
    """Centres of a group, whole blocks of four."""
    return 4 * max(2, -(-k // (4 * GROUPS)))


def _worth(looked: float, d: int, k: int, size: int) -> bool:
    """Whether the sieve and the distances it lets through take fewer cycles than all of them.

    All of them take no less than reading the rows.
    """
    plain = max(k * d * size / 64, d * size / 4)
    return bool(k * d / 32 + 150 + looked * (25 + d / 4) < plain)

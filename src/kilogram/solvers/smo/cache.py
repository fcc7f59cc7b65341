"""Least-recently-used cache of kernel rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Array = np.ndarray


class CacheLookup(NamedTuple):
    """Positions in the request of cached and missing rows, and slots for the missing ones."""

    found: Array
    missing: Array
    places: Array


class SlotCache:
    """Slots for rows of `row_bytes` each, as many as `limit` bytes hold, n at most.

    `open` of them are in use, `first` at the start. They double where more than `patience` times
    as many rows had to be recomputed: keeping more rows is then worth new memory.
    """

    def __init__(
        self, n: int, limit: int, row_bytes: int, first: int | None = None, patience: float = 1.0
    ):
        self.capacity = int(min(n, max(1, limit // max(1, row_bytes))))
        self.open = self.capacity if first is None else min(first, self.capacity)
        self.patience = patience
        self.slot = np.full(n, -1, dtype=np.int64)
        self.owner = np.full(self.capacity, -1, dtype=np.int64)
        self.used = np.zeros(self.capacity, dtype=np.int64)
        self.known = np.zeros(n, dtype=bool)
        self.clock = self.filled = self.recomputed = 0

    def place(self, points: Array, again: Array | None = None) -> CacheLookup:
        """Find the rows of `points`; assign slots to the missing ones, -1 where there is none.

        Where `again` is given, only the missing rows it marks are to be kept.
        """
        self.clock += 1
        slots = self.slot[points]
        found, missing = np.nonzero(slots >= 0)[0], np.nonzero(slots < 0)[0]
        self.used[slots[found]] = self.clock
        self._widen(points[missing])
        places = np.full(missing.shape[0], -1, dtype=np.int64)
        wanted = np.arange(missing.shape[0]) if again is None else np.nonzero(again[missing])[0]
        slots_for = self._slots_for(wanted.shape[0])
        wanted = wanted[: slots_for.shape[0]]
        places[wanted] = slots_for
        self.owner[slots_for] = points[missing[wanted]]
        self.slot[points[missing[wanted]]] = slots_for
        self.used[slots_for] = self.clock
        return CacheLookup(found, missing, places)

    def _widen(self, missing: Array) -> None:
        """Open more slots where too many rows are recomputed."""
        self.recomputed += int(np.count_nonzero(self.known[missing]))
        self.known[missing] = True
        if self.recomputed > self.patience * self.open and self.open < self.capacity:
            self.open, self.recomputed = min(2 * self.open, self.capacity), 0

    def _slots_for(self, count: int) -> Array:
        """At most `count` slots: free ones, then those of the rows not used for longest."""
        fresh = np.arange(self.filled, min(self.filled + count, self.open))
        self.filled += fresh.shape[0]
        old = np.nonzero(self.used[: self.filled - fresh.shape[0]] < self.clock)[0]
        count = min(count - fresh.shape[0], old.shape[0])
        if count < old.shape[0]:
            old = old[np.argpartition(self.used[old], count)[:count]]
        self.slot[self.owner[old]] = -1
        return np.concatenate([fresh, old])

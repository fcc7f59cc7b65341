"""Which kernel rows are kept where: least recently used rows give way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Placed(NamedTuple):
    """Positions in the request that are kept already, that are not, and slots for the latter."""

    found: Array
    missing: Array
    places: Array


class SlotCache:
    """Slots for rows of `row_bytes` each, as many as `limit` bytes hold, n at most."""

    def __init__(self, n: int, limit: int, row_bytes: int):
        self.capacity = int(min(n, max(1, limit // max(1, row_bytes))))
        self.slot = np.full(n, -1, dtype=np.int64)
        self.owner = np.full(self.capacity, -1, dtype=np.int64)
        self.used = np.zeros(self.capacity, dtype=np.int64)
        self.clock = 0
        self.filled = 0

    def place(self, points: Array) -> Placed:
        """Find the rows of `points`; give the missing ones slots, as far as they go (-1: none)."""
        self.clock += 1
        slots = self.slot[points]
        found, missing = np.nonzero(slots >= 0)[0], np.nonzero(slots < 0)[0]
        self.used[slots[found]] = self.clock
        places = np.full(missing.shape[0], -1, dtype=np.int64)
        fresh = min(missing.shape[0], self.capacity - self.filled)
        places[:fresh] = np.arange(self.filled, self.filled + fresh)
        self.used[places[:fresh]] = self.clock
        self.filled += fresh
        if fresh < missing.shape[0]:
            places[fresh:] = self._evicted(missing.shape[0] - fresh)
        kept = places >= 0
        self.owner[places[kept]] = points[missing[kept]]
        self.slot[points[missing[kept]]] = places[kept]
        self.used[places[kept]] = self.clock
        return Placed(found, missing, places)

    def _evicted(self, count: int) -> Array:
        """Slots of the rows not used for longest, none of them used in this request."""
        old = np.nonzero(self.used < self.clock)[0]
        count_old = min(count, old.shape[0])
        if count_old < old.shape[0]:
            old = old[np.argpartition(self.used[old], count_old)[:count_old]]
        self.slot[self.owner[old]] = -1
        return np.concatenate([old, np.full(count - count_old, -1, dtype=np.int64)])

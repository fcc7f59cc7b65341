"""The step of k-means behind the sieve, with bounds that hold most rows in their place."""

from __future__ import annotations

import numpy as np

from kilogram.native import _core
from kilogram.native.buffers import Array
from kilogram.native.kmeans import Begun, Sieve, Step, near_together, on_line

FOUR = 4  # centres of a block, each with its own bound
LINE = 16  # bounds of a cache line


class Held:
    """Bounds on the distances of the rows of `sieve` from their own and from all other centres."""

    def __init__(self, sieve: Sieve, k: int):
        n, room = len(sieve.X), -(-k // (FOUR * LINE)) * LINE
        self.sieve = sieve
        self.least = np.empty(n, np.float32)
        self.lower = on_line(n * room, self.least.dtype).reshape(n, room)
        self.order, self.drift = np.arange(k, dtype=np.int32), np.zeros(room, np.float32)
        self.known = False

    def forget(self) -> None:
        """Before another start: nothing is known of distances."""
        self.known = False

    def moved(self, C: Array) -> Array | None:
        """How far each centre went since the last pass, in units, from above; None: no bounds."""
        moved = self.sieve.moved(C) if self.known else None
        if moved is not None and np.isfinite(moved).all():
            places = np.zeros(len(self.drift) * FOUR)
            places[: len(C)] = moved[self.order]
            step = places.reshape(-1, FOUR).max(axis=1) * (1 + 1e-5)
            self.drift = ((self.drift + step) * (1 + 1e-7)).astype(np.float32)
            return moved
        self.order = near_together(C, FOUR)
        self.drift[:] = 0
        return None


def held_pass(
    held: Held,
    C: Array,
    w: Array | None = None,
    *,
    labels: Array | None = None,
    sums: Array | None = None,
    inertia: bool = True,
) -> Step:
    """`cluster_pass` over the rows of `held.sieve`, most of which are not read.

    `labels` and `sums` must be those of the last pass with these bounds.
    """
    sieve = held.sieve
    begun = Begun.of(sieve.X, w, sieve.shift, C, labels, sums)
    held.known = held.known and begun.follow
    moved = held.moved(begun.C)
    found, sieve.looked, sieve.opened = begun.run(
        _core.held_pass,
        inertia,
        held.order,
        moved,
        *sieve.told,
        held.drift,
        held.least,
        held.lower,
    )
    sieve.C, held.known = begun.C, True
    return begun.step(found if inertia else 0.0)

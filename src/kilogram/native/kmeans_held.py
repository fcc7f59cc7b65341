"""The step of k-means behind the sieve, with bounds that hold most rows in their place."""

from __future__ import annotations

import numpy as np

from kilogram.native import _core
from kilogram.native.buffers import Array, run, vector
from kilogram.native.kmeans import Sieve, Step, kept, near_together, on_line

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
    x = sieve.X
    (n, d), k = x.shape, len(C)
    C = np.ascontiguousarray(C, x.dtype)
    labels, sums, follow = kept(labels, sums, n, d, k)
    held.known = held.known and follow
    moved = held.moved(C)
    found, sieve.looked, sieve.opened = run(
        _core.held_pass,
        float(n) * d * k,
        x,
        vector(w, n, x.dtype, "w"),
        sieve.shift,
        C,
        labels,
        sums,
        follow,
        inertia,
        held.order,
        moved,
        sieve.unit,
        sieve.balance,
        sieve.codes,
        sieve.about,
        held.drift,
        held.least,
        held.lower,
    )
    sieve.C, held.known = C, True
    return Step(labels, sums, found if inertia else 0.0, None)

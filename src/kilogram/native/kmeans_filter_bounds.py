"""The pass of k-means with the quantised candidate filter and bounds kept between passes."""

from __future__ import annotations

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array
from kilogram.native.kmeans import LloydStep, PassInputs, QuantisedRows, aligned_array, nearby_order

FOUR = 4  # centres of a block, each with its own bound
LINE = 16  # bounds of a cache line: 64 bytes of float32


class FilterBounds:
    """Bounds on the distances of quantised rows from their own and from all other centres."""

    def __init__(self, rows: QuantisedRows, k: int):
        n, padded = len(rows.X), -(-k // (FOUR * LINE)) * LINE
        self.rows = rows
        self.least = np.empty(n, np.float32)
        self.lower = aligned_array(n * padded, self.least.dtype).reshape(n, padded)
        self.order, self.drift = np.arange(k, dtype=np.int32), np.zeros(padded, np.float32)
        self.known = False

    def reset(self) -> None:
        """Before another start: nothing is known of distances."""
        self.known = False

    def moved(self, C: Array) -> Array | None:
        """How far each centre went since the last pass, in units, from above; None: no bounds."""
        moved = self.rows.moved(C) if self.known else None
        if moved is not None and np.isfinite(moved).all():
            places = np.zeros(len(self.drift) * FOUR)
            places[: len(C)] = moved[self.order]
            step = places.reshape(-1, FOUR).max(axis=1) * (1 + 1e-5)
            self.drift = ((self.drift + step) * (1 + 1e-7)).astype(np.float32)
            return moved
        self.order = nearby_order(C, FOUR)
        self.drift[:] = 0
        return None


def filtered_bounds_pass(
    bounds: FilterBounds,
    C: Array,
    w: Array | None = None,
    *,
    labels: Array | None = None,
    sums: Array | None = None,
    inertia: bool = True,
) -> LloydStep:
    """`cluster_pass` over the rows of `bounds.rows`, most of which are not read.

    `labels` and `sums` must be those of the last pass with these bounds.
    """
    rows = bounds.rows
    begun = PassInputs.of(rows.X, w, rows.shift, C, labels, sums)
    bounds.known = bounds.known and begun.follow
    moved = bounds.moved(begun.C)
    found, rows.looked, rows.opened = begun.run(
        _core.filtered_bounds_pass,
        inertia,
        bounds.order,
        moved,
        *rows.arguments,
        bounds.drift,
        bounds.least,
        bounds.lower,
    )
    rows.C, bounds.known = begun.C, True
    return begun.step(found if inertia else 0.0)

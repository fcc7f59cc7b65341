"""The step of k-means for few centres and wide rows: most of them are not read."""

from __future__ import annotations

import numpy as np

from kilogram.native import _core
from kilogram.native.buffers import Array, matrix, vector
from kilogram.native.kmeans import Begun, Step, on_line


class Few:
    """Bounds on the distances of the rows of X less `shift` from each of k centres, and the rows
    as bytes.

    `looked` is the share of the rows that the last pass read.
    """

    def __init__(self, X: Array, shift: Array | None, k: int):
        self.X = matrix("X", X)
        (n, d), dtype = self.X.shape, self.X.dtype
        self.shift = vector(shift, d, dtype, "shift")
        self.codes = on_line(n * -(-d // _core.SIEVE_LINE) * _core.SIEVE_LINE, np.dtype(np.int8))
        self.coded = False
        self.steps, self.left, self.norms = (np.empty(n, dtype) for _ in range(3))
        self.upper, self.least = np.empty(n, dtype), np.empty(n, dtype)
        room = -(-k // _core.FEW_ROOM) * _core.FEW_ROOM  # the bounds of a row are whole cache lines
        self.lower = on_line(n * room, dtype).reshape(n, room)
        self.drift = np.zeros(k, dtype)
        self.C: Array | None = None
        self.looked = 1.0

    def forget(self) -> None:
        """Before another start: nothing is known of distances."""
        self.C = None

    def moved(self, C: Array) -> Array | None:
        """How far each centre went since the last pass, from above; None: nothing is known."""
        if self.C is not None:
            with np.errstate(over="ignore"):
                step = np.sqrt(((C - self.C).astype(float) ** 2).sum(axis=1)) * (1 + 1e-5)
                moved = step.astype(C.dtype)
                drift = ((self.drift + step * (1 + 1e-5)) * (1 + 1e-6)).astype(C.dtype)
            if np.isfinite(drift).all():
                self.drift = drift
                return moved
        self.drift = np.zeros(len(C), C.dtype)
        return None


def few_pass(
    few: Few,
    C: Array,
    w: Array | None = None,
    *,
    labels: Array | None = None,
    sums: Array | None = None,
    inertia: bool = True,
) -> Step:
    """`cluster_pass` over the rows of `few`, of which most are not read.

    `labels` and `sums` must be those of the last pass with these bounds.
    """
    begun = Begun.of(few.X, w, few.shift, C, labels, sums)
    if not begun.follow:
        few.forget()
    moved = few.moved(begun.C)
    found, few.looked = begun.run(
        _core.few_pass,
        inertia,
        moved,
        few.drift,
        few.coded,
        few.codes,
        few.steps,
        few.left,
        few.norms,
        few.upper,
        few.least,
        few.lower,
    )
    few.C, few.coded = begun.C, True
    return begun.step(found if inertia else 0.0)

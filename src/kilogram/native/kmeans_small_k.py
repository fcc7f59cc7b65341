"""The pass of k-means for small k and wide rows, with a bound for every centre (Elkan 2003)."""

from __future__ import annotations

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, vector
from kilogram.native.kmeans import LloydStep, PassInputs, aligned_array


class SmallKBounds:
    """Bounds on the distances of the rows of X less `shift` from each of k centres, and the rows
    as bytes.

    `looked` is the fraction of the rows that the last pass read.
    """

    def __init__(self, X: Array, shift: Array | None, k: int):
        self.X = matrix("X", X)
        (n, d), dtype = self.X.shape, self.X.dtype
        self.shift = vector(shift, d, dtype, "shift")
        self.codes = aligned_array(
            n * -(-d // _core.CODE_LINE) * _core.CODE_LINE, np.dtype(np.int8)
        )
        self.coded = False
        self.steps, self.left, self.norms = (np.empty(n, dtype) for _ in range(3))
        self.upper, self.least = np.empty(n, dtype), np.empty(n, dtype)
        padded = (
            -(-k // _core.SMALL_K_PADDING) * _core.SMALL_K_PADDING
        )  # the bounds of a row are whole cache lines
        self.lower = aligned_array(n * padded, dtype).reshape(n, padded)
        self.drift = np.zeros(k, dtype)
        self.C: Array | None = None
        self.looked = 1.0

    def reset(self) -> None:
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


def small_k_pass(
    bounds: SmallKBounds,
    C: Array,
    w: Array | None = None,
    *,
    labels: Array | None = None,
    sums: Array | None = None,
    inertia: bool = True,
) -> LloydStep:
    """`cluster_pass` over the rows of `bounds`, of which most are not read.

    `labels` and `sums` must be those of the last pass with these bounds.
    """
    begun = PassInputs.of(bounds.X, w, bounds.shift, C, labels, sums)
    if not begun.follow:
        bounds.reset()
    moved = bounds.moved(begun.C)
    found, bounds.looked = begun.run(
        _core.small_k_pass,
        inertia,
        moved,
        bounds.drift,
        bounds.coded,
        bounds.codes,
        bounds.steps,
        bounds.left,
        bounds.norms,
        bounds.upper,
        bounds.least,
        bounds.lower,
    )
    bounds.C, bounds.coded = begun.C, True
    return begun.step(found if inertia else 0.0)

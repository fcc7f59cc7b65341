"""One step of k-means: the nearest centre of every row and the sums of the clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kilogram.native import _core
from kilogram.native.buffers import Array, matrix, run, vector


class Step(NamedTuple):
    """What a pass found: labels (n,), sums (k, d + 1), inertia, distances (n,) or None.

    The sums are of x - shift, their last column is the weight of the cluster; `looked` is the
    share of all distances that had to be looked at.
    """

    labels: Array
    sums: Array
    inertia: float
    distances: Array | None
    looked: float


def cluster_pass(
    X: Array,
    C: Array,
    w: Array | None = None,
    shift: Array | None = None,
    *,
    labels: Array | None = None,
    sums: Array | None = None,
    prune: bool = True,
    distances: bool = False,
    inertia: bool = True,
) -> Step:
    """The nearest centre of each row of X (n, d), C (k, d) being the centres less `shift` (d,).

    `labels` (n,) int32 of an earlier pass, near these centres, let distances be left out unless
    `prune` is False, and with the `sums` of that pass only rows that move are summed; both are
    overwritten. The result is the same with and without, up to ties and rounding. Without
    `inertia` no exact distance is taken.
    """
    x = matrix("X", X)
    (n, d), k = x.shape, len(C)
    C = np.ascontiguousarray(C, x.dtype)
    known, follow = labels is not None and prune, labels is not None and sums is not None
    if labels is None:
        labels = np.empty(n, np.int32)
    away = np.empty(n, x.dtype) if distances else None
    if sums is None or not follow:
        sums = np.empty((k, d + 1))
    terms = run(
        _core.cluster_pass,
        float(n) * d * k,
        x,
        vector(w, n, x.dtype, "w"),
        vector(shift, d, x.dtype, "shift"),
        C,
        labels,
        away,
        sums,
        known,
        follow,
        inertia or distances,
    )
    return Step(labels, sums, terms[0], away, terms[1])


def distances_to(X: Array, C: Array, norms: Array, shift: Array | None = None) -> Array:
    """(k, n): squared distances of the rows of X from C; norms (n,) are |x - shift|^2.

    C (k, d) are the centres less `shift` (d,).
    """
    x = matrix("X", X)
    (n, d), k = x.shape, len(C)
    out = np.empty((k, n), x.dtype)
    C, norms = np.ascontiguousarray(C, x.dtype), np.ascontiguousarray(norms, x.dtype)
    moved = vector(shift, d, x.dtype, "shift")
    run(_core.distances_to, float(n) * d * k, x, moved, C, norms, out)
    return out

"""Initial centres of k-means, and Lloyd's iterations on small data: whole loops in one call.

On small data a call costs more than what it computes: fits of 300 rows take five times as long
without `lloyd_iterations`.
"""

from __future__ import annotations

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, run, vector
from kilogram.native.threads import SMALL_WORK


def greedy_rows(
    X: Array,
    first: int,
    uniforms: Array,
    w: Array | None = None,
    *,
    seconds: float = np.inf,
) -> Array:
    """The rows of X (n, d) that greedy k-means++ chooses from the row `first` on, at most k.

    `uniforms` (k - 1, trials) are the draws: for every centre that many candidates, taken with
    probability w |x - nearest centre|^2. Fewer than k are chosen if all rows lie on them, or if
    so many `seconds` are over.
    """
    x = matrix("X", X)
    (n, d), (more, trials) = x.shape, uniforms.shape
    chosen = np.empty(more + 1, np.int64)
    chosen[0] = first
    draws = np.ascontiguousarray(uniforms, np.float64)
    weights = vector(w, n, np.dtype(np.float64), "w")
    count = run(_core.greedy_start, float(n) * d * trials, x, weights, draws, seconds, chosen)
    return chosen[:count]


def is_small(n: int, d: int, k: int) -> bool:
    """Whether an iteration over so many rows ends before a second thread would have started."""
    return float(n) * d * k < SMALL_WORK


def lloyd_iterations(
    X: Array,
    w: Array | None,
    origin: Array,
    centres: Array,
    labels: Array,
    sums: Array,
    *,
    follow: bool,
    most: int,
    tol: float,
) -> tuple[int, bool]:
    """Iterations of Lloyd's algorithm on one thread: how many, and whether they converged.

    `centres` (k, d) float64, `labels` (n,) int32 and `sums` (k, d + 1) are overwritten; with
    `follow` the last two are those of a pass before. At most `most` iterations; none that leaves a
    cluster without rows.
    """
    x = matrix("X", X)
    n, d = x.shape
    weights, shift = vector(w, n, x.dtype, "w"), vector(origin, d, x.dtype, "origin")
    assert shift is not None
    exact = np.ascontiguousarray(origin, np.float64)
    done, converged = _core.lloyd_iterations(
        x, weights, shift, exact, centres, labels, sums, follow, most, tol
    )
    return int(done), bool(converged)

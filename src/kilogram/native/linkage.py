"""Medoids by swaps, and merge trees of clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, run, vector


class Sweep(NamedTuple):
    """Swaps made, candidates in a row that brought nothing, and the total distance."""

    swaps: int
    quiet: int
    total: float


class MergeTree(NamedTuple):
    """Who merges (n - 1, 2), at which height (n - 1,), and the weight of all 2 n - 1 clusters."""

    children: Array
    heights: Array
    weights: Array


def medoid_sweep(
    D: Array, w: Array | None, medoids: Array, *, eager: bool = True, quiet: int = 0
) -> Sweep:
    """One sweep of swaps over the symmetric D (n, n); `medoids` (k,) int32 are overwritten.

    Eager: every row that lowers the total is taken at once, and the sweep ends early after n rows
    in a row, `quiet` of them seen before, brought nothing. Otherwise the one best swap is made.
    """
    D = np.ascontiguousarray(matrix("D", D))
    weights = vector(w, len(D), D.dtype, "w")
    return Sweep(*run(_core.medoid_sweep, float(D.size), D, weights, medoids, eager, quiet))


def medoid_build(D: Array, w: Array | None, k: int) -> Array:
    """k rows (k,) int32: one after another the one that lowers the total distance most."""
    D, medoids = np.ascontiguousarray(matrix("D", D)), np.zeros(k, np.int32)
    weights = vector(w, len(D), D.dtype, "w")
    run(_core.medoid_build, float(D.size) * k, D, weights, medoids)
    return medoids


def link_rows(X: Array, w: Array | None = None, *, ward: bool = False) -> MergeTree:
    """Single or Ward's linkage of the rows of X under squared Euclidean distance, in n d memory."""
    x = matrix("X", X)
    size, *tree = _empty_tree(len(x), w, x.dtype)
    _core.link_rows(x, size, ward, *tree)
    return MergeTree(*tree)


def link_cloud(
    X: Array, w: Array | None = None, *, complete: bool, memory_limit: int = 1 << 25
) -> MergeTree:
    """Complete or average linkage of the rows of X under Euclidean distance.

    Up to `memory_limit` bytes the matrix of distances is stored at once; else that of the
    clusters left by a few rounds, in which every two that are each other's nearest merge.
    """
    x = matrix("X", X)
    size, *tree = _empty_tree(len(x), w, x.dtype)
    run(_core.link_cloud, float(len(x)) * x.size, x, size, complete, memory_limit, *tree)
    return MergeTree(*tree)


def link_matrix(D: Array, linkage: str, w: Array | None = None) -> MergeTree:
    """The tree of a symmetric D (n, n), C-contiguous, which is overwritten.

    "single", "complete", "average" and "medoid" of distances; "ward" of what merging two rows adds
    to the sum of squares, doubled; "centroid" of squared distances.
    """
    if not D.flags.c_contiguous or not D.flags.writeable:
        raise ValueError("D must be C-contiguous and writeable: it is overwritten")
    size, *tree = _empty_tree(len(matrix("D", D)), w, D.dtype)
    run(_core.link_matrix, 4.0 * D.size, D, size, linkage, *tree)
    return MergeTree(*tree)


def _empty_tree(n: int, w: Array | None, dtype: np.dtype) -> tuple[Array, Array, Array, Array]:
    size = np.ones(n, dtype) if w is None else vector(w, n, dtype, "w")
    assert size is not None
    weights = np.concatenate([size.astype(np.float64), np.zeros(n - 1)])
    return size, np.zeros((n - 1, 2), np.int64), np.zeros(n - 1), weights

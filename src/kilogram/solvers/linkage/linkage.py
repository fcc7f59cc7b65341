"""Trees of merged clusters: grown from rows or distances, and cut.

A tree of n leaves has n - 1 mergers; leaf i is cluster i, merger t makes cluster n + t out of
children[t] at heights[t]. Single and Ward's linkage grow from the rows alone; the others keep a
matrix of distances, complete and average linkage of Euclidean rows only that of the clusters which
the first rounds of mergers leave. Centroids and medoids may come nearer as they merge: their
heights may fall.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.memory import human_bytes
from kilogram.arrays.namespace import is_numpy
from kilogram.functions.distances import common_scale, divide_by_scale
from kilogram.native.linkage import MergeTree, link_cloud, link_matrix, link_rows
from kilogram.solvers.linkage.memory import AT_ONCE, square_bytes, surely_left, tree_strategy
from kilogram.solvers.lloyd.pairwise_distances import Distance

LINKAGES = ("ward", "complete", "average", "single", "centroid", "medoid")
MEANS = ("ward", "centroid")  # of rows: no other distance has them


def grow(
    X: Any, w: np.ndarray | None, distance: Distance, linkage: str, memory_limit: int
) -> MergeTree:
    """The tree of the rows X, or of distances; a matrix of them has up to `memory_limit` bytes."""
    n, size = X.shape[0], 4 if str(X.dtype).endswith("float32") else 8
    strategy = tree_strategy(linkage, distance, X.shape, size, memory_limit)
    if strategy in ("rows", "rounds") and not is_numpy(X):
        strategy = "matrix"
    if strategy == "rows":
        tree = link_rows(X - X.mean(axis=0), w, ward=linkage == "ward")
        return tree if distance.squared else tree._replace(heights=np.sqrt(tree.heights))
    if strategy == "rounds":
        return _of_rounds(X, w, linkage, memory_limit)
    if square_bytes(strategy, n, size) > memory_limit:
        raise MemoryError(_too_large(linkage, n, square_bytes(strategy, n, size), "rows"))
    return _of_matrix(X, w, distance, linkage)


def _of_rounds(X: np.ndarray, w: np.ndarray | None, linkage: str, memory_limit: int) -> MergeTree:
    """Of rows in which squares of distances are in range, in float64."""
    scale = common_scale(X, dtype=np.float64)
    rows = divide_by_scale(X, scale)
    rows = np.asarray(rows - rows.mean(axis=0), dtype=np.float64)
    _check_finite(rows)
    n = len(rows)
    if square_bytes("rounds", n, 8) > memory_limit:
        left = surely_left(rows)
        if square_bytes("rounds", left, 8) > memory_limit:
            what = "rows" if left == n else "clusters that the first mergers leave"
            raise MemoryError(_too_large(linkage, left, square_bytes("rounds", left, 8), what))
    tree = link_cloud(
        rows, w, complete=linkage == "complete", memory_limit=min(AT_ONCE, memory_limit)
    )
    if scale != 1.0:
        with np.errstate(over="ignore"):
            tree = tree._replace(heights=tree.heights * scale)
        _check_finite(tree.heights)
    return tree


def _too_large(linkage: str, m: int, needed: int, what: str) -> str:
    return (
        f"linkage={linkage!r} keeps the distances of all {m:,} {what}, {human_bytes(needed)}: more "
        "than max_memory. linkage='single' and 'ward' of Euclidean distances need no matrix; or "
        "cluster the centres of a KMeans with many clusters."
    )


def _of_matrix(X: Any, w: np.ndarray | None, distance: Distance, linkage: str) -> MergeTree:
    if linkage not in MEANS:
        D = distance.matrix(X)
        _check_finite(D)
        return link_matrix(D, linkage, w)
    D = Distance("sqeuclidean").matrix(X)
    _check_finite(D)
    if linkage == "ward" and w is not None:
        u = w.astype(D.dtype)
        for i in range(len(u)):  # what a merger adds to the sum of squares, doubled
            D[i] *= 2.0 * u[i] * u / (u[i] + u)
    tree = link_matrix(D, linkage, w)
    return tree._replace(heights=np.sqrt(tree.heights))


def _check_finite(D: np.ndarray) -> None:
    if not (np.isfinite(D.min()) and np.isfinite(D.max())):  # without a Boolean matrix beside D
        raise ValueError(
            "Input X contains values whose distances are NaN or infinite: scale the columns first, "
            "or give a metric that is finite everywhere."
        )


def cut(tree: MergeTree, k: int) -> np.ndarray:
    """The cluster of every leaf when the last k - 1 mergers are undone; the heaviest is 0."""
    n = len(tree.children) + 1
    top = roots(tree, k)
    label = np.full(2 * n - 1, -1)
    label[top] = np.arange(k)
    for t in range(n - k - 1, -1, -1):
        label[tree.children[t]] = label[n + t]
    return label[:n]


def roots(tree: MergeTree, k: int) -> np.ndarray:
    """The k clusters that are left when the last k - 1 mergers are undone, the heaviest first."""
    n = len(tree.children) + 1
    if k == 1:
        return np.asarray([2 * n - 2])
    tops = tree.children[n - k :].ravel()
    tops = np.sort(tops[tops < 2 * n - k])
    height = np.concatenate([np.zeros(n), tree.heights])[tops]
    return tops[np.lexsort((tops, -height, -tree.weights[tops]))]


def widest_gap(heights: np.ndarray) -> int:
    """How many clusters there are before the merger with the widest step up to it."""
    if len(heights) < 2:
        return 1
    steps = np.diff(np.maximum.accumulate(heights))
    return len(heights) - int(np.argmax(steps)) if steps.max() > 0 else 1


def cluster_count(heights: np.ndarray, threshold: float) -> int:
    """How many clusters are left when mergers at the threshold or above it are undone."""
    return int(np.count_nonzero(heights >= threshold)) + 1

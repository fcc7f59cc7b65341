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

from kilogram.arrays.namespace import is_numpy
from kilogram.functions.distances import common_scale, divided
from kilogram.native.structure import Tree, link_cloud, link_matrix, link_rows
from kilogram.operators.memory_plan import human_bytes
from kilogram.solvers.cluster.pairs import Distance

LINKAGES = ("ward", "complete", "average", "single", "centroid", "medoid")
MEANS = ("ward", "centroid")  # of rows: no other distance has them
FEW_COLUMNS = 64  # beyond, one product of matrices is cheaper than distances taken singly


def grow(X: Any, w: np.ndarray | None, distance: Distance, linkage: str, room: int) -> Tree:
    """The tree of the rows X, or of distances; `room` bytes may be used for a matrix of them."""
    n, d = X.shape
    size = 4 if str(X.dtype).endswith("float32") else 8
    by_rows = (
        linkage in ("single", "ward") and distance.euclidean and is_numpy(X) and not distance.given
    )
    fits = size * n * n <= room
    if by_rows and (d <= FEW_COLUMNS or not fits):
        tree = link_rows(X - X.mean(axis=0), w, ward=linkage == "ward")
        return tree if distance.squared else tree._replace(heights=np.sqrt(tree.heights))
    if not fits:
        raise MemoryError(
            f"linkage={linkage!r} keeps the distances of all {n:,} rows, "
            f"{human_bytes(size * n * n)}: more than max_memory. linkage='single' and 'ward' of "
            "Euclidean distances need no matrix; or cluster the centres of a KMeans with many "
            "clusters."
        )
    if (
        linkage in ("complete", "average")
        and (distance.euclidean and not distance.squared and not distance.given)
        and (is_numpy(X) and d <= FEW_COLUMNS)
    ):
        return _of_cloud(X, w, linkage == "complete")
    return _of_matrix(X, w, distance, linkage)


def _of_cloud(X: np.ndarray, w: np.ndarray | None, complete: bool) -> Tree:
    """Of rows in which squares of distances are in range, in float64."""
    scale = common_scale(X, dtype=np.float64)
    rows = divided(X, scale)
    rows = np.asarray(rows - rows.mean(axis=0), dtype=np.float64)
    _check_finite(rows)
    tree = link_cloud(rows, w, complete=complete)
    if scale != 1.0:
        with np.errstate(over="ignore"):
            tree = tree._replace(heights=tree.heights * scale)
        _check_finite(tree.heights)
    return tree


def _of_matrix(X: Any, w: np.ndarray | None, distance: Distance, linkage: str) -> Tree:
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
    if not np.isfinite(D).all():
        raise ValueError(
            "Input X contains values whose distances are NaN or infinite: scale the columns first, "
            "or give a metric that is finite everywhere."
        )


def cut(tree: Tree, k: int) -> np.ndarray:
    """The cluster of every leaf when the last k - 1 mergers are undone; the heaviest is 0."""
    n = len(tree.children) + 1
    top = roots(tree, k)
    label = np.full(2 * n - 1, -1)
    label[top] = np.arange(k)
    for t in range(n - k - 1, -1, -1):
        label[tree.children[t]] = label[n + t]
    return label[:n]


def roots(tree: Tree, k: int) -> np.ndarray:
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


def above(heights: np.ndarray, threshold: float) -> int:
    """How many clusters are left when mergers at the threshold or above it are undone."""
    return int(np.count_nonzero(heights >= threshold)) + 1

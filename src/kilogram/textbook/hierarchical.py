"""Hierarchical clustering: lecture_notes L22, slides 10.

every point a cluster; merge the two closest; measure again; until one is left
single           delta(A, B) = min  d(a, b)       nearest pair
complete         delta(A, B) = max  d(a, b)       farthest pair
average          delta(A, B) = mean d(a, b)       over all pairs
representative   delta(A, B) = d(mean A, mean B), or d(medoid A, medoid B)
cut              at a height, into C clusters, or where successive heights are farthest apart
Kruskal          edges from short to long, each kept that joins two trees: single linkage
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def _link(D: Array, X: Array | None, A: list[int], B: list[int], linkage: str) -> float:
    """delta(A, B)."""
    pairs = D[np.ix_(A, B)]
    if linkage == "mean":
        assert X is not None, "the distance of means needs the points"
        return float(np.linalg.norm(X[A].mean(axis=0) - X[B].mean(axis=0)))
    if linkage == "medoid":
        a, b = (g[D[np.ix_(g, g)].sum(axis=0).argmin()] for g in (A, B))
        return float(D[a, b])
    if linkage == "average":
        return float(pairs.mean())
    return float(pairs.min() if linkage == "single" else pairs.max())


def agglomerate(D: Array, linkage: str = "single", X: Array | None = None) -> States:
    """Distances D (N, N); yields after each merger labels c (N,), who merged, and the heights."""
    groups, c = [[i] for i in range(len(D))], np.arange(len(D))
    delta = np.array(D, dtype=float)
    np.fill_diagonal(delta, np.inf)
    heights: list[float] = []
    yield (s := begin("1 every point a cluster", c=c.copy(), heights=np.zeros(0)))
    while len(groups) > 1:
        k, m = sorted(int(i) for i in np.unravel_index(delta.argmin(), delta.shape))
        heights.append(float(delta[k, m]))
        pair = np.array([min(groups[k]), min(groups[m])])
        groups[k] += groups.pop(m)
        delta = np.delete(np.delete(delta, m, axis=0), m, axis=1)
        for j in range(len(groups)):
            if j != k:
                delta[k, j] = delta[j, k] = _link(D, X, groups[k], groups[j], linkage)
        for j, group in enumerate(groups):
            c[group] = j
        yield (s := s.then("2 the closest merge", c=c.copy(), heights=heights, pair=pair))
    return s


def cut(D: Array, linkage: str, C: int, X: Array | None = None) -> Array:
    """Labels when C clusters are left."""
    for s in agglomerate(D, linkage, X):
        if s["c"].max() + 1 == C:
            return np.array(s["c"])
    raise ValueError(f"C must be between 1 and the number of points, {len(D)}, got {C}.")


def widest_step(heights: Array) -> int:
    """How many clusters are left below the largest gap between successive heights."""
    return len(heights) - int(np.argmax(np.diff(heights)))


def kruskal(D: Array) -> States:
    """The minimum spanning tree of all points: edges from short to long that close no circle."""
    N = len(D)
    i, j = np.triu_indices(N, 1)
    order, tree = np.argsort(D[i, j], kind="stable"), np.arange(N)
    edges: list[tuple[int, int]] = []
    yield (s := begin("1 edges by length", order=order, edges=np.zeros((0, 2), int)))
    for e in order:
        a, b = tree[i[e]], tree[j[e]]
        if a == b:
            continue
        tree[tree == b] = a
        edges.append((int(i[e]), int(j[e])))
        lengths = [D[edge] for edge in edges]
        yield (s := s.then("2 two trees become one", edges=edges, lengths=lengths, c=tree.copy()))
        if len(edges) == N - 1:
            break
    return s

"""Decision trees and forests: lecture_notes L14 (regression) and L26 (classification), corrected.

impurity    squares mean of (y - mean)^2    Gini 1 - sum_k p_k^2    entropy -sum_k p_k log p_k
split       all features, all gaps: the least N_L I_L + N_R I_R (the notes leave the weights out)
stop        pure, too deep, or a child with too few points
leaf        mean of y; majority (hard) or frequencies (soft)
forest      T trees on bootstrap samples, sqrt(d) random features at every node, averaged

Variance of the average of T predictions of variance sigma^2 and mean correlation rho:
(1 - rho) sigma^2 / T + rho sigma^2; print has (T - 1)/T rho sigma^2 for the second term, with
which a single prediction (T = 1) would have the variance (1 - rho) sigma^2.
"""

from __future__ import annotations

from itertools import pairwise
from math import comb

import numpy as np

from kilogram.textbook.state import Array, States, begin


def gini(p: Array) -> float:
    """1 - sum p^2: 0 if pure, (C - 1)/C at most."""
    return float(1 - np.sum(p**2))


def entropy(p: Array) -> float:
    """-sum p log p: 0 if pure, log C at most."""
    return float(-np.sum(p[p > 0] * np.log(p[p > 0])))


def impurity(Y: Array, kind: str) -> float:
    """Of targets Y (N,) or of classes as indicators Y (N, C)."""
    if kind == "squares":
        return float(np.mean((Y - Y.mean(axis=0)) ** 2))
    return {"gini": gini, "entropy": entropy}[kind](Y.mean(axis=0))


def best_split(
    X: Array, Y: Array, kind: str, least: int = 1, features: Array | None = None
) -> tuple[float, int, float]:
    """The least N_L I_L + N_R I_R, its feature and the middle of its gap; feature -1 if none."""
    best = (np.inf, -1, 0.0)
    for j in range(X.shape[1]) if features is None else features:
        values = np.unique(X[:, j])
        for a, b in pairwise(values):
            low = X[:, j] <= a
            n = int(low.sum())
            if min(n, len(X) - n) < least:
                continue
            cost = n * impurity(Y[low], kind) + (len(X) - n) * impurity(Y[~low], kind)
            if cost < best[0] - 1e-12:
                best = (cost, int(j), float((a + b) / 2))
    return best


def tree(
    X: Array,
    Y: Array,
    kind: str = "squares",
    least: int = 1,
    depth: int = 50,
    d_try: int | None = None,
    rng: np.random.Generator | None = None,
) -> States:
    """The stack of the notes: nodes as rows (feature, threshold, left, right), values of each.

    Y (N,) or indicators (N, C). A node of feature -1 is a leaf; its value is the mean of Y.
    """
    nodes, values = [[-1.0, 0.0, -1.0, -1.0]], [Y.mean(axis=0)]
    stack = [(0, np.arange(len(X)), 0)]
    J = len(X) * impurity(Y, kind)
    yield (s := begin("1 root", J, nodes=nodes, values=values))
    while stack:
        at, inside, level = stack.pop()
        own = len(inside) * impurity(Y[inside], kind)
        chosen = None
        if d_try is not None and rng is not None:
            chosen = rng.choice(X.shape[1], d_try, replace=False)
        if level >= depth or own <= 1e-12:
            continue
        cost, j, t = best_split(X[inside], Y[inside], kind, least, chosen)
        if j < 0:
            continue
        low = X[inside, j] <= t
        k = len(nodes)
        nodes[at] = [float(j), t, float(k), float(k + 1)]
        for part in (inside[low], inside[~low]):
            nodes.append([-1.0, 0.0, -1.0, -1.0])
            values.append(Y[part].mean(axis=0))
        stack += [(k + 1, inside[~low], level + 1), (k, inside[low], level + 1)]
        J += cost - own
        yield (s := s.then("2 split", J, nodes=nodes, values=values))
    return s


def tree_values(nodes: Array, values: Array, X: Array) -> Array:
    """The value of the leaf of every row."""
    at = np.zeros(len(X), dtype=int)
    while (nodes[at, 0] >= 0).any():
        inner = nodes[at, 0] >= 0
        j = np.maximum(nodes[at, 0], 0).astype(int)
        low = X[np.arange(len(X)), j] <= nodes[at, 1]
        at = np.where(inner, np.where(low, nodes[at, 2], nodes[at, 3]), at).astype(int)
    return values[at]


def prune(nodes: Array, values: Array, X: Array, Y: Array) -> States:
    """From the leaves up: a split goes if held-out points (X, Y) are no better off with it."""
    nodes = nodes.copy()
    error = float(np.sum((Y - tree_values(nodes, values, X)) ** 2))
    yield (s := begin("1 grown", error, nodes=nodes))
    for i in np.flatnonzero(nodes[:, 0] >= 0)[::-1]:
        cut = nodes.copy()
        cut[i] = [-1.0, 0.0, -1.0, -1.0]
        before = np.sum((Y - tree_values(nodes, values, X)) ** 2)
        after = np.sum((Y - tree_values(cut, values, X)) ** 2)
        if after <= before:
            nodes = cut
            yield (s := s.then("2 a split goes", float(after), nodes=nodes))
    yield (s := s.then("3 pruned", s.objective, nodes=nodes))
    return s


def forest(
    X: Array,
    Y: Array,
    x_new: Array,
    rng: np.random.Generator,
    T: int = 20,
    kind: str = "squares",
    d_try: int | None = None,
) -> States:
    """Averages at x_new; `bag`: out-of-bag averages at X, NaN where every tree saw the point."""
    shape = Y.shape[1:]
    total, bag, votes = np.zeros((len(x_new), *shape)), np.zeros((len(X), *shape)), np.zeros(len(X))
    yield (s := begin("1 nothing yet", mean=total, bag=bag, single=total))
    for t in range(T):
        drawn = rng.integers(0, len(X), len(X))
        away = np.setdiff1d(np.arange(len(X)), drawn)
        for state in tree(X[drawn], Y[drawn], kind, d_try=d_try, rng=rng):
            last = state
        single = tree_values(last["nodes"], last["values"], x_new)
        total = total + single
        bag[away] += tree_values(last["nodes"], last["values"], X[away])
        votes[away] += 1
        count = np.where(votes > 0, votes, np.nan).reshape(-1, *[1] * len(shape))
        yield (s := s.then("2 one more tree", mean=total / (t + 1), bag=bag / count, single=single))
    return s


def variance_of_mean(sigma2: float, rho: float, T: int) -> float:
    """(1 - rho) sigma^2 / T + rho sigma^2."""
    return (1 - rho) * sigma2 / T + rho * sigma2


def useful_size(rho: float) -> float:
    """10 (1 - rho) / rho: then the first term is a tenth of the second."""
    return 10 * (1 - rho) / rho


def majority_error(q: float, T: int) -> float:
    """Probability that at most half of T independent voters, each wrong with q, are right."""
    return sum(comb(T, k) * (1 - q) ** k * q ** (T - k) for k in range(T // 2 + 1))

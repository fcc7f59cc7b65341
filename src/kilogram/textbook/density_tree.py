"""Density trees and forests: lecture_notes L08, as corrected.

p_l = N_l / (N V_l)                leaves tile the bounding box; outside it the density is 0
a cut at t gives fractions q = N_L/N_l of the points and s of the volume to its left child
gain   (N_l/N)^2 / V_l [q^2/s + (1-q)^2/(1-s) - 1]       print: (1-s)^2 below; and called a loss
places x_i + eps and x_{i+1} - eps of every gap, 2 N_l - 2 for each feature
stop   depth, points in the node, density below p_min, gain too small; and a least leaf: thin
       slivers gain without bound
prune  a subtree goes if held-out points do not gain by it
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def gain(q: Array | float, s: Array | float) -> Array | float:
    """q^2/s + (1-q)^2/(1-s) - 1: 0 at s = q, else positive; convex in s."""
    return q**2 / s + (1 - q) ** 2 / (1 - s) - 1


def candidates(x: Array, side: float, eps: float) -> Array:
    """Both ends of every gap of the values x, (2 gaps,), eps of the side away from the values."""
    v = np.unique(x)
    step = np.minimum(eps * side, np.diff(v) / 2)
    return np.sort(np.concatenate([v[:-1] + step, v[1:] - step]))


def best_split(
    X: Array, low: Array, high: Array, least: int, thin: Array, eps: float = 1e-6
) -> tuple[float, int, float]:
    """The largest gain, its feature and place; feature -1 if no cut is allowed."""
    best = (0.0, -1, 0.0)
    for j in range(X.shape[1]):
        side = high[j] - low[j]
        for t in candidates(X[:, j], side, eps):
            n = int((X[:, j] <= t).sum())
            if min(n, len(X) - n) < least or min(t - low[j], high[j] - t) < thin[j]:
                continue
            found = float(gain(n / len(X), (t - low[j]) / side))
            if found > best[0]:
                best = (found, j, float(t))
    return best


def density_tree(
    X: Array, least: int = 10, depth: int = 50, width: float = 1e-3, min_gain: float = 0.0
) -> States:
    """The stack of the notes: boxes (L, 2, d) and densities p (L,) of the leaves so far.

    least: points of a leaf; width: least side of a leaf, as a fraction of the root's.
    """
    N, root = len(X), np.stack([X.min(axis=0), X.max(axis=0)])
    thin, V_0 = width * (root[1] - root[0]), np.prod(root[1] - root[0])
    stack, leaves, p = [(root, X, 0)], [], []
    yield (s := begin("1 bounding box", objective=-1.0 / V_0, boxes=root[None], p=[1 / V_0]))
    while stack:
        box, inside, level = stack.pop()
        V = np.prod(box[1] - box[0])
        found, j, t = best_split(inside, box[0], box[1], least, thin)
        scaled = found * (len(inside) / N) ** 2 * V_0 / V
        if j < 0 or level >= depth or not scaled > min_gain:
            leaves.append(box)
            p.append(len(inside) / (N * V))
            continue
        left, right = box.copy(), box.copy()
        left[1, j] = right[0, j] = t
        low = inside[:, j] <= t
        stack += [(right, inside[~low], level + 1), (left, inside[low], level + 1)]
        open_boxes = [b for b, _, _ in stack]
        sizes = [len(P) / (N * np.prod(b[1] - b[0])) for b, P, _ in stack]
        J = squared_error(np.array(leaves + open_boxes), np.array(p + sizes))
        yield (
            s := s.then(
                "2 split", objective=J, boxes=leaves + open_boxes, p=p + sizes, feature=j, t=t
            )
        )
    J = squared_error(np.array(leaves), np.array(p))
    yield (s := s.then("3 leaves", objective=J, boxes=leaves, p=p))
    return s


def squared_error(boxes: Array, p: Array) -> float:
    """-sum_l p_l^2 V_l: the integrated squared error of the leaves, less a constant."""
    return -float(np.sum(p**2 * np.prod(boxes[:, 1] - boxes[:, 0], axis=1)))


def density(boxes: Array, p: Array, X: Array) -> Array:
    """p at the rows of X (M, d): that of the first leaf that holds them, 0 outside."""
    held = np.all((X[:, None] >= boxes[:, 0]) & (X[:, None] <= boxes[:, 1]), axis=2)
    return np.where(np.any(held, axis=1), p[np.argmax(held, axis=1)], 0.0)


def prune(X: Array, held: Array, boxes: Array, p: Array, merged: tuple[int, int]) -> States:
    """Do two sibling leaves pay on held-out points? Costs of both against that of one leaf."""
    two = [int(i) for i in merged]
    V = np.prod(boxes[two, 1] - boxes[two, 0], axis=1)
    N_l, M_l = p[two] * V * len(X), np.array([density(boxes[[i]], np.ones(1), held) for i in two])
    m = M_l.sum(axis=1) / len(held)
    split = float(np.sum(p[two] ** 2 * V - 2 * p[two] * m))
    yield (s := begin("1 two leaves on held-out points", split=split))
    one = N_l.sum() / (len(X) * V.sum())
    whole = float(one**2 * V.sum() - 2 * one * m.sum())
    yield (s := s.then("2 one leaf", whole=whole, collapse=whole <= split))
    return s


def forest(
    X: Array, x_new: Array, rng: np.random.Generator, T: int = 10, least: int = 10
) -> States:
    """The mean of the densities of T trees, each on two thirds of the points."""
    total = np.zeros(len(x_new))
    yield (s := begin("1 nothing yet", p=total.copy()))
    for t in range(T):
        part = X[rng.choice(len(X), 2 * len(X) // 3, replace=False)]
        for tree in density_tree(part, least):
            last = tree
        total = total + density(last["boxes"], last["p"], x_new)
        yield (s := s.then("2 one more tree", p=total / (t + 1)))
    return s

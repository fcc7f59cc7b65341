"""Nearest neighbours: first_encounter ch. 5, lecture_notes L03 and L04.

the k points of largest similarity vote; weighted, each by its similarity, which must not be
negative. A vote that ties is decided by a coin; of equal similarities the earlier point is in.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, Telling, begin


def votes(
    similarity: Array, labels: Array, k: int, rng: np.random.Generator, *, weighted: bool = False
) -> Telling:
    """similarity (m, n) of new points to known ones: votes by class, and the winner."""
    if weighted and (similarity < 0).any():
        raise ValueError("a negative similarity would vote against its own class")
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    yield (s := begin("1 the k nearest", nearest=nearest))
    classes = np.unique(labels)
    weight = np.take_along_axis(similarity, nearest, axis=1) if weighted else np.ones(nearest.shape)
    gamma = np.stack([(weight * (labels[nearest] == c)).sum(axis=1) for c in classes], axis=1)
    yield (s := s.then("2 votes", gamma=gamma))
    best = gamma == gamma.max(axis=1, keepdims=True)
    winner = (best * rng.random(best.shape)).argmax(axis=1)  # a coin among equals
    yield (s := s.then("3 winner", label=classes[winner], tie=best.sum(axis=1) > 1))
    return s


def closeness(X_new: Array, X: Array) -> Array:
    """Minus the squared distances: the larger, the more similar."""
    square = np.sum(X_new**2, axis=1)[:, None] + np.sum(X**2, axis=1) - 2 * X_new @ X.T
    return np.asarray(-square)


def condensed(X: Array, labels: Array) -> Telling:
    """L04: one pass; a point joins the active set if the set gets it wrong. Order matters."""
    active: list[int] = []
    for i, (x, y) in enumerate(zip(X, labels, strict=True)):
        far = np.sum((X[active] - x) ** 2, axis=1)
        right = bool(active) and labels[active[int(far.argmin())]] == y
        if not right:
            active.append(i)
        yield (s := begin("1 visit", active=np.array(active), right=right))
    return s


def partial_distance(x: Array, X: Array) -> Telling:
    """L04: the running sum of squares is abandoned once it exceeds the best; additions counted."""
    best, at, additions = np.inf, -1, 0
    for i, row in enumerate(X):
        total = 0.0
        for a, b in zip(x, row, strict=True):
            total += (a - b) ** 2
            additions += 1
            if total >= best:
                break
        else:
            best, at = total, i
        yield (s := begin("1 a point", best=best, at=at, additions=additions))
    return s


def kd_tree(X: Array, x: Array) -> Telling:
    """L04: halves by the median of one coordinate in turn; a half too far away is not entered."""
    order = np.arange(len(X))
    best, at, visited = np.inf, -1, 0
    todo = [(order, 0, 0.0)]
    while todo:
        inside, axis, gap = todo.pop()
        if len(inside) == 0 or gap**2 > best:
            continue
        column = X[inside, axis]
        middle = np.argsort(column, kind="stable")[len(inside) // 2]
        pivot, visited = inside[middle], visited + 1
        far = float(np.sum((X[pivot] - x) ** 2))
        if far < best or (far == best and pivot < at):
            best, at = far, int(pivot)
        signed = float(x[axis] - X[pivot, axis])
        rest = np.arange(len(inside)) != middle
        left = inside[rest & (column <= X[pivot, axis])]
        right = inside[rest & (column > X[pivot, axis])]
        near, other = (left, right) if signed <= 0 else (right, left)
        following = (axis + 1) % X.shape[1]
        todo += [(other, following, abs(signed)), (near, following, 0.0)]
        yield (s := begin("1 a node", best=best, at=at, visited=visited))
    return s

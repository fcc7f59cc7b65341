"""Nearest neighbours: cookbook ch. 22 (algorithm 21), first_encounter ch. 5, lecture_notes L03-L04.

the k points of largest similarity vote; weighted, each by its similarity, which must not be
negative. A vote that ties is decided by a coin; of equal similarities the earlier point is in. The
votes gamma have one entry for each class (print: one for each neighbour). Any distance will do: its
negative is the similarity; Mahalanobis' is the Euclidean one of whitened points, which are divided
by the square roots of the eigenvalues (print: by the eigenvalues).
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.k_means import lloyd, plus_plus
from kilogram.textbook.state import Array, States, begin, run


def votes(
    similarity: Array, labels: Array, k: int, rng: np.random.Generator, *, weighted: bool = False
) -> States:
    """similarity (m, n) of new points to known ones: votes by class, and the winner."""
    if not 1 <= k <= similarity.shape[1]:
        raise ValueError(f"k must be between 1 and {similarity.shape[1]} points, got {k}.")
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


def mahalanobis(X_new: Array, X: Array, Sigma: Array) -> Array:
    """(x - y)' Sigma^-1 (x - y), (m, n), by way of whitening: W = U Lambda^-1/2."""
    Lambda, U = np.linalg.eigh(Sigma)
    if Lambda[0] <= 0:
        raise ValueError(
            f"Sigma must be positive definite, its smallest eigenvalue is {Lambda[0]:.3g}."
        )
    W = U / np.sqrt(Lambda)
    return np.asarray(np.maximum(-closeness(X_new @ W, X @ W), 0.0))


def prototypes(X: Array, labels: Array, per_class: int, rng: np.random.Generator) -> States:
    """Chapter 22's condensation: centres of k-means in each class, and the class of each centre."""
    centres: list[Array] = []
    names: list[Array] = []
    for c in np.unique(labels):
        own = X[labels == c]
        start = run(plus_plus(own, min(per_class, len(own)), rng))["mu"]
        mu = run(lloyd(own, start))["mu"]
        centres, names = [*centres, mu], [*names, np.repeat(c, len(mu))]
        yield (s := begin(f"class {c}", mu=np.vstack(centres), label=np.concatenate(names)))
    return s


def condensed(X: Array, labels: Array) -> States:
    """L04: one pass; a point joins the active set if the set gets it wrong. Order matters."""
    active: list[int] = []
    for i, (x, y) in enumerate(zip(X, labels, strict=True)):
        far = np.sum((X[active] - x) ** 2, axis=1)
        right = bool(active) and labels[active[int(far.argmin())]] == y
        if not right:
            active.append(i)
        yield (s := begin("1 visit", active=np.array(active), right=right))
    return s


def partial_distance(x: Array, X: Array) -> States:
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


def kd_tree(X: Array, x: Array) -> States:
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

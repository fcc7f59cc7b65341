"""K lines: Lloyd's algorithm with a total least squares line for every cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from kilogram.solvers.solution import Solution, best_of

# A row and one of so many near it name a line: enough that the pair is apart beside the noise.
NEIGHBOURS = 10
TRIALS = 10  # lines of which the best is taken: greedy, as k-means++ with 2 + log k

Tick = Callable[[int, float | None], bool]


class Lines(NamedTuple):
    """a + t v: points (k, d), directions (k, d) of length 1."""

    points: np.ndarray
    directions: np.ndarray


def squared_distances(X: np.ndarray, lines: Lines) -> np.ndarray:
    """|x - a|^2 - <x - a, v>^2, (n, k), from what is left of each row: near lines keep digits."""
    D = np.empty((len(X), len(lines.points)))
    for c, (a, v) in enumerate(zip(*lines, strict=True)):
        R = X - a
        R -= np.outer(R @ v, v)
        D[:, c] = np.einsum("ij,ij->i", R, R)
    return D


def line_of(X: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and first principal direction; the largest entry of the direction is positive."""
    a = w @ X / w.sum()
    R = X - a
    S = (R * w[:, None]).T @ R
    v = np.linalg.eigh(S)[1][:, -1]
    return a, v * np.sign(v[np.argmax(np.abs(v))])


def fitted(X: np.ndarray, w: np.ndarray, labels: np.ndarray, k: int, old: Lines | None) -> Lines:
    """The line of every cluster; one without rows stays as it was."""
    points, directions = np.zeros((k, X.shape[1])), np.zeros((k, X.shape[1]))
    directions[:, 0] = 1.0
    if old is not None:
        points[:], directions[:] = old
    for c in range(k):
        own = (labels == c) & (w > 0)
        if own.any():
            points[c], directions[c] = line_of(X[own], w[own])
    return Lines(points, directions)


def refill_empty_lines(labels: np.ndarray, D: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Every empty cluster gets the two rows farthest from their lines: two rows make a line."""
    labels = labels.copy()
    own = np.where(w > 0, D[np.arange(len(D)), labels], -1.0)
    for c in np.setdiff1d(np.arange(D.shape[1]), labels[w > 0]):
        far = np.argsort(-own, kind="stable")[:2]
        if own[far[0]] <= 0:
            break  # every row lies on a line
        labels[far] = c
        own[far] = -1.0
    return labels


def k_lines(
    X: np.ndarray, w: np.ndarray, labels: np.ndarray, k: int, *, max_iter: int, tick: Tick
) -> Solution:
    """From first labels until they repeat; the value is (Lines, labels)."""
    lines, message, n_iter = fitted(X, w, labels, k, None), "the labels still change.", 0
    D = squared_distances(X, lines)
    for n_iter in range(1, max_iter + 1):
        before = labels
        labels = D.argmin(axis=1)
        if (labels == before).all():
            message = ""
            break
        lines = fitted(X, w, refill_empty_lines(labels, D, w), k, lines)
        D = squared_distances(X, lines)
        if tick(n_iter, None):
            message = "max_time was reached before convergence: labels still change."
            break
    labels = D.argmin(axis=1)
    total = float(w @ D[np.arange(len(D)), labels])
    return Solution((lines, labels), n_iter, total, not message, message)


def spread_lines(
    X: np.ndarray, w: np.ndarray, k: int, near: np.ndarray, rng: np.random.Generator
) -> Lines:
    """Lines through pairs of near rows, each drawn where the lines so far leave most."""
    closest = np.ones(len(X))
    points: list[np.ndarray] = []
    directions: list[np.ndarray] = []
    for _ in range(k):
        mass = np.cumsum(w * closest)
        if not mass[-1] > 0:  # all rows lie on the lines so far
            mass = np.cumsum(w)
        best: tuple[float, np.ndarray, np.ndarray, np.ndarray] | None = None
        for _ in range(TRIALS):
            i = min(int(np.searchsorted(mass, rng.random() * mass[-1], side="right")), len(X) - 1)
            gap = X[near[i, rng.integers(near.shape[1])]] - X[i]
            size = float(np.linalg.norm(gap))
            v = gap / size if size > 0 else np.eye(X.shape[1])[0]
            away = squared_distances(X, Lines(X[i : i + 1], v[None]))[:, 0]
            left = np.minimum(away, closest) if points else away
            total = float(w @ np.sqrt(left))  # not squared: a line may pass by many rows
            if best is None or total < best[0]:
                best = (total, X[i], v, left)
        assert best is not None
        points.append(best[1])
        directions.append(best[2])
        closest = best[3]
    return Lines(np.array(points), np.array(directions))


def best_start(
    X: np.ndarray,
    w: np.ndarray,
    k: int,
    first: np.ndarray | None,
    rng: np.random.Generator,
    *,
    count: int,
    max_iter: int,
    tick: Tick,
) -> Solution:
    """The best of several starts, or from labels given."""
    late = [False]

    def step_done(step: int, objective: float | None) -> bool:
        late[0] = tick(step, objective)
        return late[0]

    best: Solution | None = None
    near, taken = None, 0
    if first is None:
        others = min(NEIGHBOURS + 1, len(X))
        near = np.atleast_2d(cKDTree(X).query(X, others)[1].reshape(len(X), -1))
    for _ in range(count):
        taken += 1
        labels = first
        if labels is None:
            assert near is not None
            labels = squared_distances(X, spread_lines(X, w, k, near, rng)).argmin(axis=1)
        found = k_lines(X, w, labels, k, max_iter=max_iter, tick=step_done)
        if best is None or (found.objective or 0.0) < (best.objective or 0.0):
            best = found
        if late[0]:
            break
    assert best is not None
    return best_of(best, taken, count)

"""Semi-supervised and active learning: first_encounter 4 has the principles, the steps are ours.

semi-supervised   the border shall not cut through regions of high density: labels spread over a
                  graph of near points, or a classifier believes its own surest answers
active            the next label is asked for where the model is least sure
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kilogram.textbook.state import Array, States, begin

Classifier = Callable[[Array, Array, Array], Array]


def nearest_mean(X: Array, y: Array, new: Array) -> Array:
    """P(class 1) at `new` from the distances to the means of the two classes."""
    far = [np.sum((new - X[y == c].mean(axis=0)) ** 2, axis=1) for c in (0, 1)]
    return 1 / (1 + np.exp(np.clip(far[1] - far[0], -500, 500)))


def self_training(
    X: Array, y: Array, fit: Classifier, sure: float = 0.9, rounds: int = 50
) -> States:
    """y is -1 where there is no label; answers surer than `sure` become labels, again and again."""
    y = y.copy()
    yield (s := begin("1 labelled points", y=y))
    for _ in range(rounds):
        p = fit(X[y >= 0], y[y >= 0], X)
        new = (y < 0) & (np.maximum(p, 1 - p) > sure)
        if not new.any():
            break
        y = np.where(new, (p > 0.5).astype(int), y)
        yield (s := s.then("2 the surest answers become labels", y=y, p=p))
    yield (s := s.then("3 the last classifier", p=fit(X[y >= 0], y[y >= 0], X)))
    return s


def spreading(A: Array, Y: Array, alpha: float = 0.8, rounds: int = 200) -> States:
    """F <- alpha S F + (1 - alpha) Y on the graph A; Y (N, C) is 0 where there is no label."""
    d = A.sum(axis=1)
    S = A / np.sqrt(np.outer(d, d))
    F = Y.astype(float)
    yield (s := begin("1 labels", F=F, S=S))
    for _ in range(rounds):
        F = alpha * S @ F + (1 - alpha) * Y
        rough = 0.5 * np.sum(F * (F - S @ F)) + 0.5 * (1 / alpha - 1) * np.sum((F - Y) ** 2)
        yield (s := s.then("2 listen to the neighbours", float(rough), F=F))
    return s


def uncertainty_sampling(X: Array, y: Array, start: Array, fit: Classifier, queries: int) -> States:
    """Ask for the label of the point whose P(class 1) is nearest to 1/2."""
    known = [int(i) for i in start]
    p = fit(X[known], y[known], X)
    yield (s := begin("1 first labels", known=known, p=p))
    for _ in range(queries):
        rest = np.setdiff1d(np.arange(len(X)), known)
        known.append(int(rest[np.argmin(np.abs(p[rest] - 0.5))]))
        p = fit(X[known], y[known], X)
        yield (s := s.then("2 one more label", known=known, p=p))
    return s

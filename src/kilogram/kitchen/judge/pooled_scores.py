"""Scores of pooled held-out predictions, and what each fold contributes to them.

A score such as R^2 or the area under the ROC curve is not a mean over rows: computed in folds of a
few rows and averaged, it is biased (R^2 far downwards) or undefined. So predictions of all folds
of one repetition are pooled, and scored once. The spread between folds comes from leaving one out:

    p_k = s + (n - n_k) / n_k (s - s_-k)       s_-k: the score without the n_k rows of fold k

which is the score of fold k itself where the score is a mean over rows, and the usual
pseudo-value of the jackknife elsewhere. Repetitions are averaged with their rows as weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from kilogram.evaluation.intervals import Comparison, Interval, verdict_of
from kilogram.evaluation.nested import Fold

Score = Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class PooledScore:
    """The score, (folds,) contributions p_k, and the rows of the folds as weights."""

    mean: float
    parts: np.ndarray
    weights: np.ndarray

    def minus(self, other: PooledScore) -> PooledScore:
        """The paired difference of two scores on the same folds."""
        return PooledScore(self.mean - other.mean, self.parts - other.parts, self.weights)

    def times(self, factor: float) -> PooledScore:
        """The score and its contributions multiplied."""
        return PooledScore(factor * self.mean, factor * self.parts, self.weights)

    def error(self, n_train: float, n_test: float) -> float:
        """Standard error, with the correction of Nadeau and Bengio for shared training rows."""
        count = len(self.parts)
        w = self.weights / self.weights.sum()
        spread = float(w @ (self.parts - w @ self.parts) ** 2) * count / (count - 1)
        return math.sqrt((1 / count + n_test / n_train) * spread)

    def interval(self, n_train: float, n_test: float, degrees: int, confidence: float) -> Interval:
        quantile = float(stats.t.ppf((1 + confidence) / 2, degrees))
        half = quantile * self.error(n_train, n_test)
        mean = float(self.mean)
        return Interval(mean, mean - half, mean + half, confidence)

    def compare(self, other: PooledScore, n_train: float, n_test: float) -> Comparison:
        """Is this score better than the other, on the same folds?"""
        found = self.minus(other)
        degrees = len(found.parts) - 1
        error = found.error(n_train, n_test)
        interval = found.interval(n_train, n_test, degrees, 0.95)
        if error > 0:
            p = float(2 * stats.t.sf(abs(found.mean) / error, degrees))
        else:
            p = 1.0 if found.mean == 0 else 0.0
        return Comparison(interval, p, verdict_of(interval), error)


def repetitions(folds: Sequence[Fold]) -> list[list[int]]:
    """Positions of the folds of each repetition: a new one begins where a row comes again."""
    found: list[list[int]] = []
    seen: set[int] = set()
    for k, fold in enumerate(folds):
        rows = set(fold.test.tolist())
        if not found or seen & rows:
            found.append([])
            seen = set()
        found[-1].append(k)
        seen |= rows
    return found


def pooled_score(
    score: Score, y: np.ndarray, folds: Sequence[Fold], predictions: Sequence[np.ndarray]
) -> PooledScore:
    """The score of the predictions of all folds, repetition by repetition."""
    parts = np.empty(len(folds))
    total = 0.0
    sizes = np.array([len(fold.test) for fold in folds], dtype=float)
    for places in repetitions(folds):
        truth = np.concatenate([y[folds[k].test] for k in places])
        held = np.concatenate([predictions[k] for k in places])
        whole = float(score(truth, held))
        total += len(truth) * whole
        owner = np.repeat(places, sizes[places].astype(int))
        for k in places:
            rest = owner != k
            parts[k] = whole
            if not rest.any():  # a repetition that the time limit ended after one fold
                continue
            without = float(score(truth[rest], held[rest]))
            if np.isfinite(without):  # without this fold there may be one class only
                parts[k] += rest.sum() / sizes[k] * (whole - without)
    return PooledScore(float(total / sizes.sum()), parts, sizes)

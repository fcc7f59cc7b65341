"""Early stopping: rows held out before anything is learned from them, and scores of the rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from kilogram.functions.boosting_losses import BoostingLoss
from kilogram.native.boosting import Tree
from kilogram.solvers.boosting.ensemble import BoostedTrees

SCORED_ROWS = 10_000  # training rows that a scorer sees after every round: scikit-learn's number


class ValidationRows(NamedTuple):
    """Rows, targets (codes of classes) and weights."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None

    def take(self, rows: np.ndarray) -> ValidationRows:
        return ValidationRows(self.X[rows], self.y[rows], None if self.w is None else self.w[rows])


def hold_out_positions(
    rows: ValidationRows, fraction: float, seed: int, stratify: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of training and validation rows, drawn at random; by class where every class has
    two rows."""
    classes = None
    if stratify and np.bincount(rows.y.astype(np.int64)).min() >= 2:
        classes = rows.y
    train, held = train_test_split(
        np.arange(len(rows.y)), test_size=fraction, random_state=seed, stratify=classes
    )
    return np.sort(train), np.sort(held)


def hold_out(
    rows: ValidationRows, fraction: float, seed: int, stratify: bool
) -> tuple[ValidationRows, ValidationRows]:
    """Training and validation rows at `hold_out_positions`."""
    train, held = hold_out_positions(rows, fraction, seed, stratify)
    return rows.take(train), rows.take(held)


def no_improvement(scores: list[float], n_iter_no_change: int, tol: float) -> bool:
    """Whether none of the last scores exceeds the one before them by more than `tol`."""
    if len(scores) <= n_iter_no_change:
        return False
    reference = scores[-n_iter_no_change - 1] + tol
    return not any(score > reference for score in scores[-n_iter_no_change:])


@dataclass
class ScoreMonitor:
    """Scores after every round; the fit ends where they no longer improve.

    `scorer` of rows and their raw predictions, None for minus the loss.
    """

    loss: BoostingLoss
    train: ValidationRows
    held: ValidationRows | None
    start: BoostedTrees
    n_iter_no_change: int
    tol: float
    seed: int
    scorer: Callable[[ValidationRows, np.ndarray], float] | None = None
    train_scores: list[float] = field(default_factory=list)
    held_scores: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.held is not None:
            self._held_raw = self.start.raw(self.held.X)
        n = len(self.train.y)
        self._seen: Any = slice(None)
        if self.scorer is not None and n > SCORED_ROWS:
            drawn = np.random.default_rng(self.seed).choice(n, SCORED_ROWS, replace=False)
            self._seen = np.sort(drawn)
        self._scored = self.train if isinstance(self._seen, slice) else self.train.take(self._seen)
        if not self.train_scores:  # else continued by a warm start
            self._record(self.start.raw(self.train.X).T)

    def __call__(self, raw: np.ndarray, trees: list[Tree]) -> bool:
        if self.held is not None:
            BoostedTrees.empty(self.start.baseline).extended(trees).add(self.held.X, self._held_raw)
        self._record(raw)
        scores = self.train_scores if self.held is None else self.held_scores
        return no_improvement(scores, self.n_iter_no_change, self.tol)

    def _record(self, raw: np.ndarray) -> None:
        self.train_scores.append(self._score(self._scored, raw[:, self._seen].T))
        if self.held is not None:
            self.held_scores.append(self._score(self.held, self._held_raw))

    def _score(self, rows: ValidationRows, raw: np.ndarray) -> float:
        if self.scorer is not None:
            return self.scorer(rows, raw)
        return -self.loss.value(rows.y, raw.T, rows.w)

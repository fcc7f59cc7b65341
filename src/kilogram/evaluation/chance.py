"""Could chance have given that score? Permutation tests.

    p = (1 + number of shuffles that score at least as well) / (1 + number of shuffles)

refitted    the answers are shuffled before learning: tests whether X says anything about y
held out    the answers of each test part are shuffled against predictions made once: the same
            question of these models, without refitting

Both take rows to be exchangeable. Where groups of rows differ in their answers, shuffle within the
groups: what is then tested is whether X says anything beyond the group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv, cross_val_score


@dataclass(frozen=True)
class ChanceTest:
    """The score, the scores of the shuffles, and the share of them that is as good."""

    score: float
    shuffled: np.ndarray

    @property
    def p_value(self) -> float:
        # scores of shuffles that restore the same answers differ by rounding only
        as_good = self.shuffled >= self.score - 1e-12 * max(1.0, abs(self.score))
        return float((1 + as_good.sum()) / (1 + len(self.shuffled)))

    @property
    def chance(self) -> float:
        """What shuffled answers score on average."""
        return float(self.shuffled.mean())


def permutation_test(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    within: ArrayLike | None = None,
    draws: int = 99,
    seed: int = 0,
) -> ChanceTest:
    """Refit `estimator` to shuffled answers `draws` times.

    `groups` are for the folds; `within` names the groups that answers are shuffled inside.
    """
    y = np.asarray(y)
    _enough(draws)
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    splits = list(splitter.split(X, y, groups))
    rng = np.random.default_rng(seed)

    def score(answers: np.ndarray) -> float:
        return float(cross_val_score(estimator, X, answers, cv=splits, scoring=scoring).mean())

    shuffled = [score(y[_shuffle(rng, len(y), within)]) for _ in range(draws)]
    return ChanceTest(score(y), np.array(shuffled))


def held_out_test(
    parts: Sequence[tuple[ArrayLike, ArrayLike]],
    measure: Callable[[np.ndarray, np.ndarray], float],
    *,
    draws: int = 999,
    seed: int = 0,
) -> ChanceTest:
    """Shuffle the truth inside each (truth, prediction) part; the score is the mean over parts."""
    _enough(draws)
    pairs = [(np.asarray(y), np.asarray(f)) for y, f in parts]
    rng = np.random.default_rng(seed)
    score = float(np.mean([measure(y, f) for y, f in pairs]))
    shuffled = [
        float(np.mean([measure(rng.permutation(y), f) for y, f in pairs])) for _ in range(draws)
    ]
    return ChanceTest(score, np.array(shuffled))


def _shuffle(rng: np.random.Generator, n: int, groups: Any) -> np.ndarray:
    order = np.arange(n)
    if groups is None:
        return rng.permutation(n)
    for group in np.unique(groups):
        rows = np.flatnonzero(np.asarray(groups) == group)
        order[rows] = rng.permutation(rows)
    return order


def _enough(draws: int) -> None:
    if draws < 19:
        raise ValueError(f"Fewer than 19 shuffles cannot show p <= 0.05; got draws={draws}.")

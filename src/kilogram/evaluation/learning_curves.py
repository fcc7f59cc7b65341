"""Would more rows help? Scores by the number of rows learnt from.

The test parts stay the same while the training part is cut to fractions of it, so the gain of each
doubling is paired fold by fold. With g_1, g_2 the gains of the last two doublings,

    helped     the corrected interval of g_2 lies above zero
    expected   of one more doubling: g_2 min(1, g_2 / g_1), as the gains of a power law shrink

Verdicts: "would help", "may help", "would hardly help" (expected and upper end both negligible).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv, train_test_split

from kilogram.evaluation.intervals import Interval, corrected_interval
from kilogram.evaluation.row_indexing import take
from kilogram.evaluation.short_repr import ShortRepr

FRACTIONS = (0.125, 0.25, 0.5, 1.0)
Help = Literal["would help", "may help", "would hardly help"]


@dataclass(frozen=True)
class MoreRows:
    """Gain of the last doubling, the gain to expect of the next one, and what follows."""

    last: Interval
    expected: float
    verdict: Help

    @property
    def sentence(self) -> str:
        return f"More rows of the same kind {self.verdict}."


@dataclass(frozen=True, repr=False)
class LearningCurve(ShortRepr):
    """Scores (s, folds) for s numbers of training rows, and the rows of a test part."""

    sizes: np.ndarray
    scores: np.ndarray
    test_rows: float

    @property
    def means(self) -> np.ndarray:
        return self.scores.mean(axis=1)

    def more_rows(
        self, negligible: float = 0.005, confidence: float = 0.95, best: float = np.inf
    ) -> MoreRows:
        """Would doubling the rows bring more than `negligible`, with `best` the perfect score?"""
        if len(self.sizes) < 2:
            raise ValueError("more_rows needs scores at two or more sizes. Give more fractions.")
        doublings = np.log2(self.sizes[1:] / self.sizes[:-1])
        gains = (self.scores[1:] - self.scores[:-1]) / doublings[:, None]
        last = corrected_interval(
            gains[-1], float(self.sizes[-1]), self.test_rows, confidence=confidence
        )
        room = max(0.0, best - float(self.means[-1]))
        expected = min(_extrapolated_gain(gains.mean(axis=1)), room)
        if room <= negligible:
            return MoreRows(last, expected, "would hardly help")
        return MoreRows(last, expected, _verdict(last, expected, negligible))


def _extrapolated_gain(gains: np.ndarray) -> float:
    last = max(0.0, float(gains[-1]))  # the quotient of two losses is no gain
    if len(gains) < 2 or gains[-2] <= 0:
        return last
    return last * min(1.0, last / float(gains[-2]))


def _verdict(last: Interval, expected: float, negligible: float) -> Help:
    if last.low > 0 and expected > negligible:
        return "would help"
    if expected <= negligible and last.high <= 4 * negligible:
        return "would hardly help"
    return "may help"


def learning_curve(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    fractions: Sequence[float] = FRACTIONS,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    seed: int = 0,
) -> LearningCurve:
    """Scores with the training part of each fold cut to `fractions`, which end with 1.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kilogram as kg
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from kilogram.evaluation import learning_curve
    >>> found = learning_curve(kg.Ridge(alpha=0.1), X, y)
    >>> found.sizes
    array([ 44. ,  88. , 176.6, 353.6])
    >>> found.scores.mean(axis=1).round(2)
    array([0.37, 0.44, 0.46, 0.48])
    """
    ordered = sorted(fractions)
    if not ordered or ordered[0] <= 0 or ordered[-1] != 1:
        raise ValueError(
            f"fractions must be greater than 0 and end with 1, got {tuple(fractions)}."
        )
    y = np.asarray(y)
    classes = is_classifier(estimator)
    scorer = check_scoring(estimator, scoring=scoring)
    splits = list(check_cv(cv, y, classifier=classes).split(X, y, groups))
    sizes, scores = np.zeros((2, len(ordered), len(splits)))
    for j, (train, test) in enumerate(splits):
        for i, fraction in enumerate(ordered):
            rows = _subsample(train, y, fraction, seed, classes)
            model = clone(estimator).fit(take(X, rows), y[rows])
            sizes[i, j] = len(rows)
            scores[i, j] = scorer(model, take(X, test), y[test])
    tested = float(np.mean([len(test) for _, test in splits]))
    return LearningCurve(sizes.mean(axis=1), scores, tested)


def _subsample(
    train: np.ndarray, y: np.ndarray, fraction: float, seed: int, classes: bool
) -> np.ndarray:
    if fraction == 1:
        return train
    keep = y[train] if classes else None
    return train_test_split(train, train_size=fraction, random_state=seed, stratify=keep)[0]

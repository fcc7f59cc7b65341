"""Rounds of AdaBoost (SAMME), one at a time: the caller decides how many it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

Learner = Callable[[np.ndarray], tuple[Any, np.ndarray]]


class Round(NamedTuple):
    """A weak learner, its classes (positions) of the rows, its weight alpha and its error."""

    learner: Any
    predicted: np.ndarray
    alpha: float
    error: float


def adaboost_rounds(
    learner: Learner, codes: np.ndarray, w: np.ndarray, n_classes: int, learning_rate: float
) -> Iterator[Round]:
    """Rounds until a learner makes no error (it is the last), or is no better than chance.

    `learner` maps weights of sum 1 to a fitted weak learner and its classes of the rows.
    """
    w = w / w.sum()
    while True:
        made, predicted = learner(w)
        wrong = predicted != codes
        error = float(w[wrong].sum())
        if error >= 1 - 1 / n_classes - 1e-12:
            return
        if error <= 0:  # no finite weight: 1, as in scikit-learn
            yield Round(made, predicted, 1.0, 0.0)
            return
        alpha = float(learning_rate * (np.log1p(-error) - np.log(error) + np.log(n_classes - 1)))
        yield Round(made, predicted, alpha, error)
        w = np.where(wrong, w, w * np.exp(-alpha))  # exp(alpha [wrong]) could overflow
        w /= w.sum()

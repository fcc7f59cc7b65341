"""The measures that recipes are evaluated by, and the one chosen for a task.

    R^2                 1 - sum (y - f)^2 / sum (y - mean)^2; 0: as good as the mean, 1: perfect
    accuracy            fraction of correct predictions
    balanced accuracy   mean over the classes of their recall

Regression uses R^2. Classification uses accuracy, but balanced accuracy when one class holds more
than 80 % of the rows: there always predicting it would already have a high accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from kilogram.evaluation.confusion_matrix import accuracy, balanced_accuracy
from kilogram.evaluation.regression_metrics import r_squared
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.question import Question, Task

MOSTLY = 0.8


@dataclass(frozen=True)
class Measure:
    """A score: larger is better, unless `of_error`; `low` and `high` are its bounds."""

    name: str
    title: str
    meaning: str
    function: Callable[[np.ndarray, np.ndarray], float]
    task: Task
    low: float = 0.0
    high: float = 1.0
    of_error: bool = False


MEASURES = {
    measure.name: measure
    for measure in (
        Measure(
            "r2",
            "R²",
            "fraction of the variance of the target that is explained: 0 is no better than the "
            "mean, "
            "1 is perfect",
            r2_score,
            "regression",
            low=-math.inf,
        ),
        Measure(
            "mean_absolute_error",
            "mean absolute error",
            "mean of |observed − predicted|, in units of the target",
            mean_absolute_error,
            "regression",
            high=math.inf,
            of_error=True,
        ),
        Measure(
            "root_mean_squared_error",
            "root mean squared error",
            "like the mean absolute error, with more weight on large errors",
            root_mean_squared_error,
            "regression",
            high=math.inf,
            of_error=True,
        ),
        Measure(
            "accuracy",
            "accuracy",
            "fraction of correct predictions",
            accuracy_score,
            "classification",
        ),
        Measure(
            "balanced_accuracy",
            "balanced accuracy",
            "mean recall of the classes, so that rare classes count as much as frequent ones",
            balanced_accuracy_score,
            "classification",
        ),
    )
}


def choose_measure(question: Question, wanted: str | None = None) -> tuple[Measure, str]:
    """The measure for the task, and the reason."""
    names = [m.name for m in MEASURES.values() if m.task == question.task and not m.of_error]
    if wanted is not None:
        if wanted not in names:
            raise KitchenError(
                f"measure must be {' or '.join(names)} for a {question.task} task, got {wanted!r}."
            )
        return MEASURES[wanted], "as requested"
    if question.task == "regression":
        return MEASURES["r2"], "the target is a number"
    largest = float(np.bincount(question.y).max() / len(question.y))
    if largest > MOSTLY:
        why = f"{largest:.0%} of the rows are of one class, so accuracy would be misleading"
        return MEASURES["balanced_accuracy"], why
    return MEASURES["accuracy"], "no class dominates"


def side_measures(measure: Measure) -> tuple[Measure, ...]:
    """The other measures of the same task, reported beside the main one."""
    return tuple(m for m in MEASURES.values() if m.task == measure.task and m != measure)


# Some of the same measures without scikit-learn's checks, for a thousand calls in a row.
_QUICK: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "r2": r_squared,
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
}


def quick(measure: Measure) -> Callable[[np.ndarray, np.ndarray], float]:
    """The function of a measure for many calls."""
    return _QUICK.get(measure.name, measure.function)

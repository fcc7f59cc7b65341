"""The confusion matrix, and the measures made of its four counts.

                     predicted 1            predicted 0
    really 1         TP                     FN   (a miss)
    really 0         FP   (a false alarm)   TN

    accuracy             (TP + TN) / N                a fraction, not a percentage
    sensitivity          TP / (TP + FN)               recall, true positive rate
    specificity          TN / (TN + FP)               true negative rate
    precision            TP / (TP + FP)               positive predictive value
    F_b                  (1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP)
    MCC                  (TP TN - FP FN) / sqrt((TP+FP)(TP+FN)(TN+FP)(TN+FN))

A ratio 0/0 is NaN, as it is undefined. F is 0 as soon as there is a positive, real or predicted,
and no true positive. MCC of constant predictions is 0, as of guessing. Precision depends on the
prevalence: it is the fraction of positive predictions that are right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Confusion:
    """True and false positives and negatives, and the measures made of them.

    Examples
    --------
    >>> from kilogram.evaluation import Confusion
    >>> found = Confusion(tp=8, fp=2, tn=85, fn=5)
    >>> round(found.precision, 3), round(found.recall, 3)
    (0.8, 0.615)
    """

    tp: float
    fp: float
    tn: float
    fn: float

    @property
    def total(self) -> float:
        return self.tp + self.fp + self.tn + self.fn

    @property
    def prevalence(self) -> float:
        return _ratio(self.tp + self.fn, self.total)

    @property
    def accuracy(self) -> float:
        return _ratio(self.tp + self.tn, self.total)

    @property
    def sensitivity(self) -> float:
        return _ratio(self.tp, self.tp + self.fn)

    recall = sensitivity

    @property
    def specificity(self) -> float:
        return _ratio(self.tn, self.tn + self.fp)

    @property
    def false_alarm_rate(self) -> float:
        """FP / (FP + TN): the type I error, 1 - specificity."""
        return _ratio(self.fp, self.fp + self.tn)

    @property
    def miss_rate(self) -> float:
        """FN / (FN + TP): the type II error, 1 - sensitivity."""
        return _ratio(self.fn, self.fn + self.tp)

    @property
    def precision(self) -> float:
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def negative_precision(self) -> float:
        return _ratio(self.tn, self.tn + self.fn)

    @property
    def balanced_accuracy(self) -> float:
        return (self.sensitivity + self.specificity) / 2

    @property
    def informedness(self) -> float:
        """Sensitivity + specificity - 1 (Youden's J): 0 for guessing."""
        return self.sensitivity + self.specificity - 1

    @property
    def f1(self) -> float:
        return self.f(1.0)

    def f(self, beta: float) -> float:
        """F measure in which recall weighs `beta` times as much as precision."""
        b2 = beta * beta
        return _ratio((1 + b2) * self.tp, (1 + b2) * self.tp + b2 * self.fn + self.fp)

    @property
    def mcc(self) -> float:
        """Correlation of truth and prediction (Matthews)."""
        margins = (self.tp + self.fp, self.tp + self.fn, self.tn + self.fp, self.tn + self.fn)
        if self.total == 0:
            return math.nan
        if min(margins) == 0:
            return 0.0
        return (self.tp * self.tn - self.fp * self.fn) / math.prod(map(math.sqrt, margins))

    def cost(self, false_alarm: float, miss: float) -> float:
        """Mean loss per row when errors of the two kinds cost so much."""
        return _ratio(false_alarm * self.fp + miss * self.fn, self.total)


def confusion(*, truth: ArrayLike, prediction: ArrayLike, positive: Any = 1) -> Confusion:
    """True and false positives and negatives; keywords only, since swapped arguments would go
    unnoticed.

    Examples
    --------
    >>> from kilogram.evaluation import confusion
    >>> confusion(truth=[0, 0, 1, 1, 1], prediction=[0, 1, 1, 1, 0])
    Confusion(tp=2.0, fp=1.0, tn=1.0, fn=1.0)
    """
    y, f = _pair(truth, prediction)
    actual, predicted = y == positive, f == positive
    return Confusion(
        float(np.sum(actual & predicted)),
        float(np.sum(~actual & predicted)),
        float(np.sum(~actual & ~predicted)),
        float(np.sum(actual & ~predicted)),
    )


def one_versus_rest(*, truth: ArrayLike, prediction: ArrayLike) -> dict[Any, Confusion]:
    """The four counts of every class against all others.

    Examples
    --------
    >>> from kilogram.evaluation import one_versus_rest
    >>> counts = one_versus_rest(truth=["a", "a", "b"], prediction=["a", "b", "b"])
    >>> counts["b"].tp, counts["b"].fp, counts["b"].tn, counts["b"].fn
    (1.0, 1.0, 1.0, 0.0)
    """
    y, f = _pair(truth, prediction)
    classes = np.unique(np.concatenate([y, f]))
    return {c.item(): confusion(truth=y, prediction=f, positive=c) for c in classes}


@dataclass(frozen=True)
class ClassReport:
    """Counts by class, and precision, recall, F1 averaged in three ways."""

    classes: dict[Any, Confusion]

    @property
    def support(self) -> dict[Any, int]:
        """True rows of each class."""
        return {c: int(one.tp + one.fn) for c, one in self.classes.items()}

    @property
    def accuracy(self) -> float:
        right = sum(one.tp for one in self.classes.values())
        return _ratio(right, sum(self.support.values()))

    @property
    def micro(self) -> tuple[float, float, float]:
        """From summed counts; with one label per row all three equal the accuracy."""
        ones = self.classes.values()
        summed = Confusion(
            *(sum(getattr(one, k) for one in ones) for k in ("tp", "fp", "tn", "fn"))
        )
        return summed.precision, summed.recall, summed.f1

    @property
    def macro(self) -> tuple[float, ...]:
        """The plain mean over classes, 0/0 counted as 0."""
        return tuple(float(np.mean(column)) for column in self._columns())

    @property
    def weighted(self) -> tuple[float, ...]:
        """The mean over classes weighted by their true rows."""
        weights = list(self.support.values())
        return tuple(float(np.average(column, weights=weights)) for column in self._columns())

    def _columns(self) -> list[list[float]]:
        ones = self.classes.values()
        return [
            [0.0 if math.isnan(v) else v for v in (getattr(one, name) for one in ones)]
            for name in ("precision", "recall", "f1")
        ]


def class_report(*, truth: ArrayLike, prediction: ArrayLike) -> ClassReport:
    """Measures of every class with micro, macro and weighted means.

    Examples
    --------
    >>> from kilogram.evaluation import class_report
    >>> report = class_report(truth=["a", "a", "b", "c"], prediction=["a", "b", "b", "c"])
    >>> report.accuracy
    0.75
    >>> [round(mean, 3) for mean in report.macro]  # precision, recall, F1
    [0.833, 0.833, 0.778]
    """
    return ClassReport(one_versus_rest(truth=truth, prediction=prediction))


def accuracy(y: np.ndarray, f: np.ndarray) -> float:
    """Fraction of right predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.evaluation import accuracy
    >>> accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    0.75
    """
    return float(np.mean(y == f))


def balanced_accuracy(y: np.ndarray, f: np.ndarray) -> float:
    """Fraction of right predictions in each class of the truth, averaged (mean recall).

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.evaluation import balanced_accuracy
    >>> balanced_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    0.5
    """
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return float(np.mean(np.bincount(codes, weights=y == f) / counts))


def _pair(truth: ArrayLike, prediction: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    y, f = np.asarray(truth), np.asarray(prediction)
    if y.shape != f.shape or y.ndim != 1 or not y.size:
        raise ValueError(
            f"truth and prediction must have the same shape (n,), got {y.shape} and {f.shape}."
        )
    return y, f


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan

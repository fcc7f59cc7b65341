"""How well a score ranks: ROC and precision-recall curves, their areas and intervals.

A row is called positive when its score is at least the threshold t; t runs over the scores, ties
together, and over infinity.

    ROC     x = FP / N_0,  y = TP / N_1      from (0, 0) at t = inf to (1, 1)
    AUC     P(score of a positive > of a negative) + P(equal) / 2        (Mann-Whitney)
    PR      x = recall,    y = precision     for few positives among many negatives
    AP      sum over thresholds of precision times the step in recall

Below 1/2 the ranking is turned round: -score has 1 - AUC. The variance of the AUC is DeLong's, from
the fraction of rows of the other class that each row beats; its interval is made on
log(A / (1 - A)), so that it stays inside 0 and 1. Two scores of the same rows are compared with
their covariance.

Reference: E. DeLong, D. DeLong, D. Clarke-Pearson, Comparing the areas under two or more correlated
receiver operating characteristic curves, Biometrics 44, 1988.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.metrics import roc_curve

from kilogram.evaluation.intervals import Comparison, Interval, verdict_of
from kilogram.evaluation.short_repr import ShortRepr


@dataclass(frozen=True, repr=False)
class ThresholdCurve(ShortRepr):
    """Thresholds falling from infinity, with the false positive rate, hits and precision."""

    thresholds: np.ndarray
    false_alarms: np.ndarray
    hits: np.ndarray
    precision: np.ndarray

    @property
    def area(self) -> float:
        """Under the ROC curve, by trapezoids."""
        return float(np.trapezoid(self.hits, self.false_alarms))

    @property
    def average_precision(self) -> float:
        return float(np.sum(np.diff(self.hits) * self.precision[1:]))


def curve(y: ArrayLike, score: ArrayLike, *, positive: Any = 1) -> ThresholdCurve:
    """ROC and precision-recall points of one score; precision at the empty start is 1.

    Examples
    --------
    >>> from kilogram.evaluation import curve
    >>> found = curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> found.false_alarms, found.hits
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([0. , 0.5, 0.5, 1. , 1. ]))
    """
    real, s = _checked(y, score, positive)
    x, hits, t = roc_curve(real, s, drop_intermediate=False)
    tp, fp = hits * real.sum(), x * (~real).sum()
    with np.errstate(invalid="ignore"):
        precision = np.where(tp + fp > 0, tp / (tp + fp), 1.0)
    return ThresholdCurve(t, x, hits, precision)


def auc(y: ArrayLike, score: ArrayLike, *, positive: Any = 1) -> float:
    """Area under the ROC curve as a Mann-Whitney statistic.

    Examples
    --------
    >>> from kilogram.evaluation import auc
    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    real, s = _checked(y, score, positive)
    return float(np.mean(_placements(real, s)[0]))


def auc_interval(
    y: ArrayLike, score: ArrayLike, *, positive: Any = 1, confidence: float = 0.95
) -> Interval:
    """AUC with DeLong's interval on the logit; at 0 or 1 exactly, the rule of three.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import kilogram as kg
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> from kilogram.evaluation import auc_interval
    >>> score = kg.LinearDiscriminantAnalysis().fit(X[:300], y[:300]).decision_function(X[300:])
    >>> auc_interval(y[300:], score)
    Interval(mean=0.9984, low=0.9943, high=0.9995, confidence=0.95)
    """
    real, s = _checked(y, score, positive)
    of_ones, of_zeros = _placements(real, s)
    area = float(np.mean(of_ones))
    variance = _variance(of_ones) + _variance(of_zeros)
    if variance == 0 or not 0 < area < 1:
        reach = 1 - (1 - confidence) ** (1 / min(len(of_ones), len(of_zeros)))
        return Interval(area, max(0.0, area - reach), min(1.0, area + reach), confidence)
    z = float(stats.norm.ppf((1 + confidence) / 2))
    half = z * math.sqrt(variance) / (area * (1 - area))
    ends = [1 / (1 + math.exp(-(math.log(area / (1 - area)) + e))) for e in (-half, half)]
    return Interval(area, ends[0], ends[1], confidence)


def compare_auc(
    y: ArrayLike,
    score: ArrayLike,
    reference: ArrayLike,
    *,
    positive: Any = 1,
    confidence: float = 0.95,
) -> Comparison:
    """Does `score` rank better than `reference`, on the same rows?

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import kilogram as kg
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> from kilogram.evaluation import compare_auc
    >>> all_of_it, one = (
    ...     kg.LinearDiscriminantAnalysis().fit(X[:300, :d], y[:300]).decision_function(X[300:, :d])
    ...     for d in (30, 1)
    ... )
    >>> compare_auc(y[300:], all_of_it, one).verdict
    'better'
    """
    real, s = _checked(y, score, positive)
    ones, zeros = _placements(real, s)
    ones_r, zeros_r = _placements(*_checked(y, reference, positive))
    d = float(np.mean(ones) - np.mean(ones_r))
    error = math.sqrt(_variance(ones - ones_r) + _variance(zeros - zeros_r))
    half = float(stats.norm.ppf((1 + confidence) / 2)) * error
    found = Interval(d, d - half, d + half, confidence)
    p = (1.0 if d == 0 else 0.0) if error == 0 else float(2 * stats.norm.sf(abs(d) / error))
    return Comparison(found, p, verdict_of(found), error)


def rows_interval(
    function: Callable[[np.ndarray, np.ndarray], float],
    y: ArrayLike,
    score: ArrayLike,
    *,
    draws: int = 500,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Percentile interval of function(y, score) over rows drawn again, class by class.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.evaluation import auc, rows_interval
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> found = rows_interval(auc, y, y + rng.normal(size=100))
    >>> found.low < found.mean < found.high
    True
    """
    y, s = np.asarray(y), np.asarray(score)
    rng = np.random.default_rng(seed)
    parts = [np.flatnonzero(y == c) for c in np.unique(y)]
    found = []
    for _ in range(draws):
        rows = np.concatenate([rng.choice(part, len(part)) for part in parts])
        found.append(function(y[rows], s[rows]))
    low, high = np.nanquantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(function(y, s)), float(low), float(high), confidence)


def average_precision(y: ArrayLike, score: ArrayLike, *, positive: Any = 1) -> float:
    """Average precision of a score; a random one has the fraction of positives.

    Examples
    --------
    >>> from kilogram.evaluation import average_precision
    >>> round(average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 3)
    0.833
    """
    return curve(y, score, positive=positive).average_precision


def _placements(real: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each positive the fraction of negatives it beats, for each negative that beat it."""
    ones, zeros = s[real], s[~real]
    n1, n0 = len(ones), len(zeros)
    ranks = stats.rankdata(np.concatenate([ones, zeros]))
    beats = (ranks[:n1] - stats.rankdata(ones)) / n0
    return beats, 1 - (ranks[n1:] - stats.rankdata(zeros)) / n1


def _variance(values: np.ndarray) -> float:
    return float(np.var(values, ddof=1) / len(values)) if len(values) > 1 else 0.0


def _checked(y: ArrayLike, score: ArrayLike, positive: Any) -> tuple[np.ndarray, np.ndarray]:
    real, s = np.asarray(y) == positive, np.asarray(score, dtype=float)
    if real.shape != s.shape or real.ndim != 1:
        raise ValueError(
            f"y and score must have the same shape (n,), got {real.shape} and {s.shape}."
        )
    if not np.all(np.isfinite(s)):
        raise ValueError("Scores must be finite numbers.")
    if real.all() or not real.any():
        raise ValueError(f"A ranking needs rows with and without the label {positive!r}.")
    return real, s

"""How far a cross-validated score can be trusted: corrected resampled intervals and comparisons.

The scores s_1 .. s_J of J folds share training rows, so their variance understates the variance of
their mean. Nadeau and Bengio's correction adds the ratio of test to training rows:

    t = mean(s) / sqrt( (1/J + n_test/n_train) var(s) ),      J - 1 degrees of freedom

where var is the unbiased sample variance. An interval is the mean plus and minus the t quantile
times that root. Two recipes judged on the same folds are compared through their differences.
When the interval of the difference contains zero the verdict is "tie".

Stratified folds differ less than new samples would: their variance does not
see that the rows themselves are a sample. `rows_error` does: the error of a score of n pairs (y, f)
by leaving out one of G groups of rows at a time, (G - 1)/G sum_g (s_g - mean s)^2. An interval
should not be narrower than it allows: `no_narrower`.

Reference: C. Nadeau, Y. Bengio, Inference for the generalization error, Machine Learning 52, 2003.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from kilogram.base.constraints import Integer, Real, check_parameter
from kilogram.evaluation.short_repr import ShortRepr

Verdict = Literal["better", "worse", "tie"]


@dataclass(frozen=True, repr=False)
class Interval(ShortRepr):
    """A mean with the ends of its interval at the given confidence.

    Examples
    --------
    >>> from kilogram.evaluation import Interval
    >>> found = Interval(mean=0.8, low=0.75, high=0.85, confidence=0.95)
    >>> found.low <= 0.82 <= found.high
    True
    """

    mean: float
    low: float
    high: float
    confidence: float

    def clipped(self, low: float = -math.inf, high: float = math.inf) -> Interval:
        """The same interval inside the range the score can take."""
        return Interval(self.mean, max(self.low, low), min(self.high, high), self.confidence)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, repr=False)
class Comparison(ShortRepr):
    """The paired difference of two recipes over the same folds, and the verdict it supports."""

    difference: Interval
    p_value: float
    verdict: Verdict
    error: float  # standard error of the mean difference

    @property
    def lead(self) -> float:
        """The mean difference in standard errors; 0 for none at all."""
        if self.error > 0:
            return self.difference.mean / self.error
        return math.copysign(math.inf, self.difference.mean) if self.difference.mean else 0.0


def corrected_error(scores: ArrayLike, n_train: float, n_test: float) -> float:
    """Standard error of the mean of (J,) fold scores, corrected for shared training rows.

    Examples
    --------
    >>> from kilogram.evaluation import corrected_error
    >>> scores = [0.81, 0.84, 0.79, 0.83]
    >>> round(corrected_error(scores, n_train=300, n_test=100), 4)  # naively 0.0111
    0.0169
    """
    s = _checked(scores, n_train, n_test)
    return math.sqrt((1 / len(s) + n_test / n_train) * float(np.var(s, ddof=1)))


def corrected_interval(
    scores: ArrayLike,
    n_train: float,
    n_test: float,
    *,
    confidence: float = 0.95,
    degrees: int | None = None,
) -> Interval:
    """Mean of (J,) fold scores with its Nadeau-Bengio interval.

    `degrees` of freedom are J - 1 unless given: of rounds that share their rows, those of one round
    are on the safe side.

    Examples
    --------
    >>> from kilogram.evaluation import corrected_interval
    >>> corrected_interval([0.81, 0.84, 0.79, 0.86, 0.80], n_train=80, n_test=20)
    Interval(mean=0.82, low=0.7657, high=0.8743, confidence=0.95)
    """
    check_parameter("confidence", confidence, Real(0, 1, "neither"))
    s = _checked(scores, n_train, n_test)
    known = len(s) - 1 if degrees is None else degrees
    check_parameter("degrees", known, Integer(1, len(s) - 1))
    mean = float(np.mean(s))
    quantile = float(stats.t.ppf((1 + confidence) / 2, known))
    half = quantile * corrected_error(s, n_train, n_test)
    return Interval(mean, mean - half, mean + half, confidence)


def rows_error(
    measure: Callable[[np.ndarray, np.ndarray], float],
    y: ArrayLike,
    f: ArrayLike,
    *,
    groups: int = 50,
    units: ArrayLike | None = None,
) -> float:
    """Standard error of measure(y, f) because the rows are a sample (grouped jackknife).

    `units` that are sampled as a whole (subjects, stretches of time) are left out as a whole.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.evaluation import accuracy, rows_error
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> f = np.where(rng.random(200) < 0.9, y, 1 - y)  # about nine of ten are right
    >>> round(rows_error(accuracy, y, f), 3)
    0.022
    """
    y, f = np.asarray(y), np.asarray(f)
    if len(y) < 3:
        raise ValueError(f"An error over rows needs at least 3 of them, got {len(y)}.")
    unit = np.arange(len(y)) if units is None else np.unique(units, return_inverse=True)[1]
    count = min(groups, int(unit.max()) + 1)
    place = unit % count
    s = np.array([measure(y[place != g], f[place != g]) for g in range(count)], dtype=float)
    s = s[np.isfinite(s)]
    return math.sqrt((count - 1) / count * float(np.sum((s - s.mean()) ** 2)))


def no_narrower(interval: Interval, error: float) -> Interval:
    """The interval, or if that is wider the one of a normal score with this standard error.

    Examples
    --------
    >>> from kilogram.evaluation import Interval, no_narrower
    >>> found = no_narrower(Interval(0.8, 0.79, 0.81, 0.95), error=0.02)
    >>> round(found.low, 3), round(found.high, 3)
    (0.761, 0.839)
    """
    half = float(stats.norm.ppf((1 + interval.confidence) / 2)) * error
    if not half > (interval.high - interval.low) / 2:
        return interval
    mean = interval.mean
    return Interval(mean, mean - half, mean + half, interval.confidence)


def compare(
    scores: ArrayLike,
    reference: ArrayLike,
    n_train: float,
    n_test: float,
    *,
    confidence: float = 0.95,
    margin: float = 0.0,
) -> Comparison:
    """Is `scores` better than `reference`, fold by fold, by more than `margin`?

    Examples
    --------
    >>> from kilogram.evaluation import compare
    >>> first, second = [0.81, 0.84, 0.79, 0.83], [0.75, 0.79, 0.76, 0.77]
    >>> compare(first, second, n_train=300, n_test=100).verdict
    'better'
    """
    ours, theirs = np.asarray(scores, dtype=float), np.asarray(reference, dtype=float)
    if ours.shape != theirs.shape:
        raise ValueError(
            f"A paired comparison needs the same folds: got {ours.size} and {theirs.size} scores."
        )
    if not margin >= 0:
        raise ValueError(f"margin must be zero or more, got {margin!r}.")
    d = ours - theirs
    difference = corrected_interval(d, n_train, n_test, confidence=confidence)
    error = corrected_error(d, n_train, n_test)
    p = _p_value(difference.mean, error, len(d))
    return Comparison(difference, p, verdict_of(difference, margin), error)


def verdict_of(difference: Interval, margin: float = 0.0) -> Verdict:
    """A tie unless the whole interval lies beyond the margin."""
    if difference.low > margin:
        return "better"
    return "worse" if difference.high < -margin else "tie"


def _p_value(mean: float, error: float, count: int) -> float:
    """Two-sided, of no difference; without any spread only an exact zero is unsurprising."""
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stats.t.sf(abs(mean) / error, count - 1))


def _checked(scores: ArrayLike, n_train: float, n_test: float) -> np.ndarray:
    s = np.asarray(scores, dtype=float)
    if s.ndim != 1 or len(s) < 2:
        raise ValueError(f"An interval needs the scores of at least 2 folds, got {s.size}.")
    if not np.all(np.isfinite(s)):
        raise ValueError("Fold scores must be finite. Leave out folds without a score.")
    if not (n_train > 0 and n_test > 0):
        raise ValueError(
            f"n_train and n_test are rows per fold, both positive; got {n_train} and {n_test}."
        )
    return s

"""Where to put the threshold when the two kinds of errors cost differently.

    risk = E loss = L_FP p(0) FPR + L_FN p(1) (1 - TPR)

With probabilities the least risk predicts 1 where  p(1|x) / p(0|x) > L_FP / L_FN,  that is where
p(1|x) > L_FP / (L_FP + L_FN); with densities where p(x|1) / p(x|0) > (L_FP / L_FN) p(0) / p(1).
Equal losses are the rule of least error. With a score of unknown scale the threshold is the one of
least empirical risk; its risk on the rows it was chosen on is optimistic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kilogram.evaluation.ranking import curve


@dataclass(frozen=True)
class Threshold:
    """Predict positive where score >= value; `risk` is the mean loss per row it gave."""

    value: float
    risk: float
    hits: float
    false_alarms: float


def probability_threshold(false_alarm: float, miss: float) -> float:
    """The probability above which to predict 1.

    Examples
    --------
    >>> from kilogram.evaluation import probability_threshold
    >>> probability_threshold(false_alarm=1.0, miss=4.0)
    0.2
    """
    _positive(false_alarm, miss)
    return false_alarm / (false_alarm + miss)


def likelihood_ratio_threshold(false_alarm: float, miss: float, prior: float) -> float:
    """The ratio p(x|1) / p(x|0) above which to predict 1, `prior` being p(1).

    Examples
    --------
    >>> from kilogram.evaluation import likelihood_ratio_threshold
    >>> likelihood_ratio_threshold(false_alarm=1.0, miss=10.0, prior=0.5)
    0.1
    >>> likelihood_ratio_threshold(false_alarm=1.0, miss=1.0, prior=0.01)  # a rare class
    99.0
    """
    _positive(false_alarm, miss)
    if not 0 < prior < 1:
        raise ValueError(
            f"prior must be a float in (0, 1), the probability of class 1, got {prior}."
        )
    return false_alarm / miss * (1 - prior) / prior


def best_threshold(
    y: ArrayLike,
    score: ArrayLike,
    *,
    false_alarm: float = 1.0,
    miss: float = 1.0,
    prior: float | None = None,
    positive: Any = 1,
) -> Threshold:
    """Threshold of least empirical risk; `prior` replaces the observed rate of positives.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import kilogram as kg
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> from kilogram.evaluation import best_threshold
    >>> p = kg.GaussianNB().fit(X[:300], y[:300]).predict_proba(X[300:])[:, 1]
    >>> round(best_threshold(y[300:], p, false_alarm=5.0, miss=1.0).value, 2)
    0.98
    """
    _positive(false_alarm, miss)
    found = curve(y, score, positive=positive)
    p1 = float(np.mean(np.asarray(y) == positive)) if prior is None else prior
    risk = false_alarm * (1 - p1) * found.false_alarms + miss * p1 * (1 - found.hits)
    k = int(np.argmin(risk))
    return Threshold(
        float(found.thresholds[k]),
        float(risk[k]),
        float(found.hits[k]),
        float(found.false_alarms[k]),
    )


def _positive(false_alarm: float, miss: float) -> None:
    if not (false_alarm > 0 and miss > 0):
        raise ValueError(f"Losses of both errors must be positive, got {false_alarm} and {miss}.")

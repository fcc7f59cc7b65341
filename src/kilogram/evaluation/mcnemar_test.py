"""McNemar's test: do two classifiers differ on one test set?

Only the rows on which exactly one of them is right tell them apart. If the classifiers are equally
accurate, the number b that only the first gets right, out of the b + c discordant rows, is binomial
with probability 1/2; the test is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from kilogram.evaluation.intervals import Verdict


@dataclass(frozen=True)
class McNemar:
    """The numbers of discordant rows, the exact p-value and the verdict on the first one."""

    only_first: int
    only_second: int
    p_value: float
    verdict: Verdict


def mcnemar(
    *, truth: ArrayLike, prediction: ArrayLike, reference: ArrayLike, confidence: float = 0.95
) -> McNemar:
    """McNemar's exact test of two classifiers on one test set.

    Parameters
    ----------
    truth, prediction, reference : array-like of shape (n,)
        Labels of the test set, predictions of the classifier and of the one it is compared with.
    confidence : float
        The verdict is a tie unless the p-value is below 1 - confidence.

    Returns
    -------
    McNemar

    Examples
    --------
    >>> from kilogram.evaluation import mcnemar
    >>> truth = [1] * 10
    >>> mcnemar(truth=truth, prediction=truth, reference=[0] * 8 + [1] * 2).verdict
    'better'
    """
    y, f, g = (np.asarray(a) for a in (truth, prediction, reference))
    if not y.shape == f.shape == g.shape:
        raise ValueError("truth, prediction and reference must have the same length.")
    first, second = int(np.sum((f == y) & (g != y))), int(np.sum((f != y) & (g == y)))
    p = float(stats.binomtest(first, first + second).pvalue) if first + second else 1.0
    verdict: Verdict = "tie"
    if p < 1 - confidence:
        verdict = "better" if first > second else "worse"
    return McNemar(first, second, p, verdict)

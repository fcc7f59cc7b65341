"""Two models side by side, on the same rows; what cannot be told apart is called a tie.

folds     both fitted in the same folds, differences of the fold scores with the corrected interval
one test  both judged on one test part: only the rows on which they disagree tell them apart
          (McNemar, exact binomial)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import is_classifier

from kilogram.evaluation.intervals import Comparison, Verdict, compare
from kilogram.evaluation.nested import nested_cross_validate
from kilogram.evaluation.splits import Kind, make_splits


def compare_models(
    model: Any,
    reference: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    scoring: Any = None,
    groups: Any = None,
    confidence: float = 0.95,
    margin: float = 0.0,
) -> Comparison:
    """Is `model` better than `reference` by more than `margin`? By default in ten rounds of folds.

    With `groups` the folds are cut between them, in one round.
    """
    if cv is None:
        kind: Kind = "repeated" if groups is None else "grouped"
        cv = make_splits(y, kind, classes=is_classifier(model), groups=groups)
    mine, theirs = (
        nested_cross_validate(one, X, y, cv=cv, scoring=scoring, groups=groups)
        for one in (model, reference)
    )
    return compare(mine.scores, theirs.scores, *mine.rows, confidence=confidence, margin=margin)


@dataclass(frozen=True)
class McNemar:
    """Rows that only the first and only the second got right."""

    only_first: int
    only_second: int
    p_value: float
    verdict: Verdict


def mcnemar(
    *, truth: ArrayLike, prediction: ArrayLike, reference: ArrayLike, confidence: float = 0.95
) -> McNemar:
    """Two classifiers on one test part."""
    y, f, g = (np.asarray(a) for a in (truth, prediction, reference))
    if not y.shape == f.shape == g.shape:
        raise ValueError("truth, prediction and reference must have one length.")
    first, second = int(np.sum((f == y) & (g != y))), int(np.sum((f != y) & (g == y)))
    p = float(stats.binomtest(first, first + second).pvalue) if first + second else 1.0
    verdict: Verdict = "tie"
    if p < 1 - confidence:
        verdict = "better" if first > second else "worse"
    return McNemar(first, second, p, verdict)

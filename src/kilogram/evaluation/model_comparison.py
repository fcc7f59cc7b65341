"""Compare two models by cross-validation: paired differences of the fold scores.

Both are fitted in the same folds; the interval of the mean difference is corrected for the overlap
of their training parts. Models whose interval holds 0 are tied.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, is_classifier

from kilogram.evaluation.intervals import Comparison, compare
from kilogram.evaluation.nested import nested_cross_validate
from kilogram.evaluation.splits import Kind, make_splits


def compare_models(
    model: BaseEstimator,
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

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kilogram as kg
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from kilogram.evaluation import compare_models
    >>> line, curve = kg.RidgeCV(), kg.KernelRidgeCV(kernel=kg.Gaussian("median"))
    >>> compare_models(curve, line, X, y).verdict
    'tie'
    """
    if cv is None:
        kind: Kind = "repeated" if groups is None else "grouped"
        cv = make_splits(y, kind, classes=is_classifier(model), groups=groups)
    mine, theirs = (
        nested_cross_validate(one, X, y, cv=cv, scoring=scoring, groups=groups)
        for one in (model, reference)
    )
    return compare(mine.scores, theirs.scores, *mine.rows, confidence=confidence, margin=margin)

"""Fits that pass on which rows belong together or follow each other.

An estimator that searches inside its own `fit` cuts folds of its own; if rows come in groups or
along time those have to be cut the same way, or the search is optimistic by what the outer folds
avoid. `fit_rows` hands `groups` and `moments` to whichever part of the estimator takes them;
`inner_splits` are folds cut along them.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline

from kilogram.evaluation.splits import Splits, make_splits

Along = dict[str, np.ndarray]


def fit_rows(estimator: BaseEstimator, X: Any, y: Any, along: Along | None = None) -> Any:
    """Fit, with the groups or moments of the rows where the estimator asks for them."""
    return estimator.fit(X, y, **accepted_arguments(estimator, along))


def accepted_arguments(estimator: BaseEstimator, along: Along | None) -> dict[str, Any]:
    """The part of `along` that `estimator.fit` takes, named as it takes it."""
    if not along:
        return {}
    last, prefix = estimator, ""
    while isinstance(last, Pipeline):
        prefix += f"{last.steps[-1][0]}__"
        last = last[-1]
    takes = inspect.signature(last.fit).parameters
    return {prefix + name: value for name, value in along.items() if name in takes}


def part(along: Along | None, rows: Any) -> Along | None:
    """The groups or moments of some rows."""
    return None if not along else {name: np.asarray(value)[rows] for name, value in along.items()}


def inner_splits(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    cv: Any = None,
    along: Along | None = None,
    seed: int = 0,
) -> Splits:
    """Folds inside a search: along groups or time where they are known, else those of `cv`."""
    classes = is_classifier(estimator)
    folds = 3 if cv is None else cv
    if along and _in_one_group(along):  # rows of one group cannot be kept apart from others
        along = None
    if along and isinstance(folds, int):
        return _cut(y, folds, classes, along, seed)
    if isinstance(folds, int):
        kind: Any = "random" if folds > 1 else "holdout"
        even = classes
        if classes:  # proportions cannot be kept where classes have fewer rows than parts
            counts = np.unique(y, return_counts=True)[1]
            even = bool(counts.max() >= folds if folds > 1 else counts.min() > 1)
        found = make_splits(y, kind, folds=max(folds, 2), classes=even, seed=seed, test_size=0.25)
        return _with_two_classes(found, np.asarray(y)) if classes else found
    groups = along.get("groups") if along else None
    return list(check_cv(folds, y, classifier=classes).split(X, y, groups))


def _in_one_group(along: Along) -> bool:
    return "moments" not in along and len(np.unique(along["groups"])) < 2


def _cut(y: Any, folds: int, classes: bool, along: Along, seed: int) -> Splits:
    y = np.asarray(y)
    if "moments" in along:
        moments = np.nan_to_num(along["moments"], nan=-np.inf)
        found = make_splits(y, "time", folds=max(folds, 2), moments=moments)
    else:
        count = min(max(folds, 2), len(np.unique(along["groups"])))
        found = make_splits(y, "grouped", folds=count, classes=classes, groups=along["groups"],
                            seed=seed)  # fmt: skip
    if not classes:
        return found
    # a class that is not among the rows to learn from cannot be searched for
    whole = [(a, b) for a, b in found if len(np.unique(y[a])) == len(np.unique(y))]
    return whole or _with_two_classes(found, y)[-1:]


def _with_two_classes(found: Splits, y: np.ndarray) -> Splits:
    """Folds whose training rows are of two classes or more; where there are none, all rows."""
    rows = np.arange(len(y))
    return [(a, b) for a, b in found if len(np.unique(y[a])) > 1] or [(rows, rows)]

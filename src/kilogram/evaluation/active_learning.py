"""Active learning by uncertainty sampling: which row to label next.

    least confident   1 - max_c p_c
    margin            1 - (largest - second largest p)
    entropy           -sum_c p_c log p_c

All three agree for two classes. Uncertainty sampling asks near the border it believes in: it helps
where that border is about right, and can miss a cluster that no labelled row has hinted at, which
is why the loop starts from rows drawn at random. Reference: Lewis and Gale 1994.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import row_count, take_rows
from kilogram.base.constraints import OneOf, check_parameter
from kilogram.base.random_state import as_generator
from kilogram.evaluation.short_repr import ShortRepr

MEASURES = ("least_confident", "margin", "entropy")


def uncertainty(probabilities: Any, measure: str = "margin") -> np.ndarray:
    """How unsure class probabilities (n, n_classes) are, (n,); larger is less sure.

    Parameters
    ----------
    probabilities : array of shape (n, n_classes)
    measure : {"margin", "least_confident", "entropy"}, default="margin"

    Returns
    -------
    unsure : ndarray of shape (n,)

    Examples
    --------
    >>> from kilogram.evaluation import uncertainty
    >>> uncertainty([[0.9, 0.1], [0.6, 0.4]]).round(3).tolist()
    [0.2, 0.8]
    """
    p = np.asarray(to_numpy(probabilities), dtype=np.float64)
    if p.ndim != 2 or p.shape[1] < 2:
        raise ValueError(f"probabilities of two classes or more are needed, got shape {p.shape}.")
    check_parameter("measure", measure, OneOf(*MEASURES))
    if measure == "entropy":
        return -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0), axis=1)
    top = np.partition(p, -2, axis=1)[:, -2:]
    return 1.0 - (top[:, 1] - top[:, 0] if measure == "margin" else top[:, 1])


def most_uncertain(
    model: BaseEstimator, X: Any, n: int = 1, *, measure: str = "margin"
) -> np.ndarray:
    """Positions of the n rows of X that a fitted classifier is least sure of, least sure first.

    Parameters
    ----------
    model : fitted classifier
        With `predict_proba`; else with `decision_function`, whose values near 0 (or whose two
        largest values, near each other) are unsure.
    X : rows of shape (m, d)
    n : int, default=1
    measure : {"margin", "least_confident", "entropy"}, default="margin"
        For probabilities.

    Returns
    -------
    positions : ndarray of shape (min(n, m),)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import kilogram as kg
    >>> from kilogram.evaluation import most_uncertain
    >>> X, y = load_iris(return_X_y=True)
    >>> most_uncertain(kg.LinearDiscriminantAnalysis().fit(X, y), X, 3)
    array([ 77, 133,  70])
    """
    if hasattr(model, "predict_proba"):
        unsure = uncertainty(model.predict_proba(X), measure)
    else:
        scores = np.asarray(to_numpy(model.decision_function(X)), dtype=np.float64)
        top = np.partition(scores, -2, axis=1)[:, -2:] if scores.ndim == 2 else None
        unsure = -np.abs(scores) if top is None else top[:, 0] - top[:, 1]
    return np.argsort(-unsure, kind="stable")[:n]


@dataclass(frozen=True, eq=False, repr=False)
class Learnt(ShortRepr):
    """What `learn_actively` found: the model, the rows it asked about, and the scores."""

    model: Any
    asked: np.ndarray
    scores: np.ndarray


def learn_actively(
    model: BaseEstimator,
    X: Any,
    label: Callable[[int], Any],
    *,
    start: Any,
    n_queries: int,
    measure: str | None = "margin",
    score: Callable[[Any], float] | None = None,
    random_state: Any = None,
) -> Learnt:
    """Active learning: fit, ask for the label of the least certain row, and again.

    Parameters
    ----------
    model : classifier
        Cloned and refitted after every new label.
    X : rows in memory of shape (n, d)
        The pool.
    label : callable
        label(i) returns the label of row i; it is called once for each row.
    start : array-like of int
        Rows that are labelled first; they must hold two classes.
    n_queries : int
        Labels asked for after those.
    measure : {"margin", "least_confident", "entropy"} or None, default="margin"
        None asks for rows at random, to compare with.
    score : callable or None, default=None
        score(fitted model), kept after every fit.
    random_state : int, Generator or None, default=None
        For measure=None.

    Returns
    -------
    Learnt

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import LogisticRegression
    >>> from kilogram.evaluation import learn_actively
    >>> x = np.linspace(-3, 3, 61)[:, None]
    >>> learnt = learn_actively(
    ...     LogisticRegression(), x, lambda i: int(x[i, 0] > 0.55), start=[0, 60], n_queries=5
    ... )
    >>> bool(learnt.model.score(x, x[:, 0] > 0.55) > 0.95)
    True
    """
    known = [int(i) for i in start]
    n, rng = row_count(X), as_generator(random_state)
    if len(set(known)) != len(known) or not all(0 <= i < n for i in known):
        raise ValueError(f"start must name different rows of X, from 0 to {n - 1}.")
    if n_queries < 0 or len(known) + n_queries > n:
        raise ValueError(f"{len(known)} + {n_queries} labels were asked for of {n} rows.")
    labels, scores = [label(i) for i in known], []
    for step in range(n_queries + 1):
        fitted = clone(model).fit(take_rows(X, known), np.asarray(labels))
        if score is not None:
            scores.append(float(score(fitted)))
        if step == n_queries:
            break
        rest = np.setdiff1d(np.arange(n), known)
        if measure is None:
            chosen = int(rng.choice(rest))
        else:
            chosen = int(rest[most_uncertain(fitted, take_rows(X, rest), measure=measure)[0]])
        known.append(chosen)
        labels.append(label(chosen))
    return Learnt(fitted, np.array(known), np.array(scores))

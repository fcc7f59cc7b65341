"""Stability selection: how often is a feature chosen on random halves of the rows?

A sparse model is fitted to both halves of the rows, again and again, at one strength of the penalty
or several. The probability of a feature is the fraction of halves on which it was chosen, at the
strength where it is largest. Features of at least `threshold` are stable: what a single fit adds by
chance rarely comes back. If a fit chooses q of d features on average and is better than guessing,
the expected number of features chosen falsely is at most q^2 / ((2 threshold - 1) d).

References: Meinshausen and Buhlmann 2010; Shah and Samworth 2013 (pairs of halves).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline

from kilogram.base.constraints import Integer, Real, check_parameter
from kilogram.evaluation.row_indexing import take
from kilogram.evaluation.short_repr import ShortRepr

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, repr=False)
class StabilitySelection(ShortRepr):
    """Probabilities of being chosen, and the features that reach the threshold.

    probabilities    (d,), at the strength where each is largest
    by_strength      (m, d), at each strength
    selected         features of a probability of at least `threshold`, the most stable first
    average_size     features that one half chooses on average, at any of the strengths
    false_bound      bound of the expected number of features chosen falsely
    """

    probabilities: Array
    by_strength: Array
    threshold: float
    average_size: float
    shown = ("selected", "threshold", "average_size", "false_bound")

    @property
    def selected(self) -> Array:
        order = np.argsort(-self.probabilities, kind="stable")
        return order[self.probabilities[order] >= self.threshold]

    @property
    def false_bound(self) -> float:
        d = len(self.probabilities)
        return self.average_size**2 / ((2 * self.threshold - 1) * d)


def stability_selection(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    alphas: Any = None,
    parameter: str = "alpha",
    n_pairs: int = 50,
    threshold: float = 0.75,
    random_state: Any = 0,
) -> StabilitySelection:
    """Fit `estimator` to both halves of the rows `n_pairs` times and count the features chosen.

    Parameters
    ----------
    estimator : estimator with `coef_`, or a pipeline that ends with one
        A sparse linear model such as `Lasso`, `PenalizedClassifier` or
        `OrthogonalMatchingPursuit`: a feature is chosen if a coefficient of it is not 0.
    X : array-like, sparse matrix or data frame of shape (n, d)
    y : array-like of shape (n,) or (n, n_targets)
        Classes are divided in equal proportions.
    alphas : array-like, default=None
        Values of `parameter` that are tried on every half; None: that of the estimator.
    parameter : str, default="alpha"
        The parameter of the strength, "lasso__alpha" in a pipeline.
    n_pairs : int, default=50
        Pairs of halves; two fits each, for each strength.
    threshold : float, default=0.75
        Least probability of a stable feature, above 1/2; 0.6 to 0.9 are usual.
    random_state : int, RandomState or None, default=0

    Returns
    -------
    StabilitySelection

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import Lasso, stability_selection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 30))
    >>> y = X[:, 3] - X[:, 7] + rng.normal(size=100)
    >>> found = stability_selection(Lasso(0.15), X, y, n_pairs=20)
    >>> sorted(found.selected.tolist())
    [3, 7]
    """
    check_parameter("n_pairs", n_pairs, Integer(1))
    check_parameter("threshold", threshold, Real(0.5, 1, closed="right"))
    settings = [{}] if alphas is None else [{parameter: float(a)} for a in np.ravel(alphas)]
    if not settings:
        raise ValueError("alphas is empty. Give at least one strength, or None.")
    models = [clone(estimator).set_params(**setting) for setting in settings]
    y = y if hasattr(y, "shape") else np.asarray(y)
    chosen = []
    for half in _halves(estimator, y, int(n_pairs), random_state):
        part, targets = take(X, half), take(y, half)
        chosen.append([_chosen(clone(model).fit(part, targets)) for model in models])
    counts: Array = np.array(chosen)  # (halves, strengths, d)
    by_strength = counts.mean(axis=0)
    return StabilitySelection(
        by_strength.max(axis=0), by_strength, float(threshold),
        float(counts.any(axis=1).sum(axis=1).mean()),
    )  # fmt: skip


def _halves(estimator: BaseEstimator, y: Any, n_pairs: int, random_state: Any) -> list[Array]:
    """Random halves of the rows, in n_pairs complementary pairs."""
    n = int(y.shape[0])
    if n < 2:
        raise ValueError(f"y must have at least 2 rows to be halved, got {n}.")
    make = StratifiedShuffleSplit if is_classifier(estimator) else ShuffleSplit
    splitter = make(n_pairs, train_size=n // 2, test_size=n // 2, random_state=random_state)
    labels = np.asarray(y) if is_classifier(estimator) else None
    found = splitter.split(np.zeros((n, 1)), labels)
    return [half for pair in found for half in pair]


def _chosen(model: BaseEstimator) -> Array:
    """Which features have a coefficient that is not 0."""
    last = model[-1] if isinstance(model, Pipeline) else model
    coef = getattr(last, "coef_", None)
    if coef is None:
        raise TypeError(
            f"{type(last).__name__} has no coef_: stability_selection needs a linear model."
        )
    return np.asarray(np.any(np.atleast_2d(np.asarray(coef)) != 0, axis=0))

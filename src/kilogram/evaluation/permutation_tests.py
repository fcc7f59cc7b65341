"""Permutation tests of a score: could it have arisen by chance?

    p = (1 + number of shuffles that score at least as well) / (1 + number of shuffles)

refitted    the targets are permuted before fitting: tests whether X and y are dependent
held out    the targets of each test part are permuted against predictions made once: the same
            question of these models, without refitting
exchange    predictions of two models are exchanged at random, row by row or unit by unit: tests
            whether one model is better than the other

Both take rows to be exchangeable. Where groups of rows differ in their targets, permute within the
groups: what is then tested is whether X and y are dependent within groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import check_cv, cross_val_score

from kilogram.evaluation.short_repr import ShortRepr


@dataclass(frozen=True, repr=False)
class ChanceTest(ShortRepr):
    """The score, the scores by chance, and the p-value: the fraction of them that is as good."""

    score: float
    shuffled: np.ndarray

    @property
    def p_value(self) -> float:
        # scores of shuffles that restore the same targets differ by rounding only
        as_good = self.shuffled >= self.score - 1e-12 * max(1.0, abs(self.score))
        return float((1 + as_good.sum()) / (1 + len(self.shuffled)))

    @property
    def chance(self) -> float:
        """Mean score of permuted targets."""
        return float(self.shuffled.mean())


def permutation_test(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    within: ArrayLike | None = None,
    draws: int = 99,
    seed: int = 0,
) -> ChanceTest:
    """Is the score better than chance? Refits `estimator` to permuted targets `draws` times.

    `groups` are for the folds; `within` names the groups that targets are permuted inside.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kilogram as kg
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from kilogram.evaluation import permutation_test
    >>> permutation_test(kg.Ridge(alpha=0.1), X, y, draws=99).p_value
    0.01
    """
    y = np.asarray(y)
    _check_draws(draws)
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    splits = list(splitter.split(X, y, groups))
    rng = np.random.default_rng(seed)

    def score(targets: np.ndarray) -> float:
        return float(cross_val_score(estimator, X, targets, cv=splits, scoring=scoring).mean())

    shuffled = [score(y[_shuffle(rng, len(y), within)]) for _ in range(draws)]
    return ChanceTest(score(y), np.array(shuffled))


def held_out_test(
    parts: Sequence[tuple[ArrayLike, ArrayLike]],
    measure: Callable[[np.ndarray, np.ndarray], float],
    *,
    draws: int = 999,
    seed: int = 0,
) -> ChanceTest:
    """Are predictions better than chance? Their truth is shuffled inside each of the parts.

    A part is a pair (truth, prediction), and the score is the mean over parts.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.evaluation import accuracy, held_out_test
    >>> y = np.repeat([0, 1], 20)
    >>> held_out_test([(y, y)], accuracy).p_value
    0.001
    """
    _check_draws(draws)
    pairs = [(np.asarray(y), np.asarray(f)) for y, f in parts]
    rng = np.random.default_rng(seed)
    score = float(np.mean([measure(y, f) for y, f in pairs]))
    shuffled = [
        float(np.mean([measure(rng.permutation(y), f) for y, f in pairs])) for _ in range(draws)
    ]
    return ChanceTest(score, np.array(shuffled))


def exchange_test(
    y: ArrayLike,
    predictions: ArrayLike,
    reference: ArrayLike,
    measure: Callable[[np.ndarray, np.ndarray], float],
    *,
    units: ArrayLike | None = None,
    draws: int = 999,
    seed: int = 0,
) -> ChanceTest:
    """Is measure(y, predictions) larger than measure(y, reference) by more than chance?

    If neither is better, exchanging them changes nothing but signs. Rows of one of the `units`
    (groups, stretches of time) are exchanged together; None: every row by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.evaluation import accuracy, exchange_test
    >>> y = np.repeat([0, 1], 20)
    >>> good, poor = y.copy(), np.tile([0, 1], 20)
    >>> exchange_test(y, good, poor, accuracy).p_value
    0.001
    """
    _check_draws(draws)
    truth, ours, theirs = np.asarray(y), np.asarray(predictions), np.asarray(reference)
    owner = np.arange(len(truth))
    if units is not None:
        owner = np.unique(np.asarray(units), return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    shuffled = []
    for _ in range(draws):
        swap = rng.random(int(owner.max()) + 1)[owner] < 0.5
        swap = swap.reshape((-1,) + (1,) * (ours.ndim - 1))
        one, other = np.where(swap, theirs, ours), np.where(swap, ours, theirs)
        shuffled.append(measure(truth, one) - measure(truth, other))
    score = float(measure(truth, ours) - measure(truth, theirs))
    return ChanceTest(score, np.array(shuffled))


def _shuffle(rng: np.random.Generator, n: int, groups: Any) -> np.ndarray:
    order = np.arange(n)
    if groups is None:
        return rng.permutation(n)
    for group in np.unique(groups):
        rows = np.flatnonzero(np.asarray(groups) == group)
        order[rows] = rng.permutation(rows)
    return order


def _check_draws(draws: int) -> None:
    if draws < 19:
        raise ValueError(
            f"draws must be an integer of at least 19, got {draws!r}. Fewer permutations cannot "
            "show p <= 0.05."
        )

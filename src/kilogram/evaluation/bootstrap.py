"""Error by resampling rows with replacement: out-of-bag, .632 and .632+.

Each of B draws takes n rows with replacement; a row is out of the bag with probability
(1 - 1/n)^n, about 1/e. With L the loss of a row,

    err      training error of the model fitted on all rows            too low
    oob      mean over rows of its mean loss in draws without it       slightly too high
    .632     0.368 err + 0.632 oob
    gamma    mean over all pairs (i, j) of L(y_i, f(x_j))              no-information error rate
    R        (oob - err) / (gamma - err), between 0 and 1              relative overfitting
    .632+    (1 - w) err + w oob,   w = 0.632 / (1 - 0.368 R)

The .632 mean trusts a model that memorises, whose err is 0; the .632+ moves to oob for it.

Reference: B. Efron, R. Tibshirani, Improvements on cross-validation: the .632+ bootstrap method,
JASA 92, 1997.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from kilogram.evaluation.losses import Loss, loss_of
from kilogram.evaluation.row_indexing import take
from kilogram.evaluation.short_repr import ShortRepr

# Pairs (i, j) looked at for gamma; beyond, a sample of sqrt(4e6) = 2 000 rows stands for all, with
# which a mean is known to 2 % of the spread.
MAX_PAIRS = 4_000_000


@dataclass(frozen=True, repr=False)
class Bootstrap(ShortRepr):
    """What `bootstrap_error` found; `row_losses` is NaN for a row that was in every bag."""

    training: float
    no_information: float
    row_losses: np.ndarray
    in_bag: float
    draws: int

    @property
    def out_of_bag(self) -> float:
        return float(np.nanmean(self.row_losses))

    @property
    def standard_error(self) -> float:
        """Standard error of the out-of-bag error, from the spread over rows."""
        known = self.row_losses[np.isfinite(self.row_losses)]
        return float(np.std(known, ddof=1) / np.sqrt(len(known)))

    @property
    def overfitting(self) -> float:
        """R: 0 where nothing is overfitted, 1 where the model knows no more than chance."""
        oob = min(self.out_of_bag, self.no_information)
        if oob <= self.training or self.no_information <= self.training:
            return 0.0
        return (oob - self.training) / (self.no_information - self.training)

    @property
    def error_632(self) -> float:
        return 0.368 * self.training + 0.632 * self.out_of_bag

    @property
    def error_632_plus(self) -> float:
        w = 0.632 / (1 - 0.368 * self.overfitting)
        return (1 - w) * self.training + w * min(self.out_of_bag, self.no_information)


def bootstrap_error(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    loss: str | Loss | None = None,
    draws: int = 100,
    seed: int = 0,
) -> Bootstrap:
    """Refit `estimator` on `draws` bootstrap samples of the rows and judge it out of the bag.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kilogram as kg
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from kilogram.evaluation import bootstrap_error
    >>> bootstrap_error(kg.Ridge(alpha=0.1), X, y, draws=20)
    Bootstrap(training=2890, no_information=8680, row_losses=<array 442>, in_bag=0.6343, draws=20)
    """
    if draws < 1:
        raise ValueError(f"draws must be 1 or more, got {draws}.")
    y = np.asarray(y)
    each, n = loss_of(estimator, loss), len(y)
    rng = np.random.default_rng(seed)
    total, count, in_bag = np.zeros(n), np.zeros(n), 0.0
    for _ in range(draws):
        bag = _bag(rng, y, estimator)
        out = np.setdiff1d(np.arange(n), bag)
        in_bag += 1 - len(out) / n
        if not len(out):
            continue
        model = clone(estimator).fit(take(X, bag), y[bag])
        total[out] += each(y[out], np.asarray(model.predict(take(X, out))))
        count[out] += 1
    if not count.any():
        raise ValueError("No row was ever out of the bag: take more draws.")
    f = np.asarray(clone(estimator).fit(X, y).predict(X))
    with np.errstate(invalid="ignore"):
        rows = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return Bootstrap(
        float(np.mean(each(y, f))), no_information_error(y, f, each), rows, in_bag / draws, draws
    )


def no_information_error(y: np.ndarray, f: np.ndarray, loss: Loss, seed: int = 0) -> float:
    """No-information error rate: mean loss over all pairs of a target and a prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.evaluation import no_information_error, zero_one
    >>> no_information_error(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]), zero_one)
    0.25
    """
    most = int(np.sqrt(MAX_PAIRS))
    if len(y) > most:
        sample = np.random.default_rng(seed).choice(len(y), most, replace=False)
        y, f = y[sample], f[sample]
    n = len(y)
    return float(np.mean(loss(np.repeat(y, n), np.tile(f, n))))


def _bag(rng: np.random.Generator, y: np.ndarray, estimator: BaseEstimator) -> np.ndarray:
    """n rows with replacement; a classifier is not asked to learn from a single class."""
    for _ in range(100):
        bag = rng.integers(0, len(y), len(y))
        if y.dtype.kind == "f" or len(np.unique(y[bag])) > 1 or len(np.unique(y)) == 1:
            return bag
    raise ValueError("One class is too rare: a hundred bootstrap samples had one class only.")

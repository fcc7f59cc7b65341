"""Prediction intervals that hold without a model of the noise.

split   keep n rows aside, q = the ceil((1 - a)(n + 1))-th smallest |y_i - f(x_i)|, interval f +- q
CV+     with f_i the model whose fold held row i out: from the floor(a (n + 1))-th smallest of
        f_i(x) - |r_i| to the ceil((1 - a)(n + 1))-th smallest of f_i(x) + |r_i|
sets    of classes: all c with 1 - p_c(x) <= q, q from 1 - p_{y_i}(x_i) of rows kept aside

If new rows are drawn like the old ones, a split interval covers the target with probability at
least 1 - a, whatever the model; CV+ keeps at least 1 - 2a and in practice about 1 - a.

Reference: R. Barber, E. Candes, A. Ramdas, R. Tibshirani, Predictive inference with the jackknife+,
Annals of Statistics 49, 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, check_cv, train_test_split

from kilogram.base.constraints import Real, check_parameter
from kilogram.evaluation.row_indexing import take
from kilogram.evaluation.short_repr import ShortRepr

Ends = tuple[np.ndarray, np.ndarray]


def conformal_quantile(scores: ArrayLike, coverage: float) -> float:
    """The ceil(coverage (n + 1))-th smallest score; infinite where n is too small for it.

    Examples
    --------
    >>> from kilogram.evaluation import conformal_quantile
    >>> conformal_quantile(range(1, 20), coverage=0.9)
    18.0
    >>> conformal_quantile([1.0, 2.0], coverage=0.9)  # two scores cannot vouch for 90 %
    inf
    """
    check_parameter("coverage", coverage, Real(0, 1, "neither"))
    s = np.sort(np.asarray(scores, dtype=float))
    k = math.ceil(coverage * (len(s) + 1) - 1e-9)
    return float(s[k - 1]) if k <= len(s) else math.inf


@dataclass(frozen=True, repr=False)
class SplitConformal(ShortRepr):
    """What `split_conformal` fitted: a model, and the sorted absolute errors of rows kept aside."""

    model: Any
    errors: np.ndarray

    def interval(self, X: Any, coverage: float = 0.9) -> Ends:
        f, q = np.asarray(self.model.predict(X), float), conformal_quantile(self.errors, coverage)
        return f - q, f + q


def split_conformal(
    estimator: BaseEstimator, X: Any, y: ArrayLike, *, aside: float = 0.25, seed: int = 0
) -> SplitConformal:
    """Intervals from the errors on rows kept aside (split conformal).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kilogram as kg
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from kilogram.evaluation import split_conformal
    >>> model = split_conformal(kg.RidgeCV(), X[:300], y[:300])
    >>> low, high = model.interval(X[300:], coverage=0.9)
    >>> low.shape
    (142,)
    """
    y = np.asarray(y, dtype=float)
    fit, rest = train_test_split(np.arange(len(y)), test_size=aside, random_state=seed)
    model = clone(estimator).fit(take(X, fit), y[fit])
    return SplitConformal(model, np.sort(np.abs(y[rest] - model.predict(take(X, rest)))))


@dataclass(frozen=True, repr=False)
class CVPlus(ShortRepr):
    """What `cv_plus` fitted: models of the folds, their held-out errors, the model of all rows."""

    model: Any
    models: tuple[Any, ...]
    errors: tuple[np.ndarray, ...]

    def interval(self, X: Any, coverage: float = 0.9) -> Ends:
        check_parameter("coverage", coverage, Real(0, 1, "neither"))
        F = [np.asarray(model.predict(X), dtype=float)[:, None] for model in self.models]
        low = np.hstack([f - e for f, e in zip(F, self.errors, strict=True)])
        high = np.hstack([f + e for f, e in zip(F, self.errors, strict=True)])
        n = low.shape[1]
        k = math.ceil(coverage * (n + 1) - 1e-9)
        if k > n:
            return np.full(len(low), -math.inf), np.full(len(low), math.inf)
        # the floor(a (n + 1))-th smallest is the k-th largest
        return np.partition(low, n - k, axis=1)[:, n - k], np.partition(high, k - 1, axis=1)[
            :, k - 1
        ]


def cv_plus(
    estimator: BaseEstimator, X: Any, y: ArrayLike, *, cv: Any = None, seed: int = 0
) -> CVPlus:
    """Intervals from the held-out errors of folds (CV+); `cv` must hold each row out once.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kilogram as kg
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from kilogram.evaluation import cv_plus
    >>> low, high = cv_plus(kg.RidgeCV(), X[:300], y[:300]).interval(X[300:], coverage=0.9)
    >>> bool(abs(((low <= y[300:]) & (y[300:] <= high)).mean() - 0.9) < 0.07)
    True
    """
    y = np.asarray(y, dtype=float)
    splitter = KFold(5, shuffle=True, random_state=seed) if cv is None else check_cv(cv, y)
    models, errors = [], []
    for train, test in splitter.split(X, y):
        models.append(clone(estimator).fit(take(X, train), y[train]))
        errors.append(np.abs(y[test] - models[-1].predict(take(X, test))))
    return CVPlus(clone(estimator).fit(X, y), tuple(models), tuple(errors))


@dataclass(frozen=True, repr=False)
class ConformalSets(ShortRepr):
    """What `conformal_sets` fitted: a classifier, and 1 - p of the true class of other rows."""

    model: Any
    scores: np.ndarray

    def sets(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """(n, classes) booleans: which classes cannot be ruled out."""
        q = conformal_quantile(self.scores, coverage)
        return 1 - np.asarray(self.model.predict_proba(X), dtype=float) <= q + 1e-12


def conformal_sets(
    estimator: BaseEstimator, X: Any, y: ArrayLike, *, aside: float = 0.25, seed: int = 0
) -> ConformalSets:
    """A classifier whose sets of classes hold the truth as often as asked (split conformal).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import kilogram as kg
    >>> from kilogram.evaluation import conformal_sets
    >>> X, y = load_iris(return_X_y=True)
    >>> model = conformal_sets(kg.LogisticRegression(), X, y)
    >>> model.sets(X[[0, 77]], coverage=0.95)
    array([[ True, False, False],
           [False, False, False]])
    """
    y = np.asarray(y)
    fit, rest = train_test_split(np.arange(len(y)), test_size=aside, random_state=seed, stratify=y)
    model = clone(estimator).fit(take(X, fit), y[fit])
    P = np.asarray(model.predict_proba(take(X, rest)))
    return ConformalSets(
        model, np.sort(1 - P[np.arange(len(rest)), np.searchsorted(model.classes_, y[rest])])
    )


@dataclass(frozen=True)
class CoverageTest:
    """Fraction of targets inside their intervals, and the p-value of a coverage too small."""

    covered: float
    count: int
    wanted: float
    p_value: float


def coverage_test(y: ArrayLike, low: ArrayLike, high: ArrayLike, wanted: float) -> CoverageTest:
    """Do intervals for independent rows cover at least as often as `wanted`? (Exact binomial.)

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.evaluation import coverage_test
    >>> y = np.random.default_rng(0).normal(size=100)
    >>> coverage_test(y, np.full(100, -1.6449), np.full(100, 1.6449), wanted=0.9).covered
    0.92
    """
    y, low, high = (np.asarray(a, dtype=float) for a in (y, low, high))
    inside = int(np.sum((low <= y) & (y <= high)))
    p = float(stats.binom.cdf(inside, len(y), wanted))
    return CoverageTest(inside / len(y), len(y), wanted, p)

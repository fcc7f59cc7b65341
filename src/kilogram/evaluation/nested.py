"""Nested cross-validation of any scikit-learn estimator or search.

For each outer fold the whole estimator, its search included, sees only the training part:

    inner    the search picks parameters by its own best score, on the training part alone
    outer    the picked model is scored on the test part, which was not used before

    score      mean of the outer scores: what new rows will get
    optimism   mean of (inner best score - outer score): the optimism of the search
    stability  fraction of folds whose winner is the most frequent one

An inner best score is the largest of many noisy numbers, so it is optimistic; the
outer score does not. Optimism is a difference of like things only when the search and `scoring`
use the same measure. Reference: G. Cawley, N. Talbot, On over-fitting in model selection and
subsequent selection bias in performance evaluation, JMLR 11, 2010.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline

from kilogram.evaluation.grouped_fits import Along, fit_rows, part
from kilogram.evaluation.intervals import Comparison, Interval, compare, corrected_interval

# in scikit-learn's __all__ and its API reference, for all the underscore
from kilogram.evaluation.row_indexing import take
from kilogram.evaluation.short_repr import ShortRepr

# Attributes that the searches and CV classes of scikit-learn and Kilogram leave after `fit`.
_CHOSEN = ("alpha_", "C_", "l1_ratio_")


@dataclass(frozen=True, repr=False)
class Fold(ShortRepr):
    """One outer fold: its score on unseen rows, and what the search inside it believed.

    `tried` counts the points of a `Search`; it is 1 for what tunes itself or is not tuned.
    `stopped_at` is the number of points after which a limit ended the search, 0 where none did.
    `decision` may hold the decision values (n, classes) of the test rows.
    """

    score: float
    inner_score: float | None
    winner: dict[str, Any]
    train: np.ndarray
    test: np.ndarray
    prediction: np.ndarray
    seconds: float
    model: Any = None
    tried: int = 1
    decision: np.ndarray | None = None
    stopped_at: int = 0


@dataclass(frozen=True)
class PredictionScorer:
    """A measure of truth and predictions: what was predicted once is not predicted again."""

    function: Callable[[Any, Any], float]

    def __call__(self, truth: Any, prediction: Any) -> float:
        return self.function(truth, prediction)


@dataclass(frozen=True, repr=False)
class Nested(ShortRepr):
    """Outer folds of one estimator; `optimism` and `stability` are None where nothing was tuned."""

    folds: tuple[Fold, ...]
    shown = ("scores", "optimism", "stability")

    @property
    def scores(self) -> np.ndarray:
        return np.array([fold.score for fold in self.folds])

    @property
    def inner_scores(self) -> np.ndarray | None:
        inner = [fold.inner_score for fold in self.folds]
        return None if any(s is None for s in inner) else np.array(inner, dtype=float)

    @property
    def rows(self) -> tuple[float, float]:
        """Rows per fold to learn from and to test on, on average."""
        train = float(np.mean([len(fold.train) for fold in self.folds]))
        return train, float(np.mean([len(fold.test) for fold in self.folds]))

    @property
    def optimism(self) -> float | None:
        inner = self.inner_scores
        return None if inner is None else float(np.mean(inner - self.scores))

    @property
    def winners(self) -> tuple[dict[str, Any], ...]:
        return tuple(fold.winner for fold in self.folds)

    @property
    def stability(self) -> float | None:
        if not any(self.winners):
            return None
        counts = Counter(repr(sorted(winner.items())) for winner in self.winners)
        return max(counts.values()) / len(self.folds)

    def interval(self, confidence: float = 0.95) -> Interval:
        """Mean outer score with its corrected resampled interval."""
        return corrected_interval(self.scores, *self.rows, confidence=confidence)

    def against(self, other: Nested, confidence: float = 0.95) -> Comparison:
        """Paired comparison with another estimator judged on the same folds."""
        mine, theirs = ([fold.test for fold in nested.folds] for nested in (self, other))
        if len(mine) != len(theirs) or not all(map(np.array_equal, mine, theirs)):
            raise ValueError(
                "A paired comparison needs both estimators to be evaluated on the same folds."
            )
        return compare(self.scores, other.scores, *self.rows, confidence=confidence)


def nested_cross_validate(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    keep_models: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Nested:
    """Score `estimator` (a search, a CV class, a pipeline, a plain model) on rows unseen by tuning.

    `cv` is the outer splitter as scikit-learn takes it; `groups` are kept together by it, and by
    the folds inside `estimator` if its fit takes them. `scoring` is one scorer,
    `progress(done, all)` is called after each fold; `keep_models` leaves the fitted clone on it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kilogram as kg
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from kilogram.evaluation import nested_cross_validate
    >>> nested = nested_cross_validate(kg.RidgeCV(scoring="r2"), X, y, scoring="r2")
    >>> nested.interval()
    Interval(mean=0.4799, low=0.3815, high=0.5783, confidence=0.95)
    >>> round(nested.optimism, 3)
    0.01
    """
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    splits = list(splitter.split(X, y, groups))
    folds = []
    along = None if groups is None else {"groups": np.asarray(groups)}
    for fold in judge_folds(estimator, X, y, splits, scoring=scoring, along=along):
        folds.append(fold if keep_models else replace(fold, model=None))
        if progress is not None:
            progress(len(folds), len(splits))
    return Nested(tuple(folds))


def judge_folds(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    splits: Iterable[tuple[Any, Any]],
    *,
    scoring: Any = None,
    along: Along | None = None,
) -> Iterator[Fold]:
    """The folds of (train, test) index pairs, one at a time, so that a caller can stop between."""
    scorer = check_scoring(estimator, scoring=scoring)
    for train, test in splits:
        yield judge_fold(estimator, X, y, np.asarray(train), np.asarray(test), scorer, along)


def judge_fold(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    train: np.ndarray,
    test: np.ndarray,
    scorer: Callable,
    along: Along | None = None,
) -> Fold:
    """Fit a clone on the rows `train`, score it on the rows `test`.

    The scorer is one of scikit-learn's, called with model, rows and truth, or `PredictionScorer`.
    `along` holds "groups" or "moments" of all rows, for searches that cut folds of their own.
    """
    started = time.perf_counter()
    model = fit_rows(clone(estimator), take(X, train), take(y, train), part(along, train))
    held_out, truth = take(X, test), take(y, test)
    prediction = np.asarray(model.predict(held_out))
    by_predictions = isinstance(scorer, PredictionScorer)
    score = scorer(truth, prediction) if by_predictions else scorer(model, held_out, truth)
    return Fold(
        score=float(score),
        inner_score=inner_score(model) if _same_measure(model, scorer) else None,
        winner=winner(model),
        train=train,
        test=test,
        prediction=prediction,
        seconds=time.perf_counter() - started,
        model=model,
        tried=len(getattr(_search(model), "trials_", ())) or 1,
        stopped_at=stopped_at(model),
    )


def inner_score(model: BaseEstimator) -> float | None:
    """The best score a fitted search gave itself, or None where nothing was searched."""
    score = getattr(_search(model), "best_score_", None)
    return None if score is None else float(score)


def _same_measure(model: BaseEstimator, scorer: Any) -> bool:
    """Whether the search inside the model is not known to use another measure than this scorer."""
    search = _search(model)
    own = getattr(search, "scoring", None)
    if own is None and hasattr(search, "alpha_"):  # RidgeCV and KernelRidgeCV
        own = "neg_mean_squared_error"
    measure = repr(scorer)
    if not isinstance(own, str) or not measure.startswith("make_scorer("):
        default = "accuracy" if is_classifier(search) else "r2"  # of `score`
        return not (isinstance(own, str) and measure.endswith(".score")) or own == default
    return repr(get_scorer(own)) == measure


def stopped_at(model: BaseEstimator) -> int:
    """After how many points a limit ended a fitted search; 0 where none did."""
    search = _search(model)
    if not getattr(search, "cut_short_", False):
        return 0
    return len(getattr(search, "trials_", ())) or int(search.tried_)


def winner(model: BaseEstimator) -> dict[str, Any]:
    """The parameters a fitted search chose, empty where nothing was searched."""
    search = _search(model)
    found = getattr(search, "best_params_", None)
    if found is not None:
        return dict(found)
    chosen = {name: getattr(search, name, None) for name in _CHOSEN}
    return {
        name.rstrip("_"): value
        for name, value in chosen.items()
        if value is not None and np.ndim(value) == 0
    }


def _search(model: BaseEstimator) -> Any:
    """The part of a fitted model that searched: a pipeline ends in it."""
    while isinstance(model, Pipeline):
        model = model[-1]
    return model

"""The search for parameters, of any scikit-learn estimator, under a limit of time.

    max_p  score(p)      p in a space of named ranges and lists (`kilogram.evaluation.space`)

A point is scored by folds, by the estimator's own inner score where it tunes itself (`cv="own"`:
RidgeCV, LogisticRegressionCV, another search), or in closed form (`cv="loo"`). Where a page has a
road along one penalty (`kilogram.evaluation.paths`), all its values are scored at once and the
others are walked. Which points are tried: `kilogram.evaluation.proposals`.

The best score is the largest of many noisy ones and promises too much: judge a search with
`nested_cross_validate`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing as take
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kilogram.base.budget import Budget
from kilogram.evaluation.along import Along, fit_rows, inner_splits, part
from kilogram.evaluation.nested import inner_score, winner
from kilogram.evaluation.paths import (
    POINTS,
    by_leave_one_out,
    fit_along,
    leave_one_out_scores,
    path_axis,
)
from kilogram.evaluation.proposals import METHODS, Trial
from kilogram.evaluation.space import Params, Space, as_space

FEWEST_ROWS = 50


@dataclass(frozen=True)
class Tried:
    """A point that was tried, on which share of the rows, its score and what it took."""

    params: Params
    share: float
    score: float
    seconds: float


def _best_has(name: str) -> Any:
    def check(self: Any) -> bool:
        return hasattr(getattr(self, "best_estimator_", self.estimator), name)

    return check


class Search(MetaEstimatorMixin, BaseEstimator):
    """Search the parameters of an estimator: grid, random, coarse to fine, Bayesian or halving.

    Parameters
    ----------
    estimator : estimator
        Any of scikit-learn's kind, a pipeline too.
    space : dict
        Name -> list of values, `Real(low, high, log=...)` or `Whole(low, high)`.
    method : {"grid", "random", "coarse", "bayes", "halving"}, default="bayes"
    n_iter : int, default=30
        Points to try; a grid is cut so that it has about as many.
    cv : int, splitter, list of splits, "own" or "loo", default=None
        How a point is scored. None is "loo" for Ridge and KernelRidge, else three folds; 1 is one
        cut with a quarter kept aside; "own" is the inner score of an estimator that tunes itself.
    scoring : str, callable or None, default=None
    max_time : float or None, default=None
        Seconds after which no further point is begun.
    random_state : int, default=0

    Attributes
    ----------
    best_params_, best_score_ : the winner and its score
    best_estimator_ : the winner fitted on all rows
    trials_ : tuple of Tried
    cut_short_ : bool
        Whether the time limit ended the search.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVR
    >>> from kilogram.evaluation import Real, Search
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (80, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> space = {"C": Real(1e-2, 1e2, log=True), "gamma": Real(1e-2, 1e2, log=True)}
    >>> search = Search(SVR(), space, method="bayes", n_iter=12).fit(X, y)
    >>> search.best_score_ > 0.9, len(search.trials_)
    (True, 12)
    """

    def __init__(
        self,
        estimator: Any,
        space: Any,
        *,
        method: str = "bayes",
        n_iter: int = 30,
        cv: Any = None,
        scoring: Any = None,
        max_time: float | None = None,
        random_state: int = 0,
    ):
        self.estimator = estimator
        self.space = space
        self.method = method
        self.n_iter = n_iter
        self.cv = cv
        self.scoring = scoring
        self.max_time = max_time
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None, moments: Any = None) -> Self:
        """Search on these rows; `groups` stay together and `moments` in order in the folds."""
        space = self._checked()
        y = np.asarray(y)
        told = {"groups": groups, "moments": moments}
        along: Along = {k: np.asarray(v) for k, v in told.items() if v is not None}
        judge = self._judge(space, X, y, along)
        walked = space if judge.axis is None else space.without(judge.axis)
        self.trials_: tuple[Tried, ...] = tuple(self._walk(judge, walked))
        most = max(tried.share for tried in self.trials_)
        best = max((t for t in self.trials_ if t.share == most), key=lambda tried: tried.score)
        self.best_score_, self.best_params_ = best.score, dict(best.params)
        self.best_estimator_ = judge.fitted(best)
        if judge.own:
            self.best_params_ |= winner(self.best_estimator_)
        if is_classifier(self):
            self.classes_ = self.best_estimator_.classes_
        return self

    def _checked(self) -> Space:
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}; got {self.method!r}.")
        if not isinstance(self.n_iter, int | np.integer) or self.n_iter < 1:
            raise ValueError(f"n_iter must be 1 or more, got {self.n_iter!r}.")
        return as_space(self.space)

    def _judge(self, space: Space, X: Any, y: np.ndarray, along: Along) -> _Judge:
        axis = None if self.cv == "own" else path_axis(self.estimator, space)
        closed = by_leave_one_out(self.estimator)
        loo = axis is not None and closed and self.cv in (None, "loo") and not along
        if self.cv == "loo" and not loo:
            raise ValueError('cv="loo" is for Ridge and KernelRidge with alpha in the space.')
        if closed and not loo:
            axis = None  # along folds these have no road
        values = [] if axis is None else space.values(axis, POINTS)
        return _Judge(self, X, y, along, axis, values, self.cv == "own", loo)

    def _walk(self, judge: _Judge, space: Space | None) -> Any:
        """Try points until the walk or the time is over."""
        budget = Budget(max_time=self.max_time)
        self.cut_short_ = False
        if space is None:
            yield from judge.tried(Trial({}))
            return
        walk = METHODS[self.method](space, self.n_iter, np.random.default_rng(self.random_state))
        trial = next(walk)
        while True:
            found = judge.tried(trial)
            yield from found
            try:
                trial = walk.send(max(one.score for one in found))
            except StopIteration:
                return
            if budget.left < found[0].seconds * trial.share / found[0].share:
                self.cut_short_ = True
                return

    @available_if(_best_has("predict"))
    def predict(self, X: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    @available_if(_best_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_proba(X)

    @available_if(_best_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    @available_if(_best_has("transform"))
    def transform(self, X: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.transform(X)

    def score(self, X: Any, y: Any) -> float:
        """The score of the best estimator by `scoring`."""
        check_is_fitted(self, "best_estimator_")
        return float(check_scoring(self.best_estimator_, self.scoring)(self.best_estimator_, X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags = inner.input_tags
        return tags


class _Judge:
    """Scores points on given rows: by folds, by closed form, or by the estimator's own score."""

    def __init__(
        self, search: Search, X: Any, y: np.ndarray, along: Along, axis: str | None,
        values: list[Any], own: bool, loo: bool,
    ):  # fmt: skip
        self.search, self.X, self.y, self.along = search, X, y, along
        self.axis, self.values, self.own, self.loo = axis, values, own, loo
        self.scorer = check_scoring(search.estimator, search.scoring)
        self.best: tuple[float, Any] = (-np.inf, None)
        if not own and not loo:
            cv, seed = search.cv, search.random_state
            self.splits = inner_splits(search.estimator, X, y, cv, along, seed)

    def tried(self, trial: Trial) -> list[Tried]:
        """A point with its score; along a path one for each value."""
        started = time.perf_counter()
        model = clone(self.search.estimator).set_params(**trial.params)
        if self.own:
            scores = [self._own(model, trial)]
        elif self.loo:
            rows = self._fewer(np.arange(len(self.y)), trial.share)
            scores = list(leave_one_out_scores(model, self.values, take(self.X, rows),
                                               self.y[rows], self.search.scoring))  # fmt: skip
        else:
            parts = [self._fold(model, train, test, trial.share) for train, test in self.splits]
            scores = list(np.mean(parts, axis=0))
        seconds = time.perf_counter() - started
        points = [trial.params] if self.axis is None else [
            trial.params | {self.axis: value} for value in self.values
        ]  # fmt: skip
        return [Tried(point, trial.share, float(score), seconds)
                for point, score in zip(points, scores, strict=True)]  # fmt: skip

    def fitted(self, best: Tried) -> Any:
        """The estimator with the best parameters, fitted on all rows."""
        if self.own and self.best[1] is not None and best.score == self.best[0]:
            return self.best[1]
        model = clone(self.search.estimator).set_params(**best.params)
        return fit_rows(model, self.X, self.y, self.along)

    def _own(self, model: Any, trial: Trial) -> float:
        rows = self._fewer(np.arange(len(self.y)), trial.share)
        fit_rows(model, take(self.X, rows), self.y[rows], part(self.along, rows))
        score = inner_score(model)
        if score is None:
            raise ValueError(
                'cv="own" needs an estimator that tunes itself and has a best_score_ after fit, '
                f"not {type(self.search.estimator).__name__}."
            )
        if trial.share == 1.0 and score > self.best[0]:
            self.best = (score, model)
        return score

    def _fold(self, model: Any, train: Any, test: Any, share: float) -> list[float]:
        train = self._fewer(np.asarray(train), share)
        X, y = take(self.X, train), self.y[train]
        held, answers = take(self.X, test), self.y[test]
        if self.axis is not None:
            return [self.scorer(one, held, answers) for one in fit_along(model, self.values, X, y)]
        return [self.scorer(fit_rows(clone(model), X, y, part(self.along, train)), held, answers)]

    def _fewer(self, rows: np.ndarray, share: float) -> np.ndarray:
        """A random share of the rows, all classes among them."""
        y = self.y[rows]
        classes = is_classifier(self.search.estimator)
        least = FEWEST_ROWS if not classes else max(FEWEST_ROWS, 5 * len(np.unique(y)))
        count = max(round(share * len(rows)), least)
        if share >= 1.0 or count >= len(rows):
            return rows
        rare = classes and np.unique(y, return_counts=True)[1].min() < 2
        keep = y if classes and not rare else None
        seed = self.search.random_state
        return train_test_split(rows, train_size=count, random_state=seed, stratify=keep)[0]

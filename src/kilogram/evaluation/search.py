"""The search for parameters, of any scikit-learn estimator, under a limit of time.

    max_p  score(p)      p in a space of named ranges and lists (`kilogram.evaluation.search_space`)

A point is scored by folds, by the estimator's own inner score where it tunes itself (`cv="own"`:
RidgeCV, LogisticRegressionCV, another search), or in closed form (`cv="loo"`). Where a page has a
path along one penalty (`evaluation.regularization_paths`), all its values are scored at once, the
others are searched. Which points are tried: `kilogram.evaluation.search_strategies`.

The best score is the largest of many noisy ones and is optimistic: judge a search with
`nested_cross_validate`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kilogram.base.budget import Budget
from kilogram.base.constraints import Integer, Null, OneOf, check_parameter
from kilogram.base.random_state import as_generator
from kilogram.evaluation.grouped_fits import Along
from kilogram.evaluation.nested import winner
from kilogram.evaluation.regularization_paths import POINTS, by_leave_one_out, path_axis
from kilogram.evaluation.search_space import SearchSpace, as_space
from kilogram.evaluation.search_strategies import METHODS, Trial
from kilogram.evaluation.search_trials import Judge, Tried


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
        Name -> list of values, `RealRange(low, high, log=...)` or `IntegerRange(low, high)`.
    method : {"grid", "random", "coarse", "bayes", "halving"}, default="bayes"
    n_iter : int, default=30
        Points to try; a grid is cut so that it has about as many.
    cv : int, splitter, list of splits, "own" or "loo", default=None
        How a point is scored. None is "loo" for Ridge and KernelRidge, else three folds; 1 is one
        cut with a quarter kept aside; "own" is the inner score of an estimator that tunes itself.
    scoring : str, callable or None, default=None
    max_time : float or None, default=None
        Seconds after which no further point is begun.
    max_trials : int or None, default=None
        Ends the search after so many trials: with `len(trials_)` of a search that its time limit
        ended, the same search again, whatever the machine.
    random_state : int, default=0
    start : sequence of dicts, default=()
        Points to try first, such as parameters known to serve.
    margin : float or callable(score), default=0.0
        The first of `start` is kept unless another is better by more than this; a function of its
        score where the error of a score depends on it.

    Attributes
    ----------
    best_params_, best_score_ : the winner and its score
    best_estimator_ : the winner fitted on all rows
    trials_ : tuple of Tried
    cut_short_ : bool
        Whether `max_time` or `max_trials` ended the search.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVR
    >>> from kilogram.evaluation import RealRange, Search
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (80, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> space = {"C": RealRange(1e-2, 1e2, log=True), "gamma": RealRange(1e-2, 1e2, log=True)}
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
        max_trials: int | None = None,
        random_state: int = 0,
        start: Any = (),
        margin: float | Callable[[float], float] = 0.0,
    ):
        self.estimator = estimator
        self.space = space
        self.method = method
        self.n_iter = n_iter
        self.cv = cv
        self.scoring = scoring
        self.max_time = max_time
        self.max_trials = max_trials
        self.random_state = random_state
        self.start = start
        self.margin = margin

    def fit(self, X: Any, y: Any, groups: Any = None, moments: Any = None) -> Self:
        """Search on these rows; `groups` stay together and `moments` in order in the folds."""
        space = self._checked()
        y = np.asarray(y)
        given = {"groups": groups, "moments": moments}
        along: Along = {k: np.asarray(v) for k, v in given.items() if v is not None}
        judge = self._judge(space, X, y, along)
        searched = space if judge.axis is None else space.without(judge.axis)
        self.trials_: tuple[Tried, ...] = tuple(self._try(judge, searched))
        most = max(tried.fraction for tried in self.trials_)
        best = self._winner([t for t in self.trials_ if t.fraction == most])
        self.best_score_, self.best_params_ = best.score, dict(best.params)
        self.best_estimator_ = judge.fitted(best)
        if judge.own:
            self.best_params_ |= winner(self.best_estimator_)
        if is_classifier(self):
            self.classes_ = self.best_estimator_.classes_
        return self

    def _winner(self, tried: list[Tried]) -> Tried:
        best = max(tried, key=lambda one: one.score)
        usual = [one for one in tried if self.start and self.start[0].items() >= one.params.items()]
        if not usual:
            return best
        first = usual[0]
        margin = self.margin(first.score) if callable(self.margin) else self.margin
        return first if best.score <= first.score + margin else best

    def _checked(self) -> SearchSpace:
        check_parameter("method", self.method, OneOf(*METHODS))
        check_parameter("n_iter", self.n_iter, Integer(1))
        check_parameter("max_trials", self.max_trials, Integer(1) | Null())
        return as_space(self.space)

    def _judge(self, space: SearchSpace, X: Any, y: np.ndarray, along: Along) -> Judge:
        axis = None if self.cv == "own" else path_axis(self.estimator, space)
        closed = by_leave_one_out(self.estimator)
        loo = axis is not None and closed and self.cv in (None, "loo") and not along
        if self.cv == "loo" and not loo:
            raise ValueError('cv="loo" is for Ridge and KernelRidge with alpha in the space.')
        if closed and not loo:
            axis = None  # along folds these have no path
        values = [] if axis is None else space.values(axis, POINTS)
        return Judge(self, X, y, along, axis, values, self.cv == "own", loo)

    def _try(self, judge: Judge, space: SearchSpace | None) -> Any:
        """Try points until the strategy or the time ends."""
        budget = Budget(max_time=self.max_time)
        self.cut_short_ = False
        if space is None:
            yield from judge.scored(Trial({}))
            return
        rng = as_generator(self.random_state)
        start = [{name: point[name] for name in space.axes} for point in self.start]
        strategy = METHODS[self.method](space, self.n_iter, rng, start)
        trial, count = next(strategy), 0
        while True:
            found = judge.scored(trial)
            yield from found
            count += len(found)
            try:
                trial = strategy.send(max(one.score for one in found))
            except StopIteration:
                return
            enough = self.max_trials is not None and count >= self.max_trials
            if enough or budget.left < found[0].seconds * trial.fraction / found[0].fraction:
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

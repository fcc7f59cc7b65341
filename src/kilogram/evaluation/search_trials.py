"""What a point of a search is worth on given rows: by folds, in closed form, or by its own word."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split

from kilogram.evaluation.grouped_fits import Along, fit_rows, inner_splits, part
from kilogram.evaluation.nested import inner_score
from kilogram.evaluation.regularization_paths import fit_along, leave_one_out_scores
from kilogram.evaluation.row_indexing import take
from kilogram.evaluation.search_space import Params
from kilogram.evaluation.search_strategies import Trial

# A score on fewer rows has a standard error of 0.07 and more: it orders models by chance.
FEWEST_ROWS = 50


@dataclass(frozen=True)
class Tried:
    """A point that was tried, on which fraction of the rows, its score and what it took."""

    params: Params
    fraction: float
    score: float
    seconds: float


class Judge:
    """Scores points on given rows: by folds, by closed form, or by the estimator's own score."""

    def __init__(
        self, search: Any, X: Any, y: np.ndarray, along: Along, axis: str | None,
        values: list[Any], own: bool, loo: bool,
    ):  # fmt: skip
        self.search, self.X, self.y, self.along = search, X, y, along
        self.axis, self.values, self.own, self.loo = axis, values, own, loo
        self.scorer = check_scoring(search.estimator, search.scoring)
        # of models fitted on all rows the first, which a margin may keep, and the best
        self.kept: dict[str, tuple[float, Params, Any]] = {}
        if not own and not loo:
            cv, seed = search.cv, search.random_state
            self.splits = inner_splits(search.estimator, X, y, cv, along, seed)

    def scored(self, trial: Trial) -> list[Tried]:
        """A point with its score; along a path one for each value."""
        started = time.perf_counter()
        model = clone(self.search.estimator).set_params(**trial.params)
        if self.own:
            scores = [self._fit_and_score(model, trial)]
        elif self.loo:
            rows = self._subsample(np.arange(len(self.y)), trial.fraction)
            scores = list(leave_one_out_scores(model, self.values, take(self.X, rows),
                                               self.y[rows], self.search.scoring))  # fmt: skip
        else:
            parts = [self._fold(model, train, test, trial.fraction) for train, test in self.splits]
            scores = list(np.mean(parts, axis=0))
        seconds = time.perf_counter() - started
        points = [trial.params] if self.axis is None else [
            trial.params | {self.axis: value} for value in self.values
        ]  # fmt: skip
        return [Tried(point, trial.fraction, float(score), seconds)
                for point, score in zip(points, scores, strict=True)]  # fmt: skip

    def fitted(self, best: Tried) -> Any:
        """The estimator with the best parameters, fitted on all rows."""
        for score, params, model in self.kept.values():
            if score == best.score and params == best.params:
                return model
        model = clone(self.search.estimator).set_params(**best.params)
        return fit_rows(model, self.X, self.y, self.along)

    def _fit_and_score(self, model: BaseEstimator, trial: Trial) -> float:
        rows = self._subsample(np.arange(len(self.y)), trial.fraction)
        fit_rows(model, take(self.X, rows), self.y[rows], part(self.along, rows))
        score = inner_score(model)
        if score is None:
            raise ValueError(
                'cv="own" needs an estimator that tunes itself and has a best_score_ after fit, '
                f"not {type(self.search.estimator).__name__}."
            )
        if trial.fraction == 1.0:
            found = (score, trial.params, model)
            self.kept.setdefault("first", found)
            if score > self.kept.setdefault("best", found)[0]:
                self.kept["best"] = found
        return score

    def _fold(self, model: BaseEstimator, train: Any, test: Any, fraction: float) -> list[float]:
        train = self._subsample(np.asarray(train), fraction)
        X, y = take(self.X, train), self.y[train]
        X_test, y_test = take(self.X, test), self.y[test]
        if self.axis is not None:
            return [self.scorer(one, X_test, y_test) for one in fit_along(model, self.values, X, y)]
        return [self.scorer(fit_rows(clone(model), X, y, part(self.along, train)), X_test, y_test)]

    def _subsample(self, rows: np.ndarray, fraction: float) -> np.ndarray:
        """A random fraction of the rows, all classes among them."""
        y = self.y[rows]
        classes = is_classifier(self.search.estimator)
        least = FEWEST_ROWS if not classes else max(FEWEST_ROWS, 5 * len(np.unique(y)))
        count = max(round(fraction * len(rows)), least)
        if fraction >= 1.0 or count >= len(rows):
            return rows
        rare = classes and np.unique(y, return_counts=True)[1].min() < 2
        keep = y if classes and not rare else None
        seed = self.search.random_state
        return train_test_split(rows, train_size=count, random_state=seed, stratify=keep)[0]

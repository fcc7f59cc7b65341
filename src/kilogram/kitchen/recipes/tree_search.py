"""Forests and boosted trees, tuned on the training rows.

    forest     many deep trees on resampled rows, averaged; judged by the rows each tree left out
    boosting   shallow trees, each fitted to what the sum of those before got wrong; judged by folds

They cut one column at a time, so jumps, thresholds and columns on odd scales cost them nothing,
where a linear or smooth function has to bend. If they win, that is the structure there is.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from kilogram.evaluation.search import Search
from kilogram.kitchen.costs import Costs, CostScore, least_cost, mean_cost
from kilogram.kitchen.features.direct_transform import validate_cells
from kilogram.kitchen.recipes.forests import ForestClassifier, ForestRegressor, MissingValueForest
from kilogram.kitchen.recipes.tree_predictions import predict_trees
from kilogram.kitchen.recipes.variance_score import AbsoluteScore, VarianceScore
from kilogram.models.boosting.hist_gradient_boosting import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

# Beyond so many rows boosting ends its rounds by a tenth of the rows kept aside, which must hold
# some of every class; elsewhere numbers of rounds are tried.
SHORT, FEW_OF_CLASS = 3000, 20
LEAVES = (1, 5)
# So many trees tell which size of leaf is best; the forest has all.
FEW_TREES, TREES = 30, 100
# Beyond so many rows one cut stands for three folds.
MANY_ROWS = 5000
# Rounds end when so many brought nothing, at the latest after the most.
PATIENCE, MOST_ROUNDS = 15, 1000
ROUNDS = [100, 200, 400]
BOOSTING = {
    "learning_rate": [0.05, 0.1],
    "max_leaf_nodes": [4, 8, 15, 31, 63],
    "min_samples_leaf": [3, 5, 10, 20, 60],
    "l2_regularization": [0.0, 1.0, 10.0],
    "max_features": [0.3, 0.5, 1.0],
}
START = {"learning_rate": 0.05, "max_iter": 200, "max_leaf_nodes": 31, "min_samples_leaf": 20,
         "l2_regularization": 1.0, "max_features": 0.5}  # fmt: skip
# Smaller trees on few rows.
SHORT_START = START | {"max_leaf_nodes": 15, "min_samples_leaf": 5}
# Other settings than these must be better by this part of a standard error.
MARGIN = 0.1


def tuning_margin(score: float, rows: int, scoring: str, factor: float = MARGIN) -> float:
    """What other settings must be better by: about `factor` standard errors of the score.

    `scoring` is "r2" (the error is a part of what is unexplained), "accuracy" (that of a fraction
    of rows), "log_loss" or "cost" (a part of the loss, the score being its negative).
    """
    loss = -score if scoring in ("log_loss", "cost") else max(1.0 - score, 0.0)
    return float(factor * (np.sqrt(loss) if scoring == "accuracy" else loss) / np.sqrt(rows))


class TreeSearch(BaseEstimator):
    """Base of the searches for classification and regression.

    Parameters
    ----------
    kind : {"forest", "boosting"}, default="forest"
    balanced : bool, default=False
        Every class weighs the same in fit and score. Classes only.
    costs : (classes, classes) matrix, default=()
        Settings are scored by the mean cost of the decisions. Classes 0, 1, ... only.
    method, trials : str, int
        How the parameters of boosting are searched.
    max_time : float or None, default=None
        Seconds after which the search goes no further.
    max_trials : int or None, default=None
        Settings after which it goes no further.
    random_state : int, default=0

    Attributes
    ----------
    best_score_, best_params_ : of the winner
    model_ : the fitted winner; in a file it is `arrays_` instead
    tried_ : how many settings were tried
    cut_short_ : whether a limit ended the search
    """

    loss: str

    def __init__(
        self,
        kind: str = "forest",
        *,
        balanced: bool = False,
        costs: Costs = (),
        method: str = "random",
        trials: int = 4,
        max_time: float | None = None,
        max_trials: int | None = None,
        random_state: int = 0,
    ):
        self.kind = kind
        self.balanced = balanced
        self.costs = costs
        self.method = method
        self.trials = trials
        self.max_time = max_time
        self.max_trials = max_trials
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None, moments: Any = None) -> Self:
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan",
                             y_numeric=is_regressor(self))  # fmt: skip
        if self.kind not in ("forest", "boosting"):
            raise ValueError(f'kind must be "forest" or "boosting", got {self.kind!r}.')
        if not is_regressor(self):
            self.classes_ = np.unique(y)
        dependent = groups is not None or moments is not None
        self.forest_ = self.kind == "forest"
        # drawn by weight, rows of a rare class are in nearly every tree: none is left to judge them
        if self.forest_ and not dependent and not self.balanced:
            return self._forest(X, y)
        # rounds end early by a part of the rows kept aside, which must be drawn at random
        fixed = dependent or len(y) <= SHORT or self._smallest_class(y) < FEW_OF_CLASS
        model: Any = self._grown(1, judged=False)
        space: Any = {"min_samples_leaf": list(LEAVES)}
        start: dict[str, Any] = {"min_samples_leaf": 1}
        if not self.forest_:
            model = self._boosted(patient=not fixed)
            space = BOOSTING | ({"max_iter": ROUNDS} if fixed else {})
            start = {name: (SHORT_START if len(y) <= SHORT else START)[name] for name in space}
        scoring, kind = self._scoring(y)
        search = Search(
            model,
            space,
            method="grid" if self.forest_ else self.method,
            n_iter=self.trials,
            cv=1 if len(y) > MANY_ROWS and not dependent else 3,
            scoring=scoring,
            max_time=self.max_time,
            max_trials=self.max_trials,
            random_state=self.random_state,
            start=(start,),
            margin=0.0 if self.forest_ else partial(tuning_margin, rows=len(y), scoring=kind),
        )
        search.fit(X, y, groups=groups, moments=moments)
        self.cut_short_ = search.cut_short_
        self.best_score_, self.best_params_ = search.best_score_, search.best_params_
        self.model_, self.tried_ = search.best_estimator_, len(search.trials_)
        if not self.forest_ and not fixed:  # as many rounds again, on all rows
            rounds = {"max_iter": int(self.model_.n_iter_)}
            self.model_ = clone(self.model_).set_params(early_stopping=False, **rounds).fit(X, y)
            self.best_params_ = self.best_params_ | rounds
        return self

    def _forest(self, X: np.ndarray, y: np.ndarray) -> Self:
        """The forest with the best out-of-bag score, by its first trees."""
        found = []
        for leaf in LEAVES:
            model = self._grown(leaf).set_params(n_estimators=FEW_TREES).fit(X, y)
            found.append((self._left_out(model, y), leaf))
        _, leaf = max(found, key=lambda one: one[0])
        self.model_ = self._grown(leaf).fit(X, y)
        self.best_score_ = self._left_out(self.model_, y)
        self.best_params_, self.tried_ = {"min_samples_leaf": leaf}, len(LEAVES)
        self.cut_short_ = False
        return self

    def _smallest_class(self, y: np.ndarray) -> float:
        """Rows of the smallest class; no limit for numbers."""
        if is_regressor(self):
            return np.inf
        return int(np.unique(y, return_counts=True)[1].min())

    def _left_out(self, model: BaseEstimator, y: np.ndarray) -> float:
        if is_regressor(self):
            return float(r2_score(y, np.nan_to_num(model.oob_prediction_, nan=y.mean())))
        votes = np.nan_to_num(model.oob_decision_function_)
        if self.costs:
            C = np.asarray(self.costs)
            return -mean_cost(y.astype(int), least_cost(votes, C[self.classes_.astype(int)]), C)
        return float(accuracy_score(y, self.classes_[np.argmax(votes, axis=1)]))

    def _grown(self, leaf: int, *, judged: bool = True) -> Any:
        parameters: dict[str, Any] = {"n_estimators": TREES, "min_samples_leaf": leaf,
                                "oob_score": judged, "random_state": self.random_state}  # fmt: skip
        if is_regressor(self):
            return ForestRegressor(max_features=0.5, **parameters)
        return ForestClassifier(class_weight="balanced" if self.balanced else None, **parameters)

    def _boosted(self, *, patient: bool = False) -> Any:
        parameters: dict[str, Any] = {"random_state": self.random_state, "early_stopping": patient}
        if patient:
            trees = 1 if is_regressor(self) or len(self.classes_) == 2 else len(self.classes_)
            most = max(MOST_ROUNDS // trees, ROUNDS[0])
            parameters |= {
                "n_iter_no_change": PATIENCE,
                "validation_fraction": 0.1,
                "max_iter": most,
            }
        if is_regressor(self):
            return HistGradientBoostingRegressor(loss=f"{self.loss}_error", **parameters)
        weight = "balanced" if self.balanced else None
        return HistGradientBoostingClassifier(class_weight=weight, **parameters)

    def _scoring(self, y: np.ndarray) -> tuple[Any, str]:
        """The score of the settings, and what its standard error follows from."""
        if is_regressor(self):
            return (AbsoluteScore if self.loss == "absolute" else VarianceScore).of(y), "r2"
        if self.costs:
            return CostScore(self.costs), "cost"
        if self.balanced:
            return "balanced_accuracy", "accuracy"
        return ("accuracy", "accuracy") if self.forest_ else (log_loss_score, "log_loss")

    def _validated(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "model_")
        return validate_cells(self, X)

    def _raw(self, X: Any) -> np.ndarray:
        """(n, columns) predictions of the trees: numbers, fractions of votes, or raw scores."""
        X = self._validated(X)
        if self.model_ is None:
            return predict_trees(self.arrays_, X)
        if isinstance(self.model_, ForestClassifier):
            return self.model_.predict_proba(X)
        if isinstance(self.model_, HistGradientBoostingClassifier):
            return np.reshape(self.model_.decision_function(X), (len(X), -1))
        return self.model_.predict(X)[:, None]

    def __getstate__(self) -> dict[str, Any]:
        """With trees as plain arrays: nothing compiled goes into a file."""
        state = super().__getstate__()
        model = state.get("model_")
        if model is None:
            return state
        arrays = (
            model.arrays() if isinstance(model, MissingValueForest) else model.ensemble_.arrays()
        )
        return state | {"model_": None, "arrays_": arrays}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def log_loss_score(model: HistGradientBoostingClassifier, X: Any, y: Any) -> float:
    """A scorer: the mean logarithm of the probability of the observed class, none below 1e-6."""
    P = np.maximum(model.predict_proba(X), 1e-6)
    known = np.minimum(np.searchsorted(model.classes_, y), len(model.classes_) - 1)
    own = np.where(model.classes_[known] == y, P[np.arange(len(y)), known], 1e-6)
    return float(np.mean(np.log(own)))


class TreeSearchRegressor(RegressorMixin, TreeSearch):
    """A forest or boosted trees for a number.

    `loss` is what boosting minimises and is tuned by: "squared" or "absolute" errors; a forest
    predicts means. Other parameters: see TreeSearch.
    """

    def __init__(
        self,
        kind: str = "forest",
        *,
        loss: str = "squared",
        method: str = "random",
        trials: int = 4,
        max_time: float | None = None,
        max_trials: int | None = None,
        random_state: int = 0,
    ):
        super().__init__(kind, method=method, trials=trials, max_time=max_time,
                         max_trials=max_trials, random_state=random_state)  # fmt: skip
        self.loss = loss

    def predict(self, X: Any) -> np.ndarray:
        return self._raw(X)[:, 0]


class TreeSearchClassifier(ClassifierMixin, TreeSearch):
    """A forest or boosted trees for classes. Parameters: see TreeSearch."""

    def predict(self, X: Any) -> np.ndarray:
        F = self.decision_function(X)
        return self.classes_[(F > 0).astype(int) if F.ndim == 1 else np.argmax(F, axis=1)]

    def decision_function(self, X: Any) -> np.ndarray:
        """(n, classes) logarithms of chances, or for two classes (n,): positive for the second."""
        F = self._raw(X)
        if self.forest_:
            # 0 and 1 where all trees agree: one vote in a thousand against it
            F = np.log(np.clip(F, 1e-3, None))
            return F[:, 1] - F[:, 0] if F.shape[1] == 2 else F
        return F[:, 0] if F.shape[1] == 1 else F

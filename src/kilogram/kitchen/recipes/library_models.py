"""Recipes by name: methods of the library on the features of the linear recipe.

    lasso, elastic_net   few columns; the penalty by the folds of the estimator itself
    ordinal              ordered classes by cumulative logits; the penalty searched
    logistic             logistic regression; the penalty by folds
    poisson              counts and other non-negative targets; the penalty searched
    huber                robust against outliers of the target
    naive_bayes, knn     independent columns; the nearest rows, k searched
    svm                  Gaussian kernel; C searched
    network              one hidden layer; size and penalty searched
    boosting             of quantiles and counts; the learning rate and the leaves searched

Some are on the default menu (`kilogram.kitchen.recipes.menu`), all can be named by `--recipes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from kilogram.evaluation.search import Search
from kilogram.kitchen.costs import CostScore
from kilogram.kitchen.measures import BALANCED, Measure
from kilogram.kitchen.recipes.cumulative_logit import CumulativeLogit
from kilogram.kitchen.recipes.variance_score import VarianceScore
from kilogram.kitchen.settings import SearchMethod

# One confident error must not decide an ensemble: it costs log(1000) = 7 at most.
LEAST_PROBABILITY = 1e-3
# Name -> title, description, tasks.
LIBRARY = {
    "naive_bayes": ("Naive Bayes", "Gaussian naive Bayes.", ("classification",)),
    "lasso": ("Lasso", "Lasso; penalty by cross-validation.", ("regression",)),
    "elastic_net": ("Elastic net", "Elastic net; penalties by cross-validation.", ("regression",)),
    "poisson": ("Poisson", "Poisson regression of a non-negative target; penalty is searched.",
                ("regression",)),
    "huber": ("Huber", "Linear regression with Huber's loss.", ("regression",)),
    "ordinal": ("Ordinal", "Cumulative logit (proportional odds) regression of ordered classes; "
                "penalty is searched.", ("classification",)),
    "logistic": ("Logistic", "Logistic regression; penalty by cross-validation.",
                 ("classification",)),
    "knn": ("Nearest neighbours", "Mean or vote of the nearest rows; their number is searched.",
            ("regression", "classification")),
    "svm": ("Support vectors", "Support vector machine with a Gaussian kernel; C is searched.",
            ("regression", "classification")),
    "network": ("Network", "Network of one hidden layer; its size and penalty are searched.",
                ("regression", "classification")),
    "boosting": ("Boosting", "Gradient boosted trees; learning rate and leaves are searched.",
                 ("regression", "classification")),
}  # fmt: skip


def library_pipeline(
    name: str, columns: Any, tree_columns: Any, measure: Measure, y: np.ndarray, seed: int,
    method: SearchMethod, max_time: float | None,
) -> Any:  # fmt: skip
    """The pipeline of a named method, inside a search where it has something to search."""
    regression = measure.task == "regression"
    model, space = _model(name, regression, len(y), seed, balanced=measure.name in BALANCED)
    if name == "boosting" and measure.name == "poisson_deviance":
        model.set_params(loss="poisson")
    if name == "logistic" and measure.costs:
        model.set_params(scoring=CostScore(measure.costs))
    if measure.quantile is not None:
        model, space = _quantile_model(name, measure.quantile, seed)
    step = tree_columns if name == "boosting" else columns
    pipeline = Pipeline([("columns", step), ("model", model)])
    if not space or method == "path":
        return pipeline
    scoring: Any = VarianceScore.of(y) if regression else "accuracy"
    if measure.quantile is not None or measure.name == "poisson_deviance":
        scoring = LossScore(measure.function)
    if not regression and measure.name in BALANCED:
        scoring = "balanced_accuracy"
    if measure.costs:
        scoring = CostScore(measure.costs)
    return Search(pipeline, {f"model__{key}": values for key, values in space.items()},
                  method="random", n_iter=TRIALS, cv=3, scoring=scoring, max_time=max_time,
                  random_state=seed)  # fmt: skip


TRIALS = 6  # random settings: the defaults of library models are good, and each costs three fits
# Rows up to which L-BFGS on all of them is quick: 2 000 x 20 units, 1 ms an iteration.
SHORT_NETWORK = 2000


@dataclass(frozen=True)
class RareClassFolds:
    """Folds that every class is among the training rows of, if it has only one row or two.

    The rows of each class are dealt to the folds in turn; a class of one row is never left out.
    """

    folds: int = 3
    seed: int = 0

    def split(
        self, X: Any, y: np.ndarray, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Training and test rows."""
        order = np.random.default_rng(self.seed).permutation(len(y))
        fold = np.full(len(y), -1)
        dealt = 0
        for label in np.unique(y):
            rows = order[y[order] == label]
            if len(rows) > 1:
                fold[rows] = (dealt + np.arange(len(rows))) % self.folds
                dealt += len(rows)
        for k in range(self.folds):
            if np.any(fold == k):
                yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.folds


@dataclass(frozen=True)
class LossScore:
    """A scorer: a loss of observed and predicted values, negated."""

    loss: Callable[[np.ndarray, np.ndarray], float]

    def __call__(self, model: BaseEstimator, X: Any, y: Any) -> float:
        return -self.loss(np.asarray(y), model.predict(X))


def _quantile_model(name: str, q: float, seed: int) -> tuple[Any, dict[str, list[Any]]]:
    """Boosting or linear regression for a quantile, and what is searched."""
    import kilogram as kg

    if name == "boosting":
        model = kg.HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=seed)
        return model, {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 15, 31],
                       "min_samples_leaf": [5, 20]}  # fmt: skip
    return kg.QuantileRegressor(quantile=q), {"alpha": [0.0, 1e-3, 1e-2, 1e-1, 1.0]}


def _model(
    name: str, regression: bool, rows: int, seed: int, *, balanced: bool
) -> tuple[Any, dict[str, list[Any]]]:
    """The estimator and what is searched."""
    import kilogram as kg

    weight = "balanced" if balanced else None
    if name == "naive_bayes":
        return kg.GaussianNB(), {}
    if name == "lasso":
        return kg.LassoCV(cv=5, max_iter=20_000), {}
    if name == "elastic_net":
        return kg.ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9, 1.0], cv=5, max_iter=20_000), {}
    if name == "poisson":
        return kg.PoissonRegressor(max_iter=1000), {"alpha": [1e-4, 1e-2, 0.1, 1.0, 10.0]}
    if name == "huber":
        return kg.HuberRegressor(max_iter=1000), {"alpha": [1e-4, 1e-2, 1.0, 100.0]}
    if name == "ordinal":
        return CumulativeLogit(), {"alpha": [1e-4, 1e-3, 1e-2, 0.1, 1.0]}
    if name == "logistic":
        return kg.LogisticRegressionCV(cv=RareClassFolds(seed=seed), class_weight=weight), {}
    if name == "knn":
        # learning curves fit on an eighth of half the rows, less an inner fold
        counts = [k for k in (1, 3, 5, 10, 20, 50) if k <= max(5, rows / 25)]
        neighbors = kg.KNeighborsRegressor if regression else kg.KNeighborsClassifier
        return neighbors(), {"n_neighbors": counts, "weights": ["uniform", "distance"]}
    if name == "svm":
        values: dict[str, list[Any]] = {"C": [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]}
        return (kg.SVR(), values) if regression else (kg.SVC(class_weight=weight), values)
    if name == "network":
        return _network(regression, rows, seed)
    searched: dict[str, list[Any]] = {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 15, 31],
                                "min_samples_leaf": [5, 20]}  # fmt: skip
    if regression:
        return kg.HistGradientBoostingRegressor(random_state=seed), searched
    return kg.HistGradientBoostingClassifier(class_weight=weight, random_state=seed), searched


def _network(regression: bool, rows: int, seed: int) -> tuple[Any, dict[str, list[Any]]]:
    """A small network: L-BFGS with few rows, Adam with early stopping with more."""
    import kilogram as kg

    settings: dict[str, Any]
    space: dict[str, list[Any]]
    if rows <= SHORT_NETWORK:
        settings = {"hidden_layer_sizes": (20,), "activation": "tanh", "solver": "lbfgs",
                    "alpha": 1.0, "max_iter": 2000, "random_state": seed}  # fmt: skip
        space = {"hidden_layer_sizes": [(5,), (20,), (50,)], "alpha": [0.03, 0.3, 1.0, 3.0, 30.0]}
    else:
        settings = {"hidden_layer_sizes": (100,), "alpha": 1e-3, "early_stopping": True,
                    "max_iter": 500, "random_state": seed}  # fmt: skip
        space = {"hidden_layer_sizes": [(10,), (30,), (100,)], "alpha": [1e-3, 0.1, 1.0, 10.0]}
    if not regression:
        return kg.MLPClassifier(**settings), space
    model = TransformedTargetRegressor(kg.MLPRegressor(**settings), transformer=StandardScaler())
    return model, {f"regressor__{key}": values for key, values in space.items()}


def class_scores(model: BaseEstimator, X: Any) -> np.ndarray:
    """Decision values of a classifier, or logarithms of its probabilities."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    return np.log(np.maximum(model.predict_proba(X), LEAST_PROBABILITY))

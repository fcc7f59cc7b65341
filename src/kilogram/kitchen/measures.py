"""The measures that recipes are evaluated by, and the one chosen for a task.

    R^2                 1 - sum (y - f)^2 / sum (y - mean)^2; 0: as good as the mean, 1: perfect
    accuracy            fraction of correct predictions
    balanced accuracy   mean over the classes of their recall

Regression uses R^2. Classification uses accuracy, but balanced accuracy when one class holds more
than 80 % of the rows: there always predicting it would already have a high accuracy. Ordered
classes use the mean distance of observed and predicted class, given costs their mean; both decide
by the least expected cost. Any other measure of the task can be asked for. Measures of
probabilities, and decisions by costs, use the probabilities that the other folds calibrate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import stats
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    matthews_corrcoef,
    mean_absolute_error,
    mean_absolute_percentage_error,
    median_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from kilogram.evaluation.confusion_matrix import accuracy, balanced_accuracy
from kilogram.evaluation.ranking import auc, average_precision
from kilogram.evaluation.regression_metrics import r_squared
from kilogram.kitchen.costs import Costs, mean_cost, read_costs, steps
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.formatting import percent
from kilogram.kitchen.question import Question, Task

MOSTLY = 0.8  # of the rows: accuracy would be that of the constant prediction; our choice
TINY = 1e-12  # the logarithm of a probability of 0
TOP = 3  # of top-3 accuracy
# With more classes the area under the ROC curve, a ranking for each of them, is left out beside
# other measures: with 500 classes it took most of the time of a run.
MANY_CLASSES = 30
# Measures in which every class weighs the same.
BALANCED = ("balanced_accuracy", "f1")

Function = Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class Measure:
    """A score: larger is better, unless `of_error`; `low` and `high` are its bounds.

    `function` takes the observed values and what `of` names: the predictions, or the (n, classes)
    probabilities. With `costs` the predicted class is that of least expected cost.
    """

    name: str
    title: str
    meaning: str
    function: Function
    task: Task
    low: float = 0.0
    high: float = 1.0
    of_error: bool = False
    of: Literal["predictions", "probabilities"] = "predictions"
    quantile: float | None = None
    costs: Costs = ()

    @property
    def sign(self) -> int:
        """1 where larger is better, -1 where smaller is."""
        return -1 if self.of_error else 1


def poisson_deviance(y: np.ndarray, f: np.ndarray) -> float:
    """Mean of 2 (y log(y / f) - y + f) for counts y; predictions below a millionth are raised."""
    y, f = np.asarray(y, dtype=float), np.maximum(np.asarray(f, dtype=float), 1e-6)
    logs = np.where(y > 0, y * np.log(np.maximum(y, TINY) / f), 0.0)
    return float(np.mean(2 * (logs - y + f)))


def pinball(y: np.ndarray, f: np.ndarray, q: float) -> float:
    """Mean of q (y - f) above the prediction and (1 - q) (f - y) below it."""
    error = np.asarray(y, dtype=float) - np.asarray(f, dtype=float)
    return float(np.mean(np.where(error > 0, q * error, (q - 1) * error)))


def concordance(y: np.ndarray, f: np.ndarray) -> float:
    """Fraction of pairs in the right order, ties counting half, from Kendall's tau."""
    tau = stats.kendalltau(y, f).statistic if np.ptp(y) > 0 and np.ptp(f) > 0 else 0.0
    return float((1 + tau) / 2)


def roc_area(y: np.ndarray, P: np.ndarray) -> float:
    """Area under the ROC curve; of more than two classes the mean over one against the rest."""
    return _over_classes(y, P, auc)


def mean_precision(y: np.ndarray, P: np.ndarray) -> float:
    """Average precision of the rarer of two classes; of more the mean over all."""
    if P.shape[1] == 2:
        rare = int(np.argmin(np.bincount(y, minlength=2)))
        return _area(y, P, rare, average_precision)
    return _over_classes(y, P, average_precision)


def class_distance(y: np.ndarray, f: np.ndarray) -> float:
    """Mean number of classes between observed and predicted position."""
    return float(np.mean(np.abs(np.asarray(y, dtype=int) - np.asarray(f, dtype=int))))


def quadratic_kappa(y: np.ndarray, f: np.ndarray) -> float:
    """1 - mean (y - f)^2 over what independent y and f of the same frequencies would have."""
    y, f = np.asarray(y, dtype=float), np.asarray(f, dtype=float)
    chance = float(np.var(y) + np.var(f) + (y.mean() - f.mean()) ** 2)
    return 1.0 - float(np.mean((y - f) ** 2)) / chance if chance > 0 else 0.0


def log_loss(y: np.ndarray, P: np.ndarray) -> float:
    """Mean of -log of the probability of the observed class."""
    return float(-np.mean(np.log(np.maximum(P[np.arange(len(y)), y], TINY))))


def brier(y: np.ndarray, P: np.ndarray) -> float:
    """Mean squared distance of the probabilities from the observed class; of two, of the second."""
    if P.shape[1] == 2:
        return float(np.mean((P[:, 1] - y) ** 2))
    return float(np.mean(np.sum((P - np.eye(P.shape[1])[y]) ** 2, axis=1)))


def top_accuracy(y: np.ndarray, P: np.ndarray) -> float:
    """Fraction of rows whose class is among the three most probable."""
    own = P[np.arange(len(y)), y][:, None]
    return float(np.mean((own < P).sum(axis=1) < TOP))


def _over_classes(y: np.ndarray, P: np.ndarray, area: Callable[..., float]) -> float:
    if P.shape[1] == 2:
        return _area(y, P, 1, area)
    return float(np.mean([_area(y, P, k, area) for k in range(P.shape[1]) if np.any(y == k)]))


def _area(y: np.ndarray, P: np.ndarray, k: int, area: Callable[..., float]) -> float:
    real = y == k
    if real.all() or not real.any():
        return math.nan
    return float(area(real.astype(int), P[:, k]))


def _macro_f1(y: np.ndarray, f: np.ndarray) -> float:
    return float(f1_score(y, f, average="macro", zero_division=0.0))


def _quick_f1(y: np.ndarray, f: np.ndarray) -> float:
    """Macro F1 from counts: 2 hits / (observed + predicted), averaged over the classes."""
    count = int(max(y.max(), f.max())) + 1
    hits = np.bincount(y[y == f], minlength=count)
    both = np.bincount(y, minlength=count) + np.bincount(f, minlength=count)
    return float(np.mean(2 * hits[both > 0] / both[both > 0]))


_REGRESSION = (
    Measure(
        "r2", "R²",
        "fraction of the variance of the target that is explained: 0 is no better than the mean, "
        "1 is perfect",
        r2_score, "regression", low=-math.inf,
    ),
    Measure(
        "mean_absolute_error", "mean absolute error",
        "mean of |observed − predicted|, in units of the target",
        mean_absolute_error, "regression", high=math.inf, of_error=True,
    ),
    Measure(
        "root_mean_squared_error", "root mean squared error",
        "like the mean absolute error, with more weight on large errors",
        root_mean_squared_error, "regression", high=math.inf, of_error=True,
    ),
    Measure(
        "median_absolute_error", "median absolute error",
        "half of the rows have a smaller |observed − predicted|, half a larger one",
        median_absolute_error, "regression", high=math.inf, of_error=True,
    ),
    Measure(
        "mean_absolute_percentage_error", "mean absolute percentage error",
        "mean of |observed − predicted| / |observed|",
        mean_absolute_percentage_error, "regression", high=math.inf, of_error=True,
    ),
    Measure(
        "poisson_deviance", "Poisson deviance",
        "for counts: mean of 2 (y log(y/f) − y + f), 0 is perfect",
        poisson_deviance, "regression", high=math.inf, of_error=True,
    ),
    Measure(
        "concordance", "concordance",
        "fraction of pairs of rows that are predicted in the right order; 0.5 is chance",
        concordance, "regression",
    ),
)  # fmt: skip
_CLASSIFICATION = (
    Measure("accuracy", "accuracy", "fraction of correct predictions", accuracy_score,
            "classification"),
    Measure(
        "balanced_accuracy", "balanced accuracy",
        "mean recall of the classes, so that rare classes count as much as frequent ones",
        balanced_accuracy_score, "classification",
    ),
    Measure("f1", "F1", "harmonic mean of precision and recall, averaged over the classes",
            _macro_f1, "classification"),
    Measure("mcc", "Matthews correlation",
            "correlation of observed and predicted classes; 0 is chance, 1 is perfect",
            matthews_corrcoef, "classification", low=-1.0),
    Measure("roc_auc", "area under the ROC curve",
            "probability that a row of a class is ranked above a row of another; 0.5 is chance",
            roc_area, "classification", of="probabilities"),
    Measure("average_precision", "average precision",
            "area under the precision-recall curve of the rarer class",
            mean_precision, "classification", of="probabilities"),
    Measure("log_loss", "log-loss", "mean of −log of the probability of the observed class",
            log_loss, "classification", high=math.inf, of_error=True, of="probabilities"),
    Measure("brier", "Brier score", "mean squared error of the probabilities",
            brier, "classification", high=2.0, of_error=True, of="probabilities"),
    Measure("ordinal_error", "mean class distance",
            "for ordered classes: mean number of steps between observed and predicted class",
            class_distance, "classification", high=math.inf, of_error=True),
    Measure("quadratic_kappa", "quadratic weighted kappa",
            "for ordered classes: agreement beyond chance, errors weighted by their squared number "
            "of steps; 0 is chance, 1 is perfect",
            quadratic_kappa, "classification", low=-1.0),
    Measure("top_3_accuracy", "top-3 accuracy",
            "fraction of rows whose class is among the three most probable",
            top_accuracy, "classification", of="probabilities"),
)  # fmt: skip
MEASURES = {measure.name: measure for measure in (*_REGRESSION, *_CLASSIFICATION)}
# Short names that people type.
ALIASES = {
    "mae": "mean_absolute_error",
    "rmse": "root_mean_squared_error",
    "mape": "mean_absolute_percentage_error",
    "medae": "median_absolute_error",
    "auc": "roc_auc",
    "ap": "average_precision",
    "ordinal_mae": "ordinal_error",
    "qwk": "quadratic_kappa",
    "kappa": "quadratic_kappa",
}
# Measures of ordered classes, and the power of the distance that their decisions minimise.
ORDERED = {"ordinal_error": 1, "quadratic_kappa": 2}  # fmt: skip
# Shown beside any other measure of the task.
_SIDES = ("r2", "mean_absolute_error", "root_mean_squared_error", "accuracy", "balanced_accuracy",
          "roc_auc", "log_loss")  # fmt: skip


QUANTILE_LOSS = "quantile_loss_"
COST = "cost"


def cost_measure(costs: Costs) -> Measure:
    """The mean cost of the predictions by these costs."""
    most = max(max(row) for row in costs)
    return Measure(
        COST, "cost per row",
        "mean cost of a prediction by the given costs; the class of least expected cost is "
        "predicted",
        partial(mean_cost, costs=costs), "classification",
        high=most, of_error=True, costs=costs,
    )  # fmt: skip


def measure_named(name: str, costs: Any = None) -> Measure:
    """A measure by its name; the quantile loss has its quantile there: quantile_loss_0.9.

    `costs` are those that its decisions minimise, where a model has some.
    """
    if costs is not None:
        given = tuple(tuple(float(cost) for cost in row) for row in costs)
        return cost_measure(given) if name == COST else replace(MEASURES[name], costs=given)
    if not name.startswith(QUANTILE_LOSS):
        return MEASURES[name]
    try:
        q = float(name.removeprefix(QUANTILE_LOSS))
    except ValueError:
        q = math.nan
    if not 0 < q < 1:
        raise KitchenError(
            f"quantile must be a float in (0, 1), got {name.removeprefix(QUANTILE_LOSS)}."
        )
    return Measure(
        name, f"{q:g} quantile loss",
        f"mean of {q:g} (observed − predicted) where the observed value is larger, else "
        f"{1 - q:g} (predicted − observed)",
        partial(pinball, q=q), "regression", high=math.inf, of_error=True, quantile=q,
    )  # fmt: skip


def choose_measure(
    question: Question, wanted: str | None = None, cost: Any = None
) -> tuple[Measure, str]:
    """The measure for the task, and the reason; `cost` as `kilogram.kitchen.costs` reads it."""
    if cost is not None:
        return _by_cost(question, wanted, cost), "costs were given"
    if wanted is not None:
        return _named_measure(question, ALIASES.get(wanted, wanted)), "as requested"
    if question.task == "regression":
        return MEASURES["r2"], "the target is a number"
    if question.ordered:
        return _named_measure(question, "ordinal_error"), "the classes are ordered"
    largest = float(np.bincount(question.y).max() / len(question.y))
    if largest > MOSTLY:
        why = f"{percent(largest)} of the rows are of one class, so accuracy would be misleading"
        return MEASURES["balanced_accuracy"], why
    return MEASURES["accuracy"], "no class dominates"


def _by_cost(question: Question, wanted: str | None, cost: Any) -> Measure:
    if wanted not in (None, COST):
        raise KitchenError("Give costs or a measure, not both: the measure is then the cost.")
    if question.task != "classification":
        raise KitchenError(
            f"Costs are for classes, but {question.target!r} is a number. For other costs of too "
            "high and too low predictions use --quantile."
        )
    rare = int(np.argmin(np.bincount(question.y)))
    return cost_measure(read_costs(cost, question.classes, rare))


def _named_measure(question: Question, name: str) -> Measure:
    """The measure of this name, or an error if it does not suit the target."""
    if name == COST:
        raise KitchenError("The measure cost needs the costs: give --cost.")
    if name in ORDERED and question.task == "classification":
        if not question.ordered:
            raise KitchenError(
                f"{name} is for ordered classes: use --task ordinal, with their order as --ordinal "
                f"{question.target}=LOWEST,...,HIGHEST where it cannot be detected."
            )
        return replace(MEASURES[name], costs=steps(len(question.classes), ORDERED[name]))
    names = [m.name for m in MEASURES.values() if m.task == question.task]
    if name.startswith(QUANTILE_LOSS) and question.task == "regression":
        return measure_named(name)
    if name not in names:
        raise KitchenError(
            f"measure must be one of {', '.join(names)} for a {question.task} task, got {name!r}."
        )
    y = question.y
    if name == "mean_absolute_percentage_error" and np.any(y == 0):
        raise KitchenError(
            f"{name} is undefined for {question.target!r}, which is 0 in {np.sum(y == 0)} rows."
        )
    if name == "poisson_deviance" and np.any(y < 0):
        raise KitchenError(f"{name} needs counts, but {question.target!r} has negative values.")
    if name == "top_3_accuracy" and len(question.classes) <= TOP:
        raise KitchenError(
            f"{name} needs more than {TOP} classes, {question.target!r} has "
            f"{len(question.classes)}."
        )
    return MEASURES[name]


def side_measures(measure: Measure, classes: int = 2) -> tuple[Measure, ...]:
    """Other measures of the same task, reported beside the main one."""
    names = (*ORDERED, *_SIDES) if measure.name in ORDERED else _SIDES
    if classes > MANY_CLASSES:
        names = tuple(name for name in names if name != "roc_auc")
    return tuple(m for m in (MEASURES[name] for name in names)
                 if m.task == measure.task and m.name != measure.name)  # fmt: skip


def of_predictions(measure: Measure) -> Measure:
    """The measure itself, or for one of probabilities the nearest one of predicted classes."""
    return measure if measure.of == "predictions" else MEASURES["balanced_accuracy"]


# Some of the same measures without scikit-learn's checks, for a thousand calls in a row.
_QUICK: dict[str, Function] = {
    "r2": r_squared,
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "f1": _quick_f1,
    "log_loss": log_loss,
    "brier": brier,
    "mean_absolute_error": lambda y, f: float(np.mean(np.abs(y - f))),
    "root_mean_squared_error": lambda y, f: math.sqrt(float(np.mean((y - f) ** 2))),
    "median_absolute_error": lambda y, f: float(np.median(np.abs(y - f))),
    "mean_absolute_percentage_error": lambda y, f: float(np.mean(np.abs(y - f) / np.abs(y))),
}


def is_quick(measure: Measure) -> bool:
    """Can it be computed thousands of times?"""
    return measure.name in _QUICK or measure.quantile is not None or bool(measure.costs)


def quick(measure: Measure) -> Function:
    """The function of a measure for many calls."""
    return _QUICK.get(measure.name, measure.function)

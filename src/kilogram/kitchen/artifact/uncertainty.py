"""What a model file holds beside the pipeline: the uncertainty of its predictions.

errors        absolute errors on held-out rows, for conformal intervals     (regression)
local         trees of the expected error, where it varies from row to row   (regression)
scale, shifts calibration of the decision values to probabilities           (classification)
costs         of each class predicted where another is observed, if given   (classification)
distribution  mean, covariance and ranges of the training rows, to detect out-of-distribution rows
examples      some training rows, to show beside new ones
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from kilogram.evaluation.conformal import conformal_quantile
from kilogram.evaluation.threshold import probability_threshold
from kilogram.kitchen.artifact import example_rows, out_of_distribution
from kilogram.kitchen.artifact.model import Model, probabilities
from kilogram.kitchen.costs import least_cost
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.features.direct_transform import transform
from kilogram.kitchen.judge.compare import EvaluatedRecipe
from kilogram.kitchen.judge.evidence import held_out_predictions
from kilogram.kitchen.judge.local_scale import expected_error, fit_scale
from kilogram.kitchen.judge.prediction_checks import scaling
from kilogram.kitchen.recipes.ensemble import Ensemble
from kilogram.kitchen.recipes.library_models import class_scores

# Absolute errors kept; more are replaced by as many quantiles, 0.05 % apart: intervals of 99 %
# still have 20 beyond them.
MAX_ERRORS = 2000


@dataclass(frozen=True)
class PredictionDetails:
    """Predictions for (n, d) cells, with intervals or probabilities, and out-of-distribution rows.

    `outside` marks the cells beyond the range of their column in the training rows.
    """

    values: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    probability: np.ndarray | None
    out_of_distribution: np.ndarray
    outside: np.ndarray
    probabilities: np.ndarray | None = None

    def part(self, rows: slice) -> PredictionDetails:
        """The uncertainty of some of the rows."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: a[rows] for name, a in every.items() if a is not None})


def usage(
    kept: EvaluatedRecipe, X: np.ndarray, pipeline: Pipeline, *, examples: bool = True
) -> dict[str, Any]:
    """The uncertainty of the kept recipe from its held-out predictions; `examples` keeps rows."""
    held_out = held_out_predictions(kept, X)
    found: dict[str, Any] = {}
    if kept.measure.quantile is not None:
        pass  # a quantile is no centre of an interval
    elif kept.measure.task == "regression":
        errors = np.abs(held_out.truth - held_out.prediction)
        sigma, local = fit_scale(X[held_out.rows], held_out.prediction, errors)
        if local:
            found["local"] = local
        errors = np.sort(errors / sigma)
        if len(errors) > MAX_ERRORS:
            errors = np.quantile(errors, np.linspace(0, 1, MAX_ERRORS))
        found["errors"] = errors
    else:
        scaled = scaling(kept, held_out)
        if scaled is not None:
            found |= {"scale": scaled.scale, "shifts": scaled.shifts}
        if kept.measure.costs:
            found["costs"] = np.asarray(kept.measure.costs)
    found["distribution"] = out_of_distribution.describe(X, features(pipeline, X))
    if examples:
        found["examples"] = example_rows.sample(X, kept.y)
    return found


def features(pipeline: Pipeline, X: np.ndarray) -> Any:
    """The features that the last step of a pipeline gets; the baseline gets none."""
    last = pipeline[-1]
    if isinstance(last, Ensemble):  # those of its heaviest member
        return features(last.members_[int(np.argmax(last.weights_))], X)
    if len(pipeline) == 1:
        return np.zeros((len(X), 1))
    for _, step in pipeline.steps[:-1]:
        X = transform(step, X)
    return X


def predict_with_details(
    model: Model, X: np.ndarray, coverage: float, threshold: float | None = None
) -> PredictionDetails:
    """Predictions with intervals or probabilities, and out-of-distribution flags.

    Of two classes, the rarer one is predicted where its probability is at least `threshold`.
    """
    Z = features(model.pipeline, X)
    last = model.pipeline[-1]
    inner = X if len(model.pipeline) == 1 else Z
    values = last.predict(inner)
    use = model.use
    low = high = probability = P = None
    if "errors" in use:
        q = conformal_quantile(use["errors"], coverage) * expected_error(
            use.get("local", {}), X, values
        )
        low, high = values - q, values + q
    if "scale" in use:
        P = probabilities(model, class_scores(last, inner))
        if "costs" in use:
            values = least_cost(P, use["costs"])
        if threshold is not None:
            rare = positive_class(model)
            values = np.where(P[:, rare] >= threshold, rare, 1 - rare)
        probability = P[np.arange(len(P)), values]
    elif threshold is not None:
        raise KitchenError("This model has no probabilities, so there is no threshold of them.")
    if "distribution" not in use:
        nothing = np.zeros(len(X), dtype=bool)
        return PredictionDetails(
            values, low, high, probability, nothing, np.zeros(X.shape, dtype=bool), P
        )
    return PredictionDetails(
        values,
        low,
        high,
        probability,
        out_of_distribution.distances(use["distribution"], Z) > 1,
        out_of_distribution.outside_range(use["distribution"], X),
        P,
    )


def positive_class(model: Model) -> int:
    """Position of the class that thresholds and costs are about: the rarer of two."""
    if len(model.classes) != 2:
        raise KitchenError(
            f"A threshold is for two classes; {model.target!r} has "
            f"{len(model.classes) or 'no'} classes."
        )
    return int(model.about.get("positive", 1))


def cost_threshold(costs: str, threshold: float | None = None) -> float:
    """The threshold of least expected cost for "false alarm,miss", such as "1,5"."""
    if threshold is not None:
        raise KitchenError("Give a threshold or costs, not both.")
    try:
        false_alarm, miss = (float(part) for part in costs.split(","))
        return probability_threshold(false_alarm, miss)
    except ValueError:
        raise KitchenError(
            f"cost must be two positive numbers such as 1,5 (false alarm, miss), got {costs!r}."
        ) from None

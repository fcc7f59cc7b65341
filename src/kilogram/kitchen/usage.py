"""What a model file holds beside the pipeline, so that its answers can be used with care.

errors     sizes of the errors on held-out rows, for intervals         (numbers)
scale      and shifts that make probabilities of margins               (classes)
familiar   what training rows looked like, to know rows that do not
remembered some of them, to show beside new ones
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from kilogram.evaluation.conformal import conformal_quantile
from kilogram.evaluation.scaling import Scaling
from kilogram.kitchen import familiar, remembered
from kilogram.kitchen.evidence import answers
from kilogram.kitchen.judge import Judged
from kilogram.kitchen.model import Model
from kilogram.kitchen.trust import scaling

# Sizes of errors kept; more are thinned to as many quantiles.
MAX_ERRORS = 2000


@dataclass(frozen=True)
class Careful:
    """Answers for (n, d) cells: intervals or probabilities, and which rows look unlike."""

    values: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    probability: np.ndarray | None
    unlike: np.ndarray
    beyond: np.ndarray


def usage(
    kept: Judged, X: np.ndarray, pipeline: Pipeline, *, examples: bool = True
) -> dict[str, Any]:
    """Of the recipe that is kept, from its held-out answers; `examples` are rows of the table."""
    said = answers(kept, X)
    found: dict[str, Any] = {}
    if kept.measure.task == "regression":
        errors = np.sort(np.abs(said.truth - said.prediction))
        if len(errors) > MAX_ERRORS:
            errors = np.quantile(errors, np.linspace(0, 1, MAX_ERRORS))
        found["errors"] = errors
    else:
        scaled = scaling(kept, said)
        if scaled is not None:
            found |= {"scale": scaled.scale, "shifts": scaled.shifts}
    found["familiar"] = familiar.describe(X, features(pipeline, X))
    if examples:
        found["remembered"] = remembered.keep(X, kept.y)
    return found


def features(pipeline: Pipeline, X: np.ndarray) -> Any:
    """What the model of a pipeline sees; the baseline sees nothing."""
    if len(pipeline) == 1:
        return np.zeros((len(X), 1))
    return pipeline[:-1].transform(X)


def careful(model: Model, X: np.ndarray, coverage: float) -> Careful:
    """Answers with what the model file knows about their worth."""
    Z = features(model.pipeline, X)
    last = model.pipeline[-1]
    inner = X if len(model.pipeline) == 1 else Z
    values = last.predict(inner)
    use = model.use
    low = high = probability = None
    if "errors" in use:
        q = conformal_quantile(use["errors"], coverage)
        low, high = values - q, values + q
    if "scale" in use:
        P = Scaling(use["scale"], use["shifts"]).probabilities(last.decision_function(inner))
        probability = P[np.arange(len(P)), values]
    if "familiar" not in use:
        nothing = np.zeros(len(X), dtype=bool)
        return Careful(values, low, high, probability, nothing, np.zeros(X.shape, dtype=bool))
    return Careful(
        values,
        low,
        high,
        probability,
        familiar.distances(use["familiar"], Z) > 1,
        familiar.beyond(use["familiar"], X),
    )

"""What a model says, as numbers that can be drawn and compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.evaluation.scaling import Scaling
from kilogram.kitchen.columns import AS_NUMBER, Column
from kilogram.kitchen.model import Model
from kilogram.kitchen.svg import short
from kilogram.kitchen.usage import features
from kilogram.kitchen.words import figure

BLOCK = 8000


def responses(model: Model, X: np.ndarray) -> np.ndarray:
    """(n, 1) answers, or (n, classes) probabilities; shares of one where there are no margins."""
    found = [_block(model, X[start : start + BLOCK]) for start in range(0, len(X), BLOCK)]
    return np.concatenate(found)


def _block(model: Model, X: np.ndarray) -> np.ndarray:
    last = model.pipeline[-1]
    inner = X if len(model.pipeline) == 1 else features(model.pipeline, X)
    if not model.classes:
        return np.asarray(last.predict(inner), dtype=float).reshape(len(X), 1)
    if "scale" in model.use:
        scaling = Scaling(model.use["scale"], model.use["shifts"])
        return scaling.probabilities(last.decision_function(inner))
    return np.eye(len(model.classes))[last.predict(inner)]


def answers(model: Model, X: np.ndarray) -> np.ndarray:
    """(n,) answers in the units of the pipeline: numbers, or places of classes."""
    return np.concatenate(
        [model.pipeline.predict(X[start : start + BLOCK]) for start in range(0, len(X), BLOCK)]
    )


def in_words(column: Column, cell: Any, most: int = 60) -> str:
    """A cell as a person would write it."""
    if column.kind in ("text", "image"):
        return short(str(cell), most) or "–"
    value = float(cell)
    if not np.isfinite(value):
        return "–"
    if column.kind == "categorical":
        return column.levels[int(value)] if value >= 0 else "a new word"
    if column.kind == "ordinal":
        return column.levels[round(value * len(column.levels)) - 1]
    if column.kind in ("date", "time") and column.form != AS_NUMBER:
        return str(np.datetime64(int(np.floor(value)), "D"))
    return f"{value:.4g}"


def answer_words(model: Model, value: Any) -> str:
    """An answer in the units of the target."""
    if value is None:
        return "–"
    return model.classes[int(value)] if model.classes else figure(float(value))

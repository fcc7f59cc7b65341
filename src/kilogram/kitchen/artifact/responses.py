"""Predictions of a model as numbers to plot and compare."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kitchen.artifact.model import Model, probabilities
from kilogram.kitchen.artifact.uncertainty import features
from kilogram.kitchen.features.columns import AS_NUMBER, Column
from kilogram.kitchen.formatting import figure, short
from kilogram.kitchen.recipes.library_models import class_scores

BLOCK = 8000  # rows predicted at once: bounds the memory of kernel recipes


def responses(model: Model, X: np.ndarray) -> np.ndarray:
    """(n, 1) predictions, or (n, classes) probabilities, 0 or 1 without decision values."""
    found = [_block(model, X[start : start + BLOCK]) for start in range(0, len(X), BLOCK)]
    return np.concatenate(found)


def _block(model: Model, X: np.ndarray) -> np.ndarray:
    last = model.pipeline[-1]
    inner = X if len(model.pipeline) == 1 else features(model.pipeline, X)
    if not model.classes:
        return np.asarray(last.predict(inner), dtype=float).reshape(len(X), 1)
    if "scale" in model.use:
        return probabilities(model, class_scores(last, inner))
    return np.eye(len(model.classes))[last.predict(inner)]


def predicted(model: Model, X: np.ndarray) -> np.ndarray:
    """(n,) predictions of the pipeline: numbers, or indices of classes."""
    return np.concatenate(
        [model.predict_cells(X[start : start + BLOCK]) for start in range(0, len(X), BLOCK)]
    )


def in_words(column: Column, cell: Any, most: int = 60) -> str:
    """A cell as a person would write it."""
    if column.kind in ("text", "image"):
        return short(str(cell), most) or "–"
    value = float(cell)
    if not np.isfinite(value):
        return "–"
    if column.kind == "categorical":
        return column.levels[int(value)] if value >= 0 else "a new category"
    if column.kind == "ordinal":
        return column.levels[round(value * len(column.levels)) - 1]
    if column.kind in ("date", "time") and column.form != AS_NUMBER:
        return str(np.datetime64(int(np.floor(value)), "D"))
    return f"{value:.4g}"


def value_in_words(model: Model, value: Any) -> str:
    """A prediction in the units of the target."""
    if value is None:
        return "–"
    return model.classes[int(value)] if model.classes else figure(float(value))

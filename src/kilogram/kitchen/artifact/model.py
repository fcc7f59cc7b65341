"""A fitted pipeline with the columns it needs, applicable to any table that has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from kilogram.evaluation.probability_scaling import TemperatureScaling
from kilogram.kitchen.costs import least_cost
from kilogram.kitchen.features.columns import Layout
from kilogram.kitchen.measures import Measure, measure_named
from kilogram.kitchen.question import Task
from kilogram.kitchen.read.table import Table, read_table
from kilogram.kitchen.recipes.library_models import class_scores

# Rows predicted at a time: bounds the memory on long tables (100 columns of float64: 16 MB).
BLOCK = 20_000


@dataclass(frozen=True)
class Prediction:
    """Predictions for the rows of a table, with notes on new categories."""

    values: np.ndarray
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """Layout and fitted pipeline; `classes` are the labels that the pipeline's integers stand for.

    `about` describes its origin; `use` holds what `artifact.uncertainty` computed.
    """

    target: str
    task: Task
    layout: Layout
    pipeline: Pipeline
    classes: tuple[str, ...] = ()
    header: bool = True
    about: dict[str, Any] = field(default_factory=dict)
    use: dict[str, Any] = field(default_factory=dict)

    def predict(self, source: Any) -> np.ndarray:
        """Predictions for a path or data frame: numbers, or class labels."""
        return self.predict_table(
            read_table(source, header=self.header, written=self.about.get("written"))
        ).values

    def predict_cells(self, X: np.ndarray) -> np.ndarray:
        """Numbers or positions of classes for (n, d) cells; with costs those of least cost."""
        if "costs" not in self.use:
            return np.asarray(self.pipeline.predict(X))
        return least_cost(probabilities(self, class_scores(self.pipeline, X)), self.use["costs"])

    def predict_table(self, table: Table) -> Prediction:
        """Predictions for a table that has been read, with notes."""
        values: list[np.ndarray] = []
        new: dict[str, int] = {}
        folder = Path(table.path).parent if table.path else None
        for start in range(0, table.data.num_rows, BLOCK):
            X = self.layout.array(table.data.slice(start, BLOCK), folder)
            for name, count in self.layout.new_levels(X).items():
                new[name] = new.get(name, 0) + count
            values.append(self.predict_cells(X))
        found = np.concatenate(values)
        if self.classes:
            found = np.asarray(self.classes, dtype=object)[found]
        return Prediction(found, tuple(unseen_note(name, count) for name, count in new.items()))


def measure_of(model: Model) -> Measure:
    """The measure that the model was chosen by."""
    return measure_named(model.about["measure"], model.use.get("costs"))


def probabilities(model: Model, scores: np.ndarray) -> np.ndarray:
    """(n, classes) calibrated probabilities of decision values."""
    return TemperatureScaling(model.use["scale"], model.use["shifts"]).probabilities(scores)


def unseen_note(name: str, count: int) -> str:
    """A note on new categories of a column."""
    rows = "row has" if count == 1 else "rows have"
    return f"{count:,} {rows} a category of {name!r} that was not in the training rows."

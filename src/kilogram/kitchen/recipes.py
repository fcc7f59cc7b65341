"""The recipes that are cooked side by side, from the raw (n, d) array of a layout to an answer.

    columns   made into numbers by `kilogram.kitchen.featurise`
    baseline  the mean of the target, or its most frequent class
    linear    ridge regression on these columns (classes as indicators)
    kernel    the same objective with a Gaussian kernel

Linear and kernel differ in the kernel alone, so their difference measures one thing: how much
non-linear structure there is to use. Everything is fitted inside the folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from kilogram.kitchen.columns import Layout
from kilogram.kitchen.featurise import featurise
from kilogram.kitchen.measures import Measure
from kilogram.kitchen.search import TwinSearchClassifier, TwinSearchRegressor


@dataclass(frozen=True)
class Recipe:
    """A name, a sentence about it, and the unfitted pipeline."""

    name: str
    title: str
    about: str
    pipeline: Pipeline


def recipes(layout: Layout, measure: Measure, rows: int, seed: int) -> tuple[Recipe, ...]:
    """Baseline, linear and kernel, simplest first."""
    numbers = measure.task == "regression"
    search = TwinSearchRegressor if numbers else TwinSearchClassifier
    dummy = DummyRegressor() if numbers else DummyClassifier(strategy="most_frequent")

    def pipeline(model: Any) -> Pipeline:
        return Pipeline([("columns", featurise(layout, rows)), ("model", model)])

    balanced = measure.name == "balanced_accuracy"
    linear = search("linear", balanced=balanced)
    kernel = search("gaussian", balanced=balanced, n_landmarks=landmarks(rows), random_state=seed)
    answer = "the mean" if numbers else "the most frequent class"
    kind = "Ridge regression" if numbers else "Ridge regression on the classes"
    return (
        Recipe("baseline", "Baseline", f"Always answers {answer}.", Pipeline([("model", dummy)])),
        Recipe("linear", "Linear", f"{kind}; penalty by leave-one-out.", pipeline(linear)),
        Recipe(
            "kernel",
            "Kernel twin",
            f"{kind} with a Gaussian kernel; penalty and width by leave-one-out.",
            pipeline(kernel),
        ),
    )


def landmarks(rows: int) -> int:
    """Nystroem features for a table of so many rows: fewer for longer tables, to bound the time."""
    return 600 if rows <= 20_000 else 400

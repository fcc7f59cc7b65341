"""A cooked model: it knows its columns, so any table like the one it was cooked from will do."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from kilogram.kitchen.columns import Layout
from kilogram.kitchen.question import Task
from kilogram.kitchen.read import Table, read_table

# Rows turned into numbers and predicted at a time: bounds memory on long tables.
BLOCK = 20_000


@dataclass(frozen=True)
class Prediction:
    """Answers for the rows of a table, and what was odd about them."""

    values: np.ndarray
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """Layout and fitted pipeline; `classes` are words, in the order of the pipeline's numbers.

    `about` says where it comes from, `use` holds what `kilogram.kitchen.usage` needs.
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
        """Answers for a path or data frame: numbers, or names of classes."""
        return self.answer(
            read_table(source, header=self.header, written=self.about.get("written"))
        ).values

    def answer(self, table: Table) -> Prediction:
        """Answers for a table that has been read, with notes."""
        values: list[np.ndarray] = []
        new: dict[str, int] = {}
        folder = Path(table.path).parent if table.path else None
        for start in range(0, table.data.num_rows, BLOCK):
            X = self.layout.array(table.data.slice(start, BLOCK), folder)
            for name, count in self.layout.new_levels(X).items():
                new[name] = new.get(name, 0) + count
            values.append(self.pipeline.predict(X))
        found = np.concatenate(values)
        if self.classes:
            found = np.asarray(self.classes, dtype=object)[found]
        return Prediction(found, tuple(_unseen(name, count) for name, count in new.items()))


def _unseen(name: str, count: int) -> str:
    rows = "row has" if count == 1 else "rows have"
    return f"{count} {rows} a word in {name!r} that was not there when the model was cooked."

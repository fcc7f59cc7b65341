"""What `explain_model` found: values only, with the methods that write them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.partial_dependence import PartialDependence
from kilogram.kitchen.artifact.responses import in_words, value_in_words
from kilogram.kitchen.explain.importance import ColumnImportance
from kilogram.kitchen.explain.nearest import Neighbour
from kilogram.kitchen.files import write_files
from kilogram.kitchen.report.model_card import card_of

SCHEMA = "kilogram explanation 1"


@dataclass(frozen=True)
class Example:
    """A row of the table with its prediction, its observed target, and near training rows."""

    row: int
    why: str
    cells: np.ndarray
    predicted: float
    truth: float | None
    neighbours: tuple[Neighbour, ...]


@dataclass(frozen=True)
class Explanation:
    """The explanation of a model on the rows of one table."""

    model: Model
    table: str
    rows: int
    score: float | None
    importance: ColumnImportance
    dependences: tuple[PartialDependence, ...]
    examples: tuple[Example, ...]
    notes: tuple[str, ...]

    def save(self, folder: str | Path) -> dict[str, Path]:
        """Write explanation.html and explanation.json, both or none."""
        from kilogram.kitchen.explain.show import as_html

        files = {"explanation.html": as_html(self), "explanation.json": self.as_json()}
        return dict(zip(files, write_files(Path(folder), files), strict=True))

    def as_json(self) -> bytes:
        """All numbers of the page."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False).encode()

    def as_dict(self) -> dict[str, Any]:
        """The explanation as plain values."""
        used = self.model.layout.used
        return {
            "schema": SCHEMA, "target": self.model.target, "task": self.model.task,
            "table": self.table, "rows": self.rows, "score": self.score,
            "measure": self.model.about.get("measure"), "truth_known": self.importance.known,
            "importance": [{"column": used[k].name, **asdict(loss)} for k, loss in
                           zip(self.importance.columns, self.importance.losses, strict=True)],
            "columns_skipped": self.importance.skipped,
            "dependence": [_curves(one) for one in self.dependences],
            "examples": [_example(self.model, one) for one in self.examples],
            "notes": list(self.notes), "card": card_of(self.model),
        }  # fmt: skip

    def _repr_html_(self) -> str:
        from kilogram.kitchen.explain.show import as_card

        return as_card(self)


def _curves(one: PartialDependence) -> dict[str, Any]:
    return {"column": one.column.name, "values": list(one.labels), "classes": list(one.lines),
            "mean": one.mean.tolist(), "low": one.low.tolist(), "high": one.high.tolist(),
            "swing": one.swing, "unlike": one.unlike}  # fmt: skip


def _example(model: Model, one: Example) -> dict[str, Any]:
    return {
        "row": one.row, "why": one.why, "cells": _words(model, one.cells),
        "predicted": value_in_words(model, one.predicted),
        "truth": None if one.truth is None else value_in_words(model, one.truth),
        "neighbours": [{"cells": _words(model, n.cells), "truth": value_in_words(model, n.truth),
                        "distance": n.distance} for n in one.neighbours],
    }  # fmt: skip


def _words(model: Model, cells: np.ndarray) -> dict[str, str]:
    return {c.name: in_words(c, cell) for c, cell in zip(model.layout.used, cells, strict=True)}

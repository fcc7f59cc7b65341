"""Predictions of a cooked model for a table of any length, beside its own columns.

A table is read, predicted and written a block of rows at a time. Beside the prediction stand a
prediction interval with the given coverage (regression) or the probability of the predicted class
(classification), and whether the row is out of distribution.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kilogram.base.constraints import Null, Real
from kilogram.kitchen.artifact.model import Model, measure_of, unseen_note
from kilogram.kitchen.artifact.uncertainty import PredictionDetails, predict_with_details
from kilogram.kitchen.errors import KitchenError, check_setting
from kilogram.kitchen.features.columns import NEW_LEVEL, as_floats, as_text, plain
from kilogram.kitchen.formatting import figure, percent
from kilogram.kitchen.measures import COST, ORDERED, of_predictions
from kilogram.kitchen.read.table import Table, table_blocks

# Rows whose observed target is kept for the score, where the table has the target: 16 MB; a mean of
# so many is known to a thousandth of the spread.
MAX_SCORED = 1_000_000
# With more classes, a column for the probability of each would hide the rest of the table: our
# choice.
MAX_CLASSES = 50


@dataclass
class PredictionSummary:
    """Counts over all blocks of a table, for the notes at the end."""

    rows: int = 0
    out_of_distribution: int = 0
    outside: Counter[str] = field(default_factory=Counter)
    new_levels: Counter[str] = field(default_factory=Counter)
    observed: list[np.ndarray] = field(default_factory=list)
    predicted: list[np.ndarray] = field(default_factory=list)
    scored: int = 0

    def notes(self, model: Model, name: str) -> tuple[str, ...]:
        """Notes on new categories, out-of-distribution rows, and the score."""
        notes = [unseen_note(column, count) for column, count in self.new_levels.items()]
        if self.out_of_distribution:
            notes.append(self._out_of_distribution())
        if self.observed:
            observed, predicted = np.concatenate(self.observed), np.concatenate(self.predicted)
            notes += _score(model, observed, predicted)
            if name == model.about.get("table"):
                notes.append(
                    "The model was trained on a table of that name: the training score is "
                    "optimistic."
                )
        return tuple(notes)

    def _out_of_distribution(self) -> str:
        where = ", ".join(f"{name!r} in {n:,}" for name, n in self.outside.most_common(3))
        reason = f" (outside the range of the training rows: {where})" if where else ""
        rows = "row is" if self.out_of_distribution == 1 else "rows are"
        return (
            f"{self.out_of_distribution:,} of {self.rows:,} {rows} out of distribution, "
            f"{percent(self.out_of_distribution / self.rows, 1)}{reason}: their predictions are "
            "extrapolations."
        )


def predict_blocks(
    model: Model,
    source: Any,
    summary: PredictionSummary,
    *,
    coverage: float = 0.9,
    bare: bool = False,
    threshold: float | None = None,
    block_rows: int = 20_000,
    **how: Any,
) -> Iterator[pa.Table]:
    """The table with its predictions, block by block; `how` are the keywords of `read_table`."""
    check_coverage(coverage)
    check_setting("threshold", threshold, Real(0, 1) | Null())
    how = {"header": model.header, "written": model.about.get("written"), **how}
    for block in table_blocks(source, block_rows=block_rows, **how):
        if block.data.num_rows:
            yield _predict_block(model, block, summary, coverage, bare, threshold)
    if not summary.rows:
        raise KitchenError("The table has no rows to predict.")


def check_coverage(coverage: float) -> None:
    """An error unless it is a proportion."""
    check_setting("coverage", coverage, Real(0, 1, "neither"))


def _predict_block(
    model: Model,
    block: Table,
    summary: PredictionSummary,
    coverage: float,
    bare: bool,
    threshold: float | None,
) -> pa.Table:
    X = model.layout.array(block.data, Path(block.path).parent if block.path else None)
    details = predict_with_details(model, X, coverage, threshold)
    found = label_cells(model, X, details, summary)
    if model.target in block.data.column_names and summary.scored < MAX_SCORED:
        column = block.data.column(model.target)
        _collect_observed(model, column, found["prediction"], summary)
    names = {"prediction": f"predicted {model.target}", "low": f"low {model.target}",
             "high": f"high {model.target}", "probability": "probability",
             "out_of_distribution": "out of distribution"}  # fmt: skip
    shown = ["prediction"] if bare else list(found)
    more = {names[key]: found[key] for key in shown}
    if details.probabilities is not None and not bare and _by_cost(model):
        expected = details.probabilities @ np.asarray(model.use["costs"])
        more["expected cost"] = expected[np.arange(len(X)), details.values]
    if details.probabilities is not None and not bare and len(model.classes) <= MAX_CLASSES:
        more |= {f"P({name})": details.probabilities[:, k] for k, name in enumerate(model.classes)}
    return with_columns(block.data, more)


def _by_cost(model: Model) -> bool:
    return bool(model.about.get("measure") == COST)


def label_cells(
    model: Model, X: np.ndarray, details: PredictionDetails, summary: PredictionSummary
) -> dict[str, np.ndarray]:
    """The predictions of (n, d) cells by the keys of the JSON response, counted in `summary`."""
    values = details.values
    if model.classes:
        values = np.asarray(model.classes, dtype=object)[values]
    outlying = details.out_of_distribution | _count_outside(model, X, details.outside, summary)
    summary.rows += len(X)
    summary.out_of_distribution += int(outlying.sum())
    found: dict[str, np.ndarray] = {"prediction": values}
    if details.low is not None and details.high is not None:
        found |= {"low": details.low, "high": details.high}
    if details.probability is not None:
        found["probability"] = details.probability
    return found | {"out_of_distribution": outlying}


def _count_outside(
    model: Model, X: np.ndarray, outside: np.ndarray, summary: PredictionSummary
) -> np.ndarray:
    """Rows with cells outside the range of the training rows, or with new categories."""
    outside = outside.copy()
    for k, column in enumerate(model.layout.used):
        if column.kind == "categorical":
            outside[:, k] = X[:, k] == NEW_LEVEL
        count = int(np.count_nonzero(outside[:, k]))
        if count:
            counter = summary.new_levels if column.kind == "categorical" else summary.outside
            counter[column.name] += count
    most = model.use.get("distribution", {}).get("most_outside", 0)
    return np.asarray(outside.sum(axis=1) > most)


def with_columns(data: pa.Table, more: dict[str, Any]) -> pa.Table:
    """The table with more columns, named so that nothing is overwritten."""
    for name, values in more.items():
        while name in data.column_names:
            name += "'"
        data = data.append_column(name, pa.array(values.tolist()))
    return data


def _collect_observed(
    model: Model, column: Any, values: np.ndarray, summary: PredictionSummary
) -> None:
    """Observed and predicted values of the rows whose target is known and comparable."""
    cells = plain(column)
    known = np.asarray(cells.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    kind: Any = str
    if model.task == "classification":
        observed = np.asarray(as_text(cells).to_pylist(), dtype=object)
    else:
        kind = float
        try:
            observed = as_floats(cells)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return
        known &= np.isfinite(observed)
    summary.observed.append(observed[known].astype(kind))
    summary.predicted.append(values[known].astype(kind))
    summary.scored += int(known.sum())


def _score(model: Model, observed: np.ndarray, predicted: np.ndarray) -> list[str]:
    if len(observed) < 2:
        return []
    measure = of_predictions(measure_of(model))
    if measure.costs or measure.name in ORDERED:  # of positions, not of words
        place = {name: k for k, name in enumerate(model.classes)}
        known = np.array([name in place for name in observed])
        observed, predicted = (
            np.array([place[name] for name in names[known]], dtype=int)
            for names in (observed, predicted)
        )
        if len(observed) < 2:
            return []
    score = figure(measure.function(observed, predicted))
    return [f"{measure.title} of the predictions of {model.target!r}: {score} "
            f"({len(observed):,} rows; optimistic if these are training rows)."]  # fmt: skip

"""Predictions of a cooked model for a table in a file, beside the columns they come from."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from kilogram.kitchen.columns import as_text, plain
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.model import Model, with_answers
from kilogram.kitchen.read import read_table
from kilogram.kitchen.words import figure


@dataclass(frozen=True)
class Answered:
    """The table with a column of predictions, and what there is to say about them."""

    table: pa.Table
    notes: tuple[str, ...]


def predict_table(
    model: Model, source: Any, *, delimiter: str | None = None, encoding: str | None = None
) -> Answered:
    """Read a table, predict each row; where it holds the target too, say how good that was."""
    table = read_table(source, delimiter=delimiter, encoding=encoding, header=model.header)
    found = model.answer(table)
    notes = [*table.notes, *found.notes]
    if model.target in table.data.column_names:
        notes += _score(model, table.data.column(model.target), found.values)
        if table.name == model.about["table"]:
            notes.append("A table of that name was cooked: a score on seen rows flatters.")
    return Answered(with_answers(table.data, model.target, found.values), tuple(notes))


def _score(model: Model, column: Any, values: np.ndarray) -> list[str]:
    """A note on the score where the truth is known; none where it cannot be compared."""
    measure = MEASURES[model.about["measure"]]
    truth = plain(column)
    known = np.asarray(truth.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    if known.sum() < 2:
        return []
    if model.task == "classification":
        words = np.asarray(as_text(truth).to_pylist(), dtype=object)
        score = measure.function(words[known].astype(str), values[known].astype(str))
    elif pa.types.is_integer(truth.type) or pa.types.is_floating(truth.type):
        numbers = truth.to_numpy(zero_copy_only=False).astype(float)
        known &= np.isfinite(numbers)
        score = measure.function(numbers[known], values[known].astype(float))
    else:
        return []
    return [
        f"The table has {model.target!r}: {measure.title} {figure(score)}, {known.sum():,} rows."
    ]


def table_bytes(table: pa.Table, out: Path | None) -> bytes:
    """A table as the content of a CSV or, by the name of the file, a Parquet file."""
    suffix = ".csv" if out is None else out.suffix.lower()
    buffer = io.BytesIO()
    if suffix == ".parquet":
        pyarrow.parquet.write_table(table, buffer)
    elif suffix in (".csv", ".txt"):
        pyarrow.csv.write_csv(_flat(table), buffer)
    else:
        raise KitchenError(f"Predictions are written as .csv or .parquet, not {suffix or 'that'}.")
    return buffer.getvalue()


def _flat(table: pa.Table) -> pa.Table:
    """Lists and records, which a CSV cannot hold, as text."""
    for k, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            text = pa.array([None if v is None else str(v) for v in table.column(k).to_pylist()])
            table = table.set_column(k, field.name, text)
    return table

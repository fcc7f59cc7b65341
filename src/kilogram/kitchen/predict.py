"""Predictions of a cooked model for a table of any length, beside the columns they come from.

A table is read, answered and written a block of rows at a time. Beside the answer stand an interval
that should hold the truth as often as `coverage` says (numbers) or the probability of the answer
(classes), and whether the row looks unlike the rows the model was cooked from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kilogram.kitchen.columns import NEW_LEVEL, as_text, plain
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.model import Model
from kilogram.kitchen.read import Table, table_blocks
from kilogram.kitchen.usage import Careful, careful
from kilogram.kitchen.words import figure

# Rows whose truth is remembered for the score, where the table has the target.
MAX_SCORED = 1_000_000


@dataclass
class Tally:
    """What is counted on the way, and said at the end."""

    rows: int = 0
    unlike: int = 0
    beyond: Counter[str] = field(default_factory=Counter)
    new_words: Counter[str] = field(default_factory=Counter)
    truth: list[np.ndarray] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)
    scored: int = 0

    def notes(self, model: Model, name: str) -> tuple[str, ...]:
        """The sentences."""
        said = [_unseen(column, count) for column, count in self.new_words.items()]
        if self.unlike:
            said.append(_unlike(self))
        if self.truth:
            said += _score(model, np.concatenate(self.truth), np.concatenate(self.values))
            if name == model.about.get("table"):
                said.append("A table of that name was cooked: a score on seen rows flatters.")
        return tuple(said)


def answered_blocks(
    model: Model,
    source: Any,
    tally: Tally,
    *,
    coverage: float = 0.9,
    bare: bool = False,
    block_rows: int = 20_000,
    **how: Any,
) -> Iterator[pa.Table]:
    """The table with its answers, block by block; `how` says how a file is read."""
    if not 0 < coverage < 1:
        raise KitchenError(f"coverage is a share between 0 and 1, such as 0.9, not {coverage}.")
    how = {"header": model.header, "written": model.about.get("written"), **how}
    for block in table_blocks(source, block_rows=block_rows, **how):
        if block.data.num_rows:
            yield _answered(model, block, tally, coverage, bare)
    if not tally.rows:
        raise KitchenError("The table has no rows to predict.")


def _answered(model: Model, block: Table, tally: Tally, coverage: float, bare: bool) -> pa.Table:
    X = model.layout.array(block.data, Path(block.path).parent if block.path else None)
    found = careful(model, X, coverage)
    values = found.values
    if model.classes:
        values = np.asarray(model.classes, dtype=object)[values]
    unlike = found.unlike | _count(model, X, found, tally)
    tally.rows += len(X)
    tally.unlike += int(unlike.sum())
    if model.target in block.data.column_names and tally.scored < MAX_SCORED:
        _remember(model, block.data.column(model.target), values, tally)
    more: dict[str, Any] = {f"predicted {model.target}": values}
    if not bare:
        if found.low is not None:
            more |= {f"low {model.target}": found.low, f"high {model.target}": found.high}
        if found.probability is not None:
            more["probability"] = found.probability
        more["unlike training"] = unlike
    return with_columns(block.data, more)


def _count(model: Model, X: np.ndarray, found: Careful, tally: Tally) -> np.ndarray:
    """Cells beyond what training rows had, counted by column; rows that have any."""
    odd = found.beyond
    for k, column in enumerate(model.layout.used):
        if column.kind == "categorical":
            odd[:, k] = X[:, k] == NEW_LEVEL
            tally.new_words[column.name] += int(odd[:, k].sum())
        elif odd[:, k].any():
            tally.beyond[column.name] += int(odd[:, k].sum())
    tally.new_words = +tally.new_words
    return np.asarray(odd.any(axis=1))


def with_columns(data: pa.Table, more: dict[str, Any]) -> pa.Table:
    """The table with more columns, named so that nothing is overwritten."""
    for name, values in more.items():
        while name in data.column_names:
            name += "'"
        data = data.append_column(name, pa.array(values.tolist()))
    return data


def _remember(model: Model, column: Any, values: np.ndarray, tally: Tally) -> None:
    """Truth and answer of the rows where the truth is known and can be compared."""
    truth = plain(column)
    known = np.asarray(truth.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    if model.task == "classification":
        real = np.asarray(as_text(truth).to_pylist(), dtype=object)
        said = values.astype(str)
    else:
        try:
            real = truth.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return
        known &= np.isfinite(real)
        said = values.astype(float)
    kind: Any = str if model.task == "classification" else float
    tally.truth.append(real[known].astype(kind))
    tally.values.append(said[known])
    tally.scored += int(known.sum())


def _score(model: Model, truth: np.ndarray, values: np.ndarray) -> list[str]:
    if len(truth) < 2:
        return []
    measure = MEASURES[model.about["measure"]]
    score = figure(measure.function(truth, values))
    return [f"The table has {model.target!r}: {measure.title} {score}, {len(truth):,} rows."]


def _unseen(name: str, count: int) -> str:
    rows = "row has" if count == 1 else "rows have"
    return f"{count} {rows} a word in {name!r} that was not there when the model was cooked."


def _unlike(tally: Tally) -> str:
    where = ", ".join(f"{name!r} in {count:,}" for name, count in tally.beyond.most_common(3))
    reason = f" (beyond what it had: {where})" if where else ""
    rows = "row looks" if tally.unlike == 1 else "rows look"
    share = tally.unlike / tally.rows
    return (
        f"{tally.unlike:,} of {tally.rows:,} {rows} unlike those the model was cooked from, "
        f"{share:.1%}{reason}: take their answers with care."
    )

"""The held-out rows that were predicted worst, to look at for mistakes in the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kilogram.kitchen.features.columns import as_text, plain
from kilogram.kitchen.formatting import figure, percent, short
from kilogram.kitchen.judge.prediction_checks import fold_numbers, held_out_probabilities
from kilogram.kitchen.read.dialect import is_number, number
from kilogram.kitchen.result import CookResult

SHOWN, COLUMNS = 8, 5


@dataclass(frozen=True)
class WorstRow:
    """A row of the table, counted from 0: observed, predicted, how wrong, and some cells."""

    row: int
    observed: str
    predicted: str
    wrong: str
    cells: tuple[str, ...]


def worst_rows(cooked: CookResult) -> tuple[tuple[str, ...], tuple[WorstRow, ...]]:
    """The columns that are shown, and the worst rows: largest errors, or surest mistakes."""
    held_out = cooked.evidence.held_out
    names = _columns(cooked)
    if not len(cooked.rows):
        return names, ()
    if cooked.measure.task == "regression":
        error = np.abs(held_out.truth - held_out.prediction)
    else:
        wrong = held_out.truth != held_out.prediction
        P = None
        if held_out.decision is not None:
            P = held_out_probabilities(cooked.shown, held_out, fold_numbers(cooked.shown))
        # the probability that the observed class was given: the less, the worse
        sure = wrong.astype(float) if P is None else 1 - P[np.arange(len(P)), held_out.truth]
        error = np.where(wrong, sure, 0.0)
    places = np.argsort(-error, kind="stable")[:SHOWN]
    places = places[error[places] > 0]
    rows = cooked.rows[held_out.rows[places]]
    data = cooked.table.data.take(rows)
    cells = {name: as_text(plain(data.column(name))).to_pylist() for name in names}
    return names, tuple(
        WorstRow(int(row), _written(cooked, held_out.truth[place]),
                 _written(cooked, held_out.prediction[place]), _wrong(cooked, error[place]),
                 tuple(_cell(cells[name][k]) for name in names))
        for k, (row, place) in enumerate(zip(rows, places, strict=True))
    )  # fmt: skip


def _cell(text: str | None) -> str:
    """A cell as it is, long numbers with four digits."""
    if text is None:
        return "–"
    if len(text) > 8 and is_number(text):
        return f"{number(text):.4g}".replace("-", "−")
    return short(text, 24)


def _columns(cooked: CookResult) -> tuple[str, ...]:
    found = cooked.evidence.importance
    used = [column.name for column in cooked.model.layout.used]
    if found is None:
        return tuple(used[:COLUMNS])
    return tuple(found.columns[k] for k in found.order[:COLUMNS])


def _written(cooked: CookResult, value: float) -> str:
    classes = cooked.question.classes
    return classes[int(value)] if classes else figure(float(value))


def _wrong(cooked: CookResult, error: float) -> str:
    if cooked.measure.task == "regression":
        return figure(float(error))
    return f"{percent(1 - error, 1)}"

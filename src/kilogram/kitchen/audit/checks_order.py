"""Checks of what folds drawn at random would tear: groups, time, and values from the future."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kilogram.kitchen.audit.finding import Finding
from kilogram.kitchen.audit.single import skill
from kilogram.kitchen.audit.subject import Subject
from kilogram.kitchen.columns import Column

GROUP_SERIOUS, GROUP_WARNING = 0.3, 0.05
MEMORY = 0.5
LEADS = range(1, 8)
SAME = 0.95
FEW_ROWS = 50


def groups(subject: Subject) -> Iterator[Finding]:
    """KG-A09: who the row is about predicts the target, and folds would share them."""
    for column in subject.layout.columns:
        if column.kind != "group":
            continue
        found = skill(subject, column) if subject.question is not None else 0.0
        each = subject.rows / max(column.distinct, 1)
        evidence = f"{column.name!r}: {column.distinct:,} groups of {each:.1f} rows on average"
        if column.name == subject.told.group:
            yield Finding("KG-A09", "note", f"{evidence}; folds are cut between them.",
                          (column.name,), {"skill": found})  # fmt: skip
            continue
        serious = found >= GROUP_SERIOUS and subject.rows >= FEW_ROWS
        yield Finding(
            "KG-A09",
            "serious" if serious else "warning" if found >= GROUP_WARNING else "note",
            f"{evidence}; knowing the group alone predicts the target with skill {found:.2f} of 1.",
            (column.name,), {"skill": found},
        )  # fmt: skip


def time_order(subject: Subject) -> Iterator[Finding]:
    """KG-A10: neighbours in time have like targets, and random folds mix before and after."""
    column = _time(subject)
    if column is None or subject.question is None or subject.rows < FEW_ROWS:
        return
    if column.name == subject.told.time:
        told = f"{column.name!r} orders the rows; tests are on later ones."
        yield Finding("KG-A10", "note", told, (column.name,))
        return
    memory = _memory(subject, np.argsort(subject.numbers(column), kind="stable"))
    yield Finding(
        "KG-A10", "serious" if memory >= MEMORY else "warning",
        f"{column.name!r} gives nearly every row a time of its own; the target of a row and of "
        f"the one before correlate with {memory:.2f}.",
        (column.name,), {"memory": memory},
    )  # fmt: skip


def _time(subject: Subject) -> Column | None:
    """The column that orders the rows: told, found, or a date that is new in nearly every row."""
    for column in subject.layout.columns:
        if column.kind == "time":
            return column
    for column in subject.layout.columns:
        if column.kind == "date" and column.distinct >= 0.9 * subject.rows:
            return column
    return None


def _memory(subject: Subject, order: np.ndarray) -> float:
    """Correlation of neighbours; for classes, agreement beyond chance."""
    y = subject.y[order]
    if subject.classes:
        shares = np.bincount(y.astype(int)) / len(y)
        chance = float(np.sum(shares**2))
        return max(0.0, (float(np.mean(y[1:] == y[:-1])) - chance) / (1.0 - chance))
    return float(np.corrcoef(y[1:], y[:-1])[0, 1])


def future(subject: Subject) -> Iterator[Finding]:
    """KG-A11: a column that is the target of a later row, or a date after the row's own time."""
    if subject.question is None or subject.rows < FEW_ROWS:
        return
    yield from _leads(subject)
    yield from _later_dates(subject)


def _leads(subject: Subject) -> Iterator[Finding]:
    time = _time(subject)
    order = np.arange(subject.rows)
    if time is not None:
        order = np.argsort(subject.numbers(time), kind="stable")
    y = subject.y[order]
    shares = np.unique(y, return_counts=True)[1] / len(y)
    if float(np.sum(shares**2)) > 0.6:
        return  # most rows agree anyway
    for column in subject.each(subject.layout.used):
        x = _like_answer(subject, column)
        if x is None:
            continue
        x = x[order]
        for lead in LEADS:
            same = _agreement(x[:-lead], y[lead:])
            if same >= SAME and np.mean(x == y) < SAME:
                assert subject.question is not None
                yield Finding(
                    "KG-A11", "serious",
                    f"{column.name!r} is {subject.question.target!r} of {lead} row"
                    f"{'s' if lead > 1 else ''} later, in {same:.0%} of the rows.",
                    (column.name,), {"lead": lead, "share": same},
                )  # fmt: skip
                break


def _agreement(x: np.ndarray, y: np.ndarray) -> float:
    """Share of rows in which x is y, to six digits; 0 if already the first rows say no."""
    head = slice(0, 64)
    for part in (head, slice(None)):
        share = float(np.mean(np.abs(x[part] - y[part]) <= 1e-6 * np.abs(y[part])))
        if share < 0.8:
            return 0.0
    return share


def _like_answer(subject: Subject, column: Column) -> np.ndarray | None:
    """The column in the numbers the target is held in, where the two can be compared."""
    assert subject.question is not None
    if not subject.classes:
        return subject.numbers(column) if column.kind == "numeric" else None
    if column.kind not in ("categorical", "ordinal", "numeric") or column.distinct > 50:
        return None
    place = {word: k for k, word in enumerate(subject.question.classes)}
    words = subject.data.column(column.name).cast(pa.string()).to_pylist()
    return np.array([place.get(word, -1) for word in words], dtype=float)


def _later_dates(subject: Subject) -> Iterator[Finding]:
    time = _time(subject)
    if time is None or time.form == "number":
        return
    now = subject.numbers(time)
    for column in subject.layout.columns:
        if column.kind != "date" or column.name == time.name:
            continue
        gap = subject.numbers(column) - now
        gap = gap[np.isfinite(gap)]
        if len(gap) < FEW_ROWS / 2 or np.mean(gap > 0) < 0.5 or np.ptp(gap) == 0:
            continue
        yield Finding(
            "KG-A11", "serious" if time.name == subject.told.time else "warning",
            f"{column.name!r} lies after {time.name!r} in {np.mean(gap > 0):.0%} of the rows, by "
            f"{np.median(gap):.1f} days in the middle.",
            (column.name,), {"share": float(np.mean(gap > 0))},
        )  # fmt: skip

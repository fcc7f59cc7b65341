"""Checks of dependence between rows: groups, time order, values from the future."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kilogram.kitchen.audit.audit_data import AuditData
from kilogram.kitchen.audit.column_skill import skill
from kilogram.kitchen.audit.finding import Finding
from kilogram.kitchen.features.columns import Column
from kilogram.kitchen.formatting import percent

GROUP_SERIOUS, GROUP_WARNING = 0.3, 0.05
# Correlation with the row before, from which random folds are misleading: half the deviation is
# known from a neighbour in time; our choice.
MEMORY = 0.5
LEADS = range(1, 8)
SAME = 0.95  # of the rows: a copy of the target at another time, a few cells corrected
FEW_ROWS = 50  # a correlation of 0.28 is chance below (5 % level)


def groups(subject: AuditData) -> Iterator[Finding]:
    """KG-A09: the group of a row predicts the target, and random folds would share groups."""
    for column in subject.layout.columns:
        if column.kind != "group":
            continue
        found = skill(subject, column) if subject.question is not None else 0.0
        each = subject.rows / max(column.distinct, 1)
        evidence = f"{column.name!r}: {column.distinct:,} groups of {each:.1f} rows on average"
        if column.name == subject.overrides.group:
            yield Finding("KG-A09", "note", f"{evidence}; folds are split between them.",
                          (column.name,), {"skill": found}, settled=True)  # fmt: skip
            continue
        serious = found >= GROUP_SERIOUS and subject.rows >= FEW_ROWS
        yield Finding(
            "KG-A09",
            "serious" if serious else "warning" if found >= GROUP_WARNING else "note",
            f"{evidence}; the group alone predicts the target ({found:.2f}, where 0 is chance "
            "and 1 is perfect).",
            (column.name,), {"skill": found},
        )  # fmt: skip


def time_order(subject: AuditData) -> Iterator[Finding]:
    """KG-A10: the target is autocorrelated in time, and random folds mix past and future."""
    column = _time(subject)
    if column is None or subject.question is None or subject.rows < FEW_ROWS:
        return
    if column.name == subject.overrides.time:
        evidence = f"{column.name!r} orders the rows; test rows come after training rows."
        yield Finding("KG-A10", "note", evidence, (column.name,), settled=True)
        return
    memory = _memory(subject, np.argsort(subject.numbers(column), kind="stable"))
    yield Finding(
        "KG-A10",
        "serious" if memory >= MEMORY else "warning",
        f"{column.name!r} gives nearly every row its own time; the target has an autocorrelation "
        f"of "
        f"{memory:.2f} from one row to the next.",
        (column.name,),
        {"memory": memory},
    )


def _time(subject: AuditData) -> Column | None:
    """The column that orders the rows: given, detected, or a date unique to nearly every row."""
    for column in subject.layout.columns:
        if column.kind == "time":
            return column
    for column in subject.layout.columns:
        if column.kind == "date" and column.distinct >= 0.9 * subject.rows:
            return column
    return None


def _memory(subject: AuditData, order: np.ndarray) -> float:
    """Autocorrelation at lag 1; for classes, agreement beyond chance."""
    y = subject.y[order]
    if subject.classes:
        fractions = np.bincount(y.astype(int)) / len(y)
        chance = float(np.sum(fractions**2))
        return max(0.0, (float(np.mean(y[1:] == y[:-1])) - chance) / (1.0 - chance))
    return float(np.corrcoef(y[1:], y[:-1])[0, 1])


def future(subject: AuditData) -> Iterator[Finding]:
    """KG-A11: a column that is the target of a later row, or a date after the row's own time."""
    if subject.question is None or subject.rows < FEW_ROWS:
        return
    yield from _leads(subject)
    yield from _later_dates(subject)


def _leads(subject: AuditData) -> Iterator[Finding]:
    time = _time(subject)
    order = np.arange(subject.rows)
    if time is not None:
        order = np.argsort(subject.numbers(time), kind="stable")
    y = subject.y[order]
    fractions = np.unique(y, return_counts=True)[1] / len(y)
    if float(np.sum(fractions**2)) > 0.6:
        return  # most rows agree anyway
    for column in subject.in_time(subject.layout.used):
        x = _like_target(subject, column)
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
                    f"{'s' if lead > 1 else ''} later, in {percent(same)} of the rows.",
                    (column.name,), {"lead": lead, "fraction": same},
                )  # fmt: skip
                break


def _agreement(x: np.ndarray, y: np.ndarray) -> float:
    """Fraction of rows in which x is y, to six digits; 0 if already the first rows differ."""
    head = slice(0, 64)
    for part in (head, slice(None)):
        fraction = float(np.mean(np.abs(x[part] - y[part]) <= 1e-6 * np.abs(y[part])))
        if fraction < 0.8:
            return 0.0
    return fraction


def _like_target(subject: AuditData, column: Column) -> np.ndarray | None:
    """The column in the encoding of the target, where the two are comparable."""
    assert subject.question is not None
    if not subject.classes:
        return subject.numbers(column) if column.kind == "numeric" else None
    if column.kind not in ("categorical", "ordinal", "numeric") or column.distinct > 50:
        return None
    place = {word: k for k, word in enumerate(subject.question.classes)}
    words = subject.data.column(column.name).cast(pa.string()).to_pylist()
    return np.array([place.get(word, -1) for word in words], dtype=float)


def _later_dates(subject: AuditData) -> Iterator[Finding]:
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
            "KG-A11",
            "serious" if time.name == subject.overrides.time else "warning",
            f"{column.name!r} is later than {time.name!r} in {percent(np.mean(gap > 0))} of the "
            f"rows, by a median of {np.median(gap):.1f} days.",
            (column.name,),
            {"fraction": float(np.mean(gap > 0))},
        )

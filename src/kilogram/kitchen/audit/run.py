"""All checks in order, on a table that has been read or on any source.

The checks look at a random part of a long table (at most 20 000 rows, fewer if there are thousands
of columns), and the audit says so. The target may be left out: then only the inputs are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kilogram.kitchen.audit.checks_columns import (
    constants,
    copies,
    giveaways,
    identifiers,
    missing_values,
)
from kilogram.kitchen.audit.checks_drift import drift, shared_rows
from kilogram.kitchen.audit.checks_order import future, groups, time_order
from kilogram.kitchen.audit.checks_prepared import prepared
from kilogram.kitchen.audit.checks_rows import duplicates, near_duplicates
from kilogram.kitchen.audit.checks_target import few_rows, imbalance, small_classes
from kilogram.kitchen.audit.finding import SEVERITIES, Audit, Finding, check_codes
from kilogram.kitchen.audit.subject import Subject, looked_at
from kilogram.kitchen.columns import Layout, as_text, plain
from kilogram.kitchen.kinds import find_layout
from kilogram.kitchen.question import Question, Task, ask
from kilogram.kitchen.read import Table, read_table
from kilogram.kitchen.told import Told, orders

MOST_COMPARED = 5e7

Tell = Callable[[str], None]


def audit(
    table: Any,
    target: str | None = None,
    *,
    against: Any = None,
    task: Task | None = None,
    folds: int = 5,
    seed: int = 0,
    accept: Collection[str] = (),
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
    ordinal: Mapping[str, Collection[str]] | Collection[str] = (),
    text: Collection[str] = (),
    date: Collection[str] = (),
    image: Collection[str] = (),
    drop: Collection[str] = (),
    group: str | None = None,
    time: str | None = None,
    tell: Tell | None = None,
    **how: Any,
) -> Audit:
    """Look for what would make a score look better than it is, before anything is split or fitted.

    Parameters
    ----------
    table : path or data frame
    target : str, default=None
        The column to predict; without it only the inputs are looked at.
    against : path or data frame, default=None
        Another table, such as the one to be predicted: is it alike, and does it share rows?
    task : {"regression", "classification"}, default=None
        Where the found one is not meant.
    folds, seed : int
        As `cook` will use them.
    accept : collection of codes
        Serious findings that are known and meant.
    numeric, categorical, ordinal, text, date, image, drop, group, time
        Columns whose kind is said rather than found; `ordinal` maps a column to its levels, lowest
        first.
    tell : callable(what), default=None
        Hears which check is under way.
    **how
        `delimiter`, `encoding`, `header`, `sheet`, `max_memory` of the file.

    Returns
    -------
    Audit
        `findings` worst first, `serious` those that would stop `cook`, `as_json()`.

    Examples
    --------
    >>> import kilogram as kg, pandas as pd
    >>> frame = pd.DataFrame({"x": range(0, 300, 3), "y": [k % 7 for k in range(100)]})
    >>> frame["leak"] = frame["y"] * 2 + 1
    >>> [finding.code for finding in kg.audit(frame, "y", task="regression").serious]
    ['KG-A07']
    """
    told = Told(tuple(numeric), tuple(categorical), tuple(text), tuple(date), tuple(image),
                tuple(drop), orders(ordinal), group, time)  # fmt: skip
    found = read_table(table, seed=seed, **how)
    layout = find_layout(found.data, target, told=told)
    question = None if target is None else ask(found, target, task=task, folds=folds)
    other = None if against is None else read_table(against, seed=seed, **how)
    return audit_table(found, layout, question, told=told, folds=folds, seed=seed, accept=accept,
                       other=other, tell=tell)  # fmt: skip


def audit_table(
    table: Table,
    layout: Layout,
    question: Question | None,
    *,
    told: Told | None = None,
    folds: int = 5,
    seed: int = 0,
    accept: Collection[str] = (),
    other: Table | None = None,
    tell: Tell | None = None,
) -> Audit:
    """The audit of a table that has been read, its kinds found and the question put."""
    accepted = check_codes(accept)
    rows = np.arange(table.data.num_rows) if question is None else question.rows
    looked = looked_at(len(rows), table.data.num_columns, seed)
    y = np.empty(0) if question is None else question.y[looked]
    data = table.data if len(looked) == table.data.num_rows else table.data.take(rows[looked])
    subject = Subject(data, layout, told or Told(), question, y, folds, seed)
    tell = tell or (lambda what: None)
    findings = list(_findings(subject, table, question, len(rows), tell))
    whole = _whole(subject, table, rows)
    tell("looking for equal rows and what was made of all rows")
    findings += [*duplicates(whole), *prepared(whole, table)]
    if other is not None:
        tell("comparing the two tables")
        findings += [*drift(layout, data, other.data), *shared_rows(layout, table.data, other.data)]
    findings.sort(key=lambda f: (SEVERITIES.index(f.severity), f.code))
    return Audit(
        table=table.name,
        target=None if question is None else question.target,
        rows=table.data.num_rows,
        columns=layout.columns,
        findings=tuple(findings),
        accepted=accepted,
        looked_at=len(looked) if len(looked) < len(rows) else None,
        notes=(*table.notes, *(question.notes if question else ())),
    )


def _findings(
    subject: Subject, table: Table, question: Question | None, rows: int, tell: Tell
) -> Iterator[Finding]:
    for check in (missing_values, constants, copies, near_duplicates, identifiers, giveaways,
                  groups, time_order, future, imbalance):  # fmt: skip
        tell(f"looking for {check.__name__.replace('_', ' ')}")
        yield from check(subject)
    yield from small_classes(subject, _too_small(table, question))
    yield from few_rows(subject, rows)


def _whole(subject: Subject, table: Table, rows: np.ndarray) -> Subject:
    """All rows with an answer, if they can be compared in a moment: a sample tears copies apart."""
    if len(rows) * table.data.num_columns > MOST_COMPARED or len(rows) == subject.rows:
        return subject
    y = subject.y if subject.question is None else subject.question.y
    return replace(subject, data=table.data.take(rows), y=y)


def _too_small(table: Table, question: Question | None) -> dict[str, int]:
    """Classes of the target that the question left out, with their rows."""
    if question is None or not question.classes:
        return {}
    words = as_text(plain(table.data.column(question.target))).drop_null()
    counts = {one["values"]: one["counts"] for one in words.value_counts().to_pylist()}
    return {word: n for word, n in sorted(counts.items()) if word not in question.classes}

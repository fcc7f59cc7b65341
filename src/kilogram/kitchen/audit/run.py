"""All checks in order, on a table that has been read or on any source.

The checks look at a random part of a long table (at most 20 000 rows, fewer if there are thousands
of columns), and the audit says so. The target may be left out: then only the inputs are looked at.
When the time is up no further column is looked at; the codes of what was not looked for are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kilogram.base.budget import Budget
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
from kilogram.kitchen.audit.subject import OutOfTimeError, Subject, looked_at
from kilogram.kitchen.columns import Layout, as_text, plain
from kilogram.kitchen.errors import KitchenError
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
    max_time: float | None = 600.0,
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
    max_time : float or None, default=600
        Seconds; `not_looked_for` of the audit names the findings they leave out.
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
    if max_time is not None and not max_time > 0:
        raise KitchenError(f"The time limit must be more than 0 s, got {max_time}.")
    budget = Budget(max_time=max_time)
    told = Told(tuple(numeric), tuple(categorical), tuple(text), tuple(date), tuple(image),
                tuple(drop), orders(ordinal), group, time)  # fmt: skip
    found = read_table(table, seed=seed, **how)
    layout = find_layout(found.data, target, told=told)
    question = None if target is None else ask(found, target, task=task, folds=folds)
    other = None if against is None else read_table(against, seed=seed, **how)
    return audit_table(found, layout, question, told=told, folds=folds, seed=seed, accept=accept,
                       other=other, tell=tell, budget=budget)  # fmt: skip


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
    budget: Budget | None = None,
) -> Audit:
    """The audit of a table that has been read, its kinds found and the question put."""
    accepted = check_codes(accept)
    rows = np.arange(table.data.num_rows) if question is None else question.rows
    looked = looked_at(len(rows), table.data.num_columns, seed)
    y = np.empty(0) if question is None else question.y[looked]
    data = table.data if len(looked) == table.data.num_rows else table.data.take(rows[looked])
    budget = budget or Budget()
    subject = Subject(data, layout, told or Told(), question, y, folds, seed, budget)
    whole = _whole(subject, table, rows)
    checks = [*_checks(subject), *_counts(subject, table, len(rows)), *_all_rows(whole, table)]
    if other is not None:
        checks += _both(layout, data, table.data, other.data)
    findings, undone = _looked(checks, budget, tell or (lambda what: None))
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
        not_looked_for=tuple(undone),
    )


class Check(NamedTuple):
    """What is looked for, the codes of what may be found, and how."""

    what: str
    codes: tuple[str, ...]
    findings: Callable[[], Iterable[Finding]]


def _checks(subject: Subject) -> Iterator[Check]:
    for check, *codes in (
        (missing_values, "KG-A01"), (constants, "KG-A02"), (copies, "KG-A03"),
        (near_duplicates, "KG-A05"), (identifiers, "KG-A06"), (giveaways, "KG-A07", "KG-A08"),
        (groups, "KG-A09"), (time_order, "KG-A10"), (future, "KG-A11"), (imbalance, "KG-A12"),
    ):  # fmt: skip
        what = f"looking for {check.__name__.replace('_', ' ')}"
        yield Check(what, tuple(codes), partial(check, subject))


def _counts(subject: Subject, table: Table, rows: int) -> Iterator[Check]:
    lost = _too_small(table, subject.question)
    yield Check("looking for small classes", ("KG-A13",), lambda: small_classes(subject, lost))
    yield Check("looking for enough rows", ("KG-A14",), lambda: few_rows(subject, rows))


def _all_rows(whole: Subject, table: Table) -> Iterator[Check]:
    yield Check("looking for equal rows", ("KG-A04",), lambda: duplicates(whole))
    told = "looking for what was made of all rows"
    yield Check(told, ("KG-A17",), lambda: prepared(whole, table))


def _both(layout: Layout, part: Any, here: Any, there: Any) -> Iterator[Check]:
    told = "comparing the two tables"
    yield Check(told, ("KG-A15",), lambda: drift(layout, part, there))
    yield Check(told, ("KG-A16",), lambda: shared_rows(layout, here, there))


def _looked(checks: list[Check], budget: Budget, tell: Tell) -> tuple[list[Finding], list[str]]:
    """The findings, and the codes that there was no time to look for."""
    findings: list[Finding] = []
    undone: list[str] = []
    for check in checks:
        if budget.expired:
            undone += check.codes
            continue
        tell(check.what)
        try:
            for finding in check.findings():
                findings.append(finding)  # one by one: those before the time is up count
        except OutOfTimeError:
            undone += check.codes
    return findings, sorted(undone)


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

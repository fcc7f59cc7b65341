"""All checks in order, on a table that has been read or on any source.

The checks use a random sample of a long table (at most 20 000 rows, fewer with thousands of
columns), which the audit reports. Without a target only the inputs are checked. When the time limit
is reached no further column is checked; the codes that were left out are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kilogram.base.budget import Budget
from kilogram.base.constraints import Null, Real
from kilogram.kitchen.audit.audit_data import AuditData, OutOfTimeError, sampled_rows
from kilogram.kitchen.audit.checks_columns import (
    constants,
    copies,
    identifiers,
    missing_values,
    target_leaks,
    unreadable_numbers,
)
from kilogram.kitchen.audit.checks_drift import drift, shared_rows
from kilogram.kitchen.audit.checks_formulas import formulas
from kilogram.kitchen.audit.checks_order import future, groups, time_order
from kilogram.kitchen.audit.checks_preprocessing import preprocessing_findings
from kilogram.kitchen.audit.checks_rows import duplicates, near_duplicates
from kilogram.kitchen.audit.checks_target import few_rows, imbalance, small_classes
from kilogram.kitchen.audit.finding import SEVERITIES, Audit, Finding, check_codes
from kilogram.kitchen.errors import check_setting
from kilogram.kitchen.features.column_types import find_layout
from kilogram.kitchen.features.columns import Layout, as_text, plain
from kilogram.kitchen.features.overrides import ColumnOverrides, orders
from kilogram.kitchen.question import Question, TaskName, make_question
from kilogram.kitchen.read.table import Table, read_table

MOST_COMPARED = 5e7  # cells: bounds the time of hashing them to seconds

Notify = Callable[[str], None]


def audit(
    table: Any,
    target: str | None = None,
    *,
    against: Any = None,
    task: TaskName | None = None,
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
    notify: Notify | None = None,
    **how: Any,
) -> Audit:
    """Check a table for data leakage and other problems, before anything is split or fitted.

    Parameters
    ----------
    table : path or data frame
    target : str, default=None
        The column to predict; without it only the inputs are checked.
    against : path or data frame, default=None
        Another table, such as the one to be predicted, to compare distributions and rows.
    task : {"regression", "classification", "ordinal"}, default=None
        Overrides the detected task.
    folds, seed : int
        As `cook` will use them.
    accept : collection of codes
        Serious findings to accept.
    numeric, categorical, ordinal, text, date, image, drop, group, time
        Overrides of the detected column types; `ordinal` maps a column to its levels, lowest first.
    max_time : float or None, default=600
        Time limit in seconds; `not_checked` of the audit has the codes that it left out.
    notify : callable(what), default=None
        Called with the name of each check.
    **how
        `delimiter`, `encoding`, `header`, `sheet`, `max_memory` of the file.

    Returns
    -------
    Audit
        `findings`, most serious first; `serious`, those that would stop `cook`; `as_json()`.

    Examples
    --------
    >>> import kilogram as kg, pandas as pd
    >>> frame = pd.DataFrame({"x": range(0, 300, 3), "y": [k % 7 for k in range(100)]})
    >>> frame["leak"] = frame["y"] * 2 + 1
    >>> [finding.code for finding in kg.audit(frame, "y", task="regression").serious]
    ['KG-A07']
    """
    check_setting("max_time", max_time, Real(0, closed="right") | Null())
    budget = Budget(max_time=max_time)
    given = orders(ordinal)
    levels = given.pop(target, ()) if target is not None else ()
    overrides = ColumnOverrides.of(
        given, group, time,
        numeric=numeric, categorical=categorical, text=text, date=date, image=image, ignore=drop,
    )  # fmt: skip
    found = read_table(table, seed=seed, max_time=max_time, **how)
    layout = find_layout(found.data, target, overrides=overrides)
    question = None if target is None else make_question(
        found, target, task=task, folds=folds, levels=levels
    )  # fmt: skip
    other = None if against is None else read_table(against, seed=seed, max_time=max_time, **how)
    return audit_table(
        found,
        layout,
        question,
        overrides=overrides,
        folds=folds,
        seed=seed,
        accept=accept,
        other=other,
        notify=notify,
        budget=budget,
    )


def audit_table(
    table: Table,
    layout: Layout,
    question: Question | None,
    *,
    overrides: ColumnOverrides | None = None,
    folds: int = 5,
    seed: int = 0,
    accept: Collection[str] = (),
    other: Table | None = None,
    notify: Notify | None = None,
    budget: Budget | None = None,
) -> Audit:
    """The audit of a table that has been read, with its column types and task."""
    accepted = check_codes(accept)
    rows = np.arange(table.data.num_rows) if question is None else question.rows
    looked = sampled_rows(len(rows), table.data.num_columns, seed)
    y = np.empty(0) if question is None else question.y[looked]
    data = table.data if len(looked) == table.data.num_rows else table.data.take(rows[looked])
    budget = budget or Budget()
    subject = AuditData(
        data, layout, overrides or ColumnOverrides(), question, y, folds, seed, budget
    )
    whole = _unsampled(subject, table, rows)
    checks = [*_checks(subject), *_counts(subject, table, len(rows)), *_all_rows(whole, table)]
    if other is not None:
        checks += _comparisons(layout, data, table.data, other.data)
    findings, undone = _run_checks(checks, budget, notify or (lambda what: None))
    findings.sort(key=lambda f: (SEVERITIES.index(f.severity), f.code))
    return Audit(
        table=table.name,
        target=None if question is None else question.target,
        rows=table.data.num_rows,
        columns=layout.columns,
        findings=tuple(findings),
        accepted=accepted,
        sampled_rows=len(looked) if len(looked) < len(rows) else None,
        notes=(*table.notes, *(question.notes if question else ())),
        not_checked=tuple(undone),
    )


class Check(NamedTuple):
    """A check: its name, the codes it may find, and the function that finds them."""

    what: str
    codes: tuple[str, ...]
    findings: Callable[[], Iterable[Finding]]


def _checks(subject: AuditData) -> Iterator[Check]:
    for check, *codes in (
        (missing_values, "KG-A01"), (constants, "KG-A02"), (copies, "KG-A03"),
        (near_duplicates, "KG-A05"), (identifiers, "KG-A06"), (target_leaks, "KG-A07", "KG-A08"),
        (formulas, "KG-A07"), (unreadable_numbers, "KG-A18"),
        (groups, "KG-A09"), (time_order, "KG-A10"),
        (future, "KG-A11"), (imbalance, "KG-A12"),
    ):  # fmt: skip
        what = f"checking for {check.__name__.replace('_', ' ')}"
        yield Check(what, tuple(codes), partial(check, subject))


def _counts(subject: AuditData, table: Table, rows: int) -> Iterator[Check]:
    lost = _too_small(table, subject.question)
    yield Check("checking for small classes", ("KG-A13",), lambda: small_classes(subject, lost))
    yield Check("checking the number of rows", ("KG-A14",), lambda: few_rows(subject, rows))


def _all_rows(whole: AuditData, table: Table) -> Iterator[Check]:
    yield Check("checking for duplicate rows", ("KG-A04",), lambda: duplicates(whole))
    yield Check(
        "checking for preprocessing on all rows",
        ("KG-A17",),
        lambda: preprocessing_findings(whole, table),
    )


def _comparisons(layout: Layout, part: Any, here: Any, there: Any) -> Iterator[Check]:
    what = "comparing the two tables"
    yield Check(what, ("KG-A15",), lambda: drift(layout, part, there))
    yield Check(what, ("KG-A16",), lambda: shared_rows(layout, here, there))


def _run_checks(
    checks: list[Check], budget: Budget, notify: Notify
) -> tuple[list[Finding], list[str]]:
    """The findings, and the codes that the time limit left out."""
    findings: list[Finding] = []
    undone: list[str] = []
    for check in checks:
        if budget.expired:
            undone += check.codes
            continue
        notify(check.what)
        try:
            for finding in check.findings():
                findings.append(finding)  # one by one: those before the time is up count
        except OutOfTimeError:
            undone += check.codes
    return findings, sorted(undone)


def _unsampled(subject: AuditData, table: Table, rows: np.ndarray) -> AuditData:
    """All rows with a target, if comparing them is fast: a sample would separate duplicates."""
    if len(rows) * table.data.num_columns > MOST_COMPARED or len(rows) == subject.rows:
        return subject
    y = subject.y if subject.question is None else subject.question.y
    return replace(subject, data=table.data.take(rows), y=y)


def _too_small(table: Table, question: Question | None) -> dict[str, int]:
    """Classes of the target that are too small, with their rows."""
    if question is None or not question.classes:
        return {}
    words = as_text(plain(table.data.column(question.target))).drop_null()
    counts = {one["values"]: one["counts"] for one in words.value_counts().to_pylist()}
    return {word: n for word, n in sorted(counts.items()) if word not in question.classes}

"""Checks of columns: missing values, constants, duplicates, identifiers, target leakage."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kilogram.kitchen.audit.audit_data import AuditData
from kilogram.kitchen.audit.column_skill import gap_skill, numbers_skill, skill
from kilogram.kitchen.audit.finding import Finding
from kilogram.kitchen.errors import quoted
from kilogram.kitchen.features.columns import Column, plain
from kilogram.kitchen.features.number_formats import NumberFormat
from kilogram.kitchen.formatting import percent

# A column with this skill leaks the target; one a little worse does if no other comes near it.
SURE, LIKELY, STANDS_OUT = 0.99, 0.95, 0.1
# Rank correlation or accuracy that few honest columns have: a candidate, see `STANDS_OUT`.
STRONG = 0.9
GAP_SERIOUS, GAP_WARNING = 0.9, 0.3
MANY_GAPS = 0.5  # most rows
FEW_ROWS = 30  # chance alone gives columns of rank correlation 0.36 below (5 % level)


def missing_values(subject: AuditData) -> Iterator[Finding]:
    """KG-A01."""
    with_gaps = [c for c in subject.layout.columns if c.missing and c.kind != "missing"]
    if not with_gaps:
        return
    worst = sorted(with_gaps, key=lambda c: -c.missing)
    rows = max(subject.rows, 1)
    fraction = worst[0].missing / max(rows, worst[0].missing)
    listed = ", ".join(f"{c.name!r} {c.missing:,}" for c in worst[:4])
    more = f" and {len(worst) - 4} more columns" if len(worst) > 4 else ""
    yield Finding(
        "KG-A01",
        "warning" if fraction > MANY_GAPS else "note",
        f"{len(worst)} column{'s have' if len(worst) > 1 else ' has'} missing values: "
        f"{listed}{more}.",
        tuple(c.name for c in worst),
        {c.name: c.missing for c in worst},
    )


def unreadable_numbers(subject: AuditData) -> Iterator[Finding]:
    """KG-A18: cells of numeric columns that are not numbers."""
    for column in subject.layout.columns:
        cells = plain(subject.data.column(column.name))
        if column.kind != "numeric" or not column.form or not pa.types.is_string(cells.type):
            continue
        bad = NumberFormat.from_text(column.form).unreadable(cells)
        if bad:
            count = sum(bad.values())
            shown = quoted(list(bad), 5)
            yield Finding(
                "KG-A18", "warning",
                f"{column.name!r} is numeric, but {count:,} cell{'s are' if count > 1 else ' is'} "
                f"not: {shown}.",
                (column.name,), bad,
            )  # fmt: skip


def constants(subject: AuditData) -> Iterator[Finding]:
    """KG-A02."""
    still = [c.name for c in subject.layout.columns if c.kind in ("constant", "missing")]
    if still:
        yield Finding(
            "KG-A02",
            "note",
            f"{quoted(still)}: one value in every row, or no value at all.",
            tuple(still),
        )


def copies(subject: AuditData) -> Iterator[Finding]:
    """KG-A03: columns equal up to a renaming of their values, or to scale and sign."""
    groups: dict[bytes, list[str]] = {}
    for column in subject.in_time(subject.layout.used):
        groups.setdefault(_content(subject, column), []).append(column.name)
    for names in groups.values():
        if len(names) > 1:
            yield Finding(
                "KG-A03",
                "warning",
                f"{quoted(names)} hold the same information, value for value.",
                tuple(names),
            )


def _content(subject: AuditData, column: Column) -> bytes:
    """A key that is equal for columns with the same information."""
    codes = subject.codes[column.name]
    if column.distinct <= subject.rows / 2:
        # codes count the values in the order they appear, so a renamed copy has the same codes
        return codes.tobytes()
    if column.kind not in ("numeric", "date", "time"):
        return column.name.encode()
    x = subject.numbers(column)
    here = np.isfinite(x)
    filled = x[here]
    x = np.where(here, (x - filled.mean()) / (filled.std() or 1.0), 0.0)
    if x[here.argmax()] < 0:
        x = -x
    return (np.round(x, 6) + 0.0).tobytes()  # + 0.0: -0.0 is 0.0


def identifiers(subject: AuditData) -> Iterator[Finding]:
    """KG-A06: identifiers, and whether they predict the target."""
    for column in subject.layout.columns:
        if column.kind != "identifier" or column.reason.endswith("as requested"):
            continue
        found = _order_skill(subject, column)
        if found is None or found < STRONG:
            yield Finding("KG-A06", "note", f"{column.name!r}: {column.reason}.",
                          (column.name,))  # fmt: skip
            continue
        yield Finding(
            "KG-A06", "warning",
            f"{column.name!r}: {column.reason}; yet it predicts the target "
            f"({found:.2f}, where 0 is chance and 1 is perfect): the rows are sorted by it.",
            (column.name,), {"skill": found},
        )  # fmt: skip


def _order_skill(subject: AuditData, column: Column) -> float | None:
    """Skill of an identifier as a number, where it is one."""
    if subject.question is None or subject.rows < FEW_ROWS:
        return None
    cells = subject.data.column(column.name)
    if not str(cells.type).startswith(("int", "uint", "float", "double")):
        return None
    return numbers_skill(subject.numbers(Column(column.name, "numeric", "")), subject)


def target_leaks(subject: AuditData) -> Iterator[Finding]:
    """KG-A07 and KG-A08: columns, or their missing values, that predict the target too well."""
    if subject.question is None or subject.rows < FEW_ROWS:
        return
    looked = [c for c in subject.layout.used if c.kind not in ("text", "image", "date", "time")]
    skills = {column.name: skill(subject, column) for column in subject.in_time(looked)}
    # copies of a leak are no reason to take it for honest, columns a little weaker are
    rest = max((s for s in skills.values() if s < LIKELY), default=0.0)
    for column in subject.in_time(looked):
        yield from _gaps(subject, column)
        found = skills[column.name]
        if found < STRONG:
            continue
        next_best = max((s for name, s in skills.items() if name != column.name), default=0.0)
        alone = found >= LIKELY and 1 - found <= STANDS_OUT * (1 - rest)
        yield Finding(
            "KG-A07", "serious" if found >= SURE or alone else "warning",
            _leak(subject, column, found, next_best), (column.name,),
            {"skill": found, "next_best": next_best},
        )  # fmt: skip


def _leak(subject: AuditData, column: Column, found: float, next_best: float) -> str:
    assert subject.question is not None
    target = subject.question.target
    if _is_copy(subject, column):
        return (
            f"{column.name!r} is {target!r} under another name: their values correspond one to one."
        )
    unit, chance = ("balanced accuracy", 1 / subject.classes) if subject.classes else ("R²", 0.0)
    score, other = (chance + (1 - chance) * s for s in (found, next_best))
    return (
        f"{column.name!r} alone predicts {target!r}: cross-validated {unit} {score:.3f}; the "
        f"best other column reaches {other:.3f}."
    )


def _is_copy(subject: AuditData, column: Column) -> bool:
    """Does each value of the column stand for one value of the target, and the other way round?

    Where hardly a value comes twice that says nothing; there the two must lie on one line.
    """
    codes = subject.codes[column.name]
    if not subject.classes and column.distinct > subject.rows / 2:
        x = subject.numbers(column) if column.kind == "numeric" else np.zeros(subject.rows)
        here = np.isfinite(x)
        line = np.corrcoef(x[here], subject.y[here])[0, 1] if np.ptp(x[here]) > 0 else 0.0
        return abs(float(line)) > 1 - 1e-9
    y = np.unique(subject.y, return_inverse=True)[1]
    pairs = len(np.unique(np.stack([codes, y]), axis=1).T)
    return pairs == len(np.unique(codes)) == len(np.unique(y))


def _gaps(subject: AuditData, column: Column) -> Iterator[Finding]:
    missing = subject.codes[column.name] < 0
    if not 10 <= missing.sum() <= subject.rows - 10:
        return
    found = gap_skill(missing, subject)
    if found < GAP_WARNING:
        return
    yield Finding(
        "KG-A08",
        "serious" if found >= GAP_SERIOUS else "warning",
        f"Whether {column.name!r} is missing ({percent(missing.mean())} of the rows) predicts the "
        f"target by itself ({found:.2f}, where 0 is chance and 1 is perfect).",
        (column.name,),
        {"skill": found},
    )

"""Checks of the target: class imbalance, very small classes, few rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kilogram.kitchen.audit.audit_data import AuditData
from kilogram.kitchen.audit.finding import Finding
from kilogram.kitchen.errors import quoted
from kilogram.kitchen.formatting import percent

RARE, VERY_RARE = 0.1, 0.02
FEW_ROWS = 50  # an accuracy of fewer has a standard error of 7 % and more: it decides nothing
# Columns that a text or an image stands for: FeatureSettings makes 30 to 200 of one.
TEXT_WORTH = 50


def imbalance(subject: AuditData) -> Iterator[Finding]:
    """KG-A12."""
    if not subject.classes or subject.question is None:
        return
    counts = np.bincount(subject.y.astype(int), minlength=subject.classes)
    least, most = int(counts.argmin()), int(counts.argmax())
    fraction = counts[least] / counts.sum()
    if fraction >= RARE / max(1, subject.classes - 1):
        return
    names = subject.question.classes
    yield Finding(
        "KG-A12", "warning" if fraction < VERY_RARE else "note",
        f"{names[least]!r} has {counts[least]:,} of {counts.sum():,} rows "
        f"({percent(fraction, 1)}), {names[most]!r} {percent(counts[most] / counts.sum())}.",
        (), {name: int(count) for name, count in zip(names, counts, strict=True)},
    )  # fmt: skip


def small_classes(subject: AuditData, lost: dict[str, int]) -> Iterator[Finding]:
    """KG-A13: classes with fewer rows than folds."""
    if lost:
        yield Finding(
            "KG-A13", "warning",
            f"{quoted(lost, 5)}: fewer than {subject.folds} rows each, "
            f"{sum(lost.values())} in all.",
            (), dict(lost),
        )  # fmt: skip


def few_rows(subject: AuditData, rows: int) -> Iterator[Finding]:
    """KG-A14."""
    worth = {"text": TEXT_WORTH, "image": TEXT_WORTH}
    wide = sum(
        len(c.levels) if c.kind == "categorical" else worth.get(c.kind, 1)
        for c in subject.layout.used
    )
    if rows < FEW_ROWS:
        yield Finding("KG-A14", "warning", f"Only {rows} rows have a target.", (), {"rows": rows})
    elif wide > rows:
        yield Finding(
            "KG-A14", "warning", f"{wide:,} features for {rows:,} rows.", (),
            {"rows": rows, "features": wide},
        )  # fmt: skip

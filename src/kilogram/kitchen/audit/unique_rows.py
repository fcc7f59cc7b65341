"""One of each set of equal rows: identifiers ignored, the target included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kilogram.kitchen.audit.audit_data import AuditData
from kilogram.kitchen.audit.checks_rows import row_keys
from kilogram.kitchen.features.columns import Column, Layout
from kilogram.kitchen.features.overrides import ColumnOverrides
from kilogram.kitchen.read.table import Table


def unique_rows(table: Table, layout: Layout, target: str) -> Table:
    """The table without the rows that duplicate an earlier one."""
    subject = AuditData(table.data, layout, ColumnOverrides(), None, np.empty(0), 2, 0)
    codes = [subject.coded(column) for column in layout.used]
    if target in table.data.column_names:
        codes.append(subject.coded(Column(target, "categorical", "")))
    if not codes:
        return table
    first = np.sort(np.unique(row_keys(codes), return_index=True)[1])
    lost = table.data.num_rows - len(first)
    if not lost:
        return table
    note = f"{lost:,} duplicate rows were left out."
    return replace(table, data=table.data.take(first), notes=(*table.notes, note))

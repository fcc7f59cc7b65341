"""One of each set of equal rows: names of rows aside, the target included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kilogram.kitchen.audit.checks_rows import row_keys
from kilogram.kitchen.audit.subject import Subject
from kilogram.kitchen.columns import Column, Layout
from kilogram.kitchen.read import Table
from kilogram.kitchen.told import Told


def unique_rows(table: Table, layout: Layout, target: str) -> Table:
    """The table without the rows that repeat an earlier one."""
    subject = Subject(table.data, layout, Told(), None, np.empty(0), 2, 0)
    codes = [subject.coded(column) for column in layout.used]
    if target in table.data.column_names:
        codes.append(subject.coded(Column(target, "categorical", "")))
    if not codes:
        return table
    first = np.sort(np.unique(row_keys(codes), return_index=True)[1])
    lost = table.data.num_rows - len(first)
    if not lost:
        return table
    note = f"{lost:,} rows that repeat another one were left out."
    return replace(table, data=table.data.take(first), notes=(*table.notes, note))

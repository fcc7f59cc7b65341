"""The data of the checks: a sample of the rows with a target, encoded as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kilogram.base.budget import Budget
from kilogram.kitchen.features.columns import Column, Layout, as_text, plain, values
from kilogram.kitchen.features.overrides import ColumnOverrides
from kilogram.kitchen.question import Question

MAX_ROWS = 20_000  # a fraction of 1 % is then known to 0.1 %
MAX_CELLS = 2e7  # bounds the time of an audit: all 20 000 rows up to 1 000 columns
# Of wide tables, however many cells that is: a fraction of 1 % is known to 0.2 %.
FEWEST_ROWS = 2000


class OutOfTimeError(Exception):
    """The time limit ended a check before it had seen all columns."""


@dataclass(frozen=True)
class AuditData:
    """A table under audit: its rows with a target, the types of its columns, the target y."""

    data: pa.Table
    layout: Layout
    overrides: ColumnOverrides
    question: Question | None
    y: np.ndarray
    folds: int
    seed: int
    budget: Budget = field(default_factory=Budget)

    def in_time(self, columns: Iterable[Column]) -> Iterator[Column]:
        """The columns one by one, while there is time."""
        for column in columns:
            if self.budget.expired:
                raise OutOfTimeError
            yield column

    @property
    def rows(self) -> int:
        return self.data.num_rows

    @property
    def classes(self) -> int:
        """Number of classes of the target; 0 for a number or no target."""
        return len(self.question.classes) if self.question else 0

    @cached_property
    def codes(self) -> dict[str, np.ndarray]:
        """Column -> (n,) whole numbers, equal where cells are equal, -1 where missing."""
        looked = [c for c in self.layout.columns if c.used or c.kind == "group"]
        return {column.name: self.coded(column) for column in self.in_time(looked)}

    def coded(self, column: Column) -> np.ndarray:
        """Equal cells as equal numbers; text without regard to case and blanks."""
        cells = plain(self.data.column(column.name))
        if column.kind == "text":
            cells = pc.utf8_trim_whitespace(pc.utf8_lower(as_text(cells)))
        found = pc.index_in(cells, pc.unique(cells).drop_null())
        return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)

    def numbers(self, column: Column) -> np.ndarray:
        """A numeric, ordinal or date column as floats; not to be written to."""
        key = column.name, column.kind
        if key not in self._numbers:
            self._numbers[key] = values(column, self.data.column(column.name))
        return self._numbers[key]

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], np.ndarray]:
        """Columns once made into numbers: several checks look at each."""
        return {}

    @cached_property
    def fold(self) -> np.ndarray:
        """(n,) a fold for each row, drawn at random."""
        rng = np.random.default_rng(self.seed)
        return rng.permutation(np.arange(self.rows) % self.folds)


def sampled_rows(rows: int, columns: int, seed: int) -> np.ndarray:
    """Rows to look at: all, or a random part that keeps the checks quick."""
    most = int(min(MAX_ROWS, max(FEWEST_ROWS, MAX_CELLS / max(columns, 1))))
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))

"""Checks of two tables: distribution shift and shared rows.

    numbers    the largest difference between the two distribution functions (Kolmogorov-Smirnov)
    categories half the sum of the differences of their frequencies (total variation)
    missing   the difference of the fractions of missing values

Only significant differences are reported: the distance must exceed its 99.9 % quantile under no
change (asymptotic distribution, Bonferroni over the columns), and be large enough to matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kilogram.kitchen.audit.checks_rows import row_keys
from kilogram.kitchen.audit.finding import Finding
from kilogram.kitchen.features.columns import NEW_LEVEL, Column, Layout, as_text, plain, values
from kilogram.kitchen.formatting import percent

SERIOUS, WARNING = 0.3, 0.1
SHARED_SERIOUS, SHARED_WARNING = 0.05, 0.005


def drift(layout: Layout, here: pa.Table, there: pa.Table) -> Iterator[Finding]:
    """KG-A15 for every used column."""
    known = set(there.column_names)
    lost = [c.name for c in layout.used if c.name not in known]
    if lost:
        yield Finding("KG-A15", "serious", f"The other table lacks {', '.join(map(repr, lost))}.",
                      tuple(lost))  # fmt: skip
    compared = [c for c in layout.used if c.name in known]
    noise = math.sqrt(-0.5 * math.log(0.001 / 2 / max(len(compared), 1)))
    noise *= math.sqrt((here.num_rows + there.num_rows) / (here.num_rows * there.num_rows))
    for column in compared:
        yield from _moved(column, here, there, noise)


def _moved(column: Column, here: pa.Table, there: pa.Table, noise: float) -> Iterator[Finding]:
    ours, theirs = plain(here.column(column.name)), plain(there.column(column.name))
    gap = abs(ours.null_count / len(ours) - theirs.null_count / len(theirs))
    if column.kind in ("numeric", "ordinal", "date", "time"):
        a, b = values(column, ours), values(column, theirs)
        far, evidence = _numbers(a[np.isfinite(a)], b[np.isfinite(b)], column)
    elif column.kind == "categorical":
        far, evidence = _words(column, ours, theirs)
        noise *= math.sqrt(max(len(column.levels), 2))
    else:
        far, evidence = 0.0, ""
    if max(far, gap) <= max(noise, WARNING):
        return
    if gap > far:
        evidence = (
            f"{percent(ours.null_count / len(ours))} missing here, "
            f"{percent(theirs.null_count / len(theirs))} in the other table"
        )
    yield Finding(
        "KG-A15",
        "serious" if max(far, gap) >= SERIOUS else "warning",
        f"{column.name!r}: {evidence} (distance {max(far, gap):.2f} of 1).",
        (column.name,),
        {"distance": far, "gap_difference": gap},
    )


def _numbers(a: np.ndarray, b: np.ndarray, column: Column) -> tuple[float, str]:
    if not len(a) or not len(b):
        return 0.0, ""
    both = np.sort(np.concatenate([a, b]))
    F = np.searchsorted(np.sort(a), both, side="right") / len(a)
    G = np.searchsorted(np.sort(b), both, side="right") / len(b)
    unit = " days" if column.kind in ("date", "time") and column.form != "number" else ""
    evidence = f"the median changed from {np.median(a):.4g} to {np.median(b):.4g}{unit}"
    return float(np.abs(F - G).max()), evidence


def _words(column: Column, ours: pa.Array, theirs: pa.Array) -> tuple[float, str]:
    K = len(column.levels)
    fractions = []
    for cells in (ours, theirs):
        place = values(column, as_text(cells))
        place = np.where(place == NEW_LEVEL, K, place)[np.isfinite(place)].astype(int)
        fractions.append(np.bincount(place, minlength=K + 1) / max(len(place), 1))
    moved = fractions[1] - fractions[0]
    k = int(np.abs(moved).argmax())
    name = repr(column.levels[k]) if k < K else "categories not in this table"
    evidence = f"{name} changed from {percent(fractions[0][k])} to {percent(fractions[1][k])}"
    return float(np.abs(moved).sum() / 2), evidence


def shared_rows(layout: Layout, here: pa.Table, there: pa.Table) -> Iterator[Finding]:
    """KG-A16: rows of the other table whose inputs equal those of a row of this one."""
    known = set(there.column_names)
    names = [c.name for c in layout.used if c.name in known]
    if not names:
        return
    both = pa.concat_tables(
        [_worded(here.select(names)), _worded(there.select(names))], promote_options="permissive"
    )
    codes = [np.unique(_codes(both.column(name)), return_inverse=True)[1] for name in names]
    keys = row_keys(codes)
    ours, theirs = keys[: here.num_rows], keys[here.num_rows :]
    fraction = float(np.mean(np.isin(theirs, ours)))
    # what repeats within one table repeats between two of the same kind
    usual = 1 - len(np.unique(ours)) / len(ours)
    if fraction <= SHARED_WARNING or fraction <= 1.5 * usual + SHARED_WARNING:
        return
    yield Finding(
        "KG-A16", "serious" if fraction >= SHARED_SERIOUS else "warning",
        f"{percent(fraction, 1)} of the rows of the other table are in this one too.", (),
        {"fraction": fraction},
    )  # fmt: skip


def _worded(table: pa.Table) -> pa.Table:
    columns = [as_text(plain(column)) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _codes(column: pa.ChunkedArray) -> np.ndarray:
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)

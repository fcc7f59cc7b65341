"""The outer folds: at random, between groups, or along time.

random   shuffled and stratified by class; drawn again for every repetition
group    rows of one group in one fold; a row without a group is a group of its own
time     each test part lies after all rows it is predicted from; one round
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.model_selection import (
    GroupKFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    TimeSeriesSplit,
)

from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.features.columns import Layout, values
from kilogram.kitchen.measures import Measure
from kilogram.kitchen.settings import Settings

Splits = list[tuple[np.ndarray, np.ndarray]]


def along_columns(data: pa.Table, layout: Layout, settings: Settings) -> dict[str, Any]:
    """What folds are split along: the groups or the times of the rows, if given."""
    if settings.group is not None:
        cells = data.column(settings.group).combine_chunks().dictionary_encode()
        codes = cells.indices.to_numpy(zero_copy_only=False).astype(float)
        alone = np.isnan(codes)
        codes[alone] = len(cells.dictionary) + np.arange(int(alone.sum()))
        return {"groups": codes.astype(np.int64)}
    if settings.time is not None:
        column = next(c for c in layout.columns if c.name == settings.time)
        return {"moments": values(column, data.column(settings.time))}
    return {}


def split(
    y: np.ndarray,
    measure: Measure,
    folds: int,
    repeats: int,
    seed: int,
    *,
    groups: np.ndarray | None = None,
    moments: np.ndarray | None = None,
) -> Splits:
    """Outer (train, test) rows."""
    numbers = measure.task == "regression"
    blank = np.zeros((len(y), 1))
    if moments is not None:
        return _time_ordered(y, moments, folds, classes=not numbers)
    if groups is not None:
        if len(np.unique(groups)) < folds:
            raise KitchenError(
                f"There are {len(np.unique(groups))} groups, fewer than the {folds} folds."
            )
        found: Splits = []
        for r in range(repeats):
            cut: Any = GroupKFold if numbers else StratifiedGroupKFold
            found += cut(folds, shuffle=True, random_state=seed + r).split(blank, y, groups)
        if not numbers and any(len(np.unique(y[train])) < 2 for train, _ in found):
            raise KitchenError(
                "All rows of some class are in one fold of groups, so that the other folds cannot "
                "teach it. Use other --folds, another --group, or merge classes."
            )
        return found
    kind = RepeatedKFold if numbers else RepeatedStratifiedKFold
    return list(kind(n_splits=folds, n_repeats=repeats, random_state=seed).split(blank, y))


def _time_ordered(y: np.ndarray, moments: np.ndarray, folds: int, *, classes: bool) -> Splits:
    """Test parts after their training parts; rows without a time come first."""
    order = np.argsort(np.nan_to_num(moments, nan=-np.inf), kind="stable")
    found = [
        (order[train], order[test])
        for train, test in TimeSeriesSplit(folds).split(order[:, None])
        if not classes or len(np.unique(y[order[train]])) == len(np.unique(y))
    ]
    if len(found) < 2:
        raise KitchenError(
            "Some class is missing among the early rows: with --time it can be neither learnt nor "
            "evaluated."
        )
    return found


def rounds(rows: int) -> int:
    """Repetitions of the cross-validation by the number of rows."""
    return 3 if rows <= 500 else 2 if rows <= 2000 else 1

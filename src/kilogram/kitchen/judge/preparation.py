"""A run of `cook`, prepared before the first fit: cells, target, outer folds, recipes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kilogram.kitchen.features.columns import Layout
from kilogram.kitchen.judge.folds import Splits, along_columns, rounds, split
from kilogram.kitchen.judge.journal import Journal, fingerprint_of
from kilogram.kitchen.measures import Measure
from kilogram.kitchen.question import Question
from kilogram.kitchen.read.table import Table
from kilogram.kitchen.recipes.recipe import Recipe, SearchSettings, left_out, letters, recipes
from kilogram.kitchen.settings import Settings

# So many rows of a table with few columns are cooked in a second of the time limit.
ROWS_PER_SECOND, MANY_COLUMNS, FEWEST_ROWS = 250, 50, 1000
# Recipes of the default menu that are searched: linear, kernel, trees and boosting.
USUAL_RECIPES = 4


@dataclass(frozen=True)
class PreparedRun:
    """Cells, target, folds and recipes of a run, the journal, and notes.

    `rows` are the positions of the cells in the table.
    """

    rows: np.ndarray
    X: np.ndarray
    y: np.ndarray
    along: dict[str, Any]
    splits: Splits
    menu: tuple[Recipe, ...]
    journal: Journal
    notes: tuple[str, ...]


def prepare_run(
    table: Table, layout: Layout, question: Question, measure: Measure, settings: Settings,
    resume: Path | None,
) -> PreparedRun:  # fmt: skip
    """Everything a run with these settings needs before its first fit."""
    rows, notes = sample(question, settings, len(layout.used))
    data, y = table.data.take(question.rows[rows]), question.y[rows]
    X = layout.array(data, Path(table.path).parent if table.path else None)
    along = along_columns(data, layout, settings)
    repeats = settings.repeats or rounds(len(y))
    splits = split(y, measure, settings.folds, repeats, settings.seed, **along)
    splits = splits[: settings.outer_folds]
    length = letters(layout, X)
    search = _search_settings(settings, length, along=bool(along))
    menu = recipes(layout, measure, y, search)
    notes += left_out(layout, measure, y, search)
    journal = Journal(resume, fingerprint_of(
        X, y, splits, layout, measure.name, settings.search, settings.seed, version("kilogram"),
        [recipe.name for recipe in menu], sorted(settings.stopped_at.items()),
    ))  # fmt: skip
    if journal.count():
        notes.append(f"Resumed: {journal.count()} folds were finished by an interrupted run.")
    return PreparedRun(question.rows[rows], X, y, along, splits, menu, journal, tuple(notes))


def sample(question: Question, settings: Settings, columns: int) -> tuple[np.ndarray, list[str]]:
    """Indices of the rows to use, and a note if not all of them."""
    count, most = len(question.rows), settings.max_rows
    timely = affordable_rows(settings.max_time, columns)
    if count <= min(most, timely):
        return np.arange(count), []
    rng = np.random.default_rng(settings.seed)
    chosen = np.sort(rng.choice(count, min(most, timely), replace=False))
    why = f" as the time limit allows (--max-time {settings.max_time:g})" if timely < most else ""
    return chosen, [f"A random sample of {len(chosen):,} of {count:,} rows was used{why}."]


def affordable_rows(max_time: float | None, columns: int) -> int:
    """Rows on which all recipes can be compared within the time limit, by a rule of thumb.

    The plan is made before the first fold, so that it does not depend on the speed of the machine.
    """
    if max_time is None or math.isinf(max_time):
        return 10**12
    return max(FEWEST_ROWS, int(ROWS_PER_SECOND * max_time * min(1.0, MANY_COLUMNS / columns)))


def _search_settings(settings: Settings, letters: int, *, along: bool) -> SearchSettings:
    """The search inside each fold; it may take half of its part of the time limit."""
    limit = settings.max_time
    count = len(settings.recipes) or USUAL_RECIPES
    each = None if limit is None else limit / (2 * (settings.folds + 1) * count)
    return SearchSettings(settings.search, settings.seed, each, letters, settings.recipes, along)

"""The work of a run, prepared before the first fit: cells, target, outer folds, recipes."""

from __future__ import annotations

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


@dataclass(frozen=True)
class Work:
    """Cells, target, folds and recipes of a run, the journal, and notes."""

    X: np.ndarray
    y: np.ndarray
    along: dict[str, Any]
    splits: Splits
    menu: tuple[Recipe, ...]
    journal: Journal
    notes: tuple[str, ...]


def prepare_work(
    table: Table, layout: Layout, question: Question, measure: Measure, settings: Settings,
    resume: Path | None,
) -> Work:  # fmt: skip
    """The work for a task and settings."""
    rows, notes = sample(question, settings)
    data, y = table.data.take(question.rows[rows]), question.y[rows]
    X = layout.array(data, Path(table.path).parent if table.path else None)
    along = along_columns(data, layout, settings)
    repeats = settings.repeats or rounds(len(y))
    splits = split(y, measure, settings.folds, repeats, settings.seed, **along)
    splits = splits[: settings.outer_folds]
    length = letters(layout, X)
    menu = recipes(layout, measure, y, _search_settings(settings, length))
    notes += left_out(menu, layout, length, wanted=bool(settings.recipes))
    journal = Journal(resume, fingerprint_of(
        X, y, splits, layout, measure.name, settings.search, settings.seed, version("kilogram"),
        [recipe.name for recipe in menu],
    ))  # fmt: skip
    if journal.count():
        notes.append(f"Resumed: {journal.count()} folds were finished by an interrupted run.")
    return Work(X, y, along, splits, menu, journal, tuple(notes))


def sample(question: Question, settings: Settings) -> tuple[np.ndarray, list[str]]:
    """Indices of the rows to use, and a note if not all of them."""
    count = len(question.rows)
    if count <= settings.max_rows:
        return np.arange(count), []
    rng = np.random.default_rng(settings.seed)
    chosen = np.sort(rng.choice(count, settings.max_rows, replace=False))
    return chosen, [f"A random sample of {settings.max_rows:,} of {count:,} rows was used."]


def _search_settings(settings: Settings, letters: int) -> SearchSettings:
    """The search inside each fold; it may take half of its part of the time limit."""
    limit = settings.max_time
    each = None if limit is None else limit / (2 * (settings.folds + 1) * 3)
    return SearchSettings(settings.search, settings.seed, each, letters, settings.recipes)

"""What is to be judged, laid out before the first fit: cells, answers, outer folds, recipes."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kilogram.kitchen.columns import Layout
from kilogram.kitchen.folds import Splits, along_columns, rounds, split
from kilogram.kitchen.journal import Journal, fingerprint_of
from kilogram.kitchen.measures import Measure
from kilogram.kitchen.question import Question
from kilogram.kitchen.read import Table
from kilogram.kitchen.recipes import Hunt, Recipe, left_out, letters, recipes
from kilogram.kitchen.settings import Settings


@dataclass(frozen=True)
class Work:
    """What is to be judged, where finished folds are kept, and what is to be said of it."""

    X: np.ndarray
    y: np.ndarray
    along: dict[str, Any]
    splits: Splits
    menu: tuple[Recipe, ...]
    journal: Journal
    notes: tuple[str, ...]


def laid_out(
    table: Table, layout: Layout, question: Question, measure: Measure, settings: Settings,
    resume: Path | None,
) -> Work:  # fmt: skip
    """The work that a question and the settings ask for."""
    rows, notes = sample(question, settings)
    data, y = table.data.take(question.rows[rows]), question.y[rows]
    X = layout.array(data, Path(table.path).parent if table.path else None)
    along = along_columns(data, layout, settings)
    repeats = settings.repeats or rounds(len(y))
    splits = split(y, measure, settings.folds, repeats, settings.seed, **along)
    length = letters(layout, X)
    menu = recipes(layout, measure, y, _hunt(settings, length))
    notes += left_out(menu, layout, length)
    journal = Journal(resume, fingerprint_of(
        X, y, splits, layout, measure.name, settings.search, settings.seed, version("kilogram"),
        [recipe.name for recipe in menu],
    ))  # fmt: skip
    if journal.count():
        notes.append(f"{journal.count()} folds were finished by a run that was interrupted.")
    return Work(X, y, along, splits, menu, journal, tuple(notes))


def sample(question: Question, settings: Settings) -> tuple[np.ndarray, list[str]]:
    """Positions among the rows of the question to cook from, and a note if not all of them."""
    count = len(question.rows)
    if count <= settings.max_rows:
        return np.arange(count), []
    rng = np.random.default_rng(settings.seed)
    chosen = np.sort(rng.choice(count, settings.max_rows, replace=False))
    return chosen, [f"Cooked from {settings.max_rows:,} random rows of {count:,}."]


def _hunt(settings: Settings, letters: int) -> Hunt:
    """The search inside each fold; half its share of the time is the most it may take."""
    limit = settings.max_time
    each = None if limit is None else limit / (2 * (settings.folds + 1) * 3)
    return Hunt(settings.search, settings.seed, each, letters)

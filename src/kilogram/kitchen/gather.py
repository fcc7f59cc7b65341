"""All evidence about the recipe that is shown, as far as the time allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kilogram.base.budget import Budget
from kilogram.evaluation.learning import LearningCurve
from kilogram.kitchen.columns import Layout
from kilogram.kitchen.evidence import (
    Answers,
    Importance,
    Tuning,
    answers,
    importance,
    learning,
    tuning,
)
from kilogram.kitchen.judge import Judged, best_above_baseline
from kilogram.kitchen.settings import Settings
from kilogram.kitchen.trust import Trust, trust


@dataclass(frozen=True)
class Evidence:
    """What the pictures and the tables of the report show."""

    answers: Answers
    importance: Importance | None
    learning: LearningCurve | None
    tuning: tuple[Tuning, ...]
    trust: Trust


def gather(
    judged: tuple[Judged, ...],
    chosen: Judged,
    X: np.ndarray,
    layout: Layout,
    settings: Settings,
    budget: Budget,
    tell: Callable[[str], None],
) -> Evidence:
    """Evidence of the chosen recipe, or where nothing was learnt of the best that tried."""
    shown = chosen if chosen.name != "baseline" else best_above_baseline(judged)
    names = tuple(column.name for column in layout.used)
    tell("which columns matter")
    matters = importance(shown, X, names, seed=settings.seed, budget=budget)
    curve = learning(shown, X, seed=settings.seed, budget=budget, tell=tell)
    said = answers(shown, X)
    return Evidence(
        answers=said,
        importance=matters,
        learning=curve,
        tuning=tuple(found for one in judged if (found := tuning(one)) is not None),
        trust=trust(shown, said, X, layout, importance=matters, learning=curve, seed=settings.seed),
    )

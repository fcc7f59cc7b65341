"""All evidence about the recipe of the plots, as far as the time limit allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kilogram.base.budget import Budget
from kilogram.evaluation.learning_curves import LearningCurve
from kilogram.kitchen.features.columns import Layout
from kilogram.kitchen.judge.compare import EvaluatedRecipe, best_above_baseline
from kilogram.kitchen.judge.evidence import (
    HeldOutImportance,
    HeldOutPredictions,
    Tuning,
    held_out_predictions,
    importance,
    learning,
    tuning,
)
from kilogram.kitchen.judge.trust import TrustChecks, trust
from kilogram.kitchen.settings import Settings


@dataclass(frozen=True)
class Evidence:
    """The data of the plots and tables of the report."""

    held_out: HeldOutPredictions
    importance: HeldOutImportance | None
    learning: LearningCurve | None
    tuning: tuple[Tuning, ...]
    trust: TrustChecks


def collect_evidence(
    judged: tuple[EvaluatedRecipe, ...],
    chosen: EvaluatedRecipe,
    X: np.ndarray,
    layout: Layout,
    settings: Settings,
    budget: Budget,
    notify: Callable[[str], None],
    classes: tuple[str, ...] = (),
) -> Evidence:
    """Evidence of the chosen recipe, or of the best one where the baseline was chosen."""
    shown = chosen if chosen.name != "baseline" else best_above_baseline(judged)
    names = tuple(column.name for column in layout.used)
    notify("permutation importance")
    matters = importance(shown, X, names, seed=settings.seed, budget=budget)
    curve = learning(shown, X, seed=settings.seed, budget=budget, notify=notify)
    held_out = held_out_predictions(shown, X)
    return Evidence(
        held_out=held_out,
        importance=matters,
        learning=curve,
        tuning=tuple(found for one in judged if (found := tuning(one)) is not None),
        trust=trust(
            shown,
            judged[0],
            held_out,
            X,
            layout,
            importance=matters,
            learning=curve,
            seed=settings.seed,
            classes=classes,
        ),
    )

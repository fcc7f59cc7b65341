"""All evidence about the recipe of the plots, as far as the time limit allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kilogram.base.budget import Budget
from kilogram.evaluation.learning_curves import LearningCurve
from kilogram.kitchen.features.columns import Layout
from kilogram.kitchen.judge.compare import EvaluatedRecipe
from kilogram.kitchen.judge.evidence import (
    FRACTIONS,
    HeldOutImportance,
    HeldOutPredictions,
    Tuning,
    held_out_predictions,
    importance,
    learning,
    tuning,
)
from kilogram.kitchen.judge.prediction_checks import PredictionChecks, check_predictions
from kilogram.kitchen.judge.selection import best_above_baseline
from kilogram.kitchen.settings import Settings

# Names of evidence in `Settings.stopped_at`.
IMPORTANCE, LEARNING = "permutation_importance", "learning_curve"


@dataclass(frozen=True)
class Evidence:
    """The data of the plots and tables of the report."""

    held_out: HeldOutPredictions
    importance: HeldOutImportance | None
    learning: LearningCurve | None
    tuning: tuple[Tuning, ...]
    trust: PredictionChecks


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
    shown = recipe_of_evidence(judged, chosen)
    names = tuple(column.name for column in layout.used)
    notify("permutation importance")
    given = dict(settings.stopped_at)
    most = given.get(IMPORTANCE, (None,))[0]
    sizes = given.get(LEARNING, range(len(FRACTIONS)))
    matters = importance(shown, X, names, seed=settings.seed, budget=budget, folds=most)
    curve = learning(shown, X, seed=settings.seed, budget=budget, notify=notify,
                     fractions=[FRACTIONS[k] for k in sizes])  # fmt: skip
    held_out = held_out_predictions(shown, X)
    return Evidence(
        held_out=held_out,
        importance=matters,
        learning=curve,
        tuning=tuple(found for one in judged if (found := tuning(one)) is not None),
        trust=check_predictions(
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


def recipe_of_evidence(
    judged: tuple[EvaluatedRecipe, ...], chosen: EvaluatedRecipe
) -> EvaluatedRecipe:
    """The chosen recipe, or the best one where the baseline was chosen."""
    return chosen if chosen.name != "baseline" else best_above_baseline(judged)


def evidence_stops(
    found: Evidence, judged: tuple[EvaluatedRecipe, ...], chosen: EvaluatedRecipe,
    given: Mapping[str, Sequence[int]],
) -> dict[str, tuple[int, ...]]:  # fmt: skip
    """How far the evidence went where it is incomplete: folds of importance, sizes of the curve."""
    shown = recipe_of_evidence(judged, chosen)
    stops = {name: tuple(given[name]) for name in (IMPORTANCE, LEARNING) if name in given}
    folds = 0 if found.importance is None else found.importance.losses.shape[1]
    if folds < len(shown.first_round):
        stops[IMPORTANCE] = (folds,)
    curve = found.learning
    done = np.empty(0) if curve is None else curve.sizes[:-1] / shown.nested.rows[0]
    if len(done) < len(FRACTIONS) and LEARNING not in stops:
        near = [int(np.argmin(np.abs(np.array(FRACTIONS) - fraction))) for fraction in done]
        stops[LEARNING] = tuple(near)
    return stops

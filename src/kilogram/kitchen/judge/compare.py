"""The recipes evaluated on the same outer folds, within a time limit.

Fold by fold every recipe is tuned on the training part and scored on the test part, so that at any
time the recipes have been evaluated on the same rows and can be compared in pairs. Small tables get
repeated cross-validation, which narrows the intervals at little cost. When the time limit is near
no further fold is started; a recipe too slow for two folds is left out with a note. Finished folds
are stored in a journal, if there is one, and taken from it when the run is resumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import stats

from kilogram.base.budget import Budget
from kilogram.evaluation.grouped_fits import Along
from kilogram.evaluation.intervals import (
    Comparison,
    Interval,
    corrected_interval,
    no_narrower,
    rows_error,
)
from kilogram.evaluation.nested import Fold, Nested, OfAnswers, judge_fold
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.judge.journal import Journal
from kilogram.kitchen.measures import Measure, quick, side_measures
from kilogram.kitchen.recipes.recipe import Recipe, fitted_pipeline

Notify = Callable[[str], None]
# So few folds make the t quantile, and with it the intervals, more than twice what many would.
FEW_FOLDS = 3


@dataclass(frozen=True)
class EvaluatedRecipe:
    """A recipe with its outer folds; the models of the first repetition are kept for the plots."""

    recipe: Recipe
    nested: Nested
    measure: Measure
    y: np.ndarray
    along: Along | None = None

    @property
    def name(self) -> str:
        return self.recipe.name

    @cached_property
    def score(self) -> Interval:
        """Mean score of the folds, with an interval for the variation of both folds and rows."""
        return self._interval(self.measure)

    @property
    def seconds(self) -> float:
        return sum(fold.seconds for fold in self.nested.folds)

    @property
    def first_round(self) -> tuple[Fold, ...]:
        """The folds of the first repetition, which hold each row once."""
        return tuple(fold for fold in self.nested.folds if fold.model is not None)

    def against(self, other: EvaluatedRecipe) -> Comparison:
        return self.nested.against(other.nested)

    @cached_property
    def _sides(self) -> dict[str, Interval]:
        return {measure.name: self._interval(measure) for measure in side_measures(self.measure)}

    def side(self) -> dict[str, Interval]:
        """The other measures of the same predictions."""
        return self._sides

    def _interval(self, measure: Measure) -> Interval:
        folds, held = self.nested.folds, self.first_round
        scores = [measure.function(self.y[f.test], f.prediction) for f in folds]
        rows = np.concatenate([f.test for f in held])
        answers = np.concatenate([f.prediction for f in held])
        error = rows_error(quick(measure), self.y[rows], answers)
        # every round has the same rows: the spread of the scores is known as from one of them
        degrees = max(1, len(held) - 1)
        found = corrected_interval(scores, *self.nested.rows, degrees=degrees)
        interval = no_narrower(found, error)
        return interval.clipped(measure.low, measure.high)


def judge(
    recipes: tuple[Recipe, ...],
    X: np.ndarray,
    y: np.ndarray,
    measure: Measure,
    splits: list,
    *,
    first_round: int,
    budget: Budget,
    notify: Notify,
    along: Along | None = None,
    journal: Journal | None = None,
) -> tuple[tuple[EvaluatedRecipe, ...], list[str]]:
    """Every recipe on every fold that the time limit allows, and notes on what was left out."""
    scorer = OfAnswers(measure.function)
    journal = journal or Journal(None, "")
    left = {recipe.name: recipe for recipe in recipes}
    found: dict[str, list[Fold]] = {recipe.name: [] for recipe in recipes}
    notes: list[str] = []
    spent = time.perf_counter() - budget.started
    for k, (train, test) in enumerate(splits):
        if k >= 2 and budget.left < _needed(found):
            notes.append(f"The time limit allowed {k} of {len(splits)} outer folds.")
            break
        for name, recipe in list(left.items()):
            slow = k < 2 and found[name] and budget.left < found[name][-1].seconds
            if slow and name != recipes[0].name:
                notes.append(
                    f"The recipe {recipe.title!r} was left out: too slow for the time limit."
                )
                del left[name], found[name]
                continue
            notify(f"fold {k + 1} of {len(splits)}: {recipe.title.lower()}")
            fold = journal.finished(k, name, train, test)
            if fold is None:
                fold = judge_fold(recipe.pipeline, X, y, train, test, scorer, along)
                fold = replace(fold, model=fitted_pipeline(fold.model) if k < first_round else None)
                journal.keep(k, name, fold)
            found[name].append(fold)
    if len(left) < 2:
        raise KitchenError(
            f"The time limit is too short to evaluate any recipe on two folds: {spent:.0f} s of it "
            "were used before the first. Increase --max-time, or use fewer rows with --max-rows "
            "or fewer columns with --drop."
        )
    notes += _few(len(found[recipes[0].name]))
    return tuple(
        EvaluatedRecipe(recipe, Nested(tuple(found[name])), measure, y, along)
        for name, recipe in left.items()
    ), notes


def _few(folds: int) -> list[str]:
    """A note where the intervals are wide because of few folds alone."""
    if folds > FEW_FOLDS:
        return []
    wider = float(stats.t.ppf(0.975, folds - 1) / stats.norm.ppf(0.975))
    return [
        f"Only {folds} outer folds were evaluated, which makes the intervals {wider:.1f} times as "
        "wide as with many folds. Increase --folds, --repeats or --max-time to narrow them."
    ]


def _needed(found: dict[str, list[Fold]]) -> float:
    """Seconds for one more fold and for the last fit on all rows."""
    each = [float(np.mean([fold.seconds for fold in folds])) for folds in found.values()]
    return sum(each) + max(each)


def choose(judged: tuple[EvaluatedRecipe, ...]) -> EvaluatedRecipe:
    """The simplest recipe within one standard error of the best; they come simplest first.

    A significant difference needs more, but with few folds the simplest of all recipes that do not
    differ significantly would forgo improvements that are likely real. The baseline, which comes
    first, is chosen only where no other recipe is significantly better.
    """
    baseline, *others = judged
    able = [one for one in others if one.against(baseline).verdict == "better"]
    if not able:
        return baseline
    best = max(able, key=lambda one: one.score.mean)
    return next(one for one in able if one is best or best.against(one).lead <= 1)


def best_above_baseline(judged: tuple[EvaluatedRecipe, ...]) -> EvaluatedRecipe:
    """The recipe of the best score, the first, which is the baseline, left out."""
    return max(judged[1:], key=lambda one: one.score.mean)

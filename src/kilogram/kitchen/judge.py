"""The recipes judged side by side on the same outer folds, within a time limit.

Fold by fold every recipe is tuned on the training part and scored on the test part, so that at any
moment the recipes have been judged on the same rows and can be compared in pairs. Small tables get
several rounds of folds, which narrows the intervals at little cost. When the time is nearly up no
further fold is begun; a recipe too slow for two folds is given up, and that is said. Finished folds
go into a journal, if there is one, and are taken from it when the same work is begun again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import stats

from kilogram.base.budget import Budget
from kilogram.evaluation.along import Along
from kilogram.evaluation.intervals import (
    Comparison,
    Interval,
    corrected_interval,
    no_narrower,
    rows_error,
)
from kilogram.evaluation.nested import Fold, Nested, OfAnswers, judge_fold
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.journal import Journal
from kilogram.kitchen.measures import Measure, quick, side_measures
from kilogram.kitchen.recipes import Recipe, delivered

Tell = Callable[[str], None]
# So few folds make the t quantile, and with it the intervals, more than twice what many would.
FEW_FOLDS = 3


@dataclass(frozen=True)
class Judged:
    """One recipe with its outer folds; the models of the first round are kept for the pictures."""

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
        """The mean over the folds; as wide as the spread of the folds and of the rows ask for."""
        return self._interval(self.measure)

    @property
    def seconds(self) -> float:
        return sum(fold.seconds for fold in self.nested.folds)

    @property
    def first_round(self) -> tuple[Fold, ...]:
        """The folds that together hold each row once."""
        return tuple(fold for fold in self.nested.folds if fold.model is not None)

    def against(self, other: Judged) -> Comparison:
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
    tell: Tell,
    along: Along | None = None,
    journal: Journal | None = None,
) -> tuple[tuple[Judged, ...], list[str]]:
    """Every recipe on every fold there is time for, and what was left undone."""
    scorer = OfAnswers(measure.function)
    journal = journal or Journal(None, "")
    left = {recipe.name: recipe for recipe in recipes}
    found: dict[str, list[Fold]] = {recipe.name: [] for recipe in recipes}
    notes: list[str] = []
    spent = time.perf_counter() - budget.started
    for k, (train, test) in enumerate(splits):
        if k >= 2 and budget.left < _needed(found):
            notes.append(f"The time limit allowed {k} of {len(splits)} folds.")
            break
        for name, recipe in list(left.items()):
            slow = k < 2 and found[name] and budget.left < found[name][-1].seconds
            if slow and name != recipes[0].name:
                notes.append(f"{recipe.title} was given up: too slow for the time limit.")
                del left[name], found[name]
                continue
            tell(f"fold {k + 1} of {len(splits)}: {recipe.title.lower()}")
            fold = journal.finished(k, name, train, test)
            if fold is None:
                fold = judge_fold(recipe.pipeline, X, y, train, test, scorer, along)
                fold = replace(fold, model=delivered(fold.model) if k < first_round else None)
                journal.keep(k, name, fold)
            found[name].append(fold)
    if len(left) < 2:
        raise KitchenError(
            f"The time limit is too short to judge any recipe on two folds: {spent:.0f} s of it "
            "were spent before the first. Give a longer --max-time, or cook fewer rows with "
            "--max-rows or fewer columns with --drop."
        )
    notes += _few(len(found[recipes[0].name]))
    return tuple(
        Judged(recipe, Nested(tuple(found[name])), measure, y, along)
        for name, recipe in left.items()
    ), notes


def _few(folds: int) -> list[str]:
    """A warning where the folds are so few that the intervals are wide by that alone."""
    if folds > FEW_FOLDS:
        return []
    wider = float(stats.t.ppf(0.975, folds - 1) / stats.norm.ppf(0.975))
    return [f"Only {folds} folds were judged, which alone makes the intervals {wider:.1f} times as "
            "wide as many folds would: a tie may be a difference that so few cannot show. More "
            "--folds or --repeats, and a longer --max-time, narrow them."]  # fmt: skip


def _needed(found: dict[str, list[Fold]]) -> float:
    """Seconds for one more fold and for the last fit on all rows."""
    each = [float(np.mean([fold.seconds for fold in folds])) for folds in found.values()]
    return sum(each) + max(each)


def choose(judged: tuple[Judged, ...]) -> Judged:
    """The simplest recipe within one standard error of the best; they come simplest first.

    What is said beyond doubt needs more, but few folds leave much in doubt: keeping the simpler of
    all that tie would give away gains that are likely real. The baseline, which comes first, stays
    only where no other beats it beyond doubt.
    """
    baseline, *others = judged
    able = [one for one in others if one.against(baseline).verdict == "better"]
    if not able:
        return baseline
    best = max(able, key=lambda one: one.score.mean)
    return next(one for one in able if one is best or best.against(one).lead <= 1)


def best_above_baseline(judged: tuple[Judged, ...]) -> Judged:
    """The recipe of the best score, the first, which is the baseline, left out."""
    return max(judged[1:], key=lambda one: one.score.mean)

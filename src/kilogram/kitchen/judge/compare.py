"""The recipes evaluated on the same outer folds, within a time limit.

Fold by fold every recipe is tuned on the training part and scored on the test part, so that at any
time the recipes have been evaluated on the same rows and can be compared in pairs. Small tables get
repeated cross-validation, which narrows the intervals at little cost. When the time limit is near
no further fold is started; a recipe too slow for two folds is left out with a note. Finished folds
are stored in a journal, if there is one, and taken from it when the run is resumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator

from kilogram.base.budget import Budget
from kilogram.evaluation.calibration import wilson
from kilogram.evaluation.grouped_fits import Along
from kilogram.evaluation.intervals import (
    Comparison,
    Interval,
    Verdict,
    no_narrower,
    rows_error,
)
from kilogram.evaluation.nested import Fold, Nested, PredictionScorer, judge_fold
from kilogram.evaluation.permutation_tests import ChanceTest, exchange_test
from kilogram.evaluation.probability_scaling import TemperatureScaling, as_columns, fit_scaling
from kilogram.kitchen.costs import least_cost
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.judge.journal import Journal
from kilogram.kitchen.judge.pooled_scores import PooledScore, pooled_score, repetitions
from kilogram.kitchen.measures import (
    MEASURES,
    Measure,
    is_quick,
    of_predictions,
    quick,
    side_measures,
)
from kilogram.kitchen.recipes.library_models import class_scores
from kilogram.kitchen.recipes.recipe import Recipe, fitted_pipeline
from kilogram.kitchen.recipes.search_limits import ended_at

Notify = Callable[[str], None]
# So few folds make the t quantile, and with it the intervals, more than twice what many would: 4.3
# for two degrees of freedom, 1.96 for many.
FEW_FOLDS = 3
# A recipe is better than the baseline if chance would do as well in less than this fraction: a
# one-sided test at the level of intervals of 95 %.
SIGNIFICANT = 0.025
DRAWS, FEW_DRAWS, MANY_ROWS = 999, 199, 5000
# Stretches of time that are taken as independent of each other: a twentieth of the time each; 2^20
# changes of sign suffice for any p-value.
STRETCHES = 20
# Without any error these have no spread; the interval is then that of as many right predictions.
PERFECTIBLE = ("accuracy", "balanced_accuracy", "f1", "mcc", "top_3_accuracy")
# Counts of right and wrong classes.
COARSE = ("accuracy", "top_3_accuracy")
# Measures that recipes are tuned by: the score during tuning is one of the same kind.
TUNED = ("r2", "accuracy", "balanced_accuracy")


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
        """Score of the pooled predictions, with an interval for the variation of folds and rows."""
        return self.interval(self.measure)

    @property
    def merit(self) -> float:
        """The score, negated where smaller is better."""
        return self.measure.sign * self.score.mean

    @property
    def seconds(self) -> float:
        return sum(fold.seconds for fold in self.nested.folds)

    @property
    def optimism(self) -> float | None:
        """Mean score during tuning minus the score on new rows.

        None where nothing was tuned, by another measure, or on earlier rows than the score is of.
        """
        inner = self.nested.inner_scores
        if "moments" in (self.along or {}):
            return None
        if inner is None or self.measure.name not in TUNED or self.recipe.tuned_by:
            return None
        return float(np.mean(inner)) - self.score.mean

    @property
    def first_round(self) -> tuple[Fold, ...]:
        """The folds of the first repetition, which hold each row once."""
        return tuple(fold for fold in self.nested.folds if fold.model is not None)

    @cached_property
    def pooled(self) -> PooledScore:
        """The score, and the contribution of each fold to it."""
        return self._pooled(self.measure)

    @cached_property
    def brier(self) -> PooledScore:
        """Brier score of the probabilities of classes."""
        return self._pooled(MEASURES["brier"])

    def against(self, other: EvaluatedRecipe) -> Comparison:
        """Paired comparison with another recipe on the same folds; an improvement is positive."""
        mine, theirs = ([fold.test for fold in one.nested.folds] for one in (self, other))
        if len(mine) != len(theirs) or not all(map(np.array_equal, mine, theirs)):
            raise ValueError("A paired comparison needs both recipes evaluated on the same folds.")
        sign = self.measure.sign
        return self.pooled.times(sign).compare(other.pooled.times(sign), *self.nested.rows)

    def over_baseline(self, baseline: EvaluatedRecipe) -> Comparison:
        """The gain over the baseline; its verdict is that of the test against chance."""
        test, found = self.chance(baseline), self.against(baseline)
        verdict: Verdict = "better" if test.p_value <= SIGNIFICANT else "tie"
        if test.p_value >= 1 - SIGNIFICANT and found.difference.high < 0:
            verdict = "worse"
        return replace(found, p_value=test.p_value, verdict=verdict)

    def chance(self, baseline: EvaluatedRecipe) -> ChanceTest:
        """Is it better than the baseline by more than chance? Tested on the first repetition."""
        if "_chance" not in self.__dict__:
            rows, ours = self.held_out[0], self.outputs(self.measure)[1]
            score, sign = quick(self.measure), self.measure.sign
            draws = DRAWS if len(rows) <= MANY_ROWS and is_quick(self.measure) else FEW_DRAWS
            self.__dict__["_chance"] = exchange_test(
                self.y[rows], ours, baseline.outputs(self.measure)[1],
                lambda y, f: sign * score(y, f), units=self.units(rows), draws=draws,
            )  # fmt: skip
        found: ChanceTest = self.__dict__["_chance"]
        return found

    @cached_property
    def held_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and predictions of the first repetition."""
        folds = self.first_round
        rows = np.concatenate([fold.test for fold in folds])
        return rows, self._of_first_round(self.predictions)

    @cached_property
    def predictions(self) -> list[np.ndarray]:
        """Predictions of every fold; with costs the decisions of least expected cost."""
        if not self.measure.costs:
            return [fold.prediction for fold in self.nested.folds]
        return [least_cost(P, self.measure.costs) for P in self._probabilities]

    def predict_with(self, k: int, model: BaseEstimator, X: np.ndarray) -> np.ndarray:
        """Predictions of a model for other rows; decisions with the calibration of fold k."""
        if not self.measure.costs:
            return np.asarray(model.predict(X))
        F = decision_values(model, X, len(np.unique(self.y)), self.measure)
        return least_cost(self._scalings[k].probabilities(F), self.measure.costs)

    def _of_first_round(self, values: list[np.ndarray]) -> np.ndarray:
        pairs = zip(values, self.nested.folds, strict=True)
        return np.concatenate([one for one, fold in pairs if fold.model is not None])

    def outputs(self, measure: Measure) -> tuple[list[np.ndarray], np.ndarray]:
        """What the measure takes: of every fold, and of the rows of the first repetition."""
        if measure.of == "predictions":
            return self.predictions, self.held_out[1]
        return self._probabilities, self._of_first_round(self._probabilities)

    @cached_property
    def _probabilities(self) -> list[np.ndarray]:
        """(n, classes) probabilities of every fold, calibrated on the others of its repetition."""
        pairs = zip(self._scalings, self.nested.folds, strict=True)
        return [scaling.probabilities(_decision(fold)) for scaling, fold in pairs]

    @cached_property
    def _scalings(self) -> list[TemperatureScaling]:
        folds = self.nested.folds
        found: dict[int, TemperatureScaling] = {}
        shifts = self.measure.name == "balanced_accuracy"
        for places in repetitions(folds):
            for k in places:
                rest = [j for j in places if j != k] or [k]
                F = np.concatenate([_decision(folds[j]) for j in rest])
                y = np.concatenate([self.y[folds[j].test] for j in rest])
                found[k] = fit_scaling(F, y, shifts=shifts)
        return [found[k] for k in range(len(folds))]

    def units(self, rows: np.ndarray) -> np.ndarray | None:
        """What was sampled as a whole: groups, or stretches of time; None: single rows."""
        along = self.along or {}
        if "groups" in along:
            return along["groups"][rows]
        if "moments" in along:
            place = np.argsort(np.argsort(along["moments"][rows], kind="stable"), kind="stable")
            return place * min(STRETCHES, len(rows)) // len(rows)
        return None

    @cached_property
    def _sides(self) -> dict[str, Interval]:
        classes = 1 if self.measure.task == "regression" else len(np.unique(self.y))
        return {measure.name: self.interval(measure)
                for measure in side_measures(self.measure, classes)}  # fmt: skip

    def side(self) -> dict[str, Interval]:
        """The other measures of the same predictions."""
        return self._sides

    def _pooled(self, measure: Measure) -> PooledScore:
        return pooled_score(quick(measure), self.y, self.nested.folds, self.outputs(measure)[0])

    def interval(self, measure: Measure) -> Interval:
        """The score by any measure of the task, with its 95 % interval."""
        rows, held = self.held_out[0], self.outputs(measure)[1]
        error = rows_error(quick(measure), self.y[rows], held, units=self.units(rows))
        # every round has the same rows: the spread of the scores is known as from one of them
        degrees = max(1, len(self.first_round) - 1)
        found = self._pooled(measure).interval(*self.nested.rows, degrees, 0.95)
        found = no_narrower(found, error).clipped(measure.low, measure.high)
        if error == 0 and measure.name in PERFECTIBLE and found.mean == measure.high:
            found = replace(found, low=min(found.low, wilson(*self._counted(measure, rows))[0]))
        return found

    def _counted(self, measure: Measure, rows: np.ndarray) -> tuple[int, int]:
        """Right predictions and rows that a perfect score of classes rests on."""
        counts = np.bincount(self.y[rows])
        count = (
            len(rows)
            if measure.name in COARSE
            else int(counts[counts > 0].min()) * int(np.count_nonzero(counts))
        )
        return count, count


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
    stopped: Mapping[str, Sequence[int]] | None = None,
) -> tuple[tuple[EvaluatedRecipe, ...], list[str]]:
    """Every recipe on every fold that the time limit allows, and notes on what was left out.

    `stopped` has for recipes the points after which their search in each fold ends, 0: after all.
    """
    scorer = PredictionScorer(quick(of_predictions(measure)))
    journal = journal or Journal(None, "")
    left = {recipe.name: recipe for recipe in recipes}
    found: dict[str, list[Fold]] = {recipe.name: [] for recipe in recipes}
    notes: list[str] = []
    stopped = stopped or {}
    if budget.expired:
        raise KitchenError(
            "The time limit is too short to evaluate any recipe: "
            f"{time.perf_counter() - budget.started:.0f} s were used before the first fold. "
            "Increase --max-time, or use fewer rows with --max-rows or fewer columns with --drop."
        )
    spare = {recipe.name for recipe in recipes[2:]}  # the simplest recipe is always evaluated
    for k, (train, test) in enumerate(splits):
        if k >= 2 and budget.left < _needed(found):
            notes.append(f"The time limit allowed {k} of {len(splits)} outer folds.")
            break
        for name, recipe in list(left.items()):
            if name in spare and _too_slow(found, name, k, budget):
                notes.append(
                    f"The recipe {recipe.title!r} was left out: too slow for the time limit."
                )
                del left[name], found[name]
                continue
            notify(f"fold {k + 1} of {len(splits)}: {recipe.title.lower()}")
            fold = journal.finished(k, name, train, test)
            if fold is None:
                pipeline = recipe.pipeline
                if name in stopped:
                    pipeline = ended_at(pipeline, (*stopped[name], 0)[min(k, len(stopped[name]))])
                fold = judge_fold(pipeline, X, y, train, test, scorer, along)
                decision = decision_values(fold.model, X[test], len(np.unique(y)), measure)
                model = fitted_pipeline(fold.model) if k < first_round else None
                fold = replace(fold, model=model, decision=decision)
                journal.keep(k, name, fold)
            found[name].append(fold)
    if budget.expired and len(found[recipes[0].name]) == 2:
        notes.append("The time limit was exceeded: two folds of the simplest recipe took longer.")
    notes += _few_folds_note(len(found[recipes[0].name]))
    cut = [left[name].title.lower() for name in left if any(f.stopped_at for f in found[name])]
    if cut:
        why = ("The search of parameters ended early, as the recipe file says" if stopped else
               "The time limit ended the search of parameters early")  # fmt: skip
        more = "" if stopped else (
            ": a slower or faster machine may find others, --recipe recipe.toml repeats this search"
        )  # fmt: skip
        notes.append(f"{why} ({', '.join(cut)}){more}.")
    return tuple(
        EvaluatedRecipe(recipe, Nested(tuple(found[name])), measure, y, along)
        for name, recipe in left.items()
    ), notes


def _too_slow(found: dict[str, list[Fold]], name: str, k: int, budget: Budget) -> bool:
    """Would this fold of a recipe, one of the first two, go beyond the time limit?"""
    if k == 0:
        return budget.expired
    return k == 1 and budget.left < found[name][-1].seconds


def decision_values(model: BaseEstimator, X: np.ndarray, classes: int, measure: Measure) -> Any:
    """(n, classes) decision values of a classifier, or logarithms of its probabilities."""
    if measure.task == "regression":
        return None
    F = as_columns(class_scores(model, X))
    known = np.asarray(model.classes_, dtype=int)
    if len(known) == classes:
        return F
    whole = np.full((len(X), classes), F.min() - max(float(np.ptp(F)), 1.0))
    whole[:, known] = F  # a class that is not among the training rows is the least likely
    return whole


def _decision(fold: Fold) -> np.ndarray:
    assert fold.decision is not None
    return fold.decision


def _few_folds_note(folds: int) -> list[str]:
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

"""The choice among evaluated recipes: the simplest that is as good as the best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from kilogram.kitchen.judge.compare import COARSE, EvaluatedRecipe

# A simpler recipe may have an error larger than that of the best by this fraction: our choice.
MOST_MORE_ERROR = 0.05
# Counts of right and wrong classes are coarse: of recipes near each other by one of `COARSE`,
# the Brier score of the probabilities decides. A simpler one may forgo this part of the gain of the
# best over the baseline.
MOST_FORGONE = 0.1

Shortfall = Literal["", "lead", "error", "gain", "brier"]


@dataclass(frozen=True)
class Selection:
    """Which recipe is chosen, and why.

    `able` are significantly better than the baseline; `near` those of them that are as good as the
    best: no worse than it by more than one standard error, with an error at most a twentieth
    larger, nor is any with a better score. Where the measure counts classes, none forgoes more than
    a tenth of the gain over the baseline, and the same holds of the Brier score, of which `first`
    has the best. `chosen` is the simplest of `near`. `passed` is a simpler recipe within one
    standard error that is not taken, and `why` is what it falls short in.
    """

    chosen: EvaluatedRecipe
    best: EvaluatedRecipe
    first: EvaluatedRecipe
    able: tuple[EvaluatedRecipe, ...]
    near: tuple[EvaluatedRecipe, ...]
    passed: EvaluatedRecipe | None = None
    why: Shortfall = ""


def select(judged: tuple[EvaluatedRecipe, ...]) -> Selection:
    """The simplest recipe that is as good as the best; recipes come simplest first.

    Recipes are taken from the best score downwards until one falls short, so that no recipe passes
    because its folds vary much while a better one fails. The baseline, which comes first, is chosen
    only where no other recipe is significantly better.
    """
    baseline, *others = judged
    able = tuple(one for one in others if one.over_baseline(baseline).verdict == "better")
    if not able:
        best = best_above_baseline(judged)
        return Selection(baseline, best, best, (), ())
    near, short = _prefix(
        sorted(able, key=lambda one: -one.merit), partial(shortfall, baseline=baseline)
    )
    best = near[0]
    if best.measure.name in COARSE:
        ranked = sorted(near, key=lambda one: one.brier.mean)
        near, more = _prefix(ranked, partial(_brier_shortfall, baseline=baseline))
        short |= more
    chosen = next(one for one in able if any(one is other for other in near))
    simpler = able[: [one is chosen for one in able].index(True)]
    passed = next((one for one in simpler if short.get(one.name, "lead") != "lead"), None)
    why = "" if passed is None else short[passed.name]
    return Selection(chosen, best, near[0], able, tuple(near), passed, why)


def _prefix(
    ranked: list[EvaluatedRecipe],
    shortfall: Callable[[EvaluatedRecipe, EvaluatedRecipe], Shortfall],
) -> tuple[list[EvaluatedRecipe], dict[str, Shortfall]]:
    """Recipes from the first on until one falls short of it, and what the others fall short in."""
    count = next((k for k, one in enumerate(ranked) if shortfall(one, ranked[0])), len(ranked))
    if count == len(ranked):
        return ranked, {}
    why = shortfall(ranked[count], ranked[0])
    return ranked[:count], {one.name: shortfall(one, ranked[0]) or why for one in ranked[count:]}


def shortfall(one: EvaluatedRecipe, best: EvaluatedRecipe, baseline: EvaluatedRecipe) -> Shortfall:
    """What a recipe falls short of the best in; nothing where it is as good."""
    ahead = best.against(one)
    if ahead.lead > 1:
        return "lead"
    behind = ahead.difference.mean
    if best.measure.name in COARSE:
        return "gain" if behind > MOST_FORGONE * (best.merit - baseline.merit) else ""
    return "error" if behind > MOST_MORE_ERROR * error_of(best) else ""


def _brier_shortfall(
    one: EvaluatedRecipe, best: EvaluatedRecipe, baseline: EvaluatedRecipe
) -> Shortfall:
    ahead = best.brier.times(-1).compare(one.brier.times(-1), *best.nested.rows)
    gain = baseline.brier.mean - best.brier.mean
    forgone = one.brier.mean - best.brier.mean > MOST_FORGONE * gain
    return "brier" if ahead.lead > 1 and forgone else ""


def error_of(one: EvaluatedRecipe) -> float:
    """The score as an error: its distance from a perfect one, of R2 and accuracy 1 minus it."""
    return one.score.mean if one.measure.of_error else one.measure.high - one.score.mean


def choose(judged: tuple[EvaluatedRecipe, ...]) -> EvaluatedRecipe:
    """The chosen recipe: see `select`."""
    return select(judged).chosen


def best_above_baseline(judged: tuple[EvaluatedRecipe, ...]) -> EvaluatedRecipe:
    """The recipe of the best score, the first, which is the baseline, left out."""
    return max(judged[1:], key=lambda one: one.merit)

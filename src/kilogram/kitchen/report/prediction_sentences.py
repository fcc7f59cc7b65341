"""Sentences on the predictions: what they are worth, and one for each check of them."""

from __future__ import annotations

import numpy as np

from kilogram.evaluation.calibration import Reliability
from kilogram.evaluation.conformal import CoverageTest
from kilogram.evaluation.learning_curves import MoreRows
from kilogram.kitchen.formatting import ends, extent, figure, percent, quantity, signed
from kilogram.kitchen.judge.compare import SIGNIFICANT, EvaluatedRecipe
from kilogram.kitchen.judge.evidence import HeldOutPredictions
from kilogram.kitchen.judge.prediction_checks import (
    ClassCounts,
    IntervalCheck,
    PredictionChecks,
    RankingQuality,
    SubgroupResult,
)
from kilogram.kitchen.measures import ORDERED, Measure, of_predictions
from kilogram.kitchen.report.sentences import constant_prediction

# Of more classes the extremes are those with few rows; as many as a confusion matrix shows.
MANY_CLASSES = 12


def check_lines(found: PredictionChecks, measure: Measure) -> list[tuple[str, str]]:
    """The checks of the predictions: a heading and a sentence each."""
    lines = [("significance", _of_chance(found, measure))]
    if found.range is not None:
        lines.append(("intervals", _of_range(found.range)))
    if found.ranking is not None:
        lines.append(("ranking", _of_ranking(found.ranking)))
    if found.calibration is not None:
        lines.append(("probabilities", _of_calibration(found.calibration)))
    if found.more_rows is not None:
        lines.append(("more rows", _of_rows(found.more_rows, measure)))
    if found.groups:
        lines.append(("subgroups", _of_groups(found.groups, measure)))
    return lines


def plain_line(
    chosen: EvaluatedRecipe, found: PredictionChecks, held_out: HeldOutPredictions, target: str
) -> str:
    """What the predictions are worth, in the units of the target; nothing for the baseline."""
    if chosen.name == "baseline":
        return ""
    if found.classes:
        return of_classes(found.classes)
    if found.quantile is not None:
        return _of_quantile(found.quantile, chosen.measure)
    return of_errors(held_out, target)


def _of_chance(found: PredictionChecks, measure: Measure) -> str:
    test = found.chance
    word = "Better" if test.p_value <= SIGNIFICANT else "Not significantly better"
    return (
        f"{word} than always predicting {constant_prediction(measure)}: p = {test.p_value:.3f} in "
        f"a randomisation test with {len(test.shuffled)} exchanges of the two predictions."
    )


def _of_range(found: IntervalCheck) -> str:
    held = found.held
    low = " That is significantly fewer than 90 %: the folds differ from each other."
    width = f"typically ±{figure(found.half)}, wider where errors are larger" if found.local \
        else f"±{figure(found.half)}"  # fmt: skip
    worst = int(np.argmin(found.quarters))
    where = ("smallest", "second", "third", "largest")[worst]
    return (
        f"90 % prediction intervals are {width}. They covered {percent(held.covered)} of the "
        f"{held.count:,} held-out rows, and {percent(found.quarters[worst])} in the {where} "
        f"quarter of the predictions, the least.{low if held.p_value < 0.01 else ''}"
    )


def _of_quantile(found: CoverageTest, measure: Measure) -> str:
    wanted = measure.quantile or 0.0
    off = " That is significantly too few." if found.p_value < 0.01 else ""
    return (
        f"{percent(found.covered, 1)} of the {found.count:,} held-out rows lie at or below their "
        f"prediction, where {percent(wanted, 1)} should.{off}"
    )


def of_classes(found: tuple[ClassCounts, ...]) -> str:
    """Of two classes the rarer one, of more the ones that are found least and most often."""
    rows = sum(one.rows for one in found)
    if len(found) == 2:
        one = min(found, key=lambda c: c.rows)
        if not one.predicted:
            return (
                f"{one.name!r} is never predicted (recall 0 %, {one.rows:,} rows): use kg predict "
                "--threshold or --cost to predict it from a smaller probability on."
            )
        return (
            f"{one.name!r} is predicted for {percent(one.predicted / rows)} of the rows; "
            f"{percent(one.precision)} of these predictions are right (precision), and "
            f"{one.right:,} of the {one.rows:,} {one.name!r} rows are found (recall "
            f"{percent(one.recall)})."
        )
    least, most = (choice(found, key=lambda c: c.recall) for choice in (min, max))
    if least.recall == most.recall:
        return f"{percent(least.recall)} of the rows of every class are found (recall)."
    middle = float(np.median([one.recall for one in found]))
    if len(found) > MANY_CLASSES:
        low = sum(one.recall < 0.5 for one in found)
        return (
            f"The median recall of the {len(found)} classes is {percent(middle)}; fewer than half "
            f"of the rows are found of {low:,} of them."
        )
    return (
        f"Rows of {most.name!r} are found most often ({_recall(most)}), those of {least.name!r} "
        f"least often ({_recall(least)}); the median recall of the {len(found)} classes is "
        f"{percent(middle)}."
    )


def _recall(one: ClassCounts) -> str:
    return f"{one.right:,} of {one.rows:,}, recall {percent(one.recall)}"


def of_errors(held_out: HeldOutPredictions, target: str) -> str:
    """How far off the predictions of a number are, in its own units."""
    error = np.abs(held_out.truth - held_out.prediction)
    half, most = np.quantile(error, [0.5, 0.9])
    low, high = np.quantile(held_out.truth, [0.05, 0.95])
    return (
        f"Half of the predictions are off by at most {quantity(float(half))}, nine of ten by at "
        f"most {quantity(float(most))}; {target} itself mostly lies between {quantity(float(low))} "
        f"and {quantity(float(high))}."
    )


def _of_ranking(found: RankingQuality) -> str:
    return (
        f"Area under the ROC curve {figure(found.roc.mean)} (95 % interval {ends(found.roc)}), "
        f"0.5 for random guessing; average precision of the rarer class "
        f"{figure(found.precision.mean)} ({ends(found.precision)}), {figure(found.fraction)} for "
        f"random guessing."
    )


def _of_calibration(found: Reliability) -> str:
    gap = found.calibration_error
    word = "are well calibrated" if gap < 0.05 else "are only roughly calibrated"
    return (
        f"Probabilities {word}: expected calibration error {figure(gap)}, Brier score "
        f"{figure(found.brier)}."
    )


def _of_rows(found: MoreRows, measure: Measure) -> str:
    last, title = found.last, of_predictions(measure).title
    past = (
        f"{'worsened' if last.mean < 0 else 'improved'} the {title} by {extent(last.mean)}"
        if last.mean
        else f"left the {title} as it was"
    )
    future = (
        f"the next is expected to improve it by {extent(found.expected)}"
        if found.expected
        else "the next is not expected to improve it"
    )
    open_question = found.verdict == "may help" and not found.expected
    verdict = (
        "Whether twice as many rows help is uncertain"
        if open_question
        else f"Twice as many rows {found.verdict}"
    )
    return (
        f"{verdict}: the last doubling {past} (95 % interval of the "
        f"improvement {ends(last, sign=True)}), {future}."
    )


def loss_title(measure: Measure) -> str:
    """The mean loss that subgroups are compared by."""
    if measure.task == "regression":
        return "mean absolute error"
    if measure.name in ORDERED:
        return {1: "mean class distance", 2: "mean squared class distance"}[ORDERED[measure.name]]
    return "mean cost" if measure.costs else "error rate"


def _of_groups(found: tuple[SubgroupResult, ...], measure: Measure) -> str:
    what = loss_title(measure)
    worse = [group for group in found if group.found.verdict == "worse"]
    if not worse:
        return (
            f"None of {len(found)} subgroups has a significantly larger {what} than the other rows."
        )
    named = "; ".join(
        f"{group.column}: {group.found.name} ({figure(group.found.loss)}, "
        f"{signed(group.found.difference.mean)} compared with the other rows)"
        for group in worse[:3]
    )
    more = f", and {len(worse) - 3} more" if len(worse) > 3 else ""
    return f"Significantly larger {what}: {named}{more}."

"""The conclusion in three sentences, and one sentence for each check of the predictions.

1  how well the target can be predicted on new rows, compared with the baseline
2  whether the kernel version improves on the linear recipe
3  how optimistic the score of the tuned parameters was
"""

from __future__ import annotations

from typing import Any

from kilogram.evaluation.calibration import Reliability
from kilogram.evaluation.intervals import Comparison
from kilogram.evaluation.learning_curves import MoreRows
from kilogram.kitchen.formatting import between, figure, signed
from kilogram.kitchen.judge.compare import EvaluatedRecipe
from kilogram.kitchen.judge.trust import IntervalCheck, RankingQuality, SubgroupResult, TrustChecks
from kilogram.kitchen.measures import MEASURES, Measure

# An optimism below this, of a score between 0 and 1, is not worth reporting.
SMALL = 0.005


def verdict(
    judged: tuple[EvaluatedRecipe, ...], chosen: EvaluatedRecipe, target: str
) -> tuple[str, str, str]:
    """The three sentences."""
    by_name = {one.name: one for one in judged}
    return (
        _prediction(by_name, chosen, target),
        _structure(by_name, chosen),
        _optimism(by_name, chosen),
    )


def _prediction(by_name: dict[str, EvaluatedRecipe], chosen: EvaluatedRecipe, target: str) -> str:
    base = by_name["baseline"]
    title = chosen.measure.title
    constant = "the mean" if chosen.measure.task == "regression" else "the most frequent class"
    if chosen is base:
        best = max((one for one in by_name.values() if one is not base), key=_mean)
        return (
            f"There is no evidence that {target} can be predicted from these columns: the best "
            f"recipe ({best.recipe.title.lower()}) has {title} {figure(best.score.mean)} on new "
            f"rows "
            f"(95 % interval {between(best.score)}), always predicting {constant} has "
            f"{figure(base.score.mean)}, and the difference is not significant."
        )
    error = chosen.side().get("mean_absolute_error")
    typical = f", mean absolute error {figure(error.mean)}" if error else ""
    return (
        f"{target} can be predicted: the {chosen.recipe.title.lower()} recipe has {title} "
        f"{figure(chosen.score.mean)} on new rows (95 % interval {between(chosen.score)})"
        f"{typical}; always predicting {constant} has {figure(base.score.mean)}."
    )


def _structure(by_name: dict[str, EvaluatedRecipe], chosen: EvaluatedRecipe) -> str:
    if not {"linear", "kernel"} <= set(by_name):
        return "Linear and kernel recipe were not both evaluated, so non-linearity was not tested."
    gain = by_name["kernel"].against(by_name["linear"])
    enough = {
        "linear": ", so the simpler recipe is chosen",
        "kernel": "; the kernel version leads by more than one standard error and is chosen",
    }.get(chosen.name, "")
    how = f"{signed(gain.difference.mean)}, {between(gain.difference, sign=True)}"
    text = {
        "better": f"The kernel version is significantly better than the linear recipe ({how}): the "
        "dependence is non-linear",
        "worse": f"The kernel version is significantly worse than the linear recipe ({how}): no "
        "non-linear dependence was found",
        "tie": "The difference between the kernel version and the linear recipe is not significant "
        f"({how}){enough}",
    }[gain.verdict]
    return f"{text}{_cuts(by_name, chosen)}."


def _cuts(by_name: dict[str, EvaluatedRecipe], chosen: EvaluatedRecipe) -> str:
    """What it means if the trees are chosen."""
    if chosen.name != "trees":
        return ""
    best = max((by_name["linear"], by_name["kernel"]), key=_mean)
    gain = by_name["trees"].against(best)
    how = f"{signed(gain.difference.mean)}, {between(gain.difference, sign=True)}"
    if gain.verdict == "better":
        return f"; trees are significantly better than both ({how}), as with jumps or thresholds"
    return f"; trees lead the better of them, not significantly ({how}), and are chosen"


def _optimism(by_name: dict[str, EvaluatedRecipe], chosen: EvaluatedRecipe) -> str:
    tuned = chosen
    if tuned.nested.optimism is None:
        tuned = max((one for one in by_name.values() if one.nested.optimism is not None), key=_mean)
    gap = tuned.nested.optimism or 0.0
    inner = tuned.score.mean + gap
    during = f"During tuning the {tuned.recipe.title.lower()} recipe scored {figure(inner)}"
    if abs(gap) < SMALL:
        return f"{during}, as on new rows: the tuning score was not optimistic."
    if gap < 0:
        return f"{during}, {figure(-gap)} less than on new rows: it was not optimistic."
    return f"{during}, {figure(gap)} more than on new rows: that is the optimism of tuning."


def trust_lines(found: TrustChecks, measure: Measure) -> list[tuple[str, str]]:
    """The checks of the predictions: a heading and a sentence each."""
    lines = [("chance", _of_chance(found))]
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


def _of_chance(found: TrustChecks) -> str:
    test = found.chance
    shuffles = len(test.shuffled)
    result = "better than chance" if test.p_value <= 0.05 else "not better than chance"
    return (
        f"{result.capitalize()}: p = {test.p_value:.3f} in a permutation test with {shuffles} "
        f"permutations of the held-out targets, whose mean score is {figure(test.chance)}."
    )


def _of_range(found: IntervalCheck) -> str:
    held = found.held
    low = " That is fewer than 90 %: the folds differ from each other."
    return (
        f"The 90 % prediction interval is ±{figure(found.half)}; such intervals covered "
        f"{held.covered:.0%} of the {held.count:,} held-out rows."
        f"{low if held.p_value < 0.01 else ''}"
    )


def _of_ranking(found: RankingQuality) -> str:
    return (
        f"Area under the ROC curve {figure(found.roc.mean)} ({between(found.roc)}); average "
        f"precision {figure(found.precision.mean)} ({between(found.precision)}), where random "
        f"guessing has {figure(found.share)}."
    )


def _of_calibration(found: Reliability) -> str:
    gap = found.calibration_error
    word = "are well calibrated" if gap < 0.05 else "are only roughly calibrated"
    return (
        f"Probabilities {word}: expected calibration error {figure(gap)}, Brier score "
        f"{figure(found.brier)}."
    )


def _of_rows(found: MoreRows, measure: Measure) -> str:
    return (
        f"More rows of the same kind {found.verdict}: the last doubling changed the score by "
        f"{signed(found.last.mean)} {measure.title} ({between(found.last, sign=True)}), the next "
        f"is expected to change it by {signed(found.expected)}."
    )


def _of_groups(found: tuple[SubgroupResult, ...], measure: Measure) -> str:
    what = "mean absolute error" if measure.task == "regression" else "error rate"
    worse = [group for group in found if group.found.verdict == "worse"]
    if not worse:
        return f"None of {len(found)} subgroups has a significantly larger {what} than other rows."
    named = "; ".join(
        f"{group.column} {group.found.name} ({figure(group.found.loss)}, "
        f"{signed(group.found.difference.mean)} compared with the other rows)"
        for group in worse[:3]
    )
    more = f", and {len(worse) - 3} more" if len(worse) > 3 else ""
    return f"Significantly larger {what}: {named}{more}."


def compared(comparison: Comparison | None) -> str:
    """A comparison in one cell of a table."""
    if comparison is None:
        return "–"
    return f"{signed(comparison.difference.mean)} ({verdict_words(comparison.verdict)})"


def verdict_words(verdict: str) -> str:
    """Better, worse or not significant."""
    return "n. s." if verdict == "tie" else verdict


def subgroup_verdict(verdict: str) -> str:
    """The result of comparing a subgroup with the other rows."""
    return "not significant" if verdict == "like the others" else f"significantly {verdict}"


def winner_words(winner: dict[str, Any]) -> str:
    """Selected parameters, those of the preprocessing by their last name."""
    return ", ".join(f"{_last(n)} {_short(v)}" for n, v in winner.items()) or "–"


def _last(name: str) -> str:
    """scale of columns__numbers__scale__kind, formula of columns__text a__weights__formula."""
    parts = name.split("__")
    known = {"kind": "scale", "n": "terms of", "n_components": "components"}
    return known.get(parts[-1], parts[-1].replace("_", " "))


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def measure_title(name: str) -> str:
    return MEASURES[name].title


def _mean(judged: EvaluatedRecipe) -> float:
    return judged.score.mean

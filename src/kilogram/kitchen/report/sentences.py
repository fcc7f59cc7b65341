"""The conclusion in three sentences, and one sentence for each check of the predictions.

1  how well the target can be predicted on new rows, compared with the baseline
2  which recipe was chosen and why, and whether the kernel version improves on the linear recipe
3  how optimistic the score of the tuned parameters was
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.evaluation.calibration import Reliability
from kilogram.evaluation.conformal import CoverageTest
from kilogram.evaluation.intervals import Comparison
from kilogram.evaluation.learning_curves import MoreRows
from kilogram.kitchen.errors import quoted
from kilogram.kitchen.formatting import ends, figure, signed
from kilogram.kitchen.judge.compare import (
    SIGNIFICANT,
    EvaluatedRecipe,
    Selection,
    error_of,
    select,
)
from kilogram.kitchen.judge.evidence import HeldOutImportance, HeldOutPredictions
from kilogram.kitchen.judge.prediction_checks import (
    ClassCounts,
    IntervalCheck,
    PredictionChecks,
    RankingQuality,
    SubgroupResult,
)
from kilogram.kitchen.measures import Measure, of_predictions

# An optimism below this, of a score between 0 and 1, is not worth reporting.
SMALL = 0.005
# Scores from which on leakage is more likely than skill.
TOO_GOOD = {"regression": 0.99, "classification": 0.9985}
# ... if the error is at most this part of the baseline's.
NEAR_PERFECT = 0.05


def verdict(
    judged: tuple[EvaluatedRecipe, ...], target: str, columns: tuple[str, ...] = ()
) -> tuple[str, str, str]:
    """The three sentences; `columns` matter most, and are named where the score is too good."""
    by_name = {one.name: one for one in judged}
    selection = select(judged)
    return (
        _leakage_warning(selection, judged[0], target, columns)
        + _prediction(selection, judged[0], target),
        _structure(by_name, selection),
        _optimism(by_name, selection.chosen),
    )


def _leakage_warning(
    selection: Selection, base: EvaluatedRecipe, target: str, columns: tuple[str, ...]
) -> str:
    """A near-perfect score comes from leakage more often than from a good model."""
    chosen = selection.chosen
    measure = chosen.measure
    bounded = measure.high == 1 and not measure.of_error
    if not selection.able or not bounded or chosen.score.mean < TOO_GOOD[measure.task]:
        return ""
    if error_of(chosen) > NEAR_PERFECT * error_of(base):  # the baseline is nearly perfect too
        return ""
    named = f" Check {quoted(columns)} first." if columns else ""
    return (
        f"Too good to be true? {measure.title.capitalize()} {figure(chosen.score.mean)} usually "
        f"means that some column is computed from {target}, or known only after it.{named} "
    )


def suspicious_columns(importance: HeldOutImportance | None) -> tuple[str, ...]:
    """The columns that most of a score comes from, at most three."""
    if importance is None:
        return ()
    typical = importance.typical
    return tuple(
        importance.columns[k] for k in importance.order[:3] if typical[k] > 0.1 * typical.max() > 0
    )


def _prediction(selection: Selection, base: EvaluatedRecipe, target: str) -> str:
    chosen = selection.chosen
    title = chosen.measure.title
    constant = _constant(chosen.measure)
    if chosen is base:
        best = selection.best
        test = best.chance(base)
        return (
            f"There is no evidence that {target} can be predicted from these columns: the best "
            f"recipe ({_name(best)}) has {title} {figure(best.score.mean)} on new "
            f"rows "
            f"(95 % interval {ends(best.score)}), always predicting {constant} has "
            f"{figure(base.score.mean)}, and the difference is not significant "
            f"(p = {test.p_value:.3f})."
        )
    error = chosen.side().get("mean_absolute_error")
    typical = f", mean absolute error {figure(error.mean)}" if error else ""
    wide = chosen.over_baseline(base).difference.low <= 0
    unsure = " How much better is uncertain: the interval is wide." if wide else ""
    return (
        f"{target} can be predicted: {_in_words(chosen)} has {title} "
        f"{figure(chosen.score.mean)} on new rows (95 % interval {ends(chosen.score)})"
        f"{typical}; always predicting {constant} has {figure(base.score.mean)}.{unsure}"
    )


def _structure(by_name: dict[str, EvaluatedRecipe], selection: Selection) -> str:
    return " ".join(filter(None, [_choice(selection), _nonlinear(by_name)]))


def _choice(selection: Selection) -> str:
    """Why this recipe, and not a simpler or a better one."""
    chosen, best = selection.chosen, selection.best
    if not selection.able:
        return ""
    passed = _passed(selection)
    if chosen is not best and selection.why == "brier" and chosen is selection.first:
        ahead = best.against(chosen)
        return (
            f"{_in_words(chosen).capitalize()} is chosen: of the recipes within one standard error "
            f"of the best ({_in_words(best)}, {figure(ahead.difference.mean)} ahead, not "
            f"significant) it has the best probabilities (Brier score "
            f"{figure(chosen.brier.mean)}, of {_in_words(best)} {figure(best.brier.mean)})."
        )
    if chosen is not best:
        ahead = best.against(chosen)
        return (
            f"{_in_words(chosen).capitalize()} is chosen as the simplest that is as good as the "
            f"best: {_in_words(best)} is ahead by {figure(ahead.difference.mean)}, "
            f"{_errors(ahead)}.{passed}"
        )
    others = [one for one in selection.able if one is not best]
    if not others:
        name = _in_words(best).capitalize()
        return f"{name} is the only one significantly better than the baseline."
    second = max(others, key=_mean)
    ahead = best.against(second)
    if ahead.difference.mean == 0:
        return (f"{_in_words(best).capitalize()} is chosen: it has the best score, as has "
                f"{_in_words(second)}.{passed}")  # fmt: skip
    return (
        f"{_in_words(best).capitalize()} is chosen: it has the best score, "
        f"{figure(ahead.difference.mean)} ahead of {_in_words(second)} ({_errors(ahead)}).{passed}"
    )


def _passed(selection: Selection) -> str:
    """Why a simpler recipe whose score is within one standard error of the best is not chosen."""
    one, best, first = selection.passed, selection.best, selection.first
    if one is None:
        return ""
    start = f" {_in_words(one).capitalize()} is simpler and within one standard error, but "
    if selection.why == "brier":
        return (f"{start}its probabilities are worse (Brier score {figure(one.brier.mean)}, of "
                f"{_in_words(first)} {figure(first.brier.mean)}).")  # fmt: skip
    if selection.why == "gain":
        return (f"{start}it forgoes {figure(best.merit - one.merit)}, more than a tenth of what "
                f"{_in_words(best)} gains over the baseline.")  # fmt: skip
    if error_of(best) <= 0:
        return f"{start}{_in_words(best)} has no error."
    more = error_of(one) / error_of(best) - 1
    return f"{start}its error is {more:.0%} larger than that of {_in_words(best)}."


def _errors(ahead: Comparison) -> str:
    """A lead in standard errors, and whether it is significant."""
    words = "significant" if ahead.verdict == "better" else "not significant"
    if ahead.error == 0:
        return words
    return f"{ahead.lead:.1f} standard errors, {words}"


def _nonlinear(by_name: dict[str, EvaluatedRecipe]) -> str:
    """What linear recipe and kernel version show about the dependence."""
    if not {"linear", "kernel"} <= set(by_name):
        return "Linear and kernel recipe were not both evaluated, so non-linearity was not tested."
    gain = by_name["kernel"].against(by_name["linear"])
    how = f"{signed(gain.difference.mean)}, {ends(gain.difference, sign=True)}"
    return {
        "better": f"The kernel version is significantly better than the linear recipe ({how}): the "
        "dependence is non-linear.",
        "worse": f"The kernel version is significantly worse than the linear recipe ({how}): no "
        "non-linear dependence was found.",
        "tie": "The difference between the kernel version and the linear recipe is not significant "
        f"({how}).",
    }[gain.verdict]


def _optimism(by_name: dict[str, EvaluatedRecipe], chosen: EvaluatedRecipe) -> str:
    tuned = [one for one in by_name.values() if one.optimism is not None]
    if not tuned:
        if any(one.nested.inner_scores is not None for one in by_name.values()):
            return (f"Tuning used another score than {chosen.measure.title}, so that its optimism "
                    "cannot be stated.")  # fmt: skip
        return "No parameter was tuned, so that there is no optimism of tuning."
    shown = chosen if chosen.optimism is not None else max(tuned, key=_mean)
    gap = shown.optimism or 0.0
    inner = shown.score.mean + gap
    during = f"During tuning {_in_words(shown)} scored {figure(inner)}"
    if abs(gap) < SMALL:
        return f"{during}, as on new rows: the tuning score was not optimistic."
    if gap < 0:
        return f"{during}, {figure(-gap)} less than on new rows: it was not optimistic."
    return f"{during}, {figure(gap)} more than on new rows: that is the optimism of tuning."


def _name(one: EvaluatedRecipe) -> str:
    return one.recipe.title.lower()


def _in_words(one: EvaluatedRecipe) -> str:
    """The recipe in a sentence: the linear recipe, the kernel version."""
    name = _name(one)
    return f"the {name}" if name.endswith("version") else f"the {name} recipe"


def _constant(measure: Measure) -> str:
    if measure.quantile is not None:
        return f"the {measure.quantile:g} quantile"
    if measure.costs:
        return "the class of least expected cost"
    return "the mean" if measure.task == "regression" else "the most frequent class"


def trust_lines(found: PredictionChecks, measure: Measure) -> list[tuple[str, str]]:
    """The checks of the predictions: a heading and a sentence each."""
    lines = [("chance", _of_chance(found, measure))]
    if found.classes:
        lines.append(("classes", of_classes(found.classes)))
    if found.range is not None:
        lines.append(("intervals", _of_range(found.range)))
    if found.quantile is not None:
        lines.append(("quantile", _of_quantile(found.quantile, measure)))
    if found.ranking is not None:
        lines.append(("ranking", _of_ranking(found.ranking)))
    if found.calibration is not None:
        lines.append(("probabilities", _of_calibration(found.calibration)))
    if found.more_rows is not None:
        lines.append(("more rows", _of_rows(found.more_rows, measure)))
    if found.groups:
        lines.append(("subgroups", _of_groups(found.groups, measure)))
    return lines


def _of_chance(found: PredictionChecks, measure: Measure) -> str:
    test = found.chance
    word = "Better" if test.p_value <= SIGNIFICANT else "Not significantly better"
    return (
        f"{word} than always predicting {_constant(measure)}: p = {test.p_value:.3f} in a "
        f"randomisation test that exchanges the two predictions {len(test.shuffled)} times."
    )


def _of_range(found: IntervalCheck) -> str:
    held = found.held
    low = " That is fewer than 90 %: the folds differ from each other."
    width = "typically " if found.local else ""
    varies = ", wider where errors are larger" if found.local else ""
    worst = int(np.argmin(found.quarters))
    where = ("smallest", "second", "third", "largest")[worst]
    return (
        f"The 90 % prediction interval is {width}±{figure(found.half)}{varies}; such intervals "
        f"covered {held.covered:.0%} of the {held.count:,} held-out rows, and "
        f"{found.quarters[worst]:.0%} in the {where} quarter of the predictions, where they cover "
        f"least.{low if held.p_value < 0.01 else ''}"
    )


def _of_quantile(found: CoverageTest, measure: Measure) -> str:
    wanted = measure.quantile or 0.0
    off = " That is significantly too few." if found.p_value < 0.01 else ""
    return (
        f"{found.covered:.1%} of the {found.count:,} held-out rows lie at or below their "
        f"prediction, where {wanted:.1%} should.{off}"
    )


def of_classes(found: tuple[ClassCounts, ...]) -> str:
    """Of two classes the rarer one, of more the one that is found least."""
    rows = sum(one.rows for one in found)
    if len(found) == 2:
        one = min(found, key=lambda c: c.rows)
        start = f"Flags {_percent(one.predicted, rows)} of the rows as {one.name!r}"
    else:
        one = min(found, key=lambda c: c.recall)
        start = (f"Least found is {one.name!r}, predicted for {_percent(one.predicted, rows)} of "
                 "the rows")  # fmt: skip
    right = f"{one.precision:.0%} of the flags are right" if one.predicted else "never"
    return (
        f"{start}; {right} (precision), and {one.right:,} of the {one.rows:,} rows that are "
        f"{one.name!r} are found (recall {one.recall:.0%})."
    )


def _percent(part: int, rows: int) -> str:
    return f"{part / rows:.0%}" if 100 * part >= rows or not part else "less than 1%"


def of_errors(held_out: HeldOutPredictions, target: str) -> str:
    """How far off the predictions of a number are, in its own units."""
    error = np.abs(held_out.truth - held_out.prediction)
    half, most = np.quantile(error, [0.5, 0.9])
    low, high = np.quantile(held_out.truth, [0.05, 0.95])
    return (
        f"Half of the predictions are off by at most {figure(float(half))}, nine of ten by at most "
        f"{figure(float(most))}; {target} itself mostly lies between {figure(float(low))} and "
        f"{figure(float(high))}."
    )


def _of_ranking(found: RankingQuality) -> str:
    return (
        f"Area under the ROC curve {figure(found.roc.mean)} ({ends(found.roc)}); average "
        f"precision {figure(found.precision.mean)} ({ends(found.precision)}), where random "
        f"guessing has {figure(found.fraction)}."
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
        f"More rows of the same kind {found.verdict}: the last doubling improved the "
        f"{of_predictions(measure).title} by {signed(found.last.mean)} "
        f"({ends(found.last, sign=True)}), the next is expected to improve it by "
        f"{signed(found.expected)}."
    )


def _of_groups(found: tuple[SubgroupResult, ...], measure: Measure) -> str:
    what = "mean absolute error" if measure.task == "regression" else "error rate"
    if measure.costs:
        what = "mean cost"
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
    return ", ".join(f"{_short_name(n)} {_short(v)}" for n, v in winner.items()) or "–"


def _short_name(name: str) -> str:
    """scale of columns__numbers__scale__kind, formula of columns__text a__weights__formula."""
    parts = name.split("__")
    known = {"kind": "scale", "n": "terms of", "n_components": "components"}
    return known.get(parts[-1], parts[-1].replace("_", " "))


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _mean(judged: EvaluatedRecipe) -> float:
    return judged.merit

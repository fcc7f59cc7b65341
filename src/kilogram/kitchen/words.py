"""The answer in three sentences, and numbers written for reading.

1  how well the target can be predicted on new rows, beside the trivial answer
2  whether the kernel twin gains anything over the linear recipe; a tie is called a tie
3  how much the score seen while tuning would have promised too much
"""

from __future__ import annotations

import math
from typing import Any

from kilogram.evaluation.calibration import Reliability
from kilogram.evaluation.intervals import Comparison, Interval
from kilogram.evaluation.learning import MoreRows
from kilogram.kitchen.judge import Judged
from kilogram.kitchen.measures import MEASURES, Measure
from kilogram.kitchen.trust import Group, Range, Ranking, Trust

# Below this the optimism of a score between 0 and 1 is no news.
SMALL = 0.005


def figure(value: float | None, digits: int = 3) -> str:
    """A score with three decimals, a large number with as many digits; never '-0.000'."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}".replace("-", "−")
    if abs(value) >= 10:
        return f"{value:.1f}".replace("-", "−")
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def signed(value: float | None) -> str:
    """A difference with its sign."""
    text = figure(value)
    plain = value is None or value <= 0 or text == "–" or not text.strip("0.,")
    return text if plain else "+" + text


def between(interval: Interval, *, sign: bool = False) -> str:
    """The ends of an interval."""
    write = signed if sign else figure
    return f"{write(interval.low)} to {write(interval.high)}"


def seconds(value: float) -> str:
    return (
        f"{value * 1000:.0f} ms"
        if value < 1
        else f"{value:.1f} s"
        if value < 90
        else (f"{value / 60:.1f} min")
    )


def verdict(judged: tuple[Judged, ...], chosen: Judged, target: str) -> tuple[str, str, str]:
    """The three sentences."""
    by_name = {one.name: one for one in judged}
    return (
        _prediction(by_name, chosen, target),
        _structure(by_name, chosen),
        _optimism(by_name, chosen),
    )


def _prediction(by_name: dict[str, Judged], chosen: Judged, target: str) -> str:
    base = by_name["baseline"]
    title = chosen.measure.title
    trivial = "the mean" if chosen.measure.task == "regression" else "the most frequent class"
    if chosen is base:
        best = max((one for one in by_name.values() if one is not base), key=_mean)
        return (
            f"{target} cannot be predicted from these columns beyond doubt: the best recipe "
            f"({best.recipe.title.lower()}) has {title} {figure(best.score.mean)} on new rows "
            f"({between(best.score)}), always answering {trivial} has {figure(base.score.mean)}, "
            "and the folds do not tell them apart."
        )
    error = chosen.side().get("mean_absolute_error")
    typical = f", off by {figure(error.mean)} on average" if error else ""
    return (
        f"{target} can be predicted: the {chosen.recipe.title.lower()} recipe has {title} "
        f"{figure(chosen.score.mean)} on new rows (95 % interval {between(chosen.score)})"
        f"{typical}, where always answering {trivial} has {figure(base.score.mean)}."
    )


def _structure(by_name: dict[str, Judged], chosen: Judged) -> str:
    if not {"linear", "kernel"} <= set(by_name):
        return "Linear and kernel were not both judged, so nothing is said of non-linear structure."
    gain = by_name["kernel"].against(by_name["linear"])
    enough = {
        "linear": ", so the simpler one is enough",
        "kernel": " beyond doubt; but it leads by more than one standard error, and is kept",
    }.get(chosen.name, "")
    how = f"{signed(gain.difference.mean)}, {between(gain.difference, sign=True)}"
    smooth = " smooth" if chosen.name == "trees" else ""
    said = {
        "better": f"The kernel twin gains over the linear recipe ({how}): there is non-linear "
        "structure worth using",
        "worse": f"The kernel twin is worse than the linear recipe ({how}): what{smooth} structure "
        "there is, is linear",
        "tie": f"The kernel twin and the linear recipe tie ({how}): no useful{smooth} non-linear "
        f"structure shows{enough}",
    }[gain.verdict]
    return f"{said}{_cuts(by_name, chosen)}."


def _cuts(by_name: dict[str, Judged], chosen: Judged) -> str:
    """What it means if trees win."""
    if chosen.name != "trees":
        return ""
    best = max((by_name["linear"], by_name["kernel"]), key=_mean)
    gain = by_name["trees"].against(best)
    how = f"{signed(gain.difference.mean)}, {between(gain.difference, sign=True)}"
    if gain.verdict == "better":
        return f"; trees gain over the better of them ({how}): there are jumps or thresholds"
    return f"; trees lead the better of them, not beyond doubt ({how}), and are kept"


def _optimism(by_name: dict[str, Judged], chosen: Judged) -> str:
    tuned = chosen
    if tuned.nested.optimism is None:
        tuned = max((one for one in by_name.values() if one.nested.optimism is not None), key=_mean)
    gap = tuned.nested.optimism or 0.0
    inner = tuned.score.mean + gap
    said = f"While tuning, the {tuned.recipe.title.lower()} recipe scored {figure(inner)}"
    if abs(gap) < SMALL:
        return f"{said}, as on new rows: tuning did not flatter it."
    if gap < 0:
        return f"{said}, {figure(-gap)} less than on new rows: tuning did not flatter it."
    return f"{said}, {figure(gap)} more than on new rows: that much of it was optimism."


def trust_lines(found: Trust, measure: Measure) -> list[tuple[str, str]]:
    """What is known about the worth of an answer: what about, and a sentence."""
    said = [("chance", _of_chance(found))]
    if found.range is not None:
        said.append(("intervals", _of_range(found.range)))
    if found.ranking is not None:
        said.append(("ranking", _of_ranking(found.ranking)))
    if found.calibration is not None:
        said.append(("probabilities", _of_calibration(found.calibration)))
    if found.more_rows is not None:
        said.append(("more rows", _of_rows(found.more_rows, measure)))
    if found.groups:
        said.append(("subgroups", _of_groups(found.groups, measure)))
    return said


def _of_chance(found: Trust) -> str:
    test = found.chance
    shuffles = len(test.shuffled)
    worse = "more than chance" if test.p_value <= 0.05 else "no more than chance can give"
    return (
        f"{worse[0].upper()}{worse[1:]}: p = {test.p_value:.3f} among {shuffles} shuffles of the "
        f"held-out answers, which score {figure(test.chance)} on average."
    )


def _of_range(found: Range) -> str:
    held = found.held
    odd = " That is less than they should: rows differ from fold to fold."
    return (
        f"Nine in ten answers are off by less than {figure(found.half)}; intervals of that width "
        f"held {held.covered:.0%} of the {held.count:,} held-out rows."
        f"{odd if held.p_value < 0.01 else ''}"
    )


def _of_ranking(found: Ranking) -> str:
    return (
        f"Area under the ROC curve {figure(found.roc.mean)} ({between(found.roc)}); average "
        f"precision {figure(found.precision.mean)} ({between(found.precision)}), where guessing "
        f"has {figure(found.share)}."
    )


def _of_calibration(found: Reliability) -> str:
    gap = found.calibration_error
    word = "can be taken at their word" if gap < 0.05 else "are to be taken roughly"
    return (
        f"Probabilities made of the margins {word}: they miss what comes true by {figure(gap)} on "
        f"average (Brier score {figure(found.brier)})."
    )


def _of_rows(found: MoreRows, measure: Measure) -> str:
    return (
        f"More rows of the same kind {found.verdict}: the last doubling brought "
        f"{signed(found.last.mean)} {measure.title} ({between(found.last, sign=True)}), the next "
        f"may bring {signed(found.expected)}."
    )


def _of_groups(found: tuple[Group, ...], measure: Measure) -> str:
    what = "mean error" if measure.task == "regression" else "share of errors"
    worse = [group for group in found if group.found.verdict == "worse"]
    if not worse:
        return f"None of {len(found)} subgroups has a larger {what} than the others beyond chance."
    named = "; ".join(
        f"{group.column} {group.found.name} ({figure(group.found.loss)}, "
        f"{signed(group.found.difference.mean)} against the others)"
        for group in worse[:3]
    )
    more = f", and {len(worse) - 3} more" if len(worse) > 3 else ""
    return f"A larger {what} than elsewhere, beyond chance: {named}{more}."


def compared(comparison: Comparison | None) -> str:
    """A comparison in one cell of a table."""
    if comparison is None:
        return "–"
    word = "tie" if comparison.verdict == "tie" else comparison.verdict
    return f"{signed(comparison.difference.mean)} ({word})"


def winner_words(winner: dict[str, Any]) -> str:
    """The parameters of a winner, short: those of the columns by their last name."""
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


def _mean(judged: Judged) -> float:
    return judged.score.mean

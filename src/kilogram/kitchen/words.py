"""The answer in three sentences, and numbers written for reading.

1  how well the target can be predicted on new rows, beside the trivial answer
2  whether the kernel twin gains anything over the linear recipe; a tie is called a tie
3  how much the score seen while tuning would have promised too much
"""

from __future__ import annotations

import math

from kilogram.evaluation.intervals import Comparison, Interval
from kilogram.kitchen.judge import Judged
from kilogram.kitchen.measures import MEASURES

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
    enough = ", so the simpler one is enough" if chosen.name == "linear" else ""
    how = f"{signed(gain.difference.mean)}, {between(gain.difference, sign=True)}"
    return {
        "better": f"The kernel twin gains over the linear recipe ({how}): there is non-linear "
        "structure worth using.",
        "worse": f"The kernel twin is worse than the linear recipe ({how}): what structure there "
        "is, is linear.",
        "tie": f"The kernel twin and the linear recipe tie ({how}): no useful non-linear structure "
        f"shows{enough}.",
    }[gain.verdict]


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


def compared(comparison: Comparison | None) -> str:
    """A comparison in one cell of a table."""
    if comparison is None:
        return "–"
    word = "tie" if comparison.verdict == "tie" else comparison.verdict
    return f"{signed(comparison.difference.mean)} ({word})"


def winner_words(winner: dict[str, float]) -> str:
    """alpha and width of a winner, short."""
    return ", ".join(f"{name} {value:.3g}" for name, value in winner.items()) or "–"


def measure_title(name: str) -> str:
    return MEASURES[name].title


def _mean(judged: Judged) -> float:
    return judged.score.mean

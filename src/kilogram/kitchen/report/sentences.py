"""The conclusion in three sentences, and words for the tables of the report.

1  how well the target can be predicted on new rows, compared with the baseline
2  which recipe was chosen and why, and whether the kernel version improves on the linear recipe
3  how optimistic the score of the tuned parameters was
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kilogram.evaluation.intervals import Comparison
from kilogram.kitchen.errors import quoted
from kilogram.kitchen.formatting import (
    ends,
    extent,
    figure,
    percent,
    sentence_case,
    signed,
)
from kilogram.kitchen.judge.compare import EvaluatedRecipe
from kilogram.kitchen.judge.evidence import HeldOutImportance
from kilogram.kitchen.judge.selection import Selection, error_of, select
from kilogram.kitchen.measures import Measure

# Titles of recipes that are names of people.
SURNAMES = ("Poisson", "Huber")
# An optimism below this, of a score between 0 and 1, is not worth reporting: our choice.
SMALL = 0.005
# Scores from which on leakage is more likely than skill.
TOO_GOOD = {"regression": 0.99, "classification": 0.9985}
NEAR_PERFECT = 0.05  # ... if the error is at most this part of the baseline's: our choice.


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
        _optimism(by_name.values(), selection.chosen),
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
        f"Too good to be true? {sentence_case(measure.title)} {figure(chosen.score.mean)} usually "
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


def of_which_rows(judged: EvaluatedRecipe) -> str:
    """The rows that the score is of: what the folds kept apart."""
    along = judged.along or {}
    if "moments" in along:
        return "later rows"
    return "rows of new groups" if "groups" in along else "new rows"


def rows_ahead(judged: EvaluatedRecipe) -> int:
    """How many rows after their training rows the folds along time look."""
    return max(len(fold.test) for fold in judged.nested.folds)


def _of_interval(judged: EvaluatedRecipe) -> str:
    """What the interval that follows is, and how far ahead its rows lie."""
    if of_which_rows(judged) != "later rows":
        return "95 % interval"
    return f"up to {rows_ahead(judged):,} rows after the training rows; 95 % interval"


def _prediction(selection: Selection, base: EvaluatedRecipe, target: str) -> str:
    chosen = selection.chosen
    title, rows = chosen.measure.title, of_which_rows(base)
    constant = constant_prediction(chosen.measure)
    if chosen is base:
        best = selection.best
        test = best.chance(base)
        return (
            f"There is no evidence that {target} can be predicted from these columns: {title} of "
            f"the best recipe ({_name(best)}) is {figure(best.score.mean)} on {rows} "
            f"({_of_interval(base)} {ends(best.score)}), that of always predicting {constant} is "
            f"{figure(base.score.mean)}, and the difference is not significant "
            f"(p = {test.p_value:.3f})."
        )
    wide = chosen.over_baseline(base).difference.low <= 0
    unsure = " How much better the recipe is than that is uncertain." if wide else ""
    return (
        f"{target} can be predicted: {title} {figure(chosen.score.mean)} on {rows} "
        f"({_of_interval(base)} {ends(chosen.score)}) with {_in_words(chosen)}; always predicting "
        f"{constant} has {figure(base.score.mean)}.{unsure}"
    )


def _structure(by_name: dict[str, EvaluatedRecipe], selection: Selection) -> str:
    return " ".join(filter(None, [_choice(selection), _nonlinear(by_name)]))


def _choice(selection: Selection) -> str:
    """Why this recipe, and not a simpler or a better one."""
    chosen, best = selection.chosen, selection.best
    if not selection.able:
        return ""
    start, passed = f"{sentence_case(_in_words(chosen))} is chosen", _passed(selection)
    if chosen is not best:
        ahead = best.against(chosen)
        if selection.why == "brier" and chosen is selection.first:
            return (
                f"{start}: of the recipes within one standard error of the best "
                f"({_in_words(best)}, {extent(ahead.difference.mean)} ahead, not significant) it "
                f"has the best probabilities (Brier score {figure(chosen.brier.mean)}, of "
                f"{_in_words(best)} {figure(best.brier.mean)})."
            )
        return (
            f"{start} as the simplest that is not clearly worse than the best: {_in_words(best)} "
            f"is ahead by {extent(ahead.difference.mean)} ({_errors(ahead)}).{passed}"
        )
    others = [one for one in selection.able if one is not best]
    if not others:
        return f"{start}: only this one is significantly better than the baseline."
    second = max(others, key=lambda one: one.merit)
    ahead = best.against(second)
    if ahead.difference.mean == 0:
        return f"{start}: it has the best score, as has {_in_words(second)}.{passed}"
    return (
        f"{start}: it has the best score, {extent(ahead.difference.mean)} ahead of "
        f"{_in_words(second)} ({_errors(ahead)}).{passed}"
    )


def _passed(selection: Selection) -> str:
    """Why a simpler recipe whose score is within one standard error of the best is not chosen."""
    one, best, first = selection.passed, selection.best, selection.first
    if one is None:
        return ""
    start = f" {sentence_case(_in_words(one))} is simpler and within one standard error, but "
    if selection.why == "brier":
        return (f"{start}its probabilities are worse (Brier score {figure(one.brier.mean)}, of "
                f"{_in_words(first)} {figure(first.brier.mean)}).")  # fmt: skip
    if selection.why == "gain":
        return (f"{start}its score is {extent(best.merit - one.merit)} lower, more than a tenth of "
                f"the lead of {_in_words(best)} over the baseline.")  # fmt: skip
    if error_of(best) <= 0:
        return f"{start}{_in_words(best)} has no error."
    more = error_of(one) / error_of(best) - 1
    return f"{start}its error is {percent(more)} larger than that of {_in_words(best)}."


def _errors(ahead: Comparison) -> str:
    """A lead in standard errors, and whether it is significant."""
    words = "significant" if ahead.verdict == "better" else "not significant"
    if ahead.error == 0:
        return words
    return f"{ahead.lead:.1f} standard errors, {words}"


def _nonlinear(by_name: dict[str, EvaluatedRecipe]) -> str:
    """What linear recipe and kernel version show about the dependence."""
    if not {"linear", "kernel"} <= set(by_name):
        return ""
    gain = by_name["kernel"].against(by_name["linear"])
    how = (f"difference {signed(gain.difference.mean)}, 95 % interval "
           f"{ends(gain.difference, sign=True)}")  # fmt: skip
    return {
        "better": "The kernel version is significantly better than the linear recipe: the "
        f"dependence is non-linear ({how}).",
        "worse": "The kernel version is significantly worse than the linear recipe: no "
        f"non-linear dependence was found ({how}).",
        "tie": "Whether the dependence is non-linear remains open: the kernel version and the "
        f"linear recipe do not differ significantly ({how}).",
    }[gain.verdict]


def _optimism(judged: Collection[EvaluatedRecipe], chosen: EvaluatedRecipe) -> str:
    """How the tuning score of the chosen recipe compares with its score on new rows."""
    rows = of_which_rows(chosen)
    if all(one.nested.inner_scores is None for one in judged):
        return "No parameter was tuned, so no score is optimistic because of tuning."
    name = _in_words(chosen)
    if chosen.nested.inner_scores is None:
        return f"No parameter of {name} was tuned, so tuning did not make its score optimistic."
    if chosen.optimism is None and rows == "later rows":
        return "Scores during tuning are of earlier rows, so their optimism cannot be stated."
    if chosen.optimism is None:
        return (f"Tuning of {name} used another score than {chosen.measure.title}, so its optimism "
                "cannot be stated.")  # fmt: skip
    gap = chosen.optimism
    inner = chosen.score.mean + gap
    during = f"During tuning {name} scored {figure(inner)}"
    if abs(gap) < SMALL:
        return f"{during}, about as on {rows}: tuning did not make the score optimistic."
    if gap < 0:
        return (f"{during}, {extent(gap)} less than on {rows}: tuning did not make the score "
                "optimistic.")  # fmt: skip
    return (f"{during}, {extent(gap)} more than on {rows}: that part of the tuning score is "
            "optimism.")  # fmt: skip


def _name(one: EvaluatedRecipe) -> str:
    title = one.recipe.title
    return title if title in SURNAMES else title.lower()


def in_words(one: EvaluatedRecipe) -> str:
    """The recipe: linear recipe, kernel version."""
    name = _name(one)
    return name if name.endswith("version") else f"{name} recipe"


def _in_words(one: EvaluatedRecipe) -> str:
    return f"the {in_words(one)}"


def constant_prediction(measure: Measure) -> str:
    if measure.quantile is not None:
        return f"the {measure.quantile:g} quantile"
    if measure.name == "ordinal_error":
        return "the median class"
    if measure.costs:
        return "the class of least expected cost"
    if measure.of == "probabilities":
        return "the frequencies of the classes"
    return "the mean" if measure.task == "regression" else "the most frequent class"


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

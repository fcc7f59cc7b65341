"""The report: one HTML file with the conclusion, then plots, then tables.

Nothing is loaded from elsewhere: styles and plots are in the file, which stays far below 2 MB
because a plot holds at most some hundred points. All text from the table is escaped.
"""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import Any

import numpy as np

from kilogram.kitchen import formatting
from kilogram.kitchen.bundled import is_bundled
from kilogram.kitchen.errors import readable
from kilogram.kitchen.features.columns import Column
from kilogram.kitchen.judge.compare import COARSE, EvaluatedRecipe
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.report import prediction_sentences as checks
from kilogram.kitchen.report import sentences as words
from kilogram.kitchen.report.dependence_plots import dependence_plots
from kilogram.kitchen.report.facts import candidates, versions
from kilogram.kitchen.report.overview import (
    ColumnSummary,
    column_plot,
    numeric_summary,
    summaries,
    summary,
)
from kilogram.kitchen.report.plots import plots, scores
from kilogram.kitchen.report.svg import short
from kilogram.kitchen.report.templates import render
from kilogram.kitchen.report.terms import terms_in
from kilogram.kitchen.report.worst_rows import worst_rows
from kilogram.kitchen.result import CookResult

MAX_COLUMNS_LISTED = 200  # rows of the table of columns: some pages of print
MAX_GROUPS = 12  # subgroups listed: half a screen
MAX_DISTRIBUTIONS = 40  # small plots of columns: ten rows of four


def as_html(cooked: CookResult) -> bytes:
    """The report as the content of a file."""
    return _render("report.html", cooked, plots=plots(cooked))


def as_card(cooked: CookResult) -> str:
    """The conclusion, the scores and one plot, for a notebook."""
    return _render("card.html", cooked, plots=[scores(cooked)]).decode()


def _render(template: str, cooked: CookResult, **more: Any) -> bytes:
    return render(template, **_context(cooked), **more)


def _context(cooked: CookResult) -> dict[str, Any]:
    columns = cooked.model.layout.columns
    trusts = checks.check_lines(cooked.evidence.trust, cooked.measure)
    return {
        "cooked": cooked,
        "measure": cooked.measure,
        "loss_title": checks.loss_title(cooked.measure),
        "coarse": cooked.measure.name in COARSE,
        "shown": words.in_words(cooked.shown),
        "question": cooked.question,
        "rows": recipe_rows(cooked),
        "cards": cards(cooked),
        "sides": [MEASURES[name] for name in cooked.chosen.side()],
        "columns": columns[:MAX_COLUMNS_LISTED],
        "columns_more": max(0, len(columns) - MAX_COLUMNS_LISTED),
        "left_out": sum(not column.used for column in columns),
        "column_note": column_note,
        "subgroup_verdict": words.subgroup_verdict,
        "winners": winners(cooked),
        "plain_line": plain_line(cooked),
        "trusts": trusts,
        "overview": overview(cooked),
        "effects": dependence_plots(cooked.effects, cooked.question.target),
        "worst": worst_rows(cooked),
        "glossary": terms_in(
            *cooked.verdict,
            plain_line(cooked),
            *(text for _, text in trusts),
            cooked.measure.title,
            "recipe residual baseline optimism",
        ),
        "groups": cooked.evidence.trust.groups[:MAX_GROUPS],
        "tried": tuning_effort(cooked),
        "changes": what_would_change(cooked),
        "command": command(cooked),
        "made": datetime.fromtimestamp(cooked.made, UTC).strftime("%-d %B %Y, %H:%M UTC"),
        "versions": versions(),
    }


def plain_line(cooked: CookResult) -> str:
    """What the predictions are worth, in the units of the target; nothing for the baseline."""
    evidence = cooked.evidence
    return checks.plain_line(cooked.chosen, evidence.trust, evidence.held_out,
                            cooked.question.target)  # fmt: skip


def overview(cooked: CookResult) -> list[tuple[ColumnSummary, str]]:
    """The target and the columns with their distributions."""
    data, question = cooked.table.data, cooked.question
    if question.classes:
        column = Column(question.target, "categorical", "the target")
        target = summary(data.column(question.target), column)
    else:  # whose numbers may be written as text
        y = np.full(data.num_rows, np.nan)
        y[question.rows] = question.y
        target = numeric_summary(y, Column(question.target, "numeric", "the target"))
    few = [column for column in cooked.model.layout.columns if column.used][:MAX_DISTRIBUTIONS]
    return [(one, column_plot(one)) for one in (target, *summaries(data, few))]


def recipe_rows(cooked: CookResult) -> list[dict[str, Any]]:
    """The table of the recipes as text; the terminal shows the same one."""
    baseline = cooked.judged[0]
    return [
        {
            "name": one.name,
            "title": one.recipe.title,
            "about": one.recipe.about,
            "chosen": one is cooked.chosen,
            "score": formatting.figure(one.score.mean),
            "interval": formatting.ends(one.score),
            "gain": words.compared(None if one is baseline else one.over_baseline(baseline)),
            "optimism": formatting.signed(one.optimism),
            "sides": [formatting.figure(side.mean) for side in one.side().values()],
            "seconds": formatting.seconds(one.seconds),
        }
        for one in cooked.judged
    ]


def cards(cooked: CookResult) -> list[tuple[str, str, str]]:
    """The key figures: name, value, uncertainty."""
    by_name = {one.name: one for one in cooked.judged}
    shown = cooked.shown
    rows = words.of_which_rows(shown)
    found = [
        (
            f"{cooked.measure.title} on {rows}",
            formatting.figure(shown.score.mean),
            formatting.ends(shown.score),
        )
    ]
    gain = shown.over_baseline(by_name["baseline"])
    found.append(("improvement over the baseline", *_gain(gain)))
    if {"linear", "kernel"} <= set(by_name):
        found.append(("improvement of the kernel version",
                      *_gain(by_name["kernel"].against(by_name["linear"]))))  # fmt: skip
    if shown.optimism is not None:
        found.append(("optimism of the tuning score", formatting.signed(shown.optimism),
                      f"score during tuning minus score on {rows}"))  # fmt: skip
    trust = cooked.evidence.trust
    if trust.range is not None:
        found.append(
            (
                "90 % prediction interval",
                "±" + formatting.figure(trust.range.half),
                f"covered {formatting.percent(trust.range.held.covered)} of the held-out rows",
            )
        )
    if trust.ranking is not None:
        found.append(("area under the ROC curve", formatting.figure(trust.ranking.roc.mean),
                      formatting.ends(trust.ranking.roc)))  # fmt: skip
    return found


def tuning_effort(cooked: CookResult) -> list[dict[str, Any]]:
    """Parameter settings tried, models fitted and time used, by recipe."""
    return [
        {
            "title": one.recipe.title,
            "about": one.recipe.about,
            "settings": candidates(one),
            "fits": candidates(one) * len(one.nested.folds),
            "seconds": formatting.seconds(one.seconds),
        }
        for one in cooked.judged
    ]


def _gain(gain: Any) -> tuple[str, str]:
    word = "not significant" if gain.verdict == "tie" else f"significantly {gain.verdict}"
    if gain.verdict == "better" and gain.difference.low <= 0:
        word = "better by the randomisation test, how much is uncertain"
    return (
        formatting.signed(gain.difference.mean),
        f"{formatting.ends(gain.difference, sign=True)}: {word}",
    )


def winners(cooked: CookResult) -> list[dict[str, Any]]:
    """What the inner searches selected, most frequent first, and how stable the selection was."""
    found = []
    for one in cooked.judged:
        if one.nested.stability is None:
            continue
        texts = [words.winner_words(winner) for winner in one.nested.winners]
        counts = sorted({text: texts.count(text) for text in texts}.items(), key=lambda p: -p[1])
        found.append({"title": one.recipe.title, "stability": one.nested.stability,
                      "counts": counts[:6], "edge": _at_edge(one)})  # fmt: skip
    return found


def _at_edge(one: EvaluatedRecipe) -> bool:
    """Did most folds select the smallest or largest penalty of the grid?"""
    alphas = getattr(one.first_round[0].model[-1], "alphas_", None)
    if alphas is None or np.ndim(alphas) != 1:
        return False
    chosen = [winner["alpha"] for winner in one.nested.winners]
    return sum(alpha in (alphas[0], alphas[-1]) for alpha in chosen) > len(chosen) / 2


def what_would_change(cooked: CookResult) -> list[str]:
    """The assumptions that the conclusion depends on."""
    settings = cooked.settings
    if settings.time is not None:
        ahead = words.rows_ahead(cooked.judged[0])
        alike = (
            f"the score and its interval are means over the times of the table, for rows up to "
            f"{ahead:,} rows after the last training row. A single stretch of time varies more, "
            "and rows further ahead are extrapolations."
        )
    elif settings.group is not None:
        alike = f"values of {settings.group} from another population; folds kept its groups apart."
    else:
        alike = (
            "the folds were random, so the score may be optimistic for rows of new groups "
            "(use --group) or later rows (use --time)."
        )
    assumptions = [
        f"New rows from another distribution: {alike}",
        "Inputs that are not known at prediction time: leave them out with --drop.",
    ]
    more = cooked.evidence.trust.more_rows
    if more is not None and more.verdict != "would hardly help" and more.expected:
        assumptions.insert(
            0,
            f"More rows: twice as many are expected to improve the score by "
            f"{formatting.extent(more.expected)}.",
        )
    score = cooked.chosen.score
    if score.high - score.low > 0.1 and cooked.measure.high == 1 and settings.repeats is None:
        repeats = "" if settings.time is not None else ", and --repeats a little"
        assumptions.append(f"The interval is wide: more rows would narrow it{repeats}.")
    return assumptions


def column_note(column: Column) -> str:
    """Missing values of a column."""
    return f"{column.missing:,} missing" if column.missing else ""


def command(cooked: CookResult) -> str:
    """The command that repeats the run, in a shell or, for a data frame, in Python."""
    s = cooked.settings
    changed = {
        name: value
        for name, value, default in (
            ("task", s.task, None), ("measure", s.measure, None), ("folds", s.folds, 5),
            ("repeats", s.repeats, None), ("seed", s.seed, 0), ("max_rows", s.max_rows, 50_000),
            ("keep", s.keep, None), ("search", s.search, "halving"),
            ("numeric", list(s.numeric), []),
            ("categorical", list(s.categorical), []), ("ignore", list(s.ignore), []),
            ("ordinal", list(s.ordinal), []), ("text", list(s.text), []),
            ("date", list(s.date), []), ("image", list(s.image), []), ("group", s.group, None),
            ("time", s.time, None), ("accept", list(s.accept), []),
            ("drop_duplicates", s.drop_duplicates, False), ("examples", s.examples, True),
            ("cost", s.cost, None), ("recipes", ",".join(s.recipes), ""),
        )
        if value != default
    }  # fmt: skip
    if cooked.table.path is None:
        extra = "".join(f", {name}={value!r}" for name, value in changed.items())
        return f"kilogram.cook(table, {cooked.question.target!r}{extra})"
    bundled = is_bundled(cooked.table.path)
    parts = ["kg", "cook", *([] if bundled else [readable(cooked.table.path)])]
    parts += ["--target", cooked.question.target]
    for name, value in changed.items():
        for one in value if isinstance(value, list) else [value]:
            say = "no-" * (one is False) + name.replace("_", "-")
            parts += [f"--{say}", *([] if isinstance(one, bool) else [str(one)])]
    parts += [] if cooked.table.header else ["--no-header"]
    return short(" ".join(shlex.quote(part) for part in parts), 2000)

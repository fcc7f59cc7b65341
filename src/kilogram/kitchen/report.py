"""The report: one HTML file that opens with the answer, then pictures, then tables.

Nothing is loaded from elsewhere: styles and drawings are in the file, which stays far below 2 MB
because pictures hold at most some hundred points. Every word that comes from the table is escaped.
"""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kilogram.kitchen import words
from kilogram.kitchen.columns import Column
from kilogram.kitchen.facts import candidates, versions
from kilogram.kitchen.judge import Judged
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.pages import TEMPLATES, render
from kilogram.kitchen.plots import pictures, scores
from kilogram.kitchen.svg import short

if TYPE_CHECKING:
    from kilogram.kitchen.cook import Cooked

MAX_BYTES = 2_000_000
MAX_COLUMNS_LISTED = 200
MAX_GROUPS = 12


def as_html(cooked: Cooked) -> bytes:
    """The report as the content of a file."""
    return _render("report.html", cooked, pictures=pictures(cooked))


def as_card(cooked: Cooked) -> str:
    """The answer, the scores and one picture, for a notebook."""
    return _render("card.html", cooked, pictures=[scores(cooked)]).decode()


def _render(template: str, cooked: Cooked, **more: Any) -> bytes:
    return render(template, **_context(cooked), **more)


def _context(cooked: Cooked) -> dict[str, Any]:
    columns = cooked.model.layout.columns
    return {
        "cooked": cooked,
        "measure": cooked.measure,
        "question": cooked.question,
        "rows": recipe_rows(cooked),
        "cards": cards(cooked),
        "sides": [MEASURES[name] for name in cooked.chosen.side()],
        "columns": columns[:MAX_COLUMNS_LISTED],
        "columns_more": max(0, len(columns) - MAX_COLUMNS_LISTED),
        "left_out": sum(not column.used for column in columns),
        "column_note": column_note,
        "winners": winners(cooked),
        "trusts": words.trust_lines(cooked.evidence.trust, cooked.measure),
        "groups": cooked.evidence.trust.groups[:MAX_GROUPS],
        "tried": tried(cooked),
        "changes": what_would_change(cooked),
        "command": command(cooked),
        "made": datetime.fromtimestamp(cooked.made, UTC).strftime("%-d %B %Y, %H:%M UTC"),
        "versions": versions(),
    }


def recipe_rows(cooked: Cooked) -> list[dict[str, Any]]:
    """The table of the recipes, in words; the terminal shows the same one."""
    baseline = cooked.judged[0]
    return [
        {
            "name": one.name,
            "title": one.recipe.title,
            "about": one.recipe.about,
            "chosen": one is cooked.chosen,
            "score": words.figure(one.score.mean),
            "interval": words.between(one.score),
            "gain": words.compared(None if one is baseline else one.against(baseline)),
            "optimism": words.signed(one.nested.optimism),
            "sides": [words.figure(side.mean) for side in one.side().values()],
            "seconds": words.seconds(one.seconds),
        }
        for one in cooked.judged
    ]


def cards(cooked: Cooked) -> list[tuple[str, str, str]]:
    """The figures to remember: what, how much, how sure."""
    by_name = {one.name: one for one in cooked.judged}
    shown = cooked.shown
    found = [
        (
            f"{cooked.measure.title} on new rows",
            words.figure(shown.score.mean),
            words.between(shown.score),
        )
    ]
    gain = shown.against(by_name["baseline"])
    found.append(("gain over the trivial answer", *_gain(gain)))
    if {"linear", "kernel"} <= set(by_name):
        found.append(("gain of the kernel twin",
                      *_gain(by_name["kernel"].against(by_name["linear"]))))  # fmt: skip
    found.append(("optimism of tuning", words.signed(shown.nested.optimism), "inner − outer score"))
    trust = cooked.evidence.trust
    if trust.range is not None:
        found.append(("nine in ten answers within", "±" + words.figure(trust.range.half),
                      f"held for {trust.range.held.covered:.0%} of held-out rows"))  # fmt: skip
    if trust.ranking is not None:
        found.append(("area under the ROC curve", words.figure(trust.ranking.roc.mean),
                      words.between(trust.ranking.roc)))  # fmt: skip
    return found


def tried(cooked: Cooked) -> list[dict[str, Any]]:
    """Settings tried, models fitted and time taken, recipe by recipe."""
    return [
        {
            "title": one.recipe.title,
            "about": one.recipe.about,
            "settings": candidates(one),
            "fits": candidates(one) * len(one.nested.folds),
            "seconds": words.seconds(one.seconds),
        }
        for one in cooked.judged
    ]


def _gain(gain: Any) -> tuple[str, str]:
    word = "a tie" if gain.verdict == "tie" else gain.verdict
    return (
        words.signed(gain.difference.mean),
        f"{words.between(gain.difference, sign=True)}: {word}",
    )


def winners(cooked: Cooked) -> list[dict[str, Any]]:
    """What the inner searches chose, most frequent first, and how steady the choice was."""
    found = []
    for one in cooked.judged:
        if one.nested.stability is None:
            continue
        texts = [words.winner_words(winner) for winner in one.nested.winners]
        counts = sorted({text: texts.count(text) for text in texts}.items(), key=lambda p: -p[1])
        found.append({"title": one.recipe.title, "stability": one.nested.stability,
                      "counts": counts[:6], "edge": _at_edge(one)})  # fmt: skip
    return found


def _at_edge(one: Judged) -> bool:
    """Did most folds choose the smallest or largest penalty there was?"""
    alphas = getattr(one.first_round[0].model[-1], "alphas_", None)
    if alphas is None:
        return False
    chosen = [winner["alpha"] for winner in one.nested.winners]
    return sum(alpha in (alphas[0], alphas[-1]) for alpha in chosen) > len(chosen) / 2


def what_would_change(cooked: Cooked) -> list[str]:
    """What the conclusion hangs on."""
    settings = cooked.settings
    if settings.time is not None:
        alike = "a change in how the rows come about after the last of these."
    elif settings.group is not None:
        alike = f"another way of drawing {settings.group}; the folds kept its values apart."
    else:
        alike = (
            "the folds were drawn at random, so rows that belong together (say --group) or that "
            "come later (say --time) may be predicted less well."
        )
    said = [
        f"New rows that are not like these: {alike}",
        "Inputs that would not be known at the time of predicting: leave them out with --drop.",
    ]
    more = cooked.evidence.trust.more_rows
    if more is not None and more.verdict != "would hardly help":
        said.insert(0, f"More rows: twice as many may bring {words.signed(more.expected)}.")
    if cooked.chosen.score.high - cooked.chosen.score.low > 0.1 and settings.repeats is None:
        said.append("The interval is wide: more rows would narrow it, --repeats a little.")
    return said


def column_note(column: Column) -> str:
    """Missing cells of a column."""
    return f"{column.missing:,} missing" if column.missing else ""


def command(cooked: Cooked) -> str:
    """What to type to cook the same again, in a shell or, for a data frame, in Python."""
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
        )
        if value != default
    }  # fmt: skip
    if cooked.table.path is None:
        extra = "".join(f", {name}={value!r}" for name, value in changed.items())
        return f"kilogram.cook(table, {cooked.question.target!r}{extra})"
    bundled = Path(cooked.table.path).parent == TEMPLATES.parent / "data"
    parts = ["kg", "cook", *([] if bundled else [cooked.table.path])]
    parts += ["--target", cooked.question.target]
    for name, value in changed.items():
        for one in value if isinstance(value, list) else [value]:
            say = "no-" * (one is False) + name.replace("_", "-")
            parts += [f"--{say}", *([] if isinstance(one, bool) else [str(one)])]
    parts += [] if cooked.table.header else ["--no-header"]
    return short(" ".join(shlex.quote(part) for part in parts), 2000)

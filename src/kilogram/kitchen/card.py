"""The model card: one page of Markdown that goes wherever the model goes.

    what it is, data, how it was judged, where it errs more, limits, how to use it, the same again

It is written by `kg cook` beside the report and kept in the model file, so that a model met on its
own can say what it is (`kg explain-model`, `/model` of `kg serve`). Headings follow M. Mitchell et
al., Model cards for model reporting, 2019. Words of the table are quoted so that they stay words.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kilogram.kitchen import words
from kilogram.kitchen.facts import versions
from kilogram.kitchen.model import Model
from kilogram.kitchen.report import command, recipe_rows, what_would_change

if TYPE_CHECKING:
    from kilogram.kitchen.cook import Cooked

MAX_COLUMNS = 40
MAX_GROUPS = 8
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|])")


def as_markdown(cooked: Cooked) -> str:
    """The card of a cooked model."""
    parts = [
        f"# Model card: {said(cooked.question.target)} from {said(cooked.table.name)}",
        " ".join(said(sentence) for sentence in cooked.verdict),
        "## What it is\n\n" + _what(cooked),
        "## Data\n\n" + _data(cooked),
        "## How it was judged\n\n" + _judged(cooked),
        "## Where it errs more\n\n" + _groups(cooked),
        "## Limits\n\n" + _limits(cooked),
        "## How to use it\n\n" + _use(cooked),
        "## The same again\n\n" + _again(cooked),
    ]
    return "\n\n".join(parts) + "\n"


def card_of(model: Model) -> str:
    """The card in a model; one made of what is known where it has none."""
    if model.about.get("card"):
        return str(model.about["card"])
    known = {name: value for name, value in model.about.items() if value is not None}
    lines = [f"- {said(str(name))}: {said(str(value))}" for name, value in known.items()]
    return "\n".join(
        [f"# Model of {said(model.target)} ({model.task})", "", *lines, "", *_columns(model)]
    )


def said(text: str) -> str:
    """Text in which no sign means anything to Markdown."""
    return _MARKS.sub(r"\\\1", " ".join(str(text).split()))


def _what(cooked: Cooked) -> str:
    model, question = cooked.model, cooked.question
    winner = words.winner_words(model.about.get("winner") or {})
    lines = [
        f"- A {question.task} model of {said(question.target)}: {said(cooked.kept.recipe.about)}",
        f"- Chosen settings: {said(winner)}.",
    ]
    if question.classes:
        lines.append(f"- Classes: {', '.join(said(c) for c in question.classes[:20])}.")
    made = datetime.fromtimestamp(cooked.made, UTC).strftime("%-d %B %Y")
    found = versions()
    lines.append(
        f"- Made on {made} with Kilogram {found['kilogram']}, scikit-learn "
        f"{found['scikit-learn']}, NumPy {found['numpy']}, Python {found['python']}."
    )
    return "\n".join(lines)


def _data(cooked: Cooked) -> str:
    table = cooked.table
    lines = [
        f"{said(table.name)}: {table.data.num_rows:,} rows, {table.data.num_columns} columns; "
        f"{len(cooked.judged[0].y):,} rows were used. {_remembered(cooked.model)}",
        "",
        *_columns(cooked.model),
    ]
    lines += [f"- {said(note)}" for note in cooked.notes]
    lines += [f"- {said(f.title)} ({f.code}, {f.severity}): {said(f.evidence)}"
              for f in cooked.audit.findings]  # fmt: skip
    return "\n".join(lines)


def _columns(model: Model) -> list[str]:
    used = model.layout.used
    lines = ["| column | kind | why |", "|---|---|---|"]
    lines += [f"| {said(c.name)} | {c.kind} | {said(c.reason)} |" for c in used[:MAX_COLUMNS]]
    left = [said(c.name) for c in model.layout.columns if not c.used]
    lines.append("")
    if len(used) > MAX_COLUMNS:
        lines.append(f"- {len(used) - MAX_COLUMNS} more columns are used.")
    if left:
        more = f" and {len(left) - MAX_COLUMNS} more" if len(left) > MAX_COLUMNS else ""
        lines.append(f"- Left out: {', '.join(left[:MAX_COLUMNS])}{more}.")
    return lines


def _remembered(model: Model) -> str:
    if "remembered" not in model.use:
        return "The model file holds no rows of it as examples."
    return (
        f"The model file holds {len(model.use['remembered']['y'])} of the rows as examples: it is "
        "as confidential as they are."
    )


def _judged(cooked: Cooked) -> str:
    measure = cooked.measure
    lines = [
        f"Nested cross-validation, {len(cooked.judged[0].nested.folds)} outer folds; "
        f"{measure.title} is the {said(measure.meaning)} ({said(cooked.measure_reason)}). "
        "Intervals are 95 % intervals corrected for overlapping folds.",
        "",
        f"| recipe | {measure.title} | 95 % interval | over baseline | optimism of tuning |",
        "|---|---|---|---|---|",
    ]
    for row in recipe_rows(cooked):
        mark = " (this model)" if row["name"] == cooked.kept.name else ""
        cells = (row["title"] + mark, row["score"], row["interval"], row["gain"], row["optimism"])
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    lines += [f"- {what}: {said(sentence)}"
              for what, sentence in words.trust_lines(cooked.evidence.trust, measure)]  # fmt: skip
    return "\n".join(lines)


def _groups(cooked: Cooked) -> str:
    groups = cooked.evidence.trust.groups
    if not groups:
        return "No column divides the rows into groups large enough to compare."
    what = "mean error" if cooked.measure.task == "regression" else "share of errors"
    lines = [f"| column | rows with | rows | {what} | against the others | so |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for group in groups[:MAX_GROUPS]:
        found = group.found
        lines.append(
            f"| {said(group.column)} | {said(found.name)} | {found.count:,} | "
            f"{words.figure(found.loss)} | {words.signed(found.difference.mean)} | "
            f"{found.verdict} |"
        )
    return "\n".join(lines)


def _limits(cooked: Cooked) -> str:
    lines = [f"- {said(change)}" for change in what_would_change(cooked)]
    lines.append(
        "- It predicts; it does not say what would happen if a column were changed on purpose."
    )
    lines.append("- Rows marked as unlike those it was cooked from are answered by extrapolation.")
    return "\n".join(lines)


def _use(cooked: Cooked) -> str:
    served = not cooked.model.layout.positions("image")
    lines = ["    kg predict model.skops NEW.csv", "    kg explain-model model.skops TABLE.csv"]
    lines += ["    kg serve model.skops"] if served else []
    return "\n".join(lines)


def _again(cooked: Cooked) -> str:
    lines: list[Any] = ["    kg cook --recipe recipe.toml", "", "or", ""]
    return "\n".join([*lines, "    " + command(cooked)])

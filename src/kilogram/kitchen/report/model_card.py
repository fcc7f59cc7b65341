"""The model card: one page of Markdown that goes wherever the model goes.

    model details, training data, evaluation, errors by subgroup, limitations, use, reproduce

It is written by `kg cook` beside the report and kept in the model file, where `kg explain-model`
and `/model` of `kg serve` show it. Headings follow M. Mitchell et al., Model cards for model
reporting, 2019. Text from the table is escaped.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from kilogram.kitchen import formatting
from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.report import sentences as words
from kilogram.kitchen.report.facts import versions
from kilogram.kitchen.report.html import command, plain_line, recipe_rows, what_would_change
from kilogram.kitchen.report.prediction_sentences import check_lines, loss_title
from kilogram.kitchen.result import CookResult

MAX_COLUMNS = 40  # listed in the card, which is to be read in full: a page
MAX_GROUPS = 8  # listed in the card: our choice
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|])")


def as_markdown(cooked: CookResult) -> str:
    """The card of a fitted model."""
    headline, *others = cooked.verdict
    parts = [
        f"# Model card: {escaped(cooked.question.target)} from {escaped(cooked.table.name)}",
        " ".join(escaped(line) for line in (headline, plain_line(cooked), *others) if line),
        "## Model details\n\n" + _overview(cooked),
        "## Training data\n\n" + _data(cooked),
        "## Evaluation\n\n" + _judged(cooked),
        "## Errors by subgroup\n\n" + _groups(cooked),
        "## Limitations\n\n" + _limits(cooked),
        "## Use\n\n" + _use(cooked),
        "## Reproduce\n\n" + _how_to_repeat(cooked),
    ]
    return "\n\n".join(parts) + "\n"


def card_of(model: Model) -> str:
    """The card in a model file, or one made from its metadata."""
    if model.about.get("card"):
        return str(model.about["card"])
    known = {name: value for name, value in model.about.items() if value is not None}
    lines = [f"- {escaped(str(name))}: {escaped(str(value))}" for name, value in known.items()]
    return "\n".join(
        [f"# Model of {escaped(model.target)} ({model.task})", "", *lines, "", *_columns(model)]
    )


def escaped(text: str) -> str:
    """Text with Markdown's special characters escaped."""
    return _MARKS.sub(r"\\\1", " ".join(str(text).split()))


def _overview(cooked: CookResult) -> str:
    model, question = cooked.model, cooked.question
    winner = words.winner_words(model.about.get("winner") or {})
    lines = [
        f"- A {question.task} model of {escaped(question.target)}: "
        f"{escaped(cooked.kept.recipe.about)}",
        f"- Selected parameters: {escaped(winner)}.",
    ]
    if question.classes:
        lines.append(f"- Classes: {', '.join(escaped(c) for c in question.classes[:20])}.")
    made = datetime.fromtimestamp(cooked.made, UTC).strftime("%-d %B %Y")
    found = versions()
    lines.append(
        f"- Made on {made} with Kilogram {found['kilogram']}, scikit-learn "
        f"{found['scikit-learn']}, NumPy {found['numpy']}, Python {found['python']}."
    )
    return "\n".join(lines)


def _data(cooked: CookResult) -> str:
    table = cooked.table
    lines = [
        f"{escaped(table.name)}: {table.data.num_rows:,} rows, {table.data.num_columns} columns; "
        f"{len(cooked.judged[0].y):,} rows were used. {_remembered(cooked.model)}",
        "",
        *_columns(cooked.model),
    ]
    lines += [f"- {escaped(note)}" for note in cooked.notes]
    lines += [f"- {escaped(f.title)} ({f.code}, {f.severity}): {escaped(f.evidence)}"
              for f in cooked.audit.findings]  # fmt: skip
    return "\n".join(lines)


def _columns(model: Model) -> list[str]:
    used = model.layout.used
    lines = ["| column | type | reason |", "|---|---|---|"]
    lines += [f"| {escaped(c.name)} | {c.kind} | {escaped(c.reason)} |" for c in used[:MAX_COLUMNS]]
    left = [escaped(c.name) for c in model.layout.columns if not c.used]
    lines.append("")
    if len(used) > MAX_COLUMNS:
        lines.append(f"- {len(used) - MAX_COLUMNS} more columns are used.")
    if left:
        more = f" and {len(left) - MAX_COLUMNS} more" if len(left) > MAX_COLUMNS else ""
        lines.append(f"- Left out: {', '.join(left[:MAX_COLUMNS])}{more}.")
    return lines


def _remembered(model: Model) -> str:
    if "examples" not in model.use:
        return "The model file holds no rows of it."
    return (
        f"The model file holds {len(model.use['examples']['y'])} of the rows as examples: it is "
        "as confidential as they are."
    )


def _judged(cooked: CookResult) -> str:
    measure = cooked.measure
    lines = [
        f"Nested cross-validation, {len(cooked.judged[0].nested.folds)} outer folds; "
        f"{measure.title}: {escaped(measure.meaning)} ({escaped(cooked.measure_reason)}). "
        "Intervals are 95 % intervals corrected for overlapping folds.",
        "",
        f"| recipe | {measure.title} | 95 % interval | over baseline | optimism |",
        "|---|---|---|---|---|",
    ]
    for row in recipe_rows(cooked):
        mark = " (this model)" if row["name"] == cooked.kept.name else ""
        cells = (row["title"] + mark, row["score"], row["interval"], row["gain"], row["optimism"])
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    lines += [f"- {what}: {escaped(sentence)}"
              for what, sentence in check_lines(cooked.evidence.trust, measure)]  # fmt: skip
    return "\n".join(lines)


def _groups(cooked: CookResult) -> str:
    groups = cooked.evidence.trust.groups
    if not groups:
        return "No column divides the rows into subgroups large enough to compare."
    what = loss_title(cooked.measure)
    lines = [f"| column | subgroup | rows | {what} | minus other rows | result |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for group in groups[:MAX_GROUPS]:
        found = group.found
        lines.append(
            f"| {escaped(group.column)} | {escaped(found.name)} | {found.count:,} | "
            f"{formatting.figure(found.loss)} | {formatting.signed(found.difference.mean)} | "
            f"{words.subgroup_verdict(found.verdict)} |"
        )
    return "\n".join(lines)


def _limits(cooked: CookResult) -> str:
    lines = [f"- {escaped(change)}" for change in what_would_change(cooked)]
    lines.append("- It predicts; it does not estimate the effect of an intervention on a column.")
    lines.append("- Predictions for out-of-distribution rows are extrapolations.")
    return "\n".join(lines)


def _use(cooked: CookResult) -> str:
    served = not cooked.model.layout.positions("image")
    lines = ["    kg predict model.skops NEW.csv", "    kg explain-model model.skops TABLE.csv"]
    lines += ["    kg serve model.skops"] if served else []
    return "\n".join(lines)


def _how_to_repeat(cooked: CookResult) -> str:
    lines: list[Any] = ["    kg cook --recipe recipe.toml", "", "or", ""]
    return "\n".join([*lines, "    " + command(cooked)])

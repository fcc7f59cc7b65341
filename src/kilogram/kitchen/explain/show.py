"""An explanation as a page, as a card of a notebook, and in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from kilogram.kitchen.artifact.model import measure_of
from kilogram.kitchen.artifact.responses import in_words, value_in_words
from kilogram.kitchen.explain.importance import significant_columns
from kilogram.kitchen.explain.plots import explanation_plots, of_importance
from kilogram.kitchen.formatting import ends, figure, signed
from kilogram.kitchen.measures import of_predictions
from kilogram.kitchen.report.facts import versions
from kilogram.kitchen.report.model_card import card_of
from kilogram.kitchen.report.svg import short
from kilogram.kitchen.report.templates import render

if TYPE_CHECKING:
    from kilogram.kitchen.explain.explanation import Explanation

MAX_SHOWN = 8  # columns with a plot of their own on the page: our choice


def as_html(found: Explanation) -> bytes:
    """The page as the content of a file; nothing is loaded from elsewhere."""
    return render("explain.html", **_context(found), plots=explanation_plots(found))


def as_card(found: Explanation) -> str:
    """The sentences, one picture and the first rows of the table, for a notebook."""
    return render("explain_card.html", **_context(found), plots=[of_importance(found)]).decode()


def sentences(found: Explanation) -> list[str]:
    """The most important columns, the unimportant ones, and interactions."""
    used, matters = found.model.layout.used, found.importance
    sure = significant_columns(matters)
    unit = unit_of(found)
    if not sure:
        first = "No column has a significant importance."
    else:
        named = "; ".join(f"{used[k].name} ({signed(loss.mean)}, {ends(loss, sign=True)})"
                          for k, loss in sure[:3])  # fmt: skip
        first = f"Most important columns: {named}; {unit} when the column is permuted."
    idle = len(matters.columns) - len(sure)
    text = [first]
    if idle and sure:
        text.append(
            f"{idle} of {len(matters.columns)} columns have no significant importance; correlated "
            "columns share their importance."
        )
    used_for_sure = {used[k].name for k, _ in sure}
    acting = [one for one in found.dependences if one.column.name in used_for_sure]
    bent = [one.column.name for one in acting if one.unlike > 0.25]
    if acting and not found.model.classes:
        text.append(
            f"Interactions: the effect of {', '.join(bent[:3])} depends on other columns."
            if bent
            else "No interactions: the plotted columns have the same effect in all rows."
        )
    return text


def unit_of(found: Explanation) -> str:
    """Unit of the importance."""
    if found.importance.known:
        return f"loss of {of_predictions(measure_of(found.model)).title}"
    return (
        "fraction of predictions that change"
        if found.model.classes
        else "relative change of the predictions"
    )


def _context(found: Explanation) -> dict[str, Any]:
    model, used = found.model, found.model.layout.used
    measure = of_predictions(measure_of(model))
    best = [k for k in found.importance.columns][:MAX_SHOWN]
    rows = [
        {"name": used[k].name, "kind": used[k].kind, "loss": signed(loss.mean),
         "interval": ends(loss, sign=True), "sure": loss.low > 0}
        for k, loss in zip(found.importance.columns, found.importance.losses, strict=True)
    ]  # fmt: skip
    return {
        "found": found, "model": model, "measure": measure, "unit": unit_of(found),
        "sentences": sentences(found), "rows": rows,
        "score": figure(found.score),
        "columns": [used[k] for k in best],
        "examples": [_example_values(found, one, best) for one in found.examples],
        "card": card_of(model), "versions": versions(),
        "judged": figure(model.about.get("score")),
    }  # fmt: skip


def _example_values(found: Explanation, one: Any, places: list[int]) -> dict[str, Any]:
    used, model = found.model.layout.used, found.model

    def cells(row: Any) -> list[str]:
        return [in_words(used[k], row[k]) for k in places]

    return {
        "row": one.row, "why": one.why, "cells": cells(one.cells),
        "predicted": value_in_words(model, one.predicted),
        "truth": value_in_words(model, one.truth),
        "neighbours": [{"cells": cells(n.cells), "truth": value_in_words(model, n.truth),
                        "distance": figure(n.distance, 1)} for n in one.neighbours],
    }  # fmt: skip


def show(found: Explanation, screen: Console) -> None:
    """The explanation in the terminal."""
    context = _context(found)
    model = found.model
    head = f"{model.task} of {model.target!r}, explained on {found.rows:,} rows of {found.table}"
    if found.score is not None:
        head += f" ({context['measure'].title} {context['score']})"
    screen.print(head, style="dim", markup=False, highlight=False)
    for note in found.notes:
        screen.print(note, style="yellow", markup=False, highlight=False)
    table = _plain_table("column", "type", context["unit"], "95 % interval")
    for row in context["rows"][:20]:
        table.add_row(_raw(row["name"]), row["kind"], row["loss"], row["interval"],
                      style="" if row["sure"] else "dim")  # fmt: skip
    screen.print()
    screen.print(table)
    screen.print()
    for k, sentence in enumerate(context["sentences"]):
        screen.print(sentence, style="bold" if k == 0 else "", markup=False, highlight=False)
    for one in context["examples"]:
        _example(one, context, screen)


def _example(one: dict[str, Any], context: dict[str, Any], screen: Console) -> None:
    columns = [short(column.name, 16) for column in context["columns"][:4]]
    table = _plain_table("", *columns, "predicted", "observed", "distance")

    def add(first: str, cells: list[str], *rest: str, style: str = "") -> None:
        table.add_row(
            first, *(_raw(short(c, 20)) for c in cells[:4]), *map(_raw, rest), style=style
        )

    add("the row", one["cells"], one["predicted"], one["truth"], "", style="bold")
    for near in one["neighbours"]:
        add("neighbour", near["cells"], "", near["truth"], near["distance"])
    screen.print(f"\nrow {one['row']}: {one['why']}", markup=False, highlight=False)
    screen.print(table)


def _plain_table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for k, name in enumerate(names):
        table.add_column(_raw(name), justify="left" if k < 2 else "right")
    return table


def _raw(text: str) -> Any:
    """Words of a table as they are, brackets and all."""
    from rich.text import Text

    return Text(text)

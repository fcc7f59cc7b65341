"""A choice in the terminal: decisions, methods to try with their costs, methods left out."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kilogram.arrays.memory import human_bytes
from kilogram.base.estimate import human_seconds

if TYPE_CHECKING:
    from kilogram.kitchen.choose.choice import Choice, Suggestion


def show(choice: Choice, console: Console) -> None:
    """Print the choice."""
    about = f" for {choice.target!r}" if choice.target else ""
    a = choice.answers
    console.print(f"{choice.table}{about}: {a.rows:,} rows, {a.features} features", style="bold",
                  markup=False, highlight=False)  # fmt: skip
    for note in choice.notes:
        console.print(note, style="dim", markup=False, highlight=False)
    console.print()
    for step in choice.steps:
        console.print(Text.assemble(f"{step.question} ", (step.answer, "bold"),
                                    (f"  {step.why}", "dim")))  # fmt: skip
    if choice.tries:
        console.print()
        console.print(_tries(choice))
    if choice.left_out:
        console.print()
        console.print("Left out", style="dim")
        for title, why in choice.left_out:
            console.print(Text.assemble(f"  {title}", (f": {why}", "dim")))
    console.print()
    if choice.menu:
        console.print("kg cook compares")
        for one in choice.menu:
            name = one.name if one.used else f"not {one.name}"
            console.print(Text.assemble(f"  {name}", (f": {one.why}", "dim")))
        console.print()
    console.print("Costs are for one fit, estimated on this machine.", style="dim")


def _tries(choice: Choice) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("method", "class", "reason"):
        table.add_column(name)
    for name in ("time", "memory"):
        table.add_column(name, justify="right")
    for one in choice.tries:
        table.add_row(Text(one.title, "bold"), Text(one.where), Text(one.why), *_cost(one))
    return table


def _cost(one: Suggestion) -> tuple[str, str]:
    if one.cost is not None:
        return human_seconds(one.cost.seconds), human_bytes(one.cost.bytes)
    rated = one.ratings
    if not rated:
        return "–", "–"
    words = {True: "high", False: "low", None: "–"}
    return words[rated["training time"]], words[rated["memory"]]


def as_text(choice: Choice, width: int = 110) -> str:
    """The choice as plain text."""
    stream = io.StringIO()
    show(choice, Console(file=stream, width=width, no_color=True, highlight=False))
    return stream.getvalue()

"""`kg explain-model`: what a cooked model goes by."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kilogram.cli.common import Seed, console, guarded
from kilogram.cli.options import FILE, about_the_table


@about_the_table(FILE)
def explain_model(
    model: Annotated[Path, typer.Argument(help="Model file written by kg cook.")],
    table: Annotated[
        Path | None,
        typer.Argument(
            help="Rows to explain it on, best new ones. Without: rows the model remembers.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the page.", show_default="the folder of the model"),
    ] = None,
    row: Annotated[
        list[int] | None, typer.Option(help="Row of the table to show, from 0; repeat for several.")
    ] = None,
    training: Annotated[
        Path | None, typer.Option(help="The table it was cooked from, to find rows like these.")
    ] = None,
    top: Annotated[int, typer.Option(help="Columns whose effect is drawn.")] = 6,
    shuffles: Annotated[int, typer.Option(help="Shuffles of each column.")] = 10,
    max_rows: Annotated[int, typer.Option(help="Rows to shuffle.")] = 1000,
    max_time: Annotated[float, typer.Option(help="Seconds for the importance.")] = 120,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The numbers as JSON, no files.")] = False,
    *,
    about: dict[str, Any],
) -> None:
    """What a model goes by: columns with intervals, how they act, and rows like these."""
    with guarded():
        from kilogram.kitchen.explain_model import explain_model as explain_it
        from kilogram.kitchen.explain_model.show import show

        found = explain_it(
            model, table, rows=row or (), training=training, top=top, shuffles=shuffles,
            max_rows=max_rows, max_time=max_time, seed=seed, **about,
        )  # fmt: skip
        if as_json:
            typer.echo(found.as_json().decode())
            return
        screen = console()
        show(found, screen)
        files = found.save(out or model.parent)
        screen.print()
        for name, path in files.items():
            label = {"explanation.html": "page", "explanation.json": "numbers"}[name]
            screen.print(f"[dim]{label:<8}[/]  {path}")

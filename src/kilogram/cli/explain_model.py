"""`kg explain-model`: which columns a model uses, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kilogram.cli.common import Seed, console, user_errors
from kilogram.cli.options import FILE, about_the_table


@about_the_table(FILE)
def explain_model(
    model: Annotated[Path, typer.Argument(help="Model file written by kg cook.")],
    table: Annotated[
        Path | None,
        typer.Argument(
            help=(
                "Rows to explain it on, preferably new ones. Default: example rows of the model "
                "file."
            ),
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the page.", show_default="the folder of the model"),
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option(
            metavar="<int>", help="Row of the table to show, counted from 0; repeat for several."
        ),
    ] = None,
    training: Annotated[
        Path | None, typer.Option(help="The training table, to find nearest neighbours in.")
    ] = None,
    top: Annotated[int, typer.Option(help="Partial dependence plots.")] = 6,
    shuffles: Annotated[int, typer.Option(help="Permutations of each column.")] = 10,
    max_rows: Annotated[int, typer.Option(help="Rows to permute.")] = 1000,
    max_time: Annotated[
        float, typer.Option(help="Time limit for the importance, in seconds.")
    ] = 120,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The numbers as JSON, no files.")] = False,
    *,
    about: dict[str, Any],
) -> None:
    """Explain a model: permutation importance, partial dependence, nearest training rows."""
    with user_errors():
        from kilogram.kitchen.explain import explain_model as explain_it
        from kilogram.kitchen.explain.show import show

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

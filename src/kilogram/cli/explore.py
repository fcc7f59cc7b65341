"""`kg explore`: a table without a target, looked at from every side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kilogram.cli.common import (
    REPORTS,
    Seed,
    TablePath,
    console,
    progress_bar,
    report_name,
    user_errors,
)
from kilogram.cli.options import FILE, HEADER, KINDS, about_the_table


@about_the_table(KINDS, HEADER, FILE)
def explore(
    table: TablePath,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report.", show_default="kilogram-report/…")
    ] = None,
    max_rows: Annotated[
        int, typer.Option(help="Rows for components, clusters and outliers.")
    ] = 4000,
    max_time: Annotated[
        float, typer.Option(help="Time limit in seconds; what it leaves out is reported.")
    ] = 120,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The numbers as JSON, no files.")] = False,
    *,
    about: dict[str, Any],
) -> None:
    """Look at a table without a target: dependence, components, clusters, outliers, topics."""
    with user_errors():
        from kilogram.kitchen.explore import explore as explore_it
        from kilogram.kitchen.explore.show import show
        from kilogram.kitchen.files import writable_folder

        folder = out or REPORTS / report_name(table, "explored")
        about.pop("image", None)
        with progress_bar(as_json) as bar:
            notify = bar and (lambda what: bar(0, 1, what))
            found = explore_it(table, max_rows=max_rows, max_time=max_time, seed=seed,
                               notify=notify, **about)  # fmt: skip
        if as_json:
            typer.echo(found.as_json().decode())
            return
        # written before anything is printed, so that a closed pipe does not cost the files
        with writable_folder(folder):
            files = found.save(folder)
        screen = console()
        show(found, screen)
        for name, path in files.items():
            label = {"exploration.html": "report", "exploration.json": "numbers"}[name]
            screen.print(f"[dim]{label:<8}[/]  {path}")

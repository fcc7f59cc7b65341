"""`kg audit`: data leakage and other problems of a table, before anything is fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from kilogram.cli.common import (
    Accept,
    MaxTime,
    Seed,
    TablePath,
    Target,
    TaskOption,
    console,
    progress_bar,
    user_errors,
)
from kilogram.cli.options import FILE, HEADER, KINDS, ORDER, about_the_table


@about_the_table(KINDS, ORDER, HEADER, FILE)
def audit(
    table: TablePath,
    target: Target = None,
    against: Annotated[
        Path | None, typer.Option(help="Another table, to compare distributions and rows.")
    ] = None,
    task: TaskOption = None,
    accept: Accept = None,
    folds: Annotated[int, typer.Option(help="Outer folds that kg cook will use.")] = 5,
    seed: Seed = 0,
    max_time: MaxTime = 600,
    as_json: Annotated[bool, typer.Option("--json", help="The findings as JSON.")] = False,
    *,
    about: dict[str, Any],
) -> None:
    """Check a table for data leakage and other problems. Exit status 2 for serious findings."""
    with user_errors():
        from kilogram.kitchen.audit import audit as audit_it
        from kilogram.kitchen.audit.show import show

        with progress_bar(as_json) as bar:
            notify = bar and (lambda what: bar(0, 1, what))
            found = audit_it(
                table, target, against=against, task=cast(Any, task and task.value), folds=folds,
                seed=seed, max_time=max_time, accept=accept or (), notify=notify, **about,
            )  # fmt: skip
        if as_json:
            typer.echo(found.as_json())
        else:
            show(found, console())
        if found.serious:
            raise typer.Exit(2)

"""`kg audit`: what would make a score look better than it is, before anything is fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from kilogram.cli.common import (
    Accept,
    Categorical,
    Dates,
    Delimiter,
    Drop,
    Encoding,
    Group,
    Header,
    Images,
    MaxMemory,
    Numeric,
    Ordinal,
    Sheet,
    TablePath,
    Target,
    TaskOption,
    TextColumns,
    Time,
    console,
    guarded,
    progress_bar,
    unescaped,
)


def audit(
    table: TablePath,
    target: Target = None,
    against: Annotated[
        Path | None, typer.Option(help="Another table: is it alike, does it share rows?")
    ] = None,
    task: TaskOption = None,
    accept: Accept = None,
    folds: Annotated[int, typer.Option(help="Folds that kg cook will use.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The findings as JSON.")] = False,
    numeric: Numeric = None,
    categorical: Categorical = None,
    ordinal: Ordinal = None,
    text: TextColumns = None,
    date: Dates = None,
    image: Images = None,
    drop: Drop = None,
    group: Group = None,
    time: Time = None,
    header: Header = True,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    max_memory: MaxMemory = None,
) -> None:
    """Check a table for leaks before cooking. Exit status 2 if something serious is found."""
    with guarded():
        from kilogram.kitchen.audit import audit as audit_it
        from kilogram.kitchen.audit.show import show

        with progress_bar(as_json) as bar:
            tell = bar and (lambda what: bar(0, 1, what))
            found = audit_it(
                table, target, against=against, task=cast(Any, task and task.value), folds=folds,
                seed=seed, accept=accept or (), numeric=numeric or (),
                categorical=categorical or (), ordinal=ordinal or (), text=text or (),
                date=date or (), image=image or (), drop=drop or (), group=group, time=time,
                header=header, sheet=sheet, delimiter=unescaped(delimiter), encoding=encoding,
                max_memory=max_memory, tell=tell,
            )  # fmt: skip
        if as_json:
            typer.echo(found.as_json())
        else:
            show(found, console())
        if found.serious:
            raise typer.Exit(2)

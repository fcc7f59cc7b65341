"""`kg choose`: which methods to try on a table, why, at what cost, and what is left out."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from kilogram.cli.common import (
    Categorical,
    Dates,
    Delimiter,
    Drop,
    Encoding,
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
    console,
    guarded,
    unescaped,
)


def choose(
    table: TablePath,
    target: Target = None,
    task: TaskOption = None,
    probabilities: Annotated[
        bool, typer.Option(help="Probabilities or intervals are wanted, not answers alone.")
    ] = False,
    noisy_inputs: Annotated[
        bool, typer.Option(help="The input columns are measured with errors too.")
    ] = False,
    sparse: Annotated[bool, typer.Option(help="Few columns should decide.")] = False,
    clusters: Annotated[
        bool, typer.Option(help="Without target: groups rather than fewer columns.")
    ] = False,
    small_device: Annotated[
        bool, typer.Option(help="The model has to run with little memory and time.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The choice as JSON.")] = False,
    numeric: Numeric = None,
    categorical: Categorical = None,
    ordinal: Ordinal = None,
    text: TextColumns = None,
    date: Dates = None,
    image: Images = None,
    drop: Drop = None,
    header: Header = True,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    max_memory: MaxMemory = None,
) -> None:
    """Walk the texts' decision trees with the data at hand: what to try, and why."""
    with guarded():
        from kilogram.kitchen.choosing import choose as choose_it
        from kilogram.kitchen.choosing.show import show

        found = choose_it(
            table, target, task=cast(Any, task and task.value), probabilities=probabilities,
            noisy_inputs=noisy_inputs, sparse=sparse, clusters=clusters,
            small_device=small_device, seed=seed, numeric=numeric or (),
            categorical=categorical or (), ordinal=ordinal or (), text=text or (),
            date=date or (), image=image or (), drop=drop or (), header=header, sheet=sheet,
            delimiter=unescaped(delimiter), encoding=encoding, max_memory=max_memory,
        )  # fmt: skip
        if as_json:
            typer.echo(found.as_json())
        else:
            show(found, console())

"""`kg choose`: which methods to try on a table, why, at what cost, and what is left out."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from kilogram.cli.common import Seed, TablePath, Target, TaskOption, console, guarded
from kilogram.cli.options import FILE, HEADER, KINDS, about_the_table


@about_the_table(KINDS, HEADER, FILE)
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
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The choice as JSON.")] = False,
    *,
    about: dict[str, Any],
) -> None:
    """Walk the texts' decision trees with the data at hand: what to try, and why."""
    with guarded():
        from kilogram.kitchen.choosing import choose as choose_it
        from kilogram.kitchen.choosing.show import show

        found = choose_it(
            table, target, task=cast(Any, task and task.value), probabilities=probabilities,
            noisy_inputs=noisy_inputs, sparse=sparse, clusters=clusters,
            small_device=small_device, seed=seed, **about,
        )  # fmt: skip
        if as_json:
            typer.echo(found.as_json())
        else:
            show(found, console())

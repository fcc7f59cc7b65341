"""`kg choose`: which methods to try on a table, why, and at what cost."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from kilogram.cli.common import Seed, TablePath, Target, TaskOption, console, user_errors
from kilogram.cli.options import FILE, HEADER, KINDS, about_the_table


@about_the_table(KINDS, HEADER, FILE)
def choose(
    table: TablePath,
    target: Target = None,
    task: TaskOption = None,
    probabilities: Annotated[
        bool, typer.Option(help="Probabilities or intervals are needed.")
    ] = False,
    noisy_inputs: Annotated[
        bool, typer.Option(help="The inputs have measurement errors too.")
    ] = False,
    sparse: Annotated[bool, typer.Option(help="The model should use few columns.")] = False,
    clusters: Annotated[
        bool, typer.Option(help="Without target: clustering rather than dimension reduction.")
    ] = False,
    small_device: Annotated[
        bool, typer.Option(help="The model must run with little memory and time.")
    ] = False,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The choice as JSON.")] = False,
    *,
    about: dict[str, Any],
) -> None:
    """Suggest methods for a table by the decision trees of the texts, with reasons and costs."""
    with user_errors():
        from kilogram.kitchen.choose import choose as choose_it
        from kilogram.kitchen.choose.show import show

        found = choose_it(
            table, target, task=cast(Any, task and task.value), probabilities=probabilities,
            noisy_inputs=noisy_inputs, sparse=sparse, clusters=clusters,
            small_device=small_device, seed=seed, **about,
        )  # fmt: skip
        if as_json:
            typer.echo(found.as_json())
        else:
            show(found, console())

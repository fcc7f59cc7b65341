"""`kg explain` and `kg version`: what a method is, and which Kilogram this is."""

from __future__ import annotations

from typing import Annotated

import typer

from kilogram.cli.common import user_errors


def explain(
    name: Annotated[str, typer.Argument(help="A public name, such as KernelRidge.")],
    textbook: Annotated[
        bool,
        typer.Option("--textbook", help="Add the algorithms of the texts and their errata."),
    ] = False,
) -> None:
    """Describe a method: objective, when to use it, cost, limits, parameters."""
    with user_errors():
        from kilogram.kitchen.explain.registry import explained

        typer.echo(explained(name, textbook=textbook), nl=False)


def version() -> None:
    """The version of Kilogram."""
    from kilogram import __version__

    typer.echo(f"kilogram {__version__}")

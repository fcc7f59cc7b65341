"""`kg explain` and `kg version`: what a method is, and which Kilogram this is."""

from __future__ import annotations

from typing import Annotated

import typer

from kilogram.cli.common import guarded


def explain(
    name: Annotated[str, typer.Argument(help="A public name, such as KernelRidge.")],
    telling: Annotated[bool, typer.Option(help="Show the algorithm as the books tell it.")] = True,
) -> None:
    """What a method minimises, when to use it, what it costs, and how the books tell it."""
    with guarded():
        from kilogram.kitchen.explain import explained

        typer.echo(explained(name, telling=telling), nl=False)


def version() -> None:
    """The version of Kilogram."""
    from kilogram import __version__

    typer.echo(f"kilogram {__version__}")

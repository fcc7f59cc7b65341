"""The command line `kg`: one file per command.

A command reads its arguments, calls one function of the kitchen, and shows what came back. What is
heavy is imported when a command runs, so that `kg --help` answers at once. Errors of the kitchen
are one sentence on standard error and exit status 1; Ctrl-C ends with 130 and nothing written.
"""

from __future__ import annotations

import typer

from kilogram.cli.audit import audit
from kilogram.cli.choose import choose
from kilogram.cli.cook import cook
from kilogram.cli.explain import explain, version
from kilogram.cli.explain_model import explain_model
from kilogram.cli.export import export
from kilogram.cli.predict import predict
from kilogram.cli.serve import serve

app = typer.Typer(
    help="Kilogram: from a table and a question to an answer one can defend.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for _command in (cook, predict, explain_model, serve, export, audit, choose, explain, version):
    app.command()(_command)


def main() -> None:
    """Entry point of `kg`."""
    app()

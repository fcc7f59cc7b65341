"""The command line `kg`: one file per command.

A command reads its arguments, calls one function of the kitchen, and shows the result. Heavy
modules are imported when a command runs, so that `kg --help` is fast. Errors of the kitchen are one
message on standard error and exit status 1; Ctrl-C ends with 130 and nothing written.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from kilogram.cli.accel import accel
from kilogram.cli.audit import audit
from kilogram.cli.book import book
from kilogram.cli.choose import choose
from kilogram.cli.common import Command, Group, open_closed_streams, write_any_text
from kilogram.cli.cook import cook
from kilogram.cli.explain import explain, version
from kilogram.cli.explain_model import explain_model
from kilogram.cli.explore import explore
from kilogram.cli.export import export
from kilogram.cli.predict import predict
from kilogram.cli.serve import serve

# Threads that wait should sleep: on a busy machine, spinning takes the CPU from those that work.
# OpenMP and OpenBLAS read this when they are loaded, which is when a command runs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "10")

app = typer.Typer(
    cls=Group,
    help="Kilogram: predict a column of a table, with an honest evaluation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for _command in (
    cook,
    predict,
    explain_model,
    serve,
    export,
    audit,
    explore,
    choose,
    explain,
    book,
    version,
):
    app.command(cls=Command)(_command)
# what follows the script belongs to the script
app.command(
    cls=Command,
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True},
)(accel)


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Kilogram: predict a column of a table, with an honest evaluation."""


def main() -> None:
    """Entry point of `kg`."""
    open_closed_streams()
    write_any_text(sys.stdout)
    try:
        app()
    except KeyboardInterrupt:  # before a command ran, which has a message of its own
        sys.exit(130)

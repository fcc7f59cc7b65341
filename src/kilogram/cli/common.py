"""What the commands share: options, error messages, the console, the progress bar."""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from kilogram.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console


# Where reports are written unless --out names a folder.
REPORTS = Path("kilogram-report")


class TaskName(StrEnum):
    regression = "regression"
    classification = "classification"
    ordinal = "ordinal"


_READ = "CSV, Parquet, Arrow, Excel, JSON lines, SQLite, DuckDB or svmlight."

TablePath = Annotated[Path, typer.Argument(help=_READ)]
Target = Annotated[
    str | None, typer.Option("--target", "-t", help="Column to predict; several as a,b.")
]
TaskOption = Annotated[
    TaskName | None, typer.Option(help="Override the detected task; ordinal: ordered classes.")
]
Accept = Annotated[
    list[str] | None, typer.Option(metavar="<str>", help="Code of a serious finding to accept.")
]
MaxTime = Annotated[
    float, typer.Option(help="Time limit in seconds; what it leaves out is reported.")
]
Seed = Annotated[int, typer.Option(help="Random seed.")]


class Flags:
    """Commands whose help shows flags without a type: `--version`, not `--version <bool>`."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in found:
            if getattr(one, "is_flag", False):
                one.metavar = ""
        return found


class Command(Flags, TyperCommand):
    """One command of `kg`."""


class Group(Flags, TyperGroup):
    """All commands of `kg`."""


@contextmanager
def user_errors() -> Iterator[None]:
    """Errors for the user and Ctrl-C as one message without a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("\nStopped. Nothing was written.", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise typer.Exit(0) from None
    except OSError as error:
        where, cut = error.filename, ""
        if where is None:
            where, cut = "standard output", " The output is incomplete."
        typer.echo(f"kg: {where}: {error.strerror or error}.{cut}", err=True)
        # what is still buffered for a full disk would fail once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except UserError as error:
        typer.echo(f"kg: {error}", err=True)
        raise typer.Exit(1) from None


def open_closed_streams() -> None:
    """Standard streams that were closed by the caller, as services may, lead nowhere.

    Their numbers would be given to the next files that are opened: a message would end in a model.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is not None:
            continue
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
        setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def write_any_text(stream: Any) -> None:
    """Let a text stream write characters that its encoding does not have: "?" in their place, and
    file names that are no UTF-8 as they are. A report must not end at a dash on an ASCII terminal.
    """
    if not hasattr(stream, "reconfigure"):  # replaced by something else
        return
    utf8 = codecs.lookup(stream.encoding or "ascii").name == "utf-8"
    stream.reconfigure(errors="surrogateescape" if utf8 else "replace")


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Any]:
    """A progress bar on standard error; None where that is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(24), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(),
               TextColumn("{task.description}"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading the table", total=1)
        yield lambda done, steps, what: bar.update(
            task, completed=done, total=steps, description=what
        )


#: Control characters but for tabs and line ends, which in a name would act on the terminal.
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}


def console() -> Console:
    from rich.console import Console
    from rich.segment import Segment

    class Screen(Console):
        """A console on which names of columns and classes are text only."""

        def render(self, *what: Any, **how: Any) -> Iterator[Any]:
            for text, style, control in super().render(*what, **how):
                yield Segment(text if control else text.translate(CONTROLS), style, control)

    # a pipe has no width: wide enough for all our tables
    return Screen() if sys.stdout.isatty() else Screen(width=110, soft_wrap=True)


def report_name(table: Path, subject: str | None) -> str:
    """A folder name of lower-case letters and digits: `penguins-body-mass`."""
    text = f"{table.name.split('.')[0]} {subject or ''}"
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "table"

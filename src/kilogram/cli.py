"""The command line: `kg cook`, `kg predict`, `kg explain`, `kg version`.

A command reads its arguments, calls one function of the kitchen, and shows what came back. What is
heavy is imported when a command runs, so that `kg --help` answers at once. Errors of the kitchen
are one sentence on standard error and exit status 1; Ctrl-C ends with 130 and nothing written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from kilogram.kitchen import Cooked

app = typer.Typer(
    help="Kilogram: from a table and a question to an answer one can defend.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


class Task(StrEnum):
    regression = "regression"
    classification = "classification"


class Keep(StrEnum):
    baseline = "baseline"
    linear = "linear"
    kernel = "kernel"


_Columns = list[str]


@app.command()
def cook(
    table: Annotated[
        Path | None,
        typer.Argument(
            help="CSV (.gz too) or Parquet. Without one: bundled penguins.", show_default=False
        ),
    ] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column to predict.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report and model.", show_default="kilogram-report/…"),
    ] = None,
    task: Annotated[Task | None, typer.Option(help="Overrule what the target looks like.")] = None,
    measure: Annotated[str | None, typer.Option(help="r2, accuracy or balanced_accuracy.")] = None,
    folds: Annotated[int, typer.Option(help="Outer folds.")] = 5,
    repeats: Annotated[
        int | None, typer.Option(help="Rounds of folds.", show_default="by the number of rows")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    max_time: Annotated[float, typer.Option(help="Seconds; fewer folds if it takes longer.")] = 600,
    max_rows: Annotated[int, typer.Option(help="Cook a sample of longer tables.")] = 50_000,
    keep: Annotated[
        Keep | None,
        typer.Option(help="Recipe of the model file.", show_default="simplest unbeaten"),
    ] = None,
    numeric: Annotated[_Columns | None, typer.Option(help="Column to take as numbers.")] = None,
    categorical: Annotated[_Columns | None, typer.Option(help="Column to take as words.")] = None,
    ignore: Annotated[_Columns | None, typer.Option(help="Column to leave out.")] = None,
    header: Annotated[bool, typer.Option(help="First line of a CSV holds the names.")] = True,
    delimiter: Annotated[str | None, typer.Option(help="Of a CSV, if found wrong.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of a CSV, if found wrong.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors.")] = False,
) -> None:
    """Predict a column: linear and kernel recipes compared honestly, a report, a model file."""
    with guarded():
        from kilogram.kitchen import cook as cook_it
        from kilogram.kitchen.cook import BUNDLED, BUNDLED_TARGET
        from kilogram.kitchen.save import promised

        if table is None:
            table, target = BUNDLED, target or BUNDLED_TARGET
        folder = out or Path("kilogram-report") / _slug(
            f"{table.name.split('.')[0]} {target or ''}"
        )
        with promised(folder):
            with _progress(quiet) as progress:
                cooked = cook_it(
                    table, target, task=cast(Any, task and task.value), measure=measure,
                    folds=folds, repeats=repeats, seed=seed, max_time=max_time, max_rows=max_rows,
                    keep=keep and keep.value, numeric=numeric or (), categorical=categorical or (),
                    ignore=ignore or (), header=header, delimiter=_unescaped(delimiter),
                    encoding=encoding, progress=progress,
                )  # fmt: skip
            # shown before anything is written: a full disk must not cost the answer
            if not quiet:
                show(cooked)
            files = cooked.save(folder)
        if not quiet:
            _console().print("\n".join(f"[dim]{n}[/]  {p}" for n, p in _labels(files)))


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="Model file written by kg cook.")],
    table: Annotated[Path, typer.Argument(help="CSV (.gz too) or Parquet with the same columns.")],
    out: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet file to write.", show_default="standard output"),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Of a CSV, if found wrong.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of a CSV, if found wrong.")] = None,
) -> None:
    """Add the predictions of a cooked model to a table."""
    with guarded():
        from kilogram.kitchen.predict import predict_table, table_bytes
        from kilogram.kitchen.save import load_model, write_files

        answered = predict_table(
            load_model(model), table, delimiter=_unescaped(delimiter), encoding=encoding
        )
        for note in answered.notes:
            typer.echo(note, err=True)
        content = table_bytes(answered.table, out)
        if out is None:
            sys.stdout.buffer.write(content)
        else:
            write_files(out.parent, {out.name: content})


@app.command()
def explain(
    name: Annotated[str, typer.Argument(help="A public name, such as KernelRidge.")],
    telling: Annotated[bool, typer.Option(help="Show the algorithm as the books tell it.")] = True,
) -> None:
    """What a method minimises, when to use it, what it costs, and how the books tell it."""
    with guarded():
        from kilogram.kitchen.explain import explained

        typer.echo(explained(name, telling=telling), nl=False)


@app.command()
def version() -> None:
    """The version of Kilogram."""
    from kilogram import __version__

    typer.echo(f"kilogram {__version__}")


def show(cooked: Cooked) -> None:
    """The answer and the table of the recipes in the terminal."""
    from rich.table import Table

    from kilogram.kitchen.report import recipe_rows

    console = _console()
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("recipe", no_wrap=True)
    for name in (cooked.measure.title, "95 % interval", "over baseline", "optimism", "time"):
        table.add_column(name, justify="right")
    for row in recipe_rows(cooked):
        style = "bold" if row["chosen"] else ""
        table.add_row(
            row["title"], row["score"], row["interval"], row["gain"], row["optimism"],
            row["seconds"], style=style,
        )  # fmt: skip
    used, left = len(cooked.model.layout.used), len(cooked.model.layout.columns)
    console.print(
        f"{cooked.table.name}: {len(cooked.judged[0].y):,} rows, {used} of {left} input columns "
        f"used; {cooked.question.task} of {cooked.question.target!r} ({cooked.question.reason})",
        style="dim", markup=False, highlight=False,
    )  # fmt: skip
    for note in cooked.notes:
        console.print(note, style="yellow", markup=False, highlight=False)
    console.print()
    console.print(table)
    console.print()
    for k, sentence in enumerate(cooked.verdict):
        console.print(sentence, style="bold" if k == 0 else "", markup=False, highlight=False)
    console.print()


@contextmanager
def guarded() -> Iterator[None]:
    """Errors of the kitchen as one sentence; Ctrl-C as one too."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("\nStopped. Nothing was written.", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise typer.Exit(0) from None
    except ValueError as error:
        from kilogram.kitchen import KitchenError

        if not isinstance(error, KitchenError):
            raise
        typer.echo(f"kg: {error}", err=True)
        raise typer.Exit(1) from None


@contextmanager
def _progress(quiet: bool) -> Iterator[Any]:
    """A bar on standard error that says what is being done; None when nobody looks."""
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


def _console() -> Console:
    from rich.console import Console

    # a pipe has no width: wide enough for every table of ours
    return Console() if sys.stdout.isatty() else Console(width=110, soft_wrap=True)


def _labels(files: dict[str, Path]) -> Iterator[tuple[str, Path]]:
    names = {"report.html": "report", "report.json": "numbers", "model.skops": "model"}
    return ((names[name].ljust(8), path) for name, path in files.items())


def _slug(text: str) -> str:
    """A folder name of plain letters."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "table"


def _unescaped(delimiter: str | None) -> str | None:
    return "\t" if delimiter in ("\\t", "tab") else delimiter


def main() -> None:
    """Entry point of `kg`."""
    app()


if __name__ == "__main__":
    main()

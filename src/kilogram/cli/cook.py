"""`kg cook`: a table and a question in, an answer, a report and a model file out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kilogram.cli.common import (
    Accept,
    MaxTime,
    Seed,
    Target,
    TaskOption,
    console,
    guarded,
    progress_bar,
    slug,
)
from kilogram.cli.options import FILE, HEADER, KINDS, ORDER, about_the_table

if TYPE_CHECKING:
    from kilogram.kitchen import Cooked


class Keep(StrEnum):
    baseline = "baseline"
    linear = "linear"
    kernel = "kernel"
    trees = "trees"


class Hunt(StrEnum):
    halving = "halving"
    grid = "grid"
    random = "random"
    coarse = "coarse"
    bayes = "bayes"
    path = "path"


# What may be said beside --recipe; everything else is in the recipe.
_BESIDE = {"recipe", "table", "out", "quiet", "fresh"}


@about_the_table(KINDS, ORDER, HEADER, FILE)
def cook(
    context: typer.Context,
    table: Annotated[
        Path | None,
        typer.Argument(
            help="A file of rows and columns. Without one: bundled penguins.", show_default=False
        ),
    ] = None,
    target: Target = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report and model.", show_default="kilogram-report/…"),
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option(help="Cook as recipe.toml of an earlier run says.")
    ] = None,
    task: TaskOption = None,
    measure: Annotated[str | None, typer.Option(help="r2, accuracy or balanced_accuracy.")] = None,
    folds: Annotated[int, typer.Option(help="Outer folds.")] = 5,
    repeats: Annotated[
        int | None, typer.Option(help="Rounds of folds.", show_default="by the number of rows")
    ] = None,
    seed: Seed = 0,
    max_time: MaxTime = 600,
    max_rows: Annotated[int, typer.Option(help="Cook a sample of longer tables.")] = 50_000,
    keep: Annotated[
        Keep | None,
        typer.Option(help="Recipe of the model file.", show_default="simplest near the best"),
    ] = None,
    search: Annotated[
        Hunt, typer.Option(help="How columns and models are tuned; path: penalties alone.")
    ] = Hunt.halving,
    fresh: Annotated[
        bool, typer.Option(help="Begin anew, though finished folds of this run are kept.")
    ] = False,
    accept: Accept = None,
    drop_duplicates: Annotated[
        bool, typer.Option(help="Cook one of each set of equal rows.")
    ] = False,
    examples: Annotated[
        bool, typer.Option(help="Keep some rows in the model, to explain its answers with.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors.")] = False,
    *,
    about: dict[str, Any],
) -> None:
    """Predict a column: linear and kernel recipes compared honestly, a report, a model file."""
    with guarded():
        from kilogram.kitchen import cook as cook_it
        from kilogram.kitchen.cook import BUNDLED, BUNDLED_TARGET
        from kilogram.kitchen.journal import forget_all
        from kilogram.kitchen.save import promised

        again: dict[str, Any] = {}
        if recipe is not None:
            table, target, again = _again(context, recipe, table)
        if table is None:
            table, target = BUNDLED, target or BUNDLED_TARGET
        folder = out or Path("kilogram-report") / slug(f"{table.name.split('.')[0]} {target or ''}")
        if fresh:
            forget_all(folder)
        with promised(folder), _finished_folds_kept(folder):
            with progress_bar(quiet) as progress:
                said: dict[str, Any] = {
                    "task": task and task.value, "measure": measure, "folds": folds,
                    "repeats": repeats, "seed": seed, "max_time": max_time, "max_rows": max_rows,
                    "keep": keep and keep.value, "search": search.value, "accept": accept or (),
                    "drop_duplicates": drop_duplicates, "examples": examples, **about,
                }  # fmt: skip
                cooked = cook_it(table, target, **(said | again), resume=folder, progress=progress)
            # shown before anything is written: a full disk must not cost the answer
            if not quiet:
                show(cooked)
            files = cooked.save(folder)
            cooked.journal.forget()
        if not quiet:
            console().print("\n".join(f"[dim]{n}[/]  {p}" for n, p in _labels(files)))


@contextmanager
def _finished_folds_kept(folder: Path) -> Iterator[None]:
    """Ctrl-C, when folds are finished: say that they are not lost."""
    from kilogram.kitchen.journal import kept_in

    try:
        yield
    except KeyboardInterrupt:
        count = kept_in(folder)
        if not count:
            raise
        folds = "1 finished fold is" if count == 1 else f"{count} finished folds are"
        typer.echo(f"\nStopped. {folds} kept in {folder}: the same command goes "
                   "on from there, --fresh begins anew.", err=True)  # fmt: skip
        raise typer.Exit(130) from None


def _again(
    context: typer.Context, recipe: Path, table: Path | None
) -> tuple[Path | None, str, dict[str, Any]]:
    """Table, target and keywords of a recipe file; it is said if the table has changed."""
    from kilogram.kitchen import KitchenError
    from kilogram.kitchen.recipe_file import load_recipe

    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    odd = sorted(given - _BESIDE)
    if odd:
        raise KitchenError(
            f"--recipe holds all settings; --{odd[0].replace('_', '-')} cannot be said beside it. "
            "Change it in the recipe."
        )
    found = load_recipe(recipe)
    where = found.table(table)
    changed = found.changed(where)
    if changed:
        typer.echo(changed, err=True)
    return where, found.target, found.keywords


def show(cooked: Cooked) -> None:
    """The answer and the table of the recipes in the terminal."""
    from rich.table import Table

    from kilogram.kitchen.audit.show import summary
    from kilogram.kitchen.report import recipe_rows
    from kilogram.kitchen.words import trust_lines

    screen = console()
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
    screen.print(
        f"{cooked.table.name}: {len(cooked.judged[0].y):,} rows, {used} of {left} input columns "
        f"used; {cooked.question.task} of {cooked.question.target!r} ({cooked.question.reason})",
        style="dim", markup=False, highlight=False,
    )  # fmt: skip
    told = [*cooked.notes, summary(cooked.audit)]
    for note in filter(None, told):
        screen.print(note, style="yellow", markup=False, highlight=False)
    screen.print()
    screen.print(table)
    screen.print()
    for k, sentence in enumerate(cooked.verdict):
        screen.print(sentence, style="bold" if k == 0 else "", markup=False, highlight=False)
    screen.print()
    for what, sentence in trust_lines(cooked.evidence.trust, cooked.measure):
        screen.print(f"{what + ':':<15}{sentence}", style="dim", markup=False, highlight=False)
    screen.print()


def _labels(files: dict[str, Path]) -> Iterator[tuple[str, Path]]:
    names = {"report.html": "report", "report.json": "numbers", "recipe.toml": "recipe",
             "model-card.md": "card", "model.skops": "model"}  # fmt: skip
    return ((names[name].ljust(8), path) for name, path in files.items())

"""`kg cook`: from a table and a target to a report and a model file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kilogram.cli.common import (
    REPORTS,
    Accept,
    MaxTime,
    Seed,
    Target,
    TaskOption,
    console,
    progress_bar,
    report_name,
    user_errors,
)
from kilogram.cli.options import FILE, HEADER, KINDS, ORDER, about_the_table

if TYPE_CHECKING:
    from kilogram.kitchen import Cooked


class SearchName(StrEnum):
    halving = "halving"
    grid = "grid"
    random = "random"
    coarse = "coarse"
    bayes = "bayes"
    path = "path"


# Options that may be combined with --recipe; everything else is in the recipe.
_WITH_RECIPE = {"recipe", "table", "out", "quiet", "fresh"}


@about_the_table(KINDS, ORDER, HEADER, FILE)
def cook(
    context: typer.Context,
    table: Annotated[
        Path | None,
        typer.Argument(
            help="A table file. Default: the bundled table of penguins.", show_default=False
        ),
    ] = None,
    target: Target = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the report and the model.", show_default="kilogram-report/…"),
    ] = None,
    recipe: Annotated[Path | None, typer.Option(help="Repeat the run of a recipe.toml.")] = None,
    task: TaskOption = None,
    measure: Annotated[
        str | None,
        typer.Option(
            help="r2, mae, rmse, mape, poisson_deviance, ...; accuracy, f1, mcc, auc, log_loss, ..."
        ),
    ] = None,
    quantile: Annotated[
        float | None,
        typer.Option(
            help="Predict this quantile of the target instead of its mean.", show_default=False
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            help="Costs as the measure: of a false alarm and a miss of the rarer class (1,5), a "
            "matrix (observed rows; predicted columns: 0,1,5;1,0,2;5,2,0), or a file of it with "
            "the names of the classes.",
            show_default=False,
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Outer folds.")] = 5,
    repeats: Annotated[
        int | None,
        typer.Option(
            help="Repetitions of the cross-validation.", show_default="by the number of rows"
        ),
    ] = None,
    seed: Seed = 0,
    max_time: MaxTime = 600,
    max_rows: Annotated[int, typer.Option(help="Sample longer tables to this many rows.")] = 50_000,
    keep: Annotated[
        str | None,
        typer.Option(help="Recipe of the model file.", show_default="the simplest near the best"),
    ] = None,
    search: Annotated[
        SearchName, typer.Option(help="Search method of the tuning; path: penalties only.")
    ] = SearchName.halving,
    recipes: Annotated[
        str | None,
        typer.Option(
            help="Recipes to compare, such as logistic,lasso,svm,knn,network,boosting,trees.",
            show_default="those that kg choose names",
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option(help="Start over instead of resuming an interrupted run.")
    ] = False,
    accept: Accept = None,
    drop_duplicates: Annotated[
        bool, typer.Option(help="Keep one of each set of equal rows.")
    ] = False,
    examples: Annotated[
        bool, typer.Option(help="Keep some rows in the model file, for explanations.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors.")] = False,
    *,
    about: dict[str, Any],
) -> None:
    """Predict a column: recipes compared by nested cross-validation, a report, a model file."""
    with user_errors():
        from kilogram.kitchen.bundled import BUNDLED, BUNDLED_TARGET

        repeated: dict[str, Any] = {}
        if recipe is not None:
            table, target, repeated = _from_recipe(context, recipe, table)
        if table is None:
            table, target = BUNDLED, target or BUNDLED_TARGET
        settings: dict[str, Any] = {
            "task": task and task.value, "measure": measure, "quantile": quantile, "cost": cost,
            "folds": folds, "repeats": repeats, "seed": seed, "max_time": max_time,
            "max_rows": max_rows, "keep": keep, "recipes": _names(recipes),
            "search": search.value, "accept": accept or (),
            "drop_duplicates": drop_duplicates, "examples": examples, **about,
        } | repeated  # fmt: skip
        names = _targets(table, target, settings)
        if len(names) > 1:
            _run_each(table, names, out or REPORTS, settings, fresh=fresh, quiet=quiet)
        else:
            folder = out or REPORTS / report_name(table, target)
            _run(table, target, folder, settings, fresh=fresh, quiet=quiet)


def _run_each(
    table: Path, targets: tuple[str, ...], folder: Path, settings: dict[str, Any], *, fresh: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """One run for each target, without the other targets, in an equal part of the time."""
    for name in targets:
        others = tuple(other for other in targets if other != name)
        own = {"drop": (*settings["drop"], *others),
               "max_time": settings["max_time"] / len(targets)}  # fmt: skip
        if not quiet:
            console().rule(f"target {name}", style="dim", align="left")
        place = folder / report_name(table, name)
        _run(table, name, place, settings | own, fresh=fresh, quiet=quiet)


def _run(
    table: Path, target: str | None, folder: Path, settings: dict[str, Any], *, fresh: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """One target: evaluated, written, shown."""
    from kilogram.kitchen import KitchenError
    from kilogram.kitchen import cook as cook_it
    from kilogram.kitchen.files import writable_folder
    from kilogram.kitchen.judge.journal import remove_all

    if fresh:
        remove_all(folder)
    with writable_folder(folder), _finished_folds_kept(folder):
        with progress_bar(quiet) as progress:
            cooked = cook_it(table, target, **settings, resume=folder, progress=progress)
        # written before anything is printed, so that a closed pipe does not cost the files
        try:
            files = cooked.save(folder)
        except KitchenError:
            if not quiet:  # a full disk must not cost the result
                show(cooked)
            raise
        cooked.journal.forget()
    if not quiet:
        show(cooked)
        console().print("\n".join(f"[dim]{n}[/]  {p}" for n, p in _labels(files)))


def _targets(table: Path, target: str | None, settings: dict[str, Any]) -> tuple[str, ...]:
    """Several targets written with commas."""
    if target is None or "," not in target:
        return ()
    from kilogram.kitchen.cook import target_names
    from kilogram.kitchen.read.table import read_table

    reading = ("delimiter", "encoding", "header", "sheet", "max_memory")
    how = {name: settings[name] for name in reading if name in settings}
    return target_names(target, read_table(table, **how).data.column_names)


def _names(text: str | None) -> tuple[str, ...]:
    """The names of a list with commas."""
    return tuple(name.strip() for name in text.split(",")) if text else ()


@contextmanager
def _finished_folds_kept(folder: Path) -> Iterator[None]:
    """On Ctrl-C, report the finished folds that a resumed run will use."""
    from kilogram.kitchen.judge.journal import count_finished

    try:
        yield
    except KeyboardInterrupt:
        count = count_finished(folder)
        if not count:
            raise
        folds = "1 finished fold is" if count == 1 else f"{count} finished folds are"
        typer.echo(f"\nStopped. {folds} kept in {folder}: the same command "
                   "resumes from there, --fresh starts over.", err=True)  # fmt: skip
        raise typer.Exit(130) from None


def _from_recipe(
    context: typer.Context, recipe: Path, table: Path | None
) -> tuple[Path | None, str, dict[str, Any]]:
    """Table, target and keywords of a recipe file; warns if the table has changed."""
    from kilogram.kitchen import KitchenError
    from kilogram.kitchen.artifact.recipe_file import load_recipe

    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    odd = sorted(given - _WITH_RECIPE)
    if odd:
        raise KitchenError(
            f"--{odd[0].replace('_', '-')} cannot be combined with --recipe, which holds all "
            f"settings. "
            "Change it in the recipe."
        )
    found = load_recipe(recipe)
    where = found.table(table)
    changed = found.changed(where)
    if changed:
        typer.echo(changed, err=True)
    return where, found.target, found.keywords


def show(cooked: Cooked) -> None:
    """The conclusion and the table of the recipes in the terminal."""
    from rich.table import Table
    from rich.text import Text

    from kilogram.kitchen.audit.show import summary
    from kilogram.kitchen.report.html import plain_line, recipe_rows
    from kilogram.kitchen.report.prediction_sentences import check_lines

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
    notes = [*_left_out(cooked), *cooked.notes, summary(cooked.audit)]
    for note in filter(None, notes):
        screen.print(note, style="yellow", markup=False, highlight=False)
    screen.print()
    screen.print(table)
    screen.print()
    headline, *others = cooked.verdict
    screen.print(headline, style="bold", markup=False, highlight=False)
    for sentence in filter(None, [plain_line(cooked), *others]):
        screen.print(sentence, markup=False, highlight=False)
    screen.print()
    checks = Table.grid(padding=(0, 2, 0, 0))
    for what, sentence in check_lines(cooked.evidence.trust, cooked.measure):
        checks.add_row(Text(what), Text(sentence), style="dim")
    screen.print(checks)
    screen.print()


def _left_out(cooked: Cooked) -> list[str]:
    """Every column that is not used, with the reason."""
    return [
        f"Column {column.name!r} is {column.reason}."
        if column.ignored
        else f"Column {column.name!r} is not used ({column.kind}): {column.reason}."
        for column in cooked.model.layout.columns
        if not column.used
    ]


def _labels(files: dict[str, Path]) -> Iterator[tuple[str, Path]]:
    names = {"report.html": "report", "report.json": "numbers", "recipe.toml": "recipe",
             "model-card.md": "card", "model.skops": "model"}  # fmt: skip
    return ((names[name].ljust(8), path) for name, path in files.items())

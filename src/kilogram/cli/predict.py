"""`kg predict`: the answers of a cooked model for a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kilogram.cli.common import TablePath, guarded
from kilogram.cli.options import FILE, about_the_table


@about_the_table(FILE)
def predict(
    model: Annotated[Path, typer.Argument(help="Model file written by kg cook.")],
    table: TablePath,
    out: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet file to write.", show_default="standard output"),
    ] = None,
    coverage: Annotated[
        float, typer.Option(help="How often intervals of numbers should hold the truth.")
    ] = 0.9,
    bare: Annotated[
        bool, typer.Option("--bare", help="Only the predictions: no intervals, no probabilities.")
    ] = False,
    *,
    about: dict[str, Any],
) -> None:
    """Add predictions to a table of any length, with intervals and a warning on odd rows."""
    with guarded():
        from kilogram.kitchen.predict import Tally, answered_blocks
        from kilogram.kitchen.save import load_model
        from kilogram.kitchen.sink import CsvSink, check_name, writing

        if out is not None:
            check_name(out)
        cooked, tally = load_model(model), Tally()
        blocks = answered_blocks(cooked, table, tally, coverage=coverage, bare=bare, **about)
        if out is None:
            sink = CsvSink(sys.stdout.buffer)
            for block in blocks:
                sink.write(block)
            sink.close()
        else:
            with writing(out) as file:
                for block in blocks:
                    file.write(block)
        for note in tally.notes(cooked, table.name):
            typer.echo(note, err=True)

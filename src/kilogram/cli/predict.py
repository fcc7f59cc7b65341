"""`kg predict`: predictions of a model for a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kilogram.cli.common import TablePath, user_errors
from kilogram.cli.options import FILE, about_the_table


@about_the_table(FILE)
def predict(
    model: Annotated[Path, typer.Argument(help="Model file written by kg cook.")],
    table: TablePath,
    out: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet file to write.", show_default="standard output"),
    ] = None,
    coverage: Annotated[float, typer.Option(help="Coverage of the prediction intervals.")] = 0.9,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Two classes: predict the rarer one where its probability is at least this.",
            show_default="the rule of the model",
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(help="Costs of a false alarm and of a miss of the rarer class: 1,5."),
    ] = None,
    bare: Annotated[
        bool, typer.Option("--bare", help="Only the predictions: no intervals, no probabilities.")
    ] = False,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv",
            help="Quote CSV cells that a spreadsheet would run as formulas (= + - @) with a '.",
        ),
    ] = False,
    *,
    about: dict[str, Any],
) -> None:
    """Add predictions to a table, with intervals or probabilities and out-of-distribution flags."""
    with user_errors():
        from kilogram.kitchen.artifact.model_file import load_model
        from kilogram.kitchen.artifact.predictions import PredictionSummary, predict_blocks
        from kilogram.kitchen.artifact.table_writers import (
            CsvWriter,
            check_suffix,
            refuse_input,
            writing,
        )
        from kilogram.kitchen.artifact.uncertainty import cost_threshold, positive_class
        from kilogram.kitchen.errors import KitchenError

        if out is not None:
            check_suffix(out)
            refuse_input(out, table, model)
        elif sys.__stdout__ is None:  # closed by the caller
            raise KitchenError("Standard output is closed: name a file with --out.")
        cooked, summary = load_model(model), PredictionSummary()
        if cost is not None:
            threshold = cost_threshold(cost, threshold)
        blocks = predict_blocks(cooked, table, summary, coverage=coverage, bare=bare,
                                threshold=threshold, **about)  # fmt: skip
        if out is None:
            stream = CsvWriter(sys.stdout.buffer, safe=safe_csv)
            for block in blocks:
                stream.write(block)
            stream.close()
        else:
            with writing(out, safe_csv=safe_csv) as writer:
                for block in blocks:
                    writer.write(block)
        if threshold is not None:
            rare = cooked.classes[positive_class(cooked)]
            typer.echo(f"{rare!r} is predicted where P({rare}) is at least {threshold:.3g}.",
                       err=True)  # fmt: skip
        for note in summary.notes(cooked, table.name):
            typer.echo(note, err=True)

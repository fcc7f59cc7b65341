"""`kg predict`: the answers of a cooked model for a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kilogram.cli.common import guarded, unescaped


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
            load_model(model), table, delimiter=unescaped(delimiter), encoding=encoding
        )
        for note in answered.notes:
            typer.echo(note, err=True)
        content = table_bytes(answered.table, out)
        if out is None:
            sys.stdout.buffer.write(content)
        else:
            write_files(out.parent, {out.name: content})

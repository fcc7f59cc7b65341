"""`kg export`: a model as an ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kilogram.cli.common import user_errors


def export(
    model: Annotated[Path, typer.Argument(help="Model file written by kg cook.")],
    onnx: Annotated[Path, typer.Option("--onnx", help="File to write.")],
    table: Annotated[
        Path | None,
        typer.Option(help="Rows to check it on.", show_default="example rows of the model file"),
    ] = None,
) -> None:
    """Write a model for use without Python, checked against onnxruntime before it is written."""
    with user_errors():
        from kilogram.kitchen.export import export_model

        found = export_model(model, table)
        path = found.save(onnx)
        typer.echo(f"{path}: {found.summary}")
        for name, kind in found.inputs:
            typer.echo(f"  {name}: {kind}")
        typer.echo(
            f'Outputs: {", ".join(found.outputs)}. Missing values: "" for text, NaN for numbers.'
        )

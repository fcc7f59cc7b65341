"""`kg book`: every method as a live page in the browser, or exported as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kilogram.cli.common import user_errors


def book(
    page: Annotated[
        str | None, typer.Argument(help="Page to open: a method, such as kmeans or KernelRidge.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port; 0 selects a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    export: Annotated[
        Path | None,
        typer.Option(help="Write files instead: a folder, or one .html file with --page."),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--page", help="Page of a single exported file.")
    ] = None,
) -> None:
    """Open the live book: every method with its fits, step by step. Ctrl-C stops."""
    with user_errors():
        if export is not None:
            from kilogram.book.export import export_book, export_page

            if export.suffix == ".html":
                written = export_page(only or page or "", export)
            else:
                written = export_book(export, notify=typer.echo)
            typer.echo(f"Open {written}")
            return
        from kilogram.book.server import serve

        serve(
            only or page, port=port, browser=browser,
            notify=lambda address: typer.echo(f"The book is open at {address} (Ctrl-C stops it)"),
        )  # fmt: skip

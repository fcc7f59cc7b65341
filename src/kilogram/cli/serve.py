"""`kg serve`: a cooked model behind HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kilogram.cli.common import guarded


def serve(
    model: Annotated[Path, typer.Argument(help="Model file written by kg cook.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 lets others in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 8000,
    max_size: Annotated[float, typer.Option(help="MiB that a request may hold.")] = 8.0,
    max_rows: Annotated[int, typer.Option(help="Rows that a request may hold.")] = 10_000,
    threads: Annotated[int, typer.Option(help="Requests answered at once.")] = 2,
    waiting: Annotated[int, typer.Option(help="Requests that may wait; more get 503.")] = 32,
    timeout: Annotated[float, typer.Option(help="Seconds for a request.")] = 30.0,
) -> None:
    """Answer over HTTP: POST rows to /predict, read / in a browser. Ctrl-C ends it."""
    with guarded():
        from kilogram.kitchen.serve import Limits
        from kilogram.kitchen.serve import serve as serve_it

        limits = Limits(
            max_bytes=int(max_size * 2**20), max_rows=max_rows, threads=threads, waiting=waiting,
            timeout=timeout,
        )  # fmt: skip

        def tell(address: str) -> None:
            typer.echo(f"Serving {model.name} on {address} (Ctrl-C ends it)")
            if host not in ("127.0.0.1", "localhost", "::1"):
                typer.echo("Others can reach it: there is no password and no encryption.", err=True)

        answered = serve_it(model, host=host, port=port, limits=limits, tell=tell)
        typer.echo(f"\nStopped. {answered:,} request{'s' * (answered != 1)} answered.")

"""`kg serve`: a model behind HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kilogram.cli.common import user_errors


def serve(
    model: Annotated[Path, typer.Argument(help="Model file written by kg cook.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 makes it reachable by others.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 selects a free one.")] = 8000,
    max_size: Annotated[float, typer.Option(help="Maximum size of a request in MiB.")] = 8.0,
    max_rows: Annotated[int, typer.Option(help="Maximum rows of a request.")] = 10_000,
    threads: Annotated[int, typer.Option(help="Requests processed at once.")] = 2,
    waiting: Annotated[
        int, typer.Option(help="Requests that may wait; more get status 503.")
    ] = 256,
    timeout: Annotated[float, typer.Option(help="Time limit of a request in seconds.")] = 30.0,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<str>",
            help="Host name that requests may use (a proxy's); repeat.",
        ),
    ] = None,
) -> None:
    """Serve predictions over HTTP: POST rows to /predict, open / in a browser. Ctrl-C stops."""
    with user_errors():
        from kilogram.kitchen.serve import Limits
        from kilogram.kitchen.serve import serve as serve_it

        limits = Limits(
            max_bytes=int(max_size * 2**20), max_rows=max_rows, threads=threads, waiting=waiting,
            timeout=timeout, hosts=tuple(allow_host or ()),
        )  # fmt: skip

        def notify(address: str) -> None:
            typer.echo(f"Serving {model.name} on {address} (Ctrl-C stops it)")
            if host not in ("127.0.0.1", "localhost", "::1"):
                typer.echo(
                    "Other machines can reach it: no authentication, no encryption.", err=True
                )

        answered = serve_it(model, host=host, port=port, limits=limits, notify=notify)
        typer.echo(f"\nStopped. {answered:,} request{'s' * (answered != 1)} answered.")

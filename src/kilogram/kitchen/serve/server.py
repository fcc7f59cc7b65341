"""The server of a model: uvicorn within limits; Ctrl-C lets running requests finish."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kilogram.arrays.threads import blas_threads
from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.model_file import load_model
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.serve.app import make_app
from kilogram.kitchen.serve.limits import Limits

# Connections at a time; further ones get 503. Half of the 1 024 files that a process may usually
# open.
CONNECTIONS = 500
# Seconds to send the headers of a request, to keep an idle connection, and to finish on Ctrl-C.
HEADERS, IDLE, SHUTDOWN = 10.0, 5, 10


def serve(
    model: Model | str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    notify: Callable[[str], None] = print,
) -> int:
    """Serve a model until Ctrl-C; returns the number of requests answered.

    Parameters
    ----------
    model : Model, or path of a model file
    host : str, default="127.0.0.1"
        Only this machine; "0.0.0.0" serves everybody who can reach it, without authentication.
    port : int, default=8000
        0 selects a free one.
    limits : Limits, default=None
    notify : callable(str), default=print
        Called with the address.
    """
    found = model if isinstance(model, Model) else load_model(model)
    app = make_app(found, limits, check_host=True)
    listening = _listen(host, port)
    uvicorn = _uvicorn()
    config = uvicorn.Config(
        app,
        http=_protocol((limits or Limits()).timeout),
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=SHUTDOWN,
        h11_max_incomplete_event_size=32 << 10,
    )
    name = f"[{host}]" if ":" in host else host
    notify(f"http://{name}:{listening.getsockname()[1]}")
    try:
        # what is loaded now stays: scanning it for garbage would stop all requests for 0.2 s
        gc.collect()
        gc.freeze()
        # requests run in parallel: threads inside one would only compete
        with blas_threads(1):
            uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # uvicorn raises it again after a clean shutdown
    finally:
        gc.unfreeze()
        listening.close()
        app.state.queue.close()
    return int(app.state.queue.answered)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named; without it a response waits 40 ms
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(128)  # connections before the server is up wait
    except (OSError, OverflowError) as bad:
        found.close()
        reason = bad.strerror if isinstance(bad, OSError) else "there is no such port"
        raise KitchenError(
            f"Cannot listen on {host}, port {port}: {reason}. Choose another with --port."
        ) from None
    return found


def _uvicorn() -> Any:
    try:
        import uvicorn
    except ImportError:
        raise KitchenError(
            "Serving needs the packages Starlette and uvicorn: pip install kilogram[serve]."
        ) from None
    return uvicorn


def _protocol(stalled: float) -> Any:
    """uvicorn's HTTP protocol, closing connections that take too long.

    Headers must arrive within `HEADERS` seconds, of the first request of a connection and of every
    later one; a client that does not read its response for `stalled` seconds is disconnected.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class TimedProtocol(H11Protocol):
        stall: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect_request()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._expect_request()

        def _expect_request(self) -> None:
            self.loop.call_later(HEADERS, self._close_without_request, self.cycle)

        def _close_without_request(self, last: Any) -> None:
            """Close unless a request has begun since the last one."""
            if self.cycle is last and not self.transport.is_closing():
                self.transport.close()

        def pause_writing(self) -> None:
            super().pause_writing()
            if self.stall is None:
                self.stall = self.loop.call_later(stalled, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._reading_again()

        def connection_lost(self, exc: Any) -> None:
            self._reading_again()
            super().connection_lost(exc)

        def _reading_again(self) -> None:
            if self.stall is not None:
                self.stall.cancel()
                self.stall = None

    return TimedProtocol

"""The server of a model: uvicorn within the limits, ended by Ctrl-C without cutting answers off."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kilogram.arrays.threads import blas_threads
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.model import Model
from kilogram.kitchen.save import load_model
from kilogram.kitchen.serve.app import make_app
from kilogram.kitchen.serve.limits import Limits

# Connections at a time; those without a place are told so.
CONNECTIONS = 500
# Seconds for the first request of a connection to begin, for the next one, and to end on Ctrl-C.
FIRST, NEXT, LAST = 10.0, 5, 10


def serve(
    model: Model | str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    tell: Callable[[str], None] = print,
) -> int:
    """Serve a model until Ctrl-C; the number of requests answered.

    Parameters
    ----------
    model : Model, or path of a model file
    host : str, default="127.0.0.1"
        Only this machine; "0.0.0.0" lets everybody in who can reach it, without passwords.
    port : int, default=8000
        0 takes a free one.
    limits : Limits, default=None
    tell : callable(str), default=print
        Gets the address once there is one.
    """
    found = model if isinstance(model, Model) else load_model(model)
    app = make_app(found, limits)
    listening = _listen(host, port)
    uvicorn = _uvicorn()
    config = uvicorn.Config(
        app, http=_patient(), ws="none", lifespan="off", log_level="warning", access_log=False,
        server_header=False, limit_concurrency=CONNECTIONS, timeout_keep_alive=NEXT,
        timeout_graceful_shutdown=LAST, h11_max_incomplete_event_size=32 << 10,
    )  # fmt: skip
    name = f"[{host}]" if ":" in host else host
    tell(f"http://{name}:{listening.getsockname()[1]}")
    try:
        # requests are answered side by side: threads inside one would only fight
        with blas_threads(1):
            uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # the server has ended by then: this is its last word
    finally:
        listening.close()
        app.state.places.close()
    return int(app.state.places.answered)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(128)  # who comes before the server is up waits, and is not turned away
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


def _patient() -> Any:
    """uvicorn's HTTP protocol that hangs up on those who connect and then ask nothing."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Patient(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(FIRST, self._give_up)

        def _give_up(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    return Patient

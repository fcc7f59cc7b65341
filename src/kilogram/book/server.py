"""The server of the book: loopback only, the built front end, and an interface that runs fits."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kilogram.book.content import contents, find_page
from kilogram.book.errors import BookError
from kilogram.book.tours import tours
from kilogram.book.worker import Superseded, Worker

STATIC = Path(__file__).parent / "static"
HOST = "127.0.0.1"
MAX_BYTES = 1 << 20  # of a request: 1 000 points take some 60 kB

# Nothing is loaded from elsewhere, whatever a page may contain.
_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; frame-ancestors *"
)


def built() -> Path:
    """The folder of the built front end; a sentence if it has not been built."""
    if not (STATIC / "app.js").exists():
        raise BookError("The pages of the book are not built yet: run `make book` once.")
    return STATIC


def make_app(worker: Worker) -> Any:
    """The FastAPI application; `worker` runs the fits."""
    fastapi = _import("fastapi")
    from fastapi.responses import FileResponse, JSONResponse, Response

    app = fastapi.FastAPI(title="Kilogram, the live book", docs_url=None, redoc_url=None)

    @app.middleware("http")
    async def guard(request: Any, call_next: Any) -> Any:
        """Requests must name this machine, which keeps other sites' scripts out."""
        host = request.headers.get("host", "").rsplit(":", 1)[0]
        if host not in (HOST, "localhost"):
            return JSONResponse({"error": "The book is served to this machine only."}, 403)
        response = await call_next(request)
        response.headers["Content-Security-Policy"] = _POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    @app.exception_handler(BookError)
    async def refused(_: Any, error: BookError) -> Any:
        return JSONResponse({"error": str(error)}, 404)

    @app.get("/api/book")
    def book() -> Any:
        return {"pages": contents(), "tours": tours()}

    @app.get("/api/choose")
    def choose() -> Any:
        from kilogram.book.choose import choose_trees

        return choose_trees()

    @app.get("/api/page/{name}")
    def page(name: str) -> Any:
        reply = worker.run(f"page {name}", {"page": name})
        status = 404 if reply.startswith(b'{"error"') else 200
        return Response(reply, status, media_type="application/json")

    @app.get("/api/cost/{slug}")
    def cost(slug: str) -> Any:
        from kilogram.book.costs import page_costs  # measures this machine on its first call

        return page_costs(find_page(slug))

    @app.get("/api/thumbnail/{slug}")
    def picture(slug: str) -> Any:
        request = {"thumbnail": find_page(slug)}
        reply = worker.run(f"thumbnail {slug}", request)  # a newer request of a tab replaces none
        return Response(reply, media_type="application/json")

    app.add_route("/api/run", _run_route(worker), methods=["POST"])

    @app.get("/{name:path}")
    def files(name: str) -> Any:
        found = (STATIC / (name or "index.html")).resolve()
        if not found.is_file() or STATIC.resolve() not in found.parents:
            return JSONResponse({"error": "There is no such file."}, 404)
        return FileResponse(found, headers={"Cache-Control": "no-cache"})

    return app


def _run_route(worker: Worker) -> Callable[[Any], Any]:
    """The route that runs the fit of a page."""
    from fastapi.responses import JSONResponse, Response
    from starlette.concurrency import run_in_threadpool

    async def run(request: Any) -> Any:
        try:
            if int(request.headers.get("content-length") or 0) > MAX_BYTES:
                raise BookError("That is too much data for a page.")
            body = await request.json()
            if not isinstance(body, dict):
                raise ValueError
            tab = str(body.get("tab", ""))
            reply = await run_in_threadpool(worker.run, tab, body)
            return Response(reply, media_type="application/json")
        except Superseded:
            return JSONResponse({"superseded": True}, 409)
        except ValueError as error:
            sentence = (
                str(error) if isinstance(error, BookError) else "This is no request of a page."
            )
            return JSONResponse({"error": sentence}, 400)

    return run


def serve(
    page: str | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    notify: Callable[[str], None] = print,
) -> None:
    """Serve the book on this machine until Ctrl-C, and open it in the browser."""
    built()
    worker = Worker()
    worker.start()  # its imports run beside those of this process
    try:
        _serve(worker, page, port, browser, notify)
    finally:
        worker.close()


def _serve(
    worker: Worker, page: str | None, port: int, browser: bool, notify: Callable[[str], None]
) -> None:
    uvicorn = _import("uvicorn")
    slug = find_page(page) if page else None
    listening = _listen(port)
    address = f"http://{HOST}:{listening.getsockname()[1]}/"
    if slug:
        address += f"#/{quote(slug)}"
    config = uvicorn.Config(
        make_app(worker), ws="none", lifespan="off", log_level="warning", access_log=False,
        server_header=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    notify(address)
    threading.Thread(target=contents, daemon=True).start()  # the first thing a browser asks for
    if browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # uvicorn raises it again after a clean shutdown
    finally:
        listening.close()


def _listen(port: int) -> socket.socket:
    # with the protocol named, asyncio turns off Nagle's algorithm, which costs 40 ms of a reply
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen(128)
    except (OSError, OverflowError) as bad:
        found.close()
        reason = bad.strerror if isinstance(bad, OSError) else "there is no such port"
        raise BookError(f"Cannot listen on port {port}: {reason}. Choose another one.") from None
    return found


def _import(package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError:
        raise BookError(
            "The live book needs the packages FastAPI and uvicorn: pip install kilogram[book]."
        ) from None

"""The paths of a served model.

POST /predict   rows in, predictions out      GET /health   status and load
GET  /model     columns, scores, card         GET /         a page to try it on
GET  /openapi.json                            the OpenAPI document
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import secrets
import socket
from functools import partial
from typing import Any

from kilogram import __version__
from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.formatting import json_values
from kilogram.kitchen.report.model_card import card_of
from kilogram.kitchen.report.templates import render
from kilogram.kitchen.serve.limits import Job, Limits, RequestError, RequestQueue
from kilogram.kitchen.serve.openapi import describe_model, example, openapi, value_format
from kilogram.kitchen.serve.request_rows import CSV, JSON, media_type
from kilogram.kitchen.serve.responses import Predictor

# A client that is refused while it still sends may not read before it is done: for so many seconds
# what it sends is discarded, so that the response reaches it (at 1 MB/s, 5 MB).
LINGER = 5.0
_SAFE = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


def make_app(model: Model, limits: Limits | None = None, *, check_host: bool = False) -> Any:
    """An ASGI application that serves one model; `state.queue` has the counts.

    With `check_host`, requests must name localhost, an IP address, this machine or one of
    `limits.hosts` in their Host header.
    """
    refuse_images(model)
    Starlette, Route, Middleware = _starlette()
    limits = limits or Limits()
    service = ModelService(model, limits)
    middleware = [Middleware(HostCheck, allowed=limits.hosts)] if check_host else []
    app = Starlette(
        routes=[
            Route("/predict", service.predict, methods=["POST"]),
            Route("/health", service.health),
            Route("/model", service.about),
            Route("/openapi.json", service.openapi),
            Route("/", service.page),
            Route("/docs", service.page),
        ],
        middleware=middleware,
        exception_handlers={404: _nothing_here, 405: _other_method},
    )
    app.state.queue = service.queue
    return app


class ModelService:
    """One model and its queue of requests; a method per path."""

    def __init__(self, model: Model, limits: Limits):
        self.model, self.limits = model, limits
        self.queue = RequestQueue(limits, Predictor(model, limits).respond)
        self.document = openapi(model, limits, __version__)
        from starlette.requests import ClientDisconnect
        from starlette.responses import Response

        self._response, self._refusal = Response, _refusal(Response)
        self._disconnected = ClientDisconnect

    async def predict(self, request: Any) -> Any:
        try:
            kind = media_type(request.headers.get("content-type"))
            wanted = CSV if CSV in request.headers.get("accept", "") else JSON
            coverage = _coverage(request.query_params.get("coverage"))
            job = partial(Job, kind=kind, wanted=wanted, coverage=coverage)
            length = request.headers.get("content-length")
            content = await self.queue.process(request.stream(), length, job)
        except RequestError as bad:
            self.queue.refused += 1
            return self._refusal(bad)
        except self._disconnected:  # nobody reads this; without it the log has a traceback
            self.queue.refused += 1
            return self._refusal(RequestError(400, "The client closed the connection."))
        self.queue.answered += 1
        return self._response(content, media_type=f"{wanted}; charset=utf-8", headers=_SAFE)

    async def health(self, request: Any) -> Any:
        queue = self.queue
        return self._json({"status": "ok", "target": self.model.target, "at_work": queue.active,
                           "answered": queue.answered, "refused": queue.refused})  # fmt: skip

    async def about(self, request: Any) -> Any:
        if "text/markdown" in request.headers.get("accept", ""):
            card = card_of(self.model)
            return self._response(card, media_type="text/markdown; charset=utf-8", headers=_SAFE)
        return self._json(describe_model(self.model))

    async def openapi(self, request: Any) -> Any:
        return self._json(self.document)

    async def page(self, request: Any) -> Any:
        nonce = secrets.token_urlsafe(16)
        headers = _SAFE | {"content-security-policy": _policy(nonce)}
        page = _page(self.model, self.limits, nonce)
        return self._response(page, media_type="text/html; charset=utf-8", headers=headers)

    def _json(self, value: Any) -> Any:
        text = json.dumps(json_values(value), ensure_ascii=False, allow_nan=False)
        return self._response(text, media_type=JSON, headers=_SAFE)


class HostCheck:
    """Refuses requests for another host: a page whose name was rebound to this machine."""

    def __init__(self, app: Any, allowed: tuple[str, ...] = ()):
        self.app = app
        self.allowed = {name.lower() for name in (*allowed, "localhost", socket.gethostname())}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not self._accepts(scope["headers"]):
            refused = _refused(421, "The Host header names another host. See --allow-host.")
            await refused(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _accepts(self, headers: Any) -> bool:
        found = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(found) != 1:
            return False
        name = re.sub(r":\d*$", "", found[0].strip().lower())
        try:
            ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return name.rstrip(".") in self.allowed
        return True


def refuse_images(model: Model) -> None:
    """An error for image columns: over HTTP their paths would open any file of this machine."""
    pictures = [c.name for c in model.layout.used if c.kind == "image"]
    if pictures:
        raise KitchenError(
            f"The column {pictures[0]!r} holds paths of images. A server that opens paths it is "
            f"sent "
            "would read any file of this machine, so this model is not served; use kg predict."
        )


def _starlette() -> tuple[Any, Any, Any]:
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.routing import Route
    except ImportError:
        raise KitchenError(
            "Serving needs the packages Starlette and uvicorn: pip install kilogram[serve]."
        ) from None
    return Starlette, Route, Middleware


async def _nothing_here(request: Any, bad: Any) -> Any:
    where = "POST /predict, GET /model, /health, /openapi.json, or / in a browser"
    return _refused(404, f"There is nothing at {request.url.path}; try {where}.")


async def _other_method(request: Any, bad: Any) -> Any:
    needed = bad.headers.get("Allow", "another method") if bad.headers else "another method"
    return _refused(405, f"{request.url.path} does not take {request.method}; use {needed}.")


def _refused(status: int, message: str) -> Any:
    from starlette.responses import Response

    return _refusal(Response)(RequestError(status, message))


def _refusal(Response: Any) -> Any:
    """A response class that responds first and then lets the client finish sending."""

    class Refusal(Response):
        def __init__(self, bad: RequestError):
            self.lingers = bad.status in (408, 413, 415, 503)
            more = {"retry-after": "1"} if bad.status == 503 else {}
            more |= {"connection": "close"} if self.lingers else {}
            body = json.dumps({"error": bad.message, **bad.where}, ensure_ascii=False)
            super().__init__(body, bad.status, _SAFE | more, JSON)

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            start = {"type": "http.response.start", "status": self.status_code,
                     "headers": self.raw_headers}  # fmt: skip
            await send(start)
            await send({"type": "http.response.body", "body": self.body, "more_body": True})
            if self.lingers:
                await _drain(receive)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return Refusal


async def _drain(receive: Any) -> None:
    """Discard what still arrives, for a while."""
    try:
        async with asyncio.timeout(LINGER):
            while (await receive()).get("more_body"):
                pass
    except TimeoutError:
        return


def _coverage(text: str | None) -> float:
    try:
        found = 0.9 if text is None else float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < 1:
        raise RequestError(422, f"coverage must be a float in (0, 1), got {text!r}.")
    return found


def _policy(nonce: str) -> str:
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _page(model: Model, limits: Limits, nonce: str) -> bytes:
    return render(
        "serve.html",
        model=model,
        limits=limits,
        nonce=nonce,
        version=__version__,
        columns=[(column, value_format(column)) for column in model.layout.used],
        body=json.dumps({"rows": [example(model)]}, indent=1, ensure_ascii=False),
        card=card_of(model),
    )

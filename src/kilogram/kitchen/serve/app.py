"""The paths of a served model.

POST /predict   rows in, answers out          GET /health   is it there, how busy
GET  /model     columns, scores, card         GET /         a page to read and to try it on
GET  /openapi.json                            all of it for machines
"""

from __future__ import annotations

import asyncio
import json
import secrets
from functools import partial
from typing import Any

from kilogram import __version__
from kilogram.kitchen.card import card_of
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.model import Model
from kilogram.kitchen.pages import render
from kilogram.kitchen.serve.answers import answered, plain
from kilogram.kitchen.serve.bodies import CSV, JSON, media_type
from kilogram.kitchen.serve.describe import described, example, how, openapi
from kilogram.kitchen.serve.limits import Limits, Places, Refused

# A client that is told 413 while it still sends may not look before it is done: for so long, what
# it sends is thrown away, so that the answer reaches it.
LINGER = 5.0
_SAFE = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


def make_app(model: Model, limits: Limits | None = None) -> Any:
    """An ASGI application that answers for one model; its `state.places` counts."""
    refuse_pictures(model)
    Starlette, Route = _starlette()
    desk = Desk(model, limits or Limits())
    app = Starlette(
        routes=[
            Route("/predict", desk.predict, methods=["POST"]),
            Route("/health", desk.health),
            Route("/model", desk.about),
            Route("/openapi.json", desk.openapi),
            Route("/", desk.page),
            Route("/docs", desk.page),
        ],
        exception_handlers={404: _nothing_here, 405: _other_method},
    )
    app.state.places = desk.places
    return app


class Desk:
    """One model and the places it is asked at; a method per path."""

    def __init__(self, model: Model, limits: Limits):
        self.model, self.limits, self.places = model, limits, Places(limits)
        self.document = openapi(model, limits, __version__)
        from starlette.responses import Response

        self._response, self._refusal = Response, _refusal(Response)

    async def predict(self, request: Any) -> Any:
        try:
            kind = media_type(request.headers.get("content-type"))
            wanted = CSV if CSV in request.headers.get("accept", "") else JSON
            coverage = _coverage(request.query_params.get("coverage"))
            work = partial(answered, kind=kind, wanted=wanted, model=self.model,
                           limits=self.limits, coverage=coverage)  # fmt: skip
            length = request.headers.get("content-length")
            content = await self.places.answer(request.stream(), length, work)
        except Refused as bad:
            self.places.refused += 1
            return self._refusal(bad)
        self.places.answered += 1
        return self._response(content, media_type=f"{wanted}; charset=utf-8", headers=_SAFE)

    async def health(self, request: Any) -> Any:
        places = self.places
        return self._json({"status": "ok", "target": self.model.target, "at_work": places.taken,
                           "answered": places.answered, "refused": places.refused})  # fmt: skip

    async def about(self, request: Any) -> Any:
        if "text/markdown" in request.headers.get("accept", ""):
            card = card_of(self.model)
            return self._response(card, media_type="text/markdown; charset=utf-8", headers=_SAFE)
        return self._json(described(self.model))

    async def openapi(self, request: Any) -> Any:
        return self._json(self.document)

    async def page(self, request: Any) -> Any:
        nonce = secrets.token_urlsafe(16)
        headers = _SAFE | {"content-security-policy": _policy(nonce)}
        page = _page(self.model, self.limits, nonce)
        return self._response(page, media_type="text/html; charset=utf-8", headers=headers)

    def _json(self, value: Any) -> Any:
        text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
        return self._response(text, media_type=JSON, headers=_SAFE)


def refuse_pictures(model: Model) -> None:
    """A cell of such a column is a path of this machine: over HTTP it would open any file."""
    pictures = [c.name for c in model.layout.used if c.kind == "image"]
    if pictures:
        raise KitchenError(
            f"The column {pictures[0]!r} holds paths of pictures. A server that opens paths it is "
            "sent would read any file of this machine, so this model is not served; use kg predict."
        )


def _starlette() -> tuple[Any, Any]:
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ImportError:
        raise KitchenError(
            "Serving needs the packages Starlette and uvicorn: pip install kilogram[serve]."
        ) from None
    return Starlette, Route


async def _nothing_here(request: Any, bad: Any) -> Any:
    where = "POST /predict, GET /model, /health, /openapi.json, or / in a browser"
    return _said(404, f"There is nothing at {request.url.path}; try {where}.")


async def _other_method(request: Any, bad: Any) -> Any:
    needed = bad.headers.get("Allow", "another method") if bad.headers else "another method"
    return _said(405, f"{request.url.path} does not take {request.method}; use {needed}.")


def _said(status: int, message: str) -> Any:
    from starlette.responses import Response

    return _refusal(Response)(Refused(status, message))


def _refusal(Response: Any) -> Any:
    """A response class that answers first and lets the client finish after."""

    class Refusal(Response):
        def __init__(self, bad: Refused):
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
    """Throw away what still comes, for a while."""
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
        raise Refused(422, f"coverage is a share between 0 and 1, such as 0.9, not {text!r}.")
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
        columns=[(column, how(column)) for column in model.layout.used],
        body=json.dumps({"rows": [example(model)]}, indent=1, ensure_ascii=False),
        card=card_of(model),
    )

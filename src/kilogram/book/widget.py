"""A page of the book as a notebook's widget: its fits are made by the kernel."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from kilogram.arrays.threads import blas_threads
from kilogram.book.content import contents, find_page, page_content
from kilogram.book.costs import page_costs
from kilogram.book.errors import BookError
from kilogram.book.export import Own, document, script
from kilogram.book.server import built
from kilogram.book.tours import tours
from kilogram.book.worker import answer, encode_reply

OWN = "own"  # the preset that stands for the reader's data


class PageWidget(anywidget.AnyWidget):
    """A live page; its messages are the requests that the server of `kg book` answers."""

    _esm = traitlets.Unicode().tag(sync=True)
    html = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)

    def __init__(self, slug: str, own: Own | None, height: int):
        self._own = own
        opened = {"slug": slug, "scene": own.scene if own else ""}
        super().__init__(
            _esm=(built() / "widget.js").read_text("utf-8"),
            html=document(f"window.KILOGRAM_KERNEL = {script(opened)};"),
            height=height,
        )
        self.on_msg(_answer_message)

    def reply(self, path: str, body: Mapping[str, Any]) -> Any:
        """What the page asks for; errors that the reader can mend are `{"error": sentence}`."""
        kind, _, name = path.partition("/")
        try:
            if kind == "book":
                return {"pages": contents(), "tours": tours()}
            if kind == "page":
                return self._page(find_page(name))
            if kind == "cost":
                return page_costs(find_page(name))
            if kind == "run":
                return self._run(body)
        except BookError as error:
            return {"error": str(error)}
        return {"error": "This is no request of a page."}

    def _page(self, slug: str) -> dict[str, Any]:
        page = page_content(slug)
        if self._own is None:
            return page
        yours = [[OWN, "your data"]]
        found = [
            {**scene, "presets": yours + scene["presets"]}
            if scene["id"] == self._own.scene
            else scene
            for scene in page["scenes"]
        ]
        return {**page, "scenes": found}

    def _run(self, body: Mapping[str, Any]) -> dict[str, Any]:
        request = dict(body)
        own = self._own
        if own and request.get("preset") == OWN and request.get("scene") == own.scene:
            request["preset"] = ""
            if request.get("points") is None:
                request["points"] = own.points
        # as in the worker of the server: small fits, and scenes that show fits that fail
        with warnings.catch_warnings(), blas_threads(1):
            warnings.simplefilter("ignore")
            return answer(request)


def _answer_message(widget: PageWidget, content: Mapping[str, Any], _: Any) -> None:
    try:
        found = widget.reply(str(content.get("path", "")), content.get("body") or {})
    except KeyboardInterrupt:
        found = {"error": "The kernel was interrupted. Change something to fit again."}
    except Exception as error:  # a defect of a scene: the page says so, and the next fit may do
        name = type(error).__name__
        found = {"error": f"This scene failed ({name}: {error}). Please report it."}
    widget.send({"id": content.get("id"), "text": encode_reply(found).decode()})

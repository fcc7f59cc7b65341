"""Fits in a process of their own: a time limit that holds, and nothing waits behind a stale fit.

Each tab of the browser has at most one request running and one waiting; a newer one replaces
the one that waits. A fit beyond the time limit ends its process, and the next one starts another.
What computes is imported in that process only: the server shows its first page meanwhile.
"""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from kilogram.book.errors import BookError

TIME_LIMIT = 10.0  # seconds that a reader waits at most: our choice
# Seconds for the imports of the process, which are no part of a fit: minutes on a slow disk.
START_LIMIT = 300.0


class Superseded(Exception):
    """A newer request of the same tab has come."""


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Run one request; errors that the reader can mend are `{"error": sentence}`."""
    from kilogram.book.content import find_page, page_content
    from kilogram.book.scene import run_scene
    from kilogram.book.thumbnails import thumbnail

    start = time.perf_counter()
    try:
        if "page" in request:
            return page_content(find_page(str(request["page"])))
        if "thumbnail" in request:
            return thumbnail(str(request["thumbnail"]))
        data, recording = run_scene(
            str(request.get("scene", "")),
            request.get("controls") or {},
            str(request.get("preset") or ""),
            request.get("points"),
        )
    except BookError as error:
        return {"error": str(error)}
    return {
        **recording.as_json(),
        "points": data.rows(),
        "seconds": round(time.perf_counter() - start, 4),
    }


def _serve(pipe: Connection) -> None:
    """The loop of the worker process."""
    import signal
    import warnings

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this one
    warnings.simplefilter("ignore")
    from kilogram.arrays.threads import blas_threads
    from kilogram.book.scene import scenes

    scenes()  # imported before the first request comes
    pipe.send("ready")
    with blas_threads(1):  # the fits are small: threads would only wait for each other
        _answer_all(pipe)


def _answer_all(pipe: Connection) -> None:
    while True:
        try:
            request = pipe.recv()
        except EOFError:
            return
        try:
            reply = answer(request)
        except Exception as error:  # a defect of a scene: reported, and the worker lives on
            name = type(error).__name__
            reply = {"error": f"This scene failed ({name}: {error}). Please report it."}
        pipe.send_bytes(encode_reply(reply))


def encode_reply(reply: Mapping[str, Any]) -> bytes:
    """A reply as JSON, written once: the server passes the bytes on to the browser."""
    return json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode()


class Turn:
    """A lock that small pictures take only while nothing that a reader waits for wants it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy = False
        self._wanted = 0

    @contextmanager
    def taken(self, background: bool) -> Iterator[None]:
        """Hold the lock."""
        with self._changed:
            self._wanted += not background
            self._changed.wait_for(lambda: not self._busy and not (background and self._wanted))
            self._wanted -= not background
            self._busy = True
        try:
            yield
        finally:
            with self._changed:
                self._busy = False
                self._changed.notify_all()


class Worker:
    """One process that runs scenes, restarted when a fit exceeds the time limit."""

    def __init__(self, time_limit: float = TIME_LIMIT):
        self.time_limit = time_limit
        self._turn = Turn()
        self._latest: dict[str, int] = {}
        self._count = 0
        self._state = threading.Lock()
        self._process: Any = None
        self._pipe: Connection | None = None
        self._ready = False

    def start(self) -> None:
        """Start the process, so that the first fit does not wait for imports."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._ready = False

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def run(self, tab: str, request: Mapping[str, Any]) -> bytes:
        """The reply as JSON; `Superseded` if the tab has sent a newer request meanwhile."""
        with self._state:
            self._count += 1
            mine = self._latest[tab] = self._count
            if len(self._latest) > 1000:
                self._latest = {tab: mine}
        with self._turn.taken(background="thumbnail" in request):
            if self._latest.get(tab, mine) != mine:
                raise Superseded
            return self._run(request)

    def _run(self, request: Mapping[str, Any]) -> bytes:
        if self._process is None or not self._process.is_alive():
            self.close()
            self.start()
        assert self._pipe is not None
        try:
            if not self._ready:
                if not self._pipe.poll(START_LIMIT):
                    self.close()
                    return _failed("The process that runs the fits did not start. Try again.")
                self._ready = self._pipe.recv() == "ready"
            self._pipe.send(dict(request))
            if not self._pipe.poll(self.time_limit):
                self.close()
                return _failed(
                    f"This fit took more than {self.time_limit:g} s and was stopped: "
                    "use fewer points or a smaller parameter."
                )
            return self._pipe.recv_bytes()
        except (EOFError, OSError):
            self.close()
            return _failed("The fit ended its process. Change the data or the parameters.")


def _failed(sentence: str) -> bytes:
    return encode_reply({"error": sentence})

"""What a request may take, and how many are let in.

size      a body longer than `max_bytes` is refused by its declared length, or when it gets
          there: no more than that is ever held
places    `threads` requests are answered at once, `waiting` more may wait; the rest get 503
          and Retry-After at once, so the memory in use is bounded by places x max_bytes
time      `timeout` seconds to send a body, and as many to get an answer; an answer that takes
          longer keeps its place until its thread is done, so late ones cannot pile up
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from kilogram.kitchen.errors import KitchenError


@dataclass(frozen=True)
class Limits:
    """What one server spends on its guests."""

    max_bytes: int = 8 << 20
    max_rows: int = 10_000
    max_columns: int = 10_000
    threads: int = 2
    waiting: int = 32
    timeout: float = 30.0

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_rows", "max_columns", "threads"):
            if getattr(self, name) < 1:
                raise KitchenError(f"{name} must be 1 or more, got {getattr(self, name)}.")
        if self.waiting < 0 or not self.timeout > 0:
            raise KitchenError("waiting must be 0 or more and timeout more than 0 seconds.")


class Refused(Exception):
    """A request that gets no answer: HTTP status, and what to do about it."""

    def __init__(self, status: int, message: str, **where: Any):
        super().__init__(message)
        self.status, self.message, self.where = status, message, where


class Places:
    """The places of a server; counted on the event loop, worked on in threads."""

    def __init__(self, limits: Limits):
        self.limits = limits
        self.taken = self.answered = self.refused = 0
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="kilogram")

    async def answer(
        self, chunks: AsyncIterator[bytes], declared: str | None, work: Callable[[bytes], Any]
    ) -> Any:
        """`work` of the body in a thread, once there is a place and all of the body is here."""
        limits = self.limits
        check_length(declared, limits)
        if self.taken >= limits.threads + limits.waiting:
            raise Refused(503, "Too many requests at once. Try again in a moment.")
        self.taken += 1
        future: Future | None = None
        try:
            body = await asyncio.wait_for(_whole(chunks, limits), limits.timeout)
            future = self._pool.submit(work, body)
            return await asyncio.wait_for(
                asyncio.shield(asyncio.wrap_future(future)), limits.timeout
            )
        except TimeoutError:
            raise _late(future, limits) from None
        finally:
            self._leave(future)

    def _leave(self, future: Future | None) -> None:
        if future is None or future.done() or future.cancel():
            self._left()
            return
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._left))

    def _left(self) -> None:
        self.taken -= 1

    def close(self) -> None:
        """Let no more work begin."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def check_length(declared: str | None, limits: Limits) -> None:
    """Refuse a body by the length it says it has, before any of it is read."""
    if declared is not None and declared.isdecimal() and int(declared) > limits.max_bytes:
        raise too_long(limits)


def too_long(limits: Limits) -> Refused:
    return Refused(
        413,
        f"A request may hold {limits.max_bytes / 2**20:g} MiB. Send fewer rows at a time, or use "
        "kg predict, which reads tables of any length.",
    )


async def _whole(chunks: AsyncIterator[bytes], limits: Limits) -> bytes:
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > limits.max_bytes:
            raise too_long(limits)
    return bytes(body)


def _late(future: Future | None, limits: Limits) -> Refused:
    if future is None:
        return Refused(408, f"The body took more than {limits.timeout:g} s to arrive. Send less.")
    return Refused(503, f"No answer within {limits.timeout:g} s. Send fewer rows at a time.")

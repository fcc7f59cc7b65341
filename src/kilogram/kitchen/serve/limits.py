"""The limits of a request, and the queue of requests.

size      a body longer than `max_bytes` is refused by its declared length, or as soon as it is
          exceeded
queue     `threads` requests are processed at once, `waiting` more may wait; the bodies of all of
          them take at most `max_queued_bytes`. Further requests get 503 and Retry-After at once
batches   small requests that wait are predicted together, since one row takes almost as long as
          fifty: up to `BATCH` requests of at most `SMALL` bytes, none waiting for others to come
time      `timeout` seconds to send a body, and as many to get a response; a request that takes
          longer keeps its slot until its thread is done, so that late ones cannot accumulate
hosts     names in the Host header that are accepted beside localhost and IP addresses: a web page
          that rebinds its own name to this machine is refused
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from kilogram.base.constraints import Integer, Real
from kilogram.kitchen.errors import check_setting

# Requests predicted together, and the bytes up to which a request is small.
BATCH, SMALL = 64, 16 << 10


@dataclass(frozen=True)
class Limits:
    """The limits of one server."""

    max_bytes: int = 8 << 20
    max_rows: int = 10_000
    max_columns: int = 10_000
    threads: int = 2
    waiting: int = 256
    timeout: float = 30.0
    max_queued_bytes: int = 256 << 20
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_rows", "max_columns", "threads", "max_queued_bytes"):
            check_setting(name, getattr(self, name), Integer(1))
        check_setting("waiting", self.waiting, Integer(0))
        check_setting("timeout", self.timeout, Real(0, closed="neither"))


class RequestError(Exception):
    """A request that is refused: HTTP status, message, and where the error is."""

    def __init__(self, status: int, message: str, **where: Any):
        super().__init__(message)
        self.status, self.message, self.where = status, message, where


@dataclass(frozen=True)
class Job:
    """A request whose body has arrived: formats of rows and response, and its coverage."""

    body: bytes
    kind: str
    wanted: str
    coverage: float

    def joins(self, other: Job) -> bool:
        """Whether two requests can be predicted together."""
        one = (self.kind, self.wanted, self.coverage)
        return one == (other.kind, other.wanted, other.coverage) and len(other.body) <= SMALL


class RequestQueue:
    """The requests in progress; counted on the event loop, processed in threads.

    `work` maps jobs that join to a response or an exception each.
    """

    def __init__(self, limits: Limits, work: Callable[[list[Job]], list[Any]]):
        self.limits, self._work = limits, work
        self.active = self.answered = self.refused = self.queued_bytes = 0
        self._waiting: deque[tuple[Job, Future]] = deque()
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="kilogram")

    async def process(
        self, chunks: AsyncIterator[bytes], declared: str | None, as_job: Callable[[bytes], Job]
    ) -> Any:
        """The response to a request, once all of its body has arrived."""
        limits = self.limits
        check_length(declared, limits)
        if self.active >= limits.threads + limits.waiting:
            raise RequestError(503, "Too many requests at once. Try again in a moment.")
        self.active += 1
        future: Future | None = None
        body = bytearray()
        try:
            await asyncio.wait_for(self._receive(chunks, body), limits.timeout)
            future = Future()
            self._waiting.append((as_job(bytes(body)), future))
            self._pool.submit(self._take)
            return await asyncio.wait_for(
                asyncio.shield(asyncio.wrap_future(future)), limits.timeout
            )
        except TimeoutError:
            raise _timeout_error(future, limits) from None
        finally:
            self._leave(future, len(body))

    def _take(self) -> None:
        """Process the request that has waited longest, and those that join it; in a thread."""
        taken = self._next_batch()
        if not taken:
            return
        try:
            found = self._work([job for job, _ in taken])
        except BaseException as error:
            found = [error] * len(taken)
        for (_, future), result in zip(taken, found, strict=True):
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _next_batch(self) -> list[tuple[Job, Future]]:
        taken: list[tuple[Job, Future]] = []
        while len(taken) < BATCH:
            try:
                job, future = self._waiting.popleft()
            except IndexError:  # another thread took the rest
                break
            if taken and not (taken[0][0].joins(job) and job.joins(taken[0][0])):
                self._waiting.appendleft((job, future))
                break
            if future.set_running_or_notify_cancel():
                taken.append((job, future))
        return taken

    async def _receive(self, chunks: AsyncIterator[bytes], body: bytearray) -> None:
        async for chunk in chunks:
            body += chunk
            self.queued_bytes += len(chunk)
            if len(body) > self.limits.max_bytes:
                raise too_long(self.limits)
            if self.queued_bytes > self.limits.max_queued_bytes:
                raise RequestError(503, "Too many requests at once. Try again in a moment.")

    def _leave(self, future: Future | None, size: int) -> None:
        if future is None or future.done() or future.cancel():
            self._release(size)
            return
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._release, size))

    def _release(self, size: int) -> None:
        self.active -= 1
        self.queued_bytes -= size

    def close(self) -> None:
        """Start no further work."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def check_length(declared: str | None, limits: Limits) -> None:
    """Refuse a body by its declared length, before any of it is read."""
    if declared is not None and declared.isdecimal() and int(declared) > limits.max_bytes:
        raise too_long(limits)


def too_long(limits: Limits) -> RequestError:
    return RequestError(
        413,
        f"A request may have {limits.max_bytes / 2**20:g} MiB. Send fewer rows at a time, or use "
        "kg predict, which reads tables of any length.",
    )


def _timeout_error(future: Future | None, limits: Limits) -> RequestError:
    if future is None:
        return RequestError(
            408, f"The body took more than {limits.timeout:g} s to arrive. Send less."
        )
    return RequestError(503, f"No response within {limits.timeout:g} s. Send fewer rows at a time.")

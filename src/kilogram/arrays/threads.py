"""Threads: how many there are, and a BLAS limited to some of them for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

from kilogram.native.cancel import CancelFlag
from kilogram.native.threads import blas_libraries, idle_threads, n_threads, thread_limit

__all__ = [
    "blas_threads",
    "idle_threads",
    "map_cancellable",
    "map_threads",
    "n_threads",
    "one_team",
    "thread_limit",
]

A = TypeVar("A")
B = TypeVar("B")

SMALL = 256  # order of matrices that one thread handles best: a product takes about 1 ms


@contextmanager
def blas_threads(n: int) -> Iterator[None]:
    """BLAS on n threads while the block runs (10 microseconds; the setting is global)."""
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    libraries = blas_libraries()
    before = [library.get_num_threads() for library in libraries]
    try:
        for library in libraries:
            library.set_num_threads(int(n))  # ctypes takes no NumPy integer
        yield
    finally:
        for library, count in zip(libraries, before, strict=True):
            library.set_num_threads(count)


def one_team(d: int) -> AbstractContextManager[None]:
    """BLAS on one thread for matrices of d columns, if d is small: waking a second thread, while
    the team of a native loop still spins, costs more than all the work."""
    return blas_threads(1) if d <= SMALL else nullcontext()


def map_threads(f: Callable[[A], B], items: Iterable[A], alone: bool = False) -> list[B]:
    """f of every item, in their order, by as many threads as there are; `alone`: by this one."""
    listed = list(items)
    threads = 1 if alone else min(n_threads(), len(listed))
    if threads <= 1:
        return [f(item) for item in listed]
    with ThreadPoolExecutor(threads) as team:
        return list(team.map(f, listed))


def map_cancellable(
    f: Callable[[A, CancelFlag], B], items: Iterable[A], threads: int
) -> Iterator[B]:
    """f of every item, in their order, on several threads; Ctrl-C cancels those being computed.

    A thread that is not the main one hears no signal: its compiled loop reads the flag instead.
    """
    cancel = CancelFlag()
    if threads == 1:
        yield from (f(item, cancel) for item in items)
        return
    with ThreadPoolExecutor(threads) as team:
        try:
            yield from team.map(lambda item: f(item, cancel), items)
        except BaseException:
            cancel.set()
            raise

"""Threads of the native loops and of the BLAS under them.

The loops are OpenMP teams whose members each call BLAS. SciPy's BLAS starts threads of its own, so
while a team runs it must keep to one thread, else the two fight for the cores. The setting is
global to the process: calls from several Python threads share one count, and the last to leave
restores it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from kilogram.native import _core

# Below this many multiplications a second thread costs more than it brings.
SMALL_WORK = 10_000_000

_lock = threading.Lock()
_depth = 0
_saved: list[int] = []


@cache
def blas_libraries() -> list[Any]:
    """The BLAS libraries loaded so far (finding them takes over a millisecond: done once)."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@cache
def _cpu_quota() -> int:
    """CPUs a container may use, which OpenMP does not know; large where there is no limit."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()[:2]
    except (OSError, ValueError):
        return 1 << 20
    return 1 << 20 if quota == "max" else max(1, -(-int(quota) // int(period)))


def n_threads() -> int:
    """Threads native code may use: OpenMP's limit (environment, threadpoolctl) and the quota."""
    return min(_core.max_threads(), _cpu_quota())


@contextmanager
def serial_blas() -> Iterator[None]:
    """BLAS on one thread while the block runs."""
    global _depth
    libraries = blas_libraries()
    with _lock:
        if _depth == 0:
            _saved[:] = [library.get_num_threads() for library in libraries]
            for library in libraries:
                library.set_num_threads(1)
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                for library, n in zip(libraries, _saved, strict=True):
                    library.set_num_threads(n)

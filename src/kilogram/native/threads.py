"""Threads of the native loops and of the BLAS under them.

The loops are OpenMP teams whose members each call BLAS. SciPy's BLAS starts threads of its own, so
while a team runs it must keep to one thread, else the two fight for the cores. The setting is
global to the process: calls from several Python threads share one count, and the last to leave
restores it.

GNU's OpenMP does not survive a fork: its pool of threads is gone in the child, and a parallel
region there waits for it for ever. After `os.fork` (multiprocessing's "fork" method) the loops
run on one thread in the child, which needs no pool. OpenBLAS restarts its own threads after a fork.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController

import kilogram.native._core as _core

# Below this many multiplications, 2 to 5 ms on one core, a second thread costs more than it brings.
SMALL_WORK = 10_000_000

_lock = threading.Lock()
_depth = 0
_saved: list[int] = []
_forked = False


def _after_fork() -> None:
    """In a child made by fork: one thread, and a lock that no thread of the parent holds."""
    global _forked, _lock, _depth
    _forked, _lock = True, threading.Lock()
    if _depth > 0:  # the parent was inside `serial_blas`; whoever entered it is not in the child
        _depth = 0
        for library, n in zip(blas_libraries(), _saved, strict=True):
            library.set_num_threads(n)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@cache
def blas_libraries() -> list[Any]:
    """The BLAS libraries loaded so far (finding them takes over a millisecond: done once)."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


_NO_LIMIT = 1 << 20  # more threads than any machine has


@cache
def _cpu_quota() -> int:
    """CPUs a container may use, which OpenMP does not know; large where there is no limit."""
    return cpu_quota(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"))


def cpu_quota(mount: Path, own: Path) -> int:
    """The least quota of the control groups of a process, of version 2 or 1."""
    folders = {mount, mount / "cpu"}
    with suppress(OSError):
        for line in own.read_text().splitlines():
            _, subjects, path = line.split(":", 2)
            root = mount / "cpu" if "cpu" in subjects.split(",") else mount
            place = root / path.strip("/")
            folders |= {place, *(up for up in place.parents if root in up.parents)}
    return min((_quota(folder) for folder in folders), default=_NO_LIMIT)


def _quota(folder: Path) -> int:
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        with suppress(OSError, ValueError):
            quota, period = " ".join((folder / name).read_text() for name in names).split()[:2]
            if quota not in ("max", "-1"):
                return max(1, -(-int(quota) // int(period)))
    return _NO_LIMIT


def idle_threads() -> int:
    """Threads that would find an idle CPU: `n_threads()` less the processes that run already."""
    if not hasattr(os, "getloadavg"):
        return n_threads()
    busy = int(os.getloadavg()[0])
    return max(1, min(n_threads(), (os.cpu_count() or 1) - busy))


@contextmanager
def thread_limit(n: int) -> Iterator[None]:
    """OpenMP and BLAS on at most n threads while the block runs."""
    with ThreadpoolController().limit(limits=n):
        yield


def n_threads() -> int:
    """Threads native code may use: OpenMP's limit (environment, threadpoolctl) and the quota."""
    return 1 if _forked else min(_core.max_threads(), _cpu_quota())


def thread_count(n_jobs: Any) -> int:
    """Threads for scikit-learn's `n_jobs`: None as many as there are, -1 all, -2 all but one."""
    if n_jobs is None or _forked:
        return n_threads()
    return int(n_jobs) if n_jobs > 0 else max(1, n_threads() + 1 + int(n_jobs))


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
            _depth = max(_depth - 1, 0)  # 0 already where the block itself forked
            if _depth == 0:
                for library, n in zip(libraries, _saved, strict=True):
                    library.set_num_threads(n)

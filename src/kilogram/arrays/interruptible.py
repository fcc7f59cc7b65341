"""Long native calls that Ctrl-C and a deadline can end.

Python handles a signal between two of its own instructions, so an eigendecomposition that LAPACK
works on for a minute holds Ctrl-C back for a minute. Here such a call runs in a worker thread while
the calling thread waits in short intervals: it can raise KeyboardInterrupt, or give up at a
deadline, within a fraction of a second.

What remains: native code cannot be cancelled. After an interrupt the worker computes on until its
call returns, and keeps its arrays until then; the result is dropped. Where Python ends meanwhile,
our compiled loops wait for the end of the process (`native/src/common/interrupt.hpp`). A call that
holds Python's lock (the LAPACK and SuperLU wrappers of SciPy do, in part) is not made interruptible
by a thread.
"""

from __future__ import annotations

import contextvars
import ctypes
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from kilogram.native.threads import n_threads

T = TypeVar("T")

#: Multiply-adds below which a call is made directly: about half a second of one slow core, while
#: a thread costs 0.1 ms.
LONG_WORK = 5e9
#: Seconds between two looks of the waiting thread at signals and the clock: below 0.1 s an answer
#: to Ctrl-C seems immediate, and 20 looks a second cost nothing.
INTERVAL = 0.05


class DeadlinePassed(TimeoutError):
    """The deadline came before the call returned; its result is lost."""


def run_interruptible(
    function: Callable[..., T], *args: Any, work: float, deadline: float | None = None
) -> T:
    """function(*args), of about `work` multiply-adds, so that Ctrl-C is heard meanwhile.

    With a `deadline`, a moment of `time.perf_counter`, DeadlinePassed is raised at that moment.
    Other threads than the main one receive no signals: without a deadline they call directly.
    """
    heard = threading.current_thread() is threading.main_thread()
    if work < LONG_WORK or not (heard or deadline is not None):
        return function(*args)
    found: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()
    threads, context = n_threads(), contextvars.copy_context()

    def call() -> None:
        kept = _keep_thread_dictionary()
        try:
            for library in _openmp_libraries():  # the limit belongs to the thread that set it
                library.set_num_threads(threads)
            found.append(context.run(function, *args))
        except BaseException as error:
            errors.append(error)
        finally:
            ctypes.pythonapi.Py_DecRef(kept)
            done.set()

    threading.Thread(target=call, name="kilogram-native-call", daemon=True).start()
    while not done.wait(_interval(deadline)):
        if deadline is not None and time.perf_counter() >= deadline:
            raise DeadlinePassed("the time limit was reached during a native call.")
    if errors:
        raise errors[0]
    return found[0]


def _keep_thread_dictionary() -> ctypes.py_object:
    """The dictionary of this thread's state, with a reference more.

    Python deletes the states of threads that still run when it ends. SuperLU keeps its buffers in
    that dictionary; their destructor sets an exception (SciPy 1.17), which then counts as a failed
    flush of stdout and makes the exit status 120.
    """
    found = ctypes.pythonapi.PyThreadState_GetDict
    found.restype = ctypes.c_void_p
    kept = ctypes.cast(found(), ctypes.py_object)
    ctypes.pythonapi.Py_IncRef(kept)
    return kept


def _interval(deadline: float | None) -> float:
    if deadline is None:
        return INTERVAL
    return max(0.0, min(INTERVAL, deadline - time.perf_counter()))


@cache
def _openmp_libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="openmp").lib_controllers)

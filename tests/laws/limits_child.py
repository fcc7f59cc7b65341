"""Fits estimators under a limit and prints what they took, one line of JSON each.

    python -m tests.laws.limits_child time 0.3 KernelRidge SVC
    python -m tests.laws.limits_child memory 64 KernelRidge
    python -m tests.laws.limits_child interrupt 1 KernelPCA PolynomialFeatures
    python -m tests.laws.limits_child interrupt-answers 1 SVC

Transformers whose fit reads little more than the number of features are measured in `transform`
as well.

Runs in a process of its own: peak memory belongs to a process, and a fit that cannot be stopped
can be ended with it.
"""

import gc
import json
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.laws.cases import ESTIMATORS, answer, data, fit, make, target_for

ROWS, FEATURES = 2500, 10
FITTED = 2000  # rows of a model whose answers are interrupted
MOST_ROWS = 1_280_000


def peak() -> int:
    """The largest resident memory since `reset_peak`, in bytes."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def reset_peak() -> int:
    """Begin to measure; the memory in use now."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def measure(name: str, what: str, limit: float) -> dict:
    X, y = data(ROWS, FEATURES, name=name)
    model = make(name, **dict(ESTIMATORS[name].laws.budget_example))
    parameter = "max_time" if what == "time" else "max_memory"
    y = target_for(model, y)
    fit(model, X[:60], y[:60])  # imports, thread pools, buffers of BLAS
    np.linalg.eigh(X[:300] @ X[:300].T)
    model.set_params(**{parameter: limit if what == "time" else int(limit * 2**20)})
    error, before = "", reset_peak()
    started = time.process_time()
    try:
        model.fit(X, y)
    except (MemoryError, ValueError) as caught:
        error = f"{type(caught).__name__}: {caught}"
    seconds = time.process_time() - started
    return {"name": name, "seconds": seconds, "bytes": peak() - before, "error": error}


def task(name: str, rows: int, answers: bool) -> Callable[[], Any]:
    """What is interrupted: a fit of so many rows, with `transform` for features; or `answers` of a
    small fit for so many rows.
    """
    X, y = data(rows, FEATURES, name=name)
    model = make(name, **dict(ESTIMATORS[name].laws.budget_example))
    y = target_for(model, y)
    if answers:
        model = fit(model, X[:FITTED], y[:FITTED])
        X = np.clip(X, X[:FITTED].min(axis=0), X[:FITTED].max(axis=0))  # known categories
        return lambda: answer(model, X)
    if not ESTIMATORS[name].__module__.startswith("kilogram.models.features"):
        return lambda: model.fit(X, y)
    if not hasattr(model, "transform"):
        return lambda: model.fit(X, y).predict(X)
    return lambda: model.fit(X, y).transform(X)


def interrupted(call: Callable[[], Any], moment: float) -> float | None:
    """Seconds until a call ends that is interrupted after `moment` seconds; None: it ended before.

    Both of processor time. A signal of a timer raises what Ctrl-C raises; unlike Ctrl-C it is
    known when it came.
    """
    gc.collect()
    started = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, moment)
        call()
    except KeyboardInterrupt:
        return time.process_time() - started - moment
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def interrupt(name: str, limit: float, answers: bool = False) -> dict:
    """The longest time to end, at three moments of a call with twice as many rows as `limit`
    seconds are enough for; `measured` is how many of the calls took so long.
    """
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    try:
        task(name, 60, answers)()  # imports
    except (AttributeError, NotImplementedError):  # clusterings without a prediction
        if not answers:
            raise
        return {"name": name, "seconds": 0.0, "rows": 0, "measured": 0, "error": ""}
    rows = ROWS
    while interrupted(task(name, rows, answers), limit) is None and rows < MOST_ROWS:
        rows *= 2
    call = task(name, 2 * rows, answers)
    delays = [interrupted(call, at * limit) for at in (0.3, 1.0, 2.0)]
    taken = [delay for delay in delays if delay is not None]
    return {
        "name": name,
        "seconds": max(taken, default=0.0),
        "rows": 2 * rows,
        "measured": len(taken),
        "error": "",
    }


def main() -> None:
    warnings.simplefilter("ignore")
    what, limit, *names = sys.argv[1:]
    for name in names:
        if what.startswith("interrupt"):
            found = interrupt(name, float(limit), what == "interrupt-answers")
        else:
            found = measure(name, what, float(limit))
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()

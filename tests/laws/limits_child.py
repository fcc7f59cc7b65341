"""Fits estimators under a limit and prints what they took, one line of JSON each.

    python -m tests.laws.limits_child time 0.3 KernelRidge SVC
    python -m tests.laws.limits_child memory 64 KernelRidge

Runs in a process of its own: peak memory belongs to a process, and a fit that cannot be stopped
can be ended with it.
"""

import gc
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from tests.laws.cases import ESTIMATORS, data, fit, make, target_for

ROWS, FEATURES = 2500, 10


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


def main() -> None:
    warnings.simplefilter("ignore")
    what, limit, *names = sys.argv[1:]
    for name in names:
        print(json.dumps(measure(name, what, float(limit))), flush=True)


if __name__ == "__main__":
    main()

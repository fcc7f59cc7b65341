"""One contestant in one fresh process: time, peak memory above the data, quality."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.task import Task
from kilogram.registry import PUBLIC

LIMIT = 900  # seconds for one contestant, data included
ENOUGH = 3.0  # seconds of timed runs after which no further one is begun
# of scikit-learn, those with a peer in some task
MODULES = (
    "cluster",
    "cross_decomposition",
    "decomposition",
    "discriminant_analysis",
    "ensemble",
    "gaussian_process",
    "kernel_approximation",
    "kernel_ridge",
    "linear_model",
    "manifold",
    "mixture",
    "naive_bayes",
    "neighbors",
    "neural_network",
    "pipeline",
    "svm",
)


def _status(field: str) -> int:
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def _reset_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:  # not Linux, or not allowed: the peak then counts the making of the data too
        return


def _import_all(task: Task, who: str) -> None:
    """Modules a contestant may use, so that a run that happens once does not time their import."""
    ours = "kilogram" in who
    names = sorted(set(PUBLIC.values())) if ours else [f"sklearn.{module}" for module in MODULES]
    for name in names:
        importlib.import_module(name)
    for name in ("sklearnex", "faiss", "cca_zoo", "daal4py", "glum"):
        if name[:4] in who.replace("intelex", "sklearnex").replace("-", "_"):
            importlib.import_module(name)
    if who in task.needs:
        importlib.import_module(task.needs[who])


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


#: "processor" leaves out the time in which other processes had the CPU; it is of one thread, since
#: threads that wait for each other may use the CPU meanwhile.
CLOCKS: dict[str, Callable[[], float]] = {
    "wall": time.perf_counter,
    "processor": lambda: time.process_time() + _children_seconds(),
}


def measure(task: Task, who: str, clock: str) -> dict[str, Any]:
    """Run in the child: import everything, time up to `repeats` runs, keep the best."""
    _import_all(task, who)
    data = task.make()
    gc.collect()
    before = _status("VmRSS:")
    _reset_peak()
    times, result, now = [], None, CLOCKS[clock]
    for _ in range(task.repeats):
        result = None
        start = now()
        result = task.run[who](data)
        times.append(now() - start)
        if sum(times) > ENOUGH:
            break
    peak = _status("VmHWM:") - before
    return {"seconds": min(times), "peak": peak, "quality": dict(task.quality(result, data))}


def _interpreter(who: str) -> str:
    """PYTHON_MVLEARN=... names another Python, for a peer that needs older libraries than ours."""
    return os.environ.get(f"PYTHON_{who.upper().replace('-', '_')}", sys.executable)


def _busy_seconds() -> float:
    """Seconds that all CPUs of the machine have spent at work."""
    try:
        with open("/proc/stat") as lines:
            user, nice, system, _, _, irq, soft, *_ = (int(x) for x in next(lines).split()[1:])
    except OSError:  # not Linux
        return 0.0
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def run_alone(task: Task, who: str, threads: int, clock: str = "wall") -> dict[str, Any]:
    """A fresh process for one contestant; a crash is a result too.

    "others" is how many CPUs other processes kept busy meanwhile: a quiet machine has 0.0.
    """
    module, python = task.needs.get(who), _interpreter(who)
    if module and python == sys.executable and importlib.util.find_spec(module) is None:
        return {"error": f"{module} is not installed"}
    limit = str(threads)
    env = {
        **os.environ,
        "OMP_NUM_THREADS": limit,
        "OPENBLAS_NUM_THREADS": limit,
        "MKL_NUM_THREADS": limit,
    }
    command = [python, "-m", "benchmarks", "--clock", clock, "--child", task.name, who]
    start, busy, own = time.perf_counter(), _busy_seconds(), _children_seconds()
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"error": f"not finished after {LIMIT} s"}
    others = (_busy_seconds() - busy) - (_children_seconds() - own)
    if done.returncode:
        tail = done.stderr.strip().splitlines()[-1:] or ["no message"]
        died = f"killed by signal {-done.returncode}" if done.returncode < 0 else tail[0][:120]
        return {"error": died}
    result = json.loads(done.stdout.splitlines()[-1])
    return {**result, "others": round(max(others, 0.0) / (time.perf_counter() - start), 2)}


def best_of(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The best of several rounds, so that a passing disturbance hurts nobody."""
    finished = [r for r in rounds if "error" not in r]
    return min(finished, key=lambda r: r["seconds"]) if finished else rounds[0]

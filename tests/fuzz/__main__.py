"""`python -m tests.fuzz`: many random fits in child processes, so that a crash is found too.

KILOGRAM_FUZZ fits (20 000 unless given), from seed 0 or --seed, in --jobs processes, for at most
--seconds; --out FILE gets the number of fits and every finding as the run goes, and a table at its
end. Ends with status 1 if some fit crashed, hung, leaked an exception or a NumPy warning, gave NaN,
changed its input or depended on the memory order. Containers of libraries that are not installed
are left out. The processes are new interpreters with one thread each: nothing is inherited by fork.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import queue
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO

CHUNK = 250
#: One thread for each process of a run, unless the caller sets another number.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SILENCE = 300  # seconds without a line from a worker: a native call that no alarm can end


@dataclass
class Findings:
    """What all workers found so far, written by one thread at a time."""

    started: float = field(default_factory=time.monotonic)
    fits: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    out: TextIO | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, line: str) -> None:
        with self.lock:
            kind = re.sub(r"[-+]?\d[\d.e+-]*", "#", " | ".join(line.split(" | ")[:2]))
            self.kinds[kind] += 1
            self.examples.setdefault(kind, line)
            self.say(line)

    def count(self, n: int) -> None:
        with self.lock:
            self.fits += n
            seconds = time.monotonic() - self.started
            self.say(f"{self.fits} fits, {self.kinds.total()} problems, {seconds:.0f} s")

    def say(self, line: str) -> None:
        """Print a line, into the file as well."""
        print(line, flush=True)
        if self.out is not None:
            print(line, file=self.out, flush=True)

    def summary(self) -> str:
        """A text for people: how much ran where, and every kind of problem with one example."""
        import numpy as np

        seconds = time.monotonic() - self.started
        lines = [
            f"{self.fits} fits in {seconds:.0f} s, {self.kinds.total()} problems "
            f"of {len(self.kinds)} kinds",
            f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, "
            f"NumPy {np.__version__}",
            "",
        ]
        for kind, count in self.kinds.most_common():
            lines += [f"{count} x {kind}", f"    {self.examples[kind]}"]
        return "\n".join(lines) + "\n"


def main() -> int:
    options = _options()
    if options.worker:
        return work(options.seed, options.n, options.name)
    with contextlib.ExitStack() as stack:
        found = Findings()
        if options.out is not None:
            found.out = stack.enter_context(options.out.open("w", encoding="utf-8"))
        return run(options, found)


def run(options: argparse.Namespace, found: Findings) -> int:
    """All seeds in `jobs` processes at a time; 1 if something was found."""
    from tests.fuzz.cases import left_out

    for container, name in left_out().items():
        found.say(f"left out: {container}, as {name} is not installed")
    stop, end = options.seed + options.n, time.monotonic() + options.seconds
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = [
            pool.submit(run_range, first, min(first + CHUNK, stop), options.name, found, end)
            for first in range(options.seed, stop, CHUNK)
        ]
    for done in runs:
        done.result()  # an error of the runner itself is not lost
    found.say(found.summary())
    return 1 if found.kinds else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=int(os.environ.get("KILOGRAM_FUZZ", "20000")))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--name", help="of one estimator only")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no fit after so long")
    parser.add_argument("--out", type=Path, help="a file for the findings and the counts")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def run_range(first: int, stop: int, name: str | None, found: Findings, end: float) -> None:
    """Run the seeds from `first` up to `stop`, in a new process after every crash."""
    while first < stop and time.monotonic() < end:
        last = run_process(first, stop - first, name, found, end)
        found.count(last + 1 - first)
        first = last + 1


def run_process(seed: int, n: int, name: str | None, found: Findings, end: float) -> int:
    """The last seed run by a child process; what it prints is found, and so is a crash."""
    command = [sys.executable, "-m", "tests.fuzz", "--worker", "--seed", str(seed), "--n", str(n)]
    command += ["--name", name] if name else []
    environment = {**dict.fromkeys(ONE_THREAD, "1"), **os.environ}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert child.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read, args=(child.stdout, lines), daemon=True).start()
    last, case = seed, ""
    while True:
        try:
            line = lines.get(timeout=max(min(SILENCE, end - time.monotonic()), 1))
        except queue.Empty:
            child.kill()
            child.wait()
            if time.monotonic() < end:
                what = "hang, no end" if case else "worker | imports or a busy machine, no fit"
                found.add(f"{case} | {what} after {SILENCE} s | seed {last}".removeprefix(" | "))
            return last
        if line is None:
            break
        if line.startswith("#"):
            if time.monotonic() > end:
                child.kill()
                child.wait()
                return last
            number, _, case = line[1:].partition(" ")
            last = int(number)
        else:
            found.add(line)
    if child.wait():
        found.add(f"{case} | crash, status {child.returncode} | seed {last}")
        return last
    return seed + n - 1


def _read(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line.strip())
    lines.put(None)


def work(seed: int, n: int, name: str | None) -> int:
    """Run seeds in this process; what estimators print is not part of the findings."""
    from tests.fuzz.cases import draw_case, left_out
    from tests.fuzz.check import problems

    left_out()  # imports torch and others here, where no alarm can cut an import short

    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for s in range(seed, seed + n):
        case = draw_case(s, name)
        print(f"#{s} {case.name}", file=out, flush=True)
        for problem in problems(case):
            line = problem.replace("\n", " ")
            where = f"{case.values}, {case.shape}, {case.container}, {case.dtype}"
            where += f", w {case.weights}, y {case.target}"
            text = f"{case.name} | {line} | seed {s} | {where} | {case.params}"
            print(" ".join(text.split()), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.fuzz`: many random fits in a child process, so that a crash is found too.

KILOGRAM_FUZZ fits (20 000 unless given), from seed 0 or --seed. Ends with status 1 if some fit
crashed, hung, leaked an exception or a NumPy warning, gave NaN or depended on the memory order.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter

CHUNK = 500


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=int(os.environ.get("KILOGRAM_FUZZ", "20000")))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--name", help="of one estimator only")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.seed, options.n, options.name)
    failures: Counter[str] = Counter()
    stop, seed = options.seed + options.n, options.seed
    while seed < stop:
        last, seen = run_chunk(seed, min(CHUNK, stop - seed), options.name)
        failures.update(seen)
        seed = last + 1
        print(f"{seed - options.seed} fits, {sum(failures.values())} problems", flush=True)
    return 1 if failures else 0


def run_chunk(seed: int, n: int, name: str | None) -> tuple[int, list[str]]:
    """The last seed run by a child process, and the problems it printed; a crash is one."""
    command = [sys.executable, "-m", "tests.fuzz", "--worker", "--seed", str(seed), "--n", str(n)]
    command += ["--name", name] if name else []
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    last, seen = seed, []
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith("#"):
            last = int(line[1:])
        else:
            seen.append(line.strip())
            print(line, end="", flush=True)
    if child.wait():
        seen.append(f"seed {last}: crash, status {child.returncode}")
        print(seen[-1], flush=True)
        return last, seen
    return seed + n - 1, seen


def work(seed: int, n: int, name: str | None) -> int:
    from tests.fuzz.cases import draw_case
    from tests.fuzz.check import problems

    for s in range(seed, seed + n):
        print(f"#{s}", flush=True)
        case = draw_case(s, name)
        for problem in problems(case):
            line = problem.replace("\n", " ")
            where = f"{case.values}, {case.shape}, {case.container}, {case.dtype}, w {case.weights}"
            print(f"{case.name} | {line} | seed {s} | {where} | {case.params}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

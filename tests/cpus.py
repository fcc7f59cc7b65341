"""`make test-cpus`: the whole suite as other CPUs would run it, and a table of what failed.

A machine differs from another by the kernels of its BLAS (OPENBLAS_CORETYPE), by the dispatch level
of our core (KILOGRAM_SIMD), by NumPy's own loops (NPY_DISABLE_CPU_FEATURES), by the number of
threads and by what else runs on it. Every value of each occurs below with several of the others;
the whole product would take half a day and find nothing more. What this CPU lacks is left out and
named. Arguments are passed on to pytest:

    python -m tests.cpus tests/laws -k Ridge
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kilogram.native import simd_levels

ROOT = Path(__file__).parents[1]
BUSY = "while True: pass"


@dataclass(frozen=True)
class Machine:
    """One way to run the suite."""

    core: str  # kernels of OpenBLAS
    simd: str  # highest level of our own core
    threads: int
    numpy_loops: bool = True  # NumPy's vectorised loops beyond its baseline
    load: int = 0  # busy processes beside the tests

    def __str__(self) -> str:
        plain = "" if self.numpy_loops else ", plain NumPy"
        load = f", {self.load} busy processes" if self.load else ""
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return f"{self.core}, {self.simd}, {threads}{plain}{load}"

    def environment(self) -> dict[str, str]:
        """The variables that make this machine out of the one at hand."""
        count = str(self.threads)
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        found = {"OPENBLAS_CORETYPE": self.core, "KILOGRAM_SIMD": self.simd}
        found |= dict.fromkeys(names, count)
        if not self.numpy_loops:
            found["NPY_DISABLE_CPU_FEATURES"] = " ".join(numpy_features())
            found["ATEN_CPU_CAPABILITY"] = "default"  # the same for torch
        return {**os.environ, **found}


MACHINES = (
    Machine("Prescott", "baseline", 1, numpy_loops=False),
    Machine("Prescott", "avx2", 2),
    Machine("Nehalem", "baseline", 2),
    Machine("Sandybridge", "avx2", 1, numpy_loops=False),
    Machine("Haswell", "avx2", 1),
    Machine("Haswell", "baseline", 2),
    Machine("Zen", "avx2", 2, load=2),
    Machine("SkylakeX", "avx512", 1),
    Machine("SkylakeX", "vnni", 2),
)


def numpy_features() -> list[str]:
    """The instruction sets beyond its baseline that NumPy uses on this machine."""
    return list(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))


def is_available(machine: Machine, levels: list[str]) -> bool:
    """Whether this CPU can run it: the kernels of SkylakeX need AVX-512."""
    return machine.simd in levels and (machine.core != "SkylakeX" or "avx512" in levels)


def run(machine: Machine, arguments: list[str]) -> tuple[int, list[str], str]:
    """Tests run, the names of those that failed, and the last line of pytest."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(machine.load)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup", "-q"]
            done = subprocess.run(
                [*command, f"--junitxml={report}", *arguments],
                env=machine.environment(),
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            lines = done.stdout.strip().splitlines() or ["pytest wrote nothing"]
            if done.returncode not in (0, 1) or not report.exists():
                return 0, [f"pytest ended with code {done.returncode}"], "\n".join(lines[-20:])
            cases = list(ElementTree.parse(report).iter("testcase"))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    failed = [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    return len(cases), failed, lines[-1]


def main(arguments: list[str]) -> int:
    """Run every machine; 1 if anything failed on any of them."""
    levels, failures = simd_levels(), defaultdict(list)
    rows: list[tuple[str, str, str, str]] = []
    for machine in MACHINES:
        if not is_available(machine, levels):
            rows.append((str(machine), "this CPU lacks it", "", ""))
            continue
        start = time.monotonic()
        count, failed, last = run(machine, arguments)
        minutes = f"{(time.monotonic() - start) / 60:.1f}"
        rows.append((str(machine), str(count), str(len(failed)), minutes))
        print(f"{machine}: {last}", flush=True)
        for name in failed:
            failures[name].append(str(machine))
    print(f"\n{'machine':<48} {'tests':>18} {'failed':>7} {'minutes':>8}")
    for row in rows:
        print(f"{row[0]:<48} {row[1]:>18} {row[2]:>7} {row[3]:>8}")
    for name, machines in sorted(failures.items()):
        print(f"\n{name}")
        for machine in machines:
            print(f"    {machine}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m benchmarks.robustness.cook_kills`: SIGKILL at random moments of `kg cook`.

A run is killed and started again until it ends; its report must hold the folds and the trust of a
run that nobody killed, to the last digit. Ends with status 1 if one differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

TARGET = "y"


def write_table(path: Path, rows: int = 80, seed: int = 0) -> None:
    """A curve in one of two numbers, and a word."""
    rng = np.random.default_rng(seed)
    x, noise = rng.uniform(-2, 2, rows), rng.standard_normal(rows)
    y = np.sin(2 * x) + 0.4 * noise + 0.4 * rng.standard_normal(rows)
    lines = [
        f"{a:.6f},{b:.6f},{'red' if c > 0.5 else 'blue'},{t:.6f}"
        for a, b, c, t in zip(x, noise, rng.random(rows), y, strict=True)
    ]
    path.write_text("\n".join(["x,noise,word,y", *lines]) + "\n", "utf-8")


def start(table: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "kilogram", "cook", str(table), "--target", TARGET]
    command += ["--out", str(out), "--folds", "3", "--repeats", "1", "--quiet"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def numbers(out: Path) -> Any:
    """Everything in a report but times, versions and paths."""
    report = json.loads((out / "report.json").read_text("utf-8"))
    folds = {
        recipe["name"]: [(f["score"], f["inner_score"], f["winner"]) for f in recipe["folds"]]
        for recipe in report["recipes"]
    }
    return json.loads(json.dumps([folds, report["trust"]]))


def finish(child: subprocess.Popen[bytes]) -> None:
    _, errors = child.communicate()
    if child.returncode:
        raise RuntimeError(f"kg cook ended with {child.returncode}: {errors.decode()[-2000:]}")


def killed_run(table: Path, out: Path, rng: np.random.Generator, seconds: float) -> int:
    """How often a run was killed before it ended; every fourth start may take all its time."""
    kills = 0
    while True:
        child = start(table, out)
        if kills % 4 == 3:
            finish(child)
            return kills
        try:
            child.wait(rng.uniform(0.05, 1.1) * seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            kills += 1
        else:
            finish(child)
            return kills


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, kills, runs, different = np.random.default_rng(options.seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "table.csv"
        write_table(table)
        began = time.monotonic()
        finish(start(table, folder / "whole"))
        seconds, want = time.monotonic() - began, numbers(folder / "whole")
        while kills < options.kills:
            out = folder / f"run {runs}"
            kills += killed_run(table, out, rng, seconds)
            different += numbers(out) != want
            runs += 1
            print(f"{kills} kills, {runs} runs ended, {different} differ", flush=True)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

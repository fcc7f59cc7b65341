"""`python -m benchmarks.robustness.cook_kills`: SIGKILL at random moments of `kg cook`.

A run is killed and started again until it ends; its report must hold the folds and the trust of a
run that nobody killed, to the last digit. Ends with status 1 if one differs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import numpy as np

from kilogram.cli import app

TARGET = "y"


def write_table(path: Path, rows: int = 60, seed: int = 0) -> None:
    """A curve in one of two numbers, and a word."""
    rng = np.random.default_rng(seed)
    x, noise = rng.uniform(-2, 2, rows), rng.standard_normal(rows)
    y = np.sin(2 * x) + 0.4 * noise + 0.4 * rng.standard_normal(rows)
    lines = [
        f"{a:.6f},{b:.6f},{'red' if c > 0.5 else 'blue'},{t:.6f}"
        for a, b, c, t in zip(x, noise, rng.random(rows), y, strict=True)
    ]
    path.write_text("\n".join(["x,noise,word,y", *lines]) + "\n", "utf-8")


def command(table: Path, out: Path) -> list[str]:
    words = ["cook", str(table), "--target", TARGET, "--out", str(out)]
    return [*words, "--folds", "2", "--repeats", "2", "--search", "path", "--quiet"]


def start(table: Path, out: Path) -> ForkProcess:
    """`kg cook` in a fork of this process, which has imported all it needs already."""
    child = multiprocessing.get_context("fork").Process(target=app, args=(command(table, out),))
    child.start()
    return child


def numbers(out: Path) -> Any:
    """Everything in a report but times, versions and paths."""
    report = json.loads((out / "report.json").read_text("utf-8"))
    folds = {
        recipe["name"]: [(f["score"], f["inner_score"], f["winner"]) for f in recipe["folds"]]
        for recipe in report["recipes"]
    }
    return json.loads(json.dumps([folds, report["trust"]]))


def finish(child: ForkProcess) -> None:
    child.join()
    if child.exitcode:
        raise RuntimeError(f"kg cook ended with {child.exitcode}.")


def killed_run(table: Path, out: Path, rng: np.random.Generator, seconds: float) -> int:
    """How often a run was killed before it ended; every fourth start may take all its time."""
    kills = 0
    while True:
        child = start(table, out)
        if kills % 4 == 3:
            finish(child)
            return kills
        child.join(rng.uniform(0.05, 1.1) * seconds)
        if child.exitcode is not None:
            finish(child)
            return kills
        child.kill()
        child.join()
        kills += 1


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
        finish(start(table, folder / "imports"))
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

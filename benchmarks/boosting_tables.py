"""`kg cook` beside LightGBM, with its defaults and tuned, on the same splits of many tables.

    python -m benchmarks.boosting_tables --data tables --out found.jsonl --jobs 16 --seconds 560

Two thirds of each table are learnt from, errors are those on the third kept aside: root mean
squared error of numbers, fraction of wrong classes. A job is one contender on one split of one
table, on one thread; those of the first seed are begun first, the long ones of a seed before the
short ones. A line is written as each job ends, and a job that would not end in time is not begun;
jobs that are in the file already are not done again. `--only-show` prints the tables of what a file
holds.

Ratios are means of errors over the seeds, ours over theirs (below 1: ours is smaller); their 95 %
interval is corrected for splits that share rows (Nadeau and Bengio).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
import traceback
import warnings
from collections.abc import Iterator
from multiprocessing.pool import AsyncResult
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.boosting_contenders import CONTENDERS, losses
from benchmarks.boosting_data import SEEN, is_class, load
from kilogram.evaluation.intervals import corrected_interval

Job = tuple[int, str, str]  # seed, table, contender
ASIDE = 1 / 3  # of the rows of a table
# A job is begun where it needed no more than this part of the time left on another split.
SAFE = 0.8
FIRST_SEED, SEEDS = 11, 20  # seeds before the first were in use while rules were settled
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
POLL = 0.05  # seconds between two looks at the running jobs


def done(job: Job, data: Path, limit: float) -> dict[str, Any]:
    """One contender on one split: errors, seconds and what it found; or the error it ended with."""
    warnings.simplefilter("ignore")
    seed, name, contender = job
    frame = load(data, name)[name]
    train, test = train_test_split(
        frame, test_size=ASIDE, random_state=seed, stratify=frame["y"] if is_class(frame) else None
    )
    train, test = train.reset_index(drop=True), test.reset_index(drop=True)
    line: dict[str, Any] = {"seed": seed, "table": name, "contender": contender}
    try:
        found = CONTENDERS[contender](train, test, seed, limit)
    except Exception:
        return line | {"failed": traceback.format_exc()}
    sizes = {"rows": len(frame), "columns": frame.shape[1] - 1, "seconds": found.seconds}
    return line | sizes | losses(found.prediction, train, test) | {"about": found.about}


def run(
    jobs: list[Job], processes: int, seconds: float, data: Path, limit: float
) -> Iterator[dict[str, Any]]:
    """The lines of all jobs that end within so many seconds, as they end."""
    end = time.monotonic() + seconds
    waiting, known = list(jobs), dict[tuple[str, str], float]()
    running: list[AsyncResult[dict[str, Any]]] = []
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        while (waiting or running) and time.monotonic() < end:
            for ended in [one for one in running if one.ready()]:
                running.remove(ended)
                line = ended.get()
                known[line["table"], line["contender"]] = line.get("seconds", 0.0)
                yield line
            left = SAFE * (end - time.monotonic())
            fits = (job for job in waiting if known.get(job[1:], 0.0) <= left)
            while len(running) < processes and (job := next(fits, None)) is not None:
                waiting.remove(job)
                running.append(pool.apply_async(done, (job, data, limit)))
                fits = (job for job in waiting if known.get(job[1:], 0.0) <= left)
            if not running:
                break
            time.sleep(POLL)


def show(lines: list[dict[str, Any]]) -> None:
    """Two Markdown tables: ours beside each kind of LightGBM."""
    good = [line for line in lines if "failed" not in line]
    for peer in [name for name in CONTENDERS if name != "kilogram"]:
        print(
            f"\n| table | rows x columns | seeds | recipes chosen | kg cook | {peer} | ratio | "
            "log-loss | seconds, both |\n|---|---|---|---|---|---|---|---|---|"
        )
        smaller = count = 0
        for name in dict.fromkeys(line["table"] for line in good):
            found = _paired(good, name, peer)
            if not found:
                continue
            ours, theirs = zip(*found, strict=True)
            ratio, low, high = _ratio(ours, theirs)
            count, smaller = count + 1, smaller + (ratio <= 1)
            print(
                f"| {name}{'' if name in SEEN else ' (new)'} "
                f"| {ours[0]['rows']:,} x {ours[0]['columns']} | {len(found)} | {_recipes(ours)} | "
                f"{_mean(ours, 'error'):.4g} | {_mean(theirs, 'error'):.4g} | "
                f"{ratio:.3f} ({low:.3f} to {high:.3f}) | {_log_losses(ours, theirs)} | "
                f"{_mean(ours, 'seconds'):.0f}, {_mean(theirs, 'seconds'):.0f} |"
            )
        print(f"\nerror at most that of {peer} on {smaller} of {count} tables")
    for line in lines:
        if "failed" in line:
            print(f"\n{line['table']}, seed {line['seed']}, {line['contender']}: {line['failed']}")


Pairs = list[tuple[dict[str, Any], dict[str, Any]]]


def _paired(lines: list[dict[str, Any]], table: str, peer: str) -> Pairs:
    """Lines of both contenders on the same splits of a table."""
    mine = {line["seed"]: line for line in lines if _is(line, table, "kilogram")}
    theirs = {line["seed"]: line for line in lines if _is(line, table, peer)}
    return [(mine[seed], theirs[seed]) for seed in sorted(mine) if seed in theirs]


def _is(line: dict[str, Any], table: str, contender: str) -> bool:
    return line["table"] == table and line["contender"] == contender


def _mean(lines: Any, key: str) -> float:
    return float(np.mean([line[key] for line in lines]))


def _ratio(ours: Any, theirs: Any) -> tuple[float, float, float]:
    """Ratio of the mean errors with its interval; NaN as ends with one split alone."""
    whole = max(_mean(theirs, "error"), 1e-12)
    more = [(a["error"] - b["error"]) / whole for a, b in zip(ours, theirs, strict=True)]
    if len(more) == 1:
        return 1 + more[0], float("nan"), float("nan")
    found = corrected_interval(more, 1 - ASIDE, ASIDE)
    return 1 + found.mean, 1 + found.low, 1 + found.high


def _log_losses(ours: Any, theirs: Any) -> str:
    if "log_loss" not in ours[0]:
        return ""
    return f"{_mean(ours, 'log_loss'):.3f}, {_mean(theirs, 'log_loss'):.3f}"


def _recipes(ours: Any) -> str:
    names = [line["about"]["chosen"] for line in ours]
    counted = sorted({name: names.count(name) for name in names}.items(), key=lambda one: -one[1])
    return ", ".join(f"{name} {count}" if count > 1 else name for name, count in counted)


def planned(data: Path, seeds: int, first: int, tables: list[str]) -> list[Job]:
    """All jobs: seed by seed, the largest tables and the slowest contenders of a seed first."""
    names = [name for name in reversed(load(data)) if not tables or name in tables]
    slowest = ("lightgbm_tuned", "kilogram", "lightgbm")
    return [(first + k, name, one) for k in range(seeds) for name in names for one in slowest]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--limit", type=float, default=600.0, help="of one job, seconds")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--table", action="append", help="only these; repeat", default=[])
    parser.add_argument("--contender", action="append", choices=CONTENDERS, default=[])
    parser.add_argument("--only-show", action="store_true")
    given = parser.parse_args()
    lines = [json.loads(line) for line in given.out.read_text().splitlines()] \
        if given.out.exists() else []  # fmt: skip
    if not given.only_show:
        for variable in THREADS:
            os.environ[variable] = "1"
        finished = {(line["seed"], line["table"], line["contender"]) for line in lines}
        jobs = planned(given.data, given.seeds, given.first_seed, given.table)
        wanted = given.contender or list(CONTENDERS)
        jobs = [job for job in jobs if job not in finished and job[2] in wanted]
        with given.out.open("a") as file:
            for line in run(jobs, given.jobs, given.seconds, given.data, given.limit):
                lines.append(line)
                file.write(json.dumps(line) + "\n")
                file.flush()
    show(lines)


if __name__ == "__main__":
    main()

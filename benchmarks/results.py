"""The file of results: what was measured, on which machine, with which versions."""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.machine import Rates
from benchmarks.task import Task
from benchmarks.tasks import FAMILY_OF

PEERS = (
    "adelie",
    "cca-zoo",
    "celer",
    "faiss-cpu",
    "glum",
    "interpret-core",
    "lightgbm",
    "scikit-learn",
    "scikit-learn-intelex",
    "skglm",
    "snapml",
    "xgboost",
)

#: What all rows of a file have in common.
SHARED = ("machine", "threads", "clock")
#: CPUs that other processes may keep busy during a measurement.
QUIET = 0.2


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str:
    """The commit that was measured, with a plus sign where files of the package differ from it."""
    here = Path(__file__).parent
    git = ["git", "-C", str(here)]
    try:
        name = subprocess.run(
            [*git, "rev-parse", "--short=9", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            [*git, "diff", "--quiet", "HEAD", "--", str(here.parent / "src")], check=False
        ).returncode
    except (OSError, subprocess.CalledProcessError):  # an archive without git
        return "unknown"
    return name + ("+" if changed else "")


@dataclass(frozen=True)
class Run:
    """What all rows of one file share."""

    machine: str
    threads: int
    clock: str
    packages: Mapping[str, str]
    rates: Mapping[str, float]

    @classmethod
    def here(cls, threads: int, clock: str, rates: Rates) -> Run:
        found = {name: version for name in PEERS if (version := _version(name))}
        return cls(machine.describe(), threads, clock, found, rates.as_dict())


def read_for(run: Run, path: Path) -> dict[str, Any]:
    """The results in this file, to which rows of the same machine and threads are added."""
    if not path.exists():
        return {**asdict(run), "tasks": {}}
    found = json.loads(path.read_text())
    there, here = ([held[key] for key in SHARED] for held in (found, asdict(run)))
    if there != here:
        raise SystemExit(
            f"{path} holds results of {there}; this is {here}. Name another with --out."
        )
    found["packages"] |= run.packages
    return found


def row(
    task: Task, contestants: Mapping[str, dict[str, Any]], rates: Rates, rounds: int
) -> dict[str, Any]:
    """What is kept of one task."""
    return {
        "title": task.title,
        "family": FAMILY_OF[task.name],
        "floor": task.floor(rates),
        "counted": task.counted,
        "ours": [who for who in contestants if who in task.ours or who.startswith("kilogram")],
        "date": datetime.date.today().isoformat(),
        "commit": _commit(),
        "rounds": rounds,
        "repeats": task.repeats,
        "contestants": dict(contestants),
    }


def disturbed(found: Mapping[str, Any], tasks: Mapping[str, Task]) -> list[Task]:
    """Tasks in the file that were measured while other processes kept a CPU busy, worst first."""
    load = {
        name: max((r.get("others", 0.0) for r in row["contestants"].values()), default=0.0)
        for name, row in found["tasks"].items()
    }
    names = sorted(load, key=load.__getitem__, reverse=True)
    return [tasks[name] for name in names if load[name] > QUIET]


def write(found: Mapping[str, Any], path: Path) -> None:
    """Replace the file as a whole, so that an interrupted run leaves the rows it had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(found, indent=1) + "\n")
    draft.replace(path)

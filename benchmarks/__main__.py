"""`python -m benchmarks`: every task, every contestant that is installed, one table."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import machine, table
from benchmarks.runner import best_of, measure, run_alone
from benchmarks.task import Task
from benchmarks.tasks import TASKS

HERE = Path(__file__).parent


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "only", nargs="*", help="names of tasks, or parts of them (default: all but the long)"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--rounds", type=int, default=2, help="rounds over the contestants of a task"
    )
    parser.add_argument("--list", action="store_true", help="list the tasks and stop")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--child", nargs=2, metavar=("TASK", "WHO"), help=argparse.SUPPRESS)
    return parser.parse_args()


def _called(name: str) -> list[Task]:
    """The task of this name, else all whose names hold it."""
    found = [TASKS[name]] if name in TASKS else [t for t in TASKS.values() if name in t.name]
    if not found:
        raise SystemExit(f"No task is called like {name!r}. There are: {', '.join(TASKS)}")
    return found


def _chosen(names: list[str]) -> list[Task]:
    if not names:
        return [task for task in TASKS.values() if not task.long]
    return list({task.name: task for name in names for task in _called(name)}.values())


def main() -> None:
    ask = _arguments()
    if ask.child:
        task, who = ask.child
        print(json.dumps(measure(TASKS[task], who)))
        return
    if ask.list:
        print(
            "\n".join(f"{t.name:24} {t.title}{' (long)' if t.long else ''}" for t in TASKS.values())
        )
        return
    rates = machine.measure()
    head = (
        f"{machine.describe()}; {ask.threads} threads. gemm {rates.gemm64 / 1e9:.0f} / "
        f"{rates.gemm32 / 1e9:.0f} GFLOP/s (f64 / f32), read {rates.read / 1e9:.0f} GB/s, "
        f"exp {rates.exp / 1e9:.2f} G/s.\n"
    )
    print(head, flush=True)
    ask.out.mkdir(parents=True, exist_ok=True)
    parts, raw = [head], {}
    for task in _chosen(ask.only):
        rounds: dict[str, list] = {who: [] for who in task.run}
        rates = (
            machine.measure()
        )  # they drift by a fifth in minutes: the floor is of this task's time
        for _ in range(1 if task.long else ask.rounds):
            for who in task.run:  # contestants alternate, so that drift of the machine is shared
                print(f"  {task.name}: {who} ...", file=sys.stderr, flush=True)
                rounds[who].append(run_alone(task, who, ask.threads))
            rates = rates.or_better(machine.measure())
        results = {who: best_of(r) for who, r in rounds.items()}
        text = table.section(task, results, task.floor(rates))
        print(text, flush=True)
        parts.append(text)
        raw[task.name] = results
        (ask.out / "table.md").write_text("\n".join(parts))
        (ask.out / "table.json").write_text(json.dumps(raw, indent=1))


if __name__ == "__main__":
    main()

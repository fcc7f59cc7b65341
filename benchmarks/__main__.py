"""`python -m benchmarks`: every task, every installed contestant, a table and a JSON file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import machine, results, table
from benchmarks.runner import CLOCKS, best_of, measure, run_alone
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
        "--clock",
        choices=tuple(CLOCKS),
        default="wall",
        help="processor time of one thread can be measured beside other work, wall time cannot",
    )
    parser.add_argument(
        "--rounds", type=int, default=2, help="rounds over the contestants of a task"
    )
    parser.add_argument("--list", action="store_true", help="list the tasks and stop")
    parser.add_argument(
        "--out",
        type=Path,
        default=HERE / "results" / "results.json",
        help="JSON file of results; tasks that it holds already are kept unless measured anew",
    )
    parser.add_argument(
        "--disturbed",
        action="store_true",
        help="repeat the tasks of --out during which other processes were at work",
    )
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
        print(json.dumps(measure(TASKS[task], who, ask.clock)))
        return
    if ask.list:
        print(
            "\n".join(f"{t.name:24} {t.title}{' (long)' if t.long else ''}" for t in TASKS.values())
        )
        return
    if ask.clock == "processor":
        ask.threads = 1
    rates = machine.measure(ask.threads, CLOCKS[ask.clock])
    run = results.Run.here(ask.threads, ask.clock, rates)
    found = results.read_for(run, ask.out)
    print(f"{run.machine}; {ask.threads} threads, {ask.clock} time. {rates}\n", flush=True)
    chosen = results.disturbed(found, TASKS) if ask.disturbed else _chosen(ask.only)
    for task in chosen:
        rounds: dict[str, list] = {who: [] for who in task.run}
        n_rounds = 1 if task.long else ask.rounds
        for _ in range(n_rounds):
            for who in task.run:  # contestants alternate, so that drift of the machine is shared
                print(f"  {task.name}: {who} ...", file=sys.stderr, flush=True)
                rounds[who].append(run_alone(task, who, ask.threads, ask.clock))
        best = {who: best_of(r) for who, r in rounds.items()}
        row = results.row(task, best, rates, n_rounds)
        print(table.section(row), flush=True)
        found["tasks"][task.name] = row
        results.write(found, ask.out)


if __name__ == "__main__":
    main()

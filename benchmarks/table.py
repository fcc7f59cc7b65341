"""The results as one Markdown table per task."""

from __future__ import annotations

from typing import Any

from benchmarks.task import Task


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _quality(values: dict[str, float]) -> str:
    return ", ".join(f"{key} {value:.6g}" for key, value in values.items())


def best_peer(task: Task, results: dict[str, dict[str, Any]]) -> float | None:
    """Seconds of the fastest peer that finished."""
    times = [r["seconds"] for w, r in results.items() if w not in task.ours and "error" not in r]
    return min(times) if times else None


def section(task: Task, results: dict[str, dict[str, Any]], floor: float) -> str:
    """Title, floor, then a row per contestant: ours first, peers by time."""
    peer = best_peer(task, results)
    order = sorted(
        results, key=lambda w: (w not in task.ours, results[w].get("seconds", float("inf")))
    )
    lines = [
        f"### {task.title}",
        "",
        f"Floor {_time(floor)} ({task.counted}).",
        "",
        "| contestant | time | best peer / this | this / floor | peak above data | quality |",
        "|---|---|---|---|---|---|",
    ]
    for who in order:
        r = results[who]
        if "error" in r:
            lines.append(f"| {who} | - | - | - | - | {r['error']} |")
            continue
        ratio = f"{peer / r['seconds']:.2f}" if peer else "-"
        mark = f"**{who}**" if who in task.ours else who
        lines.append(
            f"| {mark} | {_time(r['seconds'])} | {ratio} | {r['seconds'] / floor:.1f} | "
            f"{r['peak'] / 2**20:.0f} MiB | {_quality(r['quality'])} |"
        )
    return "\n".join(lines) + "\n"

"""Rows of the file of results as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Qualities nearer than this, relatively, count as equal.
SAME = 1e-3


def seconds(value: float) -> str:
    """Three digits and a unit."""
    if value < 1e-3:
        return f"{1e6 * value:.3g} µs"
    return f"{1e3 * value:.3g} ms" if value < 0.9995 else f"{value:.3g} s"


def ratio(value: float) -> str:
    """Two digits, or three from 100 on: more is beyond what a virtual machine repeats."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def best_peer(row: Mapping[str, Any]) -> str | None:
    """The fastest peer that finished."""
    peers = {
        who: result["seconds"]
        for who, result in row["contestants"].items()
        if who not in row["ours"] and "error" not in result
    }
    return min(peers, key=peers.__getitem__) if peers else None


def _numbers(values: Mapping[str, float]) -> str:
    return ", ".join(f"{key} {value:.4g}" for key, value in values.items())


def quality(ours: Mapping[str, float], peer: Mapping[str, float]) -> str:
    """\"equal\", or both numbers where they differ by more than a thousandth."""
    parts = []
    for key in ours:
        a, b = ours[key], peer.get(key)
        if b is None or abs(a - b) <= SAME * max(abs(a), abs(b)):
            continue
        parts.append(f"{key} {a:.4g}, peer {b:.4g}")
    return "; ".join(parts) or "equal"


def section(row: Mapping[str, Any]) -> str:
    """All contestants of one task: ours first, then the peers by their time."""
    peer = best_peer(row)
    contestants = row["contestants"]
    order = sorted(
        contestants,
        key=lambda who: (who not in row["ours"], contestants[who].get("seconds", float("inf"))),
    )
    lines = [
        f"### {row['title']}",
        "",
        f"Floor {seconds(row['floor'])} ({row['counted']}).",
        "",
        "| contestant | time | best peer / this | this / floor | peak above data | quality |",
        "|---|---|---|---|---|---|",
    ]
    for who in order:
        result = contestants[who]
        if "error" in result:
            lines.append(f"| {who} | - | - | - | - | {result['error']} |")
            continue
        beside = ratio(contestants[peer]["seconds"] / result["seconds"]) if peer else "-"
        mark = f"**{who}**" if who in row["ours"] else who
        lines.append(
            f"| {mark} | {seconds(result['seconds'])} | {beside} | "
            f"{result['seconds'] / row['floor']:.1f} | {result['peak'] / 2**20:.0f} MiB | "
            f"{_numbers(result['quality'])} |"
        )
    return "\n".join(lines) + "\n"

"""`python -m benchmarks.page`: write the tables of docs/benchmarks.md."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import table
from benchmarks.tasks import FAMILIES

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = ROOT / "docs" / "benchmarks" / "two_threads.json"
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Row = Mapping[str, Any]


def _markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows]) + "\n"


def _compared(tasks: Mapping[str, Row]) -> dict[str, Row]:
    """Tasks where Kilogram and at least one peer finished."""
    return {
        name: row
        for name, row in tasks.items()
        if table.best_peer(row) and "error" not in row["contestants"][row["ours"][0]]
    }


def _ratio(row: Row) -> float:
    peer = table.best_peer(row)
    assert peer is not None
    contestants = row["contestants"]
    return float(contestants[peer]["seconds"] / contestants[row["ours"][0]]["seconds"])


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    """Title, our time, the best peer and its time, ratio, quality."""
    peer = table.best_peer(row)
    assert peer is not None
    ours, best = row["contestants"][row["ours"][0]], row["contestants"][peer]
    return (
        row["title"],
        table.seconds(ours["seconds"]),
        f"{peer} {table.seconds(best['seconds'])}",
        table.ratio(_ratio(row)),
        table.quality(ours["quality"], best["quality"]),
    )


def summary(found: Mapping[str, Any]) -> str:
    """Every task in the order of the families, each of which begins with a row of its name."""
    tasks = _compared(found["tasks"])
    rows = []
    for family in FAMILIES:
        members = [row for row in tasks.values() if row["family"] == family]
        if members:
            rows.append((f"**{family}**", "", "", "", ""))
        for row in members:
            title, ours, peer, ratio, quality = _cells(row)
            rows.append(
                (title, ours, ", ".join(filter(None, [peer, _others(row)])), ratio, quality)
            )
    return _markdown(("task", "Kilogram", "peers, the best first", "ratio", "quality"), rows)


def slower(found: Mapping[str, Any]) -> str:
    """Tasks on which a peer is faster, the worst first."""
    rows = sorted((r for r in _compared(found["tasks"]).values() if _ratio(r) < 1), key=_ratio)
    if not rows:
        return "None.\n"
    return _markdown(
        ("task", "Kilogram", "best peer", "ratio", "quality"), [_cells(row) for row in rows]
    )


def _others(row: Row) -> str:
    """The other contestants by their time; ours and those that failed come last."""
    shown = {row["ours"][0], table.best_peer(row)}
    others = {
        who: result
        for who, result in row["contestants"].items()
        if who not in shown and "is not installed" not in result.get("error", "")
    }

    def place(who: str) -> tuple[bool, float]:
        return who in row["ours"], others[who].get("seconds", float("inf"))

    return ", ".join(
        f"{who}: {others[who]['error']}"
        if "error" in others[who]
        else f"{who} {table.seconds(others[who]['seconds'])}"
        for who in sorted(others, key=place)
    )


def conditions(found: Mapping[str, Any]) -> str:
    """Machine, versions, days and commits, in one paragraph."""
    rows = found["tasks"].values()
    days = sorted({row["date"] for row in rows})
    commits = sorted({row["commit"] for row in rows})
    threads = "one thread" if found["threads"] == 1 else f"{found['threads']} threads"
    versions = ", ".join(f"{name} {version}" for name, version in found["packages"].items())
    return (
        f"{found['machine']}; {threads}, {found['clock']} time. Peers: {versions}. Measured "
        f"{' and '.join(days)} at commit {', '.join(commits)}.\n"
    )


TABLES = {
    "summary": summary,
    "slower": slower,
    "conditions": conditions,
}


def written(page: str, found: Mapping[str, Any]) -> str:
    """The page with every table between its marks replaced."""
    return BLOCK.sub(lambda m: f"{m[1]}\n{TABLES[m[2]](found)}\n{m[3]}", page)


def main() -> None:
    found = json.loads(RESULTS.read_text())
    page = PAGE.read_text()
    new = written(page, found)
    if "--check" in sys.argv[1:] and new != page:
        raise SystemExit(f"{PAGE} differs from {RESULTS}: run python -m benchmarks.page.")
    PAGE.write_text(new)


if __name__ == "__main__":
    main()

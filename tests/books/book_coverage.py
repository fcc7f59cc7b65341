"""Which test covers which item of the texts: `python tests/books/book_coverage.py` writes it.

Reads `spec_items.toml` and the `@covers(...)` lines of the test files (without importing them) and
writes COVERAGE.md. `test_book_coverage.py` checks that nothing is missing and the table is current.
"""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
TABLE = HERE / "COVERAGE.md"


def items_by_test(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Pytest node and covered items of every test function in a file."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            lines = [
                line
                for line in node.decorator_list
                if isinstance(line, ast.Call) and getattr(line.func, "id", "") == "covers"
            ]
            items = [ast.literal_eval(item) for line in lines for item in line.args]
            yield f"tests/books/{path.name}::{node.name}", items


def covered() -> dict[str, list[str]]:
    """Item -> the tests that stand for it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(HERE.glob("test_*.py")):
        for test, items in items_by_test(path):
            for item in items:
                found[item].append(test)
    return dict(found)


def specified() -> dict[str, dict[str, str]]:
    """Item -> {"test": ""} or {"later": what is missing} or {"nothing": reason}."""
    listed: dict[str, dict[str, str]] = {}
    for text, groups in tomllib.loads((HERE / "spec_items.toml").read_text("utf-8")).items():
        for item in groups["items"].split():
            listed[f"{text} {item}"] = {"test": ""}
        for kind in ("later", "nothing"):
            for item, reason in groups.get(kind, {}).items():
                listed[f"{text} {item}"] = {kind: reason}
    return listed


def all_ids() -> set[str]:
    """Every id of the inventories, from the plain list `spec_ids.toml`."""
    texts = tomllib.loads((HERE / "spec_ids.toml").read_text("utf-8"))
    return {f"{text} {item}" for text, group in texts.items() for item in group["ids"].split()}


def table() -> str:
    """COVERAGE.md as it should read."""
    found, listed = covered(), specified()
    counts = {kind: sum(kind in entry for entry in listed.values()) for kind in KINDS}
    lines = ["# Items of the texts and their tests", "", *INTRODUCTION, ""]
    lines += [f"{label}: {counts[kind]}." for kind, label in KINDS.items()]
    lines += ["", "| item | test, or what is missing |", "|---|---|"]
    for item, entry in listed.items():
        if "test" in entry:
            cell = "<br>".join(f"`{test.split('/')[-1]}`" for test in found.get(item, ["missing"]))
        else:
            ((kind, reason),) = entry.items()
            cell = f"open: {reason}" if kind == "later" else f"nothing to run: {reason}"
        lines.append(f"| {item} | {cell} |")
    return "\n".join(lines) + "\n"


KINDS = {"test": "Covered", "later": "Open", "nothing": "Nothing to run"}
INTRODUCTION = [
    "Written by `python tests/books/book_coverage.py` from `spec_items.toml` and `@covers` lines.",
    "M, FE: method; X, E (lecture notes): example; T: claim; E, X (lecture notes): erratum.",
]

if __name__ == "__main__":
    TABLE.write_text(table(), "utf-8")

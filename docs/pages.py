"""Write one documentation page per page of the registry, the errata table and the command list."""

from __future__ import annotations

import inspect
from pathlib import Path

from kilogram.registry import PAGES, Page
from kilogram.textbook import TELLINGS
from kilogram.textbook.errata import ERRATA


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}\n"


def _telling(name: str) -> str:
    telling = TELLINGS[name]
    source = inspect.getsource(inspect.getmodule(telling.function))
    return f"### {telling.title}\n\n```python\n{source.rstrip()}\n```\n"


def _errata(page: Page) -> str:
    rows = [e for e in ERRATA if set(e.pages) & {page.slug, *page.names}]
    if not rows:
        return ""
    lines = ["| where | printed | right | shown by |", "|---|---|---|---|"]
    for e in rows:
        cells = (f"{e.text}, {e.where} ({e.id})", e.printed, e.right, f"`{e.test}`")
        lines.append(
            "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"
        )
    return _section("What the printed page gets wrong", "\n".join(lines))


def page(entry: Page) -> str:
    """One page as MyST Markdown."""
    parts = [
        f"# {entry.title}\n",
        f"$$\n{entry.objective}\n$$\n",
        _section("When to use it", entry.when),
        _section("What it costs", entry.cost),
        _section("Where it fails", entry.limits),
        "## The classes\n",
        *(
            f"```{{eval-rst}}\n.. autoclass:: kilogram.{name}\n   :members:\n   :inherited-members: BaseEstimator\n```\n"
            for name in entry.names
        ),
    ]
    if entry.tellings:
        parts += ["## As the books tell it\n", *(_telling(name) for name in entry.tellings)]
    parts += [_errata(entry), _section("Sources", "\n".join(f"- {s}" for s in entry.sources))]
    return "\n".join(parts)


def write(folder: Path) -> None:
    """All pages and their index."""
    folder.mkdir(exist_ok=True)
    for entry in PAGES:
        (folder / f"{entry.slug}.md").write_text(page(entry))

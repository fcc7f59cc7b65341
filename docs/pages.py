"""Write one documentation page per page of the registry, the errata table and the command list."""

from __future__ import annotations

import inspect
from pathlib import Path

import kilogram
from kilogram.registry import Page, pages
from kilogram.textbook import TELLINGS
from kilogram.textbook.errata import as_markdown, errata

#: Made by scikit-learn's metadata routing on every estimator; explained in its own documentation.
REQUESTS = ", ".join(
    f"set_{method}_request"
    for method in ("fit", "partial_fit", "predict", "score", "transform", "inverse_transform")
)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}\n"


def _tellings(page: Page) -> list[str]:
    """The source of every telling that explains a class of this page, each file once."""
    files: dict[str, str] = {}
    for telling in TELLINGS.values():
        if set(telling.explains) & set(page.names):
            module = inspect.getmodule(telling.function)
            files.setdefault(module.__name__, inspect.getsource(module))
    return [
        f"### {name.rsplit('.', 1)[1].replace('_', ' ')}\n\n```python\n{text.rstrip()}\n```\n"
        for name, text in files.items()
    ]


def _errata(page: Page) -> str:
    rows = [e for e in errata() if set(e.pages) & {page.slug, *page.names}]
    if not rows:
        return ""
    lines = ["| where | printed | right | shown by |", "|---|---|---|---|"]
    for e in rows:
        cells = (f"{e.text}, {e.where} ({e.id})", e.printed, e.right, f"`{e.test}`")
        lines.append(
            "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"
        )
    return _section("What the printed page gets wrong", "\n".join(lines))


def _entry(name: str) -> str:
    """A class with its members, or a function."""
    if not inspect.isclass(getattr(kilogram, name)):
        return f"```{{eval-rst}}\n.. autofunction:: kilogram.{name}\n```\n"
    members = f"   :members:\n   :exclude-members: {REQUESTS}\n"
    return f"```{{eval-rst}}\n.. autoclass:: kilogram.{name}\n{members}```\n"


def page(entry: Page) -> str:
    """One page as MyST Markdown."""
    parts = [
        f"# {entry.title}\n",
        f"$$\n{entry.objective}\n$$\n",
        _section("When to use it", entry.when),
        _section("What it costs", entry.cost),
        _section("Where it fails", entry.limits),
        "## The classes\n",
        *(_entry(name) for name in entry.names),
    ]
    if tellings := _tellings(entry):
        parts += ["## As the books tell it\n", *tellings]
    parts += [_errata(entry), _section("Sources", "\n".join(f"- {s}" for s in entry.sources))]
    return "\n".join(parts)


def write(folder: Path) -> None:
    """All pages and their index."""
    folder.mkdir(exist_ok=True)
    for entry in pages():
        (folder / f"{entry.slug}.md").write_text(page(entry))
    (folder.parent / "errata.md").write_text(as_markdown())

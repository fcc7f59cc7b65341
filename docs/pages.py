"""Write one documentation page per page of the registry, the errata table and the command list."""

from __future__ import annotations

import inspect
from pathlib import Path

import kilogram
from kilogram.kitchen.audit.finding import CODES
from kilogram.registry import Page, pages
from kilogram.textbook import ENTRIES
from kilogram.textbook.errata import as_markdown, concerning, errata

#: Made by scikit-learn's metadata routing on every estimator; explained in its own documentation.
REQUESTS = ", ".join(
    f"set_{method}_request"
    for method in ("fit", "partial_fit", "predict", "score", "transform", "inverse_transform")
)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}\n"


def _textbook_versions(page: Page) -> list[str]:
    """The source of every textbook version of a class of this page, each file once."""
    files: dict[str, str] = {}
    for version in ENTRIES.values():
        if set(version.explains) & set(page.names):
            module = inspect.getmodule(version.function)
            files.setdefault(module.__name__, inspect.getsource(module))
    return [
        f"### {name.rsplit('.', 1)[1].replace('_', ' ')}\n\n```python\n{text.rstrip()}\n```\n"
        for name, text in files.items()
    ]


def _errata(page: Page) -> str:
    here = {e.id for name in page.names for e in concerning(name)}
    rows = [e for e in errata() if e.id in here]
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
    if versions := _textbook_versions(entry):
        parts += ["## As the texts print it\n", *versions]
    parts += [_errata(entry), _section("Sources", "\n".join(f"- {s}" for s in entry.sources))]
    return "\n".join(parts)


def write(folder: Path) -> None:
    """All pages and their index."""
    folder.mkdir(exist_ok=True)
    for entry in pages():
        (folder / f"{entry.slug}.md").write_text(page(entry))
    (folder.parent / "errata.md").write_text(as_markdown())
    (folder.parent / "audit_codes.md").write_text(audit_codes())


def audit_codes() -> str:
    """Every code of the audit: what it is called, why it matters, what to do."""
    parts = [
        "# What the audit finds: codes\n",
        "`kg audit TABLE --target COLUMN` looks for these before anything is fitted, and `kg cook` "
        "does the same. A *serious* finding stops the run until it is mended or accepted "
        "(`--accept CODE`); a *warning* may mislead; a *note* is good to know. How serious one is "
        "depends on the evidence, which is given with it. Codes do not change their meaning.\n",
    ]
    for code, about in CODES.items():
        name = about.title[0].upper() + about.title[1:]
        parts += [f"## {code}: {name}\n", f"{about.why}\n", f"**What to do.** {about.do}\n"]
    return "\n".join(parts)

"""A public name explained from the registry: objective, use, cost, textbook version."""

from __future__ import annotations

import inspect
import re
import textwrap
from functools import cache
from importlib import import_module
from typing import Any

from kilogram.kitchen.errors import KitchenError, close_names
from kilogram.kitchen.explain.plain_formula import plain_formula
from kilogram.registry import PUBLIC, page_of
from kilogram.textbook import ENTRIES
from kilogram.textbook.errata import TEXTS, Erratum, concerning

#: Packages whose public names are not attributes of `kilogram`.
PACKAGES = ("kilogram.evaluation", "kilogram.kernels", "kilogram.kitchen.features")
WIDTH = 96  # of a line: a terminal of 100 columns
_SECTION = re.compile(r"^[A-Z][A-Za-z ]+\n-{3,}$", re.MULTILINE)


def explained(name: str, *, textbook: bool = False) -> str:
    """The page of a public name as plain text, with `textbook` its algorithms and errata too.

    What the method is for comes first, its parameters after that.
    """
    name, module = _public(name)
    thing = getattr(import_module(module), name)
    summary, sections = _documentation(name, thing)
    parts = [_heading(_call(name, thing)), summary, *_page(name), sections]
    parts += _textbook(name) if textbook else [_mentioned(name)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _page(name: str) -> list[str]:
    """What the book says of the method."""
    page = page_of(name) if name in PUBLIC else None
    if page is None:
        return []
    return [
        _heading(page.title),
        _wrapped(f"Objective   {plain_formula(page.objective)}", 12),
        _derivation(page.derivation),
        _wrapped(f"When        {page.when}", 12),
        _wrapped(f"Cost        {page.cost}", 12),
        _wrapped(f"Limits      {page.limits}", 12),
        "Texts       " + "\n            ".join(map(_place, page.sources)),
    ]


def _derivation(steps: tuple[tuple[str, str], ...]) -> str:
    lines = []
    for words, formula in steps:
        lines += [_wrapped(" " * 12 + words, 12), _wrapped(" " * 16 + plain_formula(formula), 20)]
    return "Derivation  " + "\n".join(lines).lstrip()


@cache
def public_names() -> dict[str, str]:
    """Every public name and the module it is imported from: `kilogram` first, then its packages."""
    found = dict(PUBLIC)
    for package in PACKAGES:
        for name in import_module(package).__all__:
            found.setdefault(name, package)
    return found


def _public(name: str) -> tuple[str, str]:
    """The name as it is written, and its module; a package may stand before it."""
    known = public_names()
    wanted = name.rsplit(".", 1)[-1]
    if wanted in known:
        return wanted, known[wanted]
    folded = {public.casefold(): public for public in known}
    if wanted.casefold() not in folded:
        raise KitchenError(f"There is nothing called {name!r}.{close_names(name, known)}")
    found = folded[wanted.casefold()]
    return found, known[found]


def _documentation(name: str, thing: Any) -> tuple[str, str]:
    """The docstring up to its sections, with the import a package needs, and the sections."""
    doc = inspect.getdoc(thing) or "" if callable(thing) else f"{name} = {thing!r:.200}"
    first = _SECTION.search(doc)
    summary, sections = (doc[: first.start()], doc[first.start() :]) if first else (doc, "")
    if name not in PUBLIC:
        summary = f"from {public_names()[name]} import {name}\n\n{summary}"
    return summary.strip(), sections.strip()


def _mentioned(name: str) -> str:
    """How much `textbook` would add."""
    titles = [entry.title for entry in ENTRIES.values() if name in entry.explains]
    errata = len(concerning(name))
    if not titles and not errata:
        return ""
    lines = [f"- {title}" for title in titles]
    if errata:
        lines.append(f"- {errata} {'erratum' if errata == 1 else 'errata'} of the printed pages")
    lines.append(f"`kg explain {name} --textbook` prints them.")
    return _heading("In the textbooks") + "\n\n" + "\n".join(lines)


def _textbook(name: str) -> list[str]:
    """The textbook versions of the method, and the errors of the printed pages."""
    parts = []
    for entry in ENTRIES.values():
        if name in entry.explains:
            where = "; ".join(_place(words) for words in entry.sources)
            parts += [_heading(f"Textbook version: {entry.title}"), where]
            parts.append(inspect.getsource(entry.function).rstrip())
    found = concerning(name)
    if found:
        parts.append(_heading("Errata of the printed pages"))
        parts += [_erratum(e) for e in found]
    return parts


def _erratum(found: Erratum) -> str:
    lines = [
        f"{_title(found.text)}, {found.where}",
        f"    Printed  {found.printed}",
        f"    Right    {found.right}",
    ]
    return "\n".join(_wrapped(line, 13) for line in lines)


def _place(words: str) -> str:
    """A place in a text, with the title of the text in place of its key."""
    key, _, place = words.partition(" ")
    if key not in TEXTS:
        return words
    return ", ".join(filter(None, [_title(key), place]))


def _title(text: str) -> str:
    """The title of a text without its authors."""
    return TEXTS[text].split(" (")[0]


def _call(name: str, thing: Any) -> str:
    """The signature without types, which the documentation below has."""
    if not callable(thing):
        return name
    signature = inspect.signature(thing)
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    bare = signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    return _wrapped(f"{name}{bare}", len(name) + 1)


def _wrapped(text: str, indent: int) -> str:
    """Lines of at most WIDTH, those after the first indented; words and names stay whole."""
    return textwrap.fill(
        text,
        WIDTH,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def _heading(text: str) -> str:
    return f"{text}\n{'-' * max(map(len, text.splitlines()))}"

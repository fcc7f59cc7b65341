"""A public name explained from the registry: objective, use, cost, textbook version."""

from __future__ import annotations

import inspect
import textwrap
from functools import cache
from importlib import import_module
from typing import Any

from kilogram.kitchen.errors import KitchenError, close_names
from kilogram.kitchen.explain.plain_formula import plain_formula
from kilogram.registry import PUBLIC, page_of
from kilogram.textbook import ENTRIES
from kilogram.textbook.errata import concerning

#: Packages whose public names are not attributes of `kilogram`.
PACKAGES = ("kilogram.evaluation", "kilogram.kernels", "kilogram.kitchen.features")
WIDTH = 96  # of a line: a terminal of 100 columns


def explained(name: str, *, textbook: bool = True) -> str:
    """The page of a public name as plain text."""
    name, module = _public(name)
    thing = getattr(import_module(module), name)
    parts = [_heading(_call(name, thing)), _documentation(name, thing)]
    page = page_of(name) if name in PUBLIC else None
    if page is not None:
        parts += [
            _heading(page.title),
            _wrapped(f"Objective   {plain_formula(page.objective)}", 12),
            _derivation(page.derivation),
            _wrapped(f"When        {page.when}", 12),
            _wrapped(f"Cost        {page.cost}", 12),
            _wrapped(f"Limits      {page.limits}", 12),
            "Texts       " + "\n            ".join(page.sources),
        ]
    if textbook:
        parts += _textbook(name)
    return "\n\n".join(part for part in parts if part) + "\n"


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


def _documentation(name: str, thing: Any) -> str:
    """Where a name of a package is imported from, and its docstring."""
    doc = inspect.getdoc(thing) or "" if callable(thing) else f"{name} = {thing!r:.200}"
    if name in PUBLIC:
        return doc
    return f"from {public_names()[name]} import {name}\n\n{doc}"


def _textbook(name: str) -> list[str]:
    """The textbook versions of the method, and the errors of the printed pages."""
    parts = []
    for entry in ENTRIES.values():
        if name in entry.explains:
            where = "; ".join(entry.sources)
            parts += [_heading(f"Textbook version: {entry.title}"), where]
            parts.append(inspect.getsource(entry.function))
    found = concerning(name)
    if found:
        parts.append(_heading("Errata of the printed pages"))
        parts += [_wrapped(f"{e.text} {e.where}: {e.printed}  Right: {e.right}", 4) for e in found]
    return parts


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

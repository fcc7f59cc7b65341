"""A public name explained from the registry: what it minimises, when to use it, how it is told."""

from __future__ import annotations

import inspect
from importlib import import_module

from kilogram.kitchen.errors import KitchenError, close_names
from kilogram.registry import PUBLIC, page_of
from kilogram.textbook import TELLINGS
from kilogram.textbook.errata import concerning


def explained(name: str, *, telling: bool = True) -> str:
    """The page of a public name as plain text."""
    name = _public(name)
    thing = getattr(import_module(PUBLIC[name]), name)
    parts = [_heading(f"{name}{inspect.signature(thing)}"), inspect.getdoc(thing) or ""]
    page = page_of(name)
    if page is not None:
        parts += [
            _heading(page.title),
            f"Objective   {page.objective}",
            f"When        {page.when}",
            f"Cost        {page.cost}",
            f"Limits      {page.limits}",
            "Texts       " + "\n            ".join(page.sources),
        ]
    if telling:
        parts += _tellings(name)
    return "\n\n".join(part for part in parts if part) + "\n"


def _public(name: str) -> str:
    folded = {public.casefold(): public for public in PUBLIC}
    if name.casefold() not in folded:
        raise KitchenError(f"There is nothing called {name!r}.{close_names(name, PUBLIC)}")
    return folded[name.casefold()]


def _tellings(name: str) -> list[str]:
    """The source of each telling that explains the name, and the errors of the printed pages."""
    parts = []
    for told in TELLINGS.values():
        if name in told.explains:
            where = "; ".join(told.sources)
            parts += [_heading(f"As the books tell it: {told.title}"), where]
            parts.append(inspect.getsource(told.function))
    found = concerning(name)
    if found:
        parts.append(_heading("What the printed pages get wrong"))
        parts += [f"{e.text} {e.where}: {e.printed}  Right: {e.right}" for e in found]
    return parts


def _heading(text: str) -> str:
    return f"{text}\n{'-' * min(len(text), 100)}"

"""The words of a page: objective, use, cost, limits, textbook code, errata, names.

The server shows the contents before anything that computes is imported.
"""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from typing import Any

from kilogram.book.errors import BookError
from kilogram.book.families import ENTRIES as FAMILY
from kilogram.errors import close_names
from kilogram.registry import PUBLIC, SLUGS, Page, pages
from kilogram.textbook.errata import TEXTS, concerning


def find_page(name: str) -> str:
    """The slug of a page from its slug, one of its estimators or one of its scenes."""
    wanted = _folded(name)
    for page in pages():
        if wanted in {_folded(page.slug), *map(_folded, page.names)}:
            return page.slug
    from kilogram.book.scene import scenes

    for scene in scenes().values():
        if wanted in {_folded(scene.id), _folded(scene.title)}:
            return scene.page
    known = [*SLUGS, *PUBLIC, *scenes()]
    raise BookError(f"The book has no page called {name!r}.{close_names(name, known)}")


def _folded(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


@cache
def contents() -> list[dict[str, Any]]:
    """The table of contents: every page, family by family."""
    order = list(FAMILY)
    return [
        {
            "slug": page.slug,
            "title": page.title,
            **vars(FAMILY[page.slug]),
            "names": list(page.names),
        }
        for page in sorted(pages(), key=lambda page: order.index(page.slug))
    ]


@cache
def page_content(slug: str) -> dict[str, Any]:
    """Everything on a page except what its scenes compute."""
    from kilogram.book.scene import scenes

    page = next((page for page in pages() if page.slug == slug), None)
    if page is None:
        raise BookError(f"The book has no page called {slug!r}.{close_names(slug, SLUGS)}")
    return {
        "slug": page.slug,
        "title": page.title,
        "short": FAMILY[page.slug].short,
        "objective": page.objective,
        "derivation": [list(step) for step in page.derivation],
        "when": page.when,
        "cost": page.cost,
        "limits": page.limits,
        "sources": [_source(words) for words in page.sources],
        "names": [_name(name) for name in page.names],
        "textbook": _textbook(page),
        "errata": _errata(page),
        "scenes": [s.description() for s in scenes().values() if s.page == slug],
    }


def _name(name: str) -> dict[str, str]:
    thing = getattr(import_module(PUBLIC[name]), name)
    first = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return {"name": name, "summary": " ".join(first.split())}


def _textbook(page: Page) -> list[dict[str, Any]]:
    """The textbook versions of the page's methods, and those its scenes run."""
    from kilogram.book.scene import scenes
    from kilogram.book.textbook_steps import code_of
    from kilogram.textbook import ENTRIES

    shown = {key for s in scenes().values() if s.page == page.slug for key in s.algorithms}
    return [
        {
            "key": key,
            "title": entry.title,
            "sources": [_source(words) for words in entry.sources],
            "code": code_of(key)[0],
        }
        for key, entry in ENTRIES.items()
        if set(entry.explains) & set(page.names) or key in shown
    ]


def _source(words: str) -> str:
    """A place in a text, with the title of the text in place of its key."""
    key, _, place = words.partition(" ")
    if key not in TEXTS:
        return words
    return f"{TEXTS[key].split(' (')[0]}, {place}" if place else TEXTS[key].split(" (")[0]


def _errata(page: Page) -> list[dict[str, str]]:
    found = {erratum.id: erratum for name in page.names for erratum in concerning(name)}
    return [
        {
            "id": erratum.id,
            "text": TEXTS[erratum.text],
            "where": erratum.where,
            "printed": erratum.printed,
            "right": erratum.right,
            "why": erratum.why,
        }
        for erratum in found.values()
    ]

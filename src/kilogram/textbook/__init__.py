"""The algorithms as the books tell them: short generators in plain NumPy, and the books' errata.

`run(pca(X, 2))` follows a telling to its end; iterating over it shows every step. `TELLINGS` lists
them all with the pages they stand beside and the estimators they explain: `tellings/<module>.toml`
describes the generators of `<module>.py`. `errata` lists the errors of the printed pages, each with
the test that shows it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files

from kilogram.textbook.state import State, Telling, begin, run


@dataclass(frozen=True)
class Page:
    """One telling: the generator, its title, where the texts tell it, what it explains."""

    function: Callable[..., Telling]
    title: str
    sources: tuple[str, ...]
    explains: tuple[str, ...]


def _told() -> dict[str, Page]:
    """Every telling of the room, module by module."""
    told: dict[str, Page] = {}
    tables = (files("kilogram.textbook") / "tellings").iterdir()
    for table in sorted(tables, key=lambda file: file.name):
        module = import_module(f"kilogram.textbook.{table.name.removesuffix('.toml')}")
        for name, entry in tomllib.loads(table.read_text("utf-8")).items():
            if name in told:
                raise ValueError(f"two tellings are called {name!r}: one would hide the other")
            function = getattr(module, entry["function"])
            told[name] = Page(
                function, entry["title"], tuple(entry["sources"]), tuple(entry["explains"])
            )
    return told


TELLINGS: dict[str, Page] = _told()

__all__ = ["TELLINGS", "Page", "State", "Telling", "begin", "run"]

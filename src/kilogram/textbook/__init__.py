"""The algorithms as the texts print them: short generators in plain NumPy, and the texts' errata.

`run(pca(X, 2))` runs a textbook version to its end; iterating over it shows every step. `ENTRIES`
lists them all with their sources and the estimators they explain: `entries/<module>.toml`
describes the generators of `<module>.py`. `errata` lists the errors of the printed pages, each with
the test that shows it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from kilogram.textbook.state import State, States, begin, run


@dataclass(frozen=True)
class Entry:
    """One textbook version: the generator, its title, its sources, the estimators it explains."""

    function: Callable[..., States]
    title: str
    sources: tuple[str, ...]
    explains: tuple[str, ...]


def _read_entries() -> dict[str, Entry]:
    """Every textbook version, module by module."""
    entries: dict[str, Entry] = {}
    tables = (files("kilogram.textbook") / "entries").iterdir()
    for table in sorted(tables, key=lambda file: file.name):
        module = import_module(f"kilogram.textbook.{table.name.removesuffix('.toml')}")
        for name, entry in tomllib.loads(table.read_text("utf-8")).items():
            if name in entries:
                raise ValueError(f"two textbook versions are called {name!r}")
            function = getattr(module, entry["function"])
            entries[name] = Entry(
                function, entry["title"], tuple(entry["sources"]), tuple(entry["explains"])
            )
    return entries


if TYPE_CHECKING:
    ENTRIES: dict[str, Entry]


def __getattr__(name: str) -> Any:
    """`ENTRIES` when it is first asked for: who reads the errata waits for no algorithm."""
    if name != "ENTRIES":
        raise AttributeError(f"module 'kilogram.textbook' has no attribute {name!r}")
    found = globals()["ENTRIES"] = _read_entries()
    return found


__all__ = ["ENTRIES", "Entry", "State", "States", "begin", "run"]

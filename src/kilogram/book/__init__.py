"""The live book behind `kg book`: every method of the registry as a page with its fits shown live.

A page is made from the registry, the textbook versions and the errata (`content`); its scenes
(`scenes/`) run the real estimators and the textbook generators and return a `Recording`: panels
made of layers, and frames that replay the algorithm. A browser draws it; `export` writes files.
"""

from typing import Any

__all__ = ["page"]


def __getattr__(name: str) -> Any:
    if name == "page":
        from kilogram.book.notebook import page

        return page
    raise AttributeError(f"module 'kilogram.book' has no attribute {name!r}")

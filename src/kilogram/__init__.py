"""Kilogram: classical machine learning as the best textbooks teach it, built to be relied on.

Every public name is loaded on first use, so `import kilogram` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kilogram.registry import PUBLIC

__version__ = "0.1.0"
__all__ = sorted(PUBLIC)


def __getattr__(name: str) -> Any:
    if name in PUBLIC:
        value = getattr(import_module(PUBLIC[name]), name)
        globals()[name] = value
        return value
    if name == "book":  # kg.book.page shows a page in a notebook
        return import_module("kilogram.book")
    raise AttributeError(f"module 'kilogram' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})

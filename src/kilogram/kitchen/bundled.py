"""The table that comes with Kilogram, for a first run without data of one's own."""

from __future__ import annotations

from pathlib import Path

BUNDLED = Path(__file__).parent / "data" / "penguins.csv"
BUNDLED_TARGET = "Body Mass (g)"


def is_bundled(path: str | Path | None) -> bool:
    """Is it the path of the bundled table?"""
    return path is not None and Path(path) == BUNDLED

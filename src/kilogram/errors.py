"""Errors for the user, and the names that may be meant."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path


class UserError(ValueError):
    """Something the user can mend: `kg` shows its sentence without a traceback."""


def readable(path: str | Path) -> str:
    """A path as text that any file may hold: bytes in it that are no UTF-8 are shown as U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def close_names(name: str, names: Iterable[str]) -> str:
    """' Did you mean ...?' with the names most like `name`, or the first few names there are."""
    known = [str(known) for known in names]
    folded = {known_name.casefold().strip(): known_name for known_name in known}
    found = difflib.get_close_matches(name.casefold().strip(), folded, n=3, cutoff=0.6)
    if not found:  # a part of the name is a hint too: "mass" for "Body Mass (g)"
        found = [low for low in folded if name.casefold().strip() and name.casefold() in low][:3]
    if found:
        return " Did you mean " + " or ".join(repr(folded[low]) for low in found) + "?"
    return " Available: " + quoted(known) + "."


def quoted(names: Iterable[str], most: int = 8) -> str:
    """Up to `most` quoted names, and how many more there are."""
    listed = [repr(str(name)) for name in names]
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more

"""Errors for the user: one sentence on what is wrong, one on what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class KitchenError(ValueError):
    """A table, a target, a file or a setting that cannot be used."""


class CannotWriteError(KitchenError):
    """A folder that cannot be written to, or a full disk."""


def close_names(name: str, names: Iterable[str]) -> str:
    """' Did you mean ...?' with the names most like `name`, or the first few names there are."""
    known = [str(known) for known in names]
    folded = {known_name.casefold().strip(): known_name for known_name in known}
    found = difflib.get_close_matches(name.casefold().strip(), folded, n=3, cutoff=0.6)
    if not found:  # a part of the name is a hint too: "mass" for "Body Mass (g)"
        found = [low for low in folded if name.casefold().strip() and name.casefold() in low][:3]
    if found:
        return " Did you mean " + " or ".join(repr(folded[low]) for low in found) + "?"
    return " Available: " + some(known) + "."


def lacking(lost: list[str], names: Iterable[str], needed: Iterable[str]) -> str:
    """What a table lacks, and which of its columns, not `needed` as they are, may be meant."""
    wanted = set(needed)
    spare = [name for name in names if name not in wanted]
    hint = close_names(lost[0], spare) if spare else ""
    hint = hint if "Did you mean" in hint else ""
    return f"The table lacks the column{'s' * (len(lost) > 1)} {some(lost)}.{hint}"


def some(names: Iterable[str], most: int = 8) -> str:
    """Up to `most` quoted names, and how many more there are."""
    listed = [repr(str(name)) for name in names]
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more

"""Kinds of columns that were said rather than found, from the command line or from Python."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kilogram.kitchen.columns import Kind
from kilogram.kitchen.errors import KitchenError


@dataclass(frozen=True)
class Told:
    """Kinds that were said rather than found; `ordinal` maps a column to its levels in order."""

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    image: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ordinal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group: str | None = None
    time: str | None = None

    def kinds(self) -> dict[str, Kind]:
        """Column -> kind; a column said to be two things is an error."""
        said: dict[str, Kind] = {}
        for kind, names in self._lists():
            for name in names:
                if said.get(name, kind) != kind:
                    raise KitchenError(
                        f"Column {name!r} cannot be {said[name]} and {kind} at once."
                    )
                said[name] = kind
        return said

    def _lists(self) -> list[tuple[Kind, Collection[str]]]:
        return [
            ("numeric", self.numeric), ("categorical", self.categorical), ("text", self.text),
            ("date", self.date), ("image", self.image), ("identifier", self.ignore),
            ("ordinal", self.ordinal), ("group", () if self.group is None else (self.group,)),
            ("time", () if self.time is None else (self.time,)),
        ]  # fmt: skip


def orders(said: Iterable[str] | Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Levels by column from `{"size": ["S", "M", "L"]}` or from `["size=S,M,L"]`."""
    if isinstance(said, Mapping):
        return {name: tuple(str(level) for level in levels) for name, levels in said.items()}
    found = {}
    for text in said:
        name, equals, levels = text.partition("=")
        if not equals or "," not in levels:
            raise KitchenError(
                f"Say an order as COLUMN=LOWEST,...,HIGHEST, such as size=S,M,L, not {text!r}."
            )
        found[name] = tuple(level.strip() for level in levels.split(","))
    return found

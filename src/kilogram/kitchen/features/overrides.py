"""Column types that were given rather than detected."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.features.columns import Kind


@dataclass(frozen=True)
class ColumnOverrides:
    """Given column types; `ordinal` maps a column to its levels in order."""

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    image: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ordinal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group: str | None = None
    time: str | None = None

    @classmethod
    def of(
        cls,
        ordinal: Iterable[str] | Mapping[str, Iterable[str]] = (),
        group: str | None = None,
        time: str | None = None,
        **columns: Iterable[str],
    ) -> ColumnOverrides:
        """From lists of names by type, and the levels of ordinal columns as `orders` takes them."""
        lists = {kind: tuple(names) for kind, names in columns.items()}
        return cls(**lists, ordinal=orders(ordinal), group=group, time=time)

    def kinds(self) -> dict[str, Kind]:
        """Column -> type; two types for one column are an error."""
        given: dict[str, Kind] = {}
        for kind, names in self._lists():
            for name in names:
                if given.get(name, kind) != kind:
                    raise KitchenError(
                        f"Column {name!r} was given as both {given[name]} and {kind}."
                    )
                given[name] = kind
        return given

    def _lists(self) -> list[tuple[Kind, Collection[str]]]:
        return [
            ("numeric", self.numeric), ("categorical", self.categorical), ("text", self.text),
            ("date", self.date), ("image", self.image), ("identifier", self.ignore),
            ("ordinal", self.ordinal), ("group", () if self.group is None else (self.group,)),
            ("time", () if self.time is None else (self.time,)),
        ]  # fmt: skip


def order_texts(given: Iterable[str] | Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Ordered levels as texts such as "size=S,M,L"."""
    return tuple(f"{name}={','.join(levels)}" for name, levels in orders(given).items())


def orders(given: Iterable[str] | Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Levels by column from `{"size": ["S", "M", "L"]}` or from `["size=S,M,L"]`."""
    if isinstance(given, Mapping):
        return {name: tuple(str(level) for level in levels) for name, levels in given.items()}
    found = {}
    for text in given:
        name, equals, levels = text.partition("=")
        if not equals or "," not in levels:
            raise KitchenError(
                f"An order must be COLUMN=LOWEST,...,HIGHEST, such as size=S,M,L, got {text!r}."
            )
        found[name] = tuple(level.strip() for level in levels.split(","))
    return found

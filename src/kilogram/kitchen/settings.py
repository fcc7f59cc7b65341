"""How it is cooked; with the same table and settings the same numbers come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from kilogram.kitchen.audit.finding import check_codes
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.question import Task
from kilogram.kitchen.told import Told, orders

MAX_ROWS = 50_000
Method = Literal["path", "grid", "random", "coarse", "bayes", "halving"]
KEPT = ("baseline", "linear", "kernel", "trees")


@dataclass(frozen=True)
class Settings:
    """The choices of one run; `ordinal` holds texts such as "size=S,M,L"."""

    task: Task | None = None
    measure: str | None = None
    folds: int = 5
    repeats: int | None = None
    seed: int = 0
    max_time: float | None = 600.0
    max_rows: int = MAX_ROWS
    keep: str | None = None
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ordinal: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    image: tuple[str, ...] = ()
    group: str | None = None
    time: str | None = None
    accept: tuple[str, ...] = ()
    drop_duplicates: bool = False
    examples: bool = True
    search: Method = "halving"

    @property
    def told(self) -> Told:
        """The kinds of columns that were said."""
        return Told(self.numeric, self.categorical, self.text, self.date, self.image, self.ignore,
                    orders(self.ordinal), self.group, self.time)  # fmt: skip


def check(settings: Settings) -> None:
    """Refuse settings that mean nothing."""
    if settings.folds < 2:
        raise KitchenError(f"Cross-validation needs at least 2 folds, got {settings.folds}.")
    if settings.repeats is not None and settings.repeats < 1:
        raise KitchenError(f"repeats must be 1 or more, got {settings.repeats}.")
    if settings.max_time is not None and not settings.max_time > 0:
        raise KitchenError(f"The time limit must be more than 0 s, got {settings.max_time}.")
    if settings.max_rows < 20:
        raise KitchenError(f"max_rows must be 20 or more, got {settings.max_rows}.")
    if settings.keep not in (None, *KEPT):
        raise KitchenError(
            f"The recipe to keep is {', '.join(KEPT[:-1])} or {KEPT[-1]}, not {settings.keep!r}."
        )
    if settings.search not in get_args(Method):
        raise KitchenError(
            f"The search is one of {', '.join(get_args(Method))}, not {settings.search!r}."
        )
    if settings.group and settings.time:
        raise KitchenError("Folds are cut between groups or along time, not both: say one of them.")
    check_codes(settings.accept)

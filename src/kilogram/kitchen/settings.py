"""The settings of one run; the same table and settings give the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from kilogram.kitchen.audit.finding import check_codes
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.features.overrides import ColumnOverrides, orders
from kilogram.kitchen.question import Task

MAX_ROWS = 50_000
SearchMethod = Literal["path", "grid", "random", "coarse", "bayes", "halving"]
# Recipes by name, simplest first; those of the default menu are linear, kernel, trees and their
# ensemble.
RECIPES = ("naive_bayes", "lasso", "elastic_net", "poisson", "huber", "linear", "logistic", "knn",
           "svm", "kernel", "trees", "boosting", "ensemble")  # fmt: skip
KEPT = ("baseline", *RECIPES)


@dataclass(frozen=True)
class Settings:
    """The settings of one run; `ordinal` holds texts such as "size=S,M,L"."""

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
    search: SearchMethod = "halving"
    recipes: tuple[str, ...] = ()
    outer_folds: int | None = None

    @property
    def overrides(self) -> ColumnOverrides:
        """The column types that were given."""
        return ColumnOverrides(
            self.numeric,
            self.categorical,
            self.text,
            self.date,
            self.image,
            self.ignore,
            orders(self.ordinal),
            self.group,
            self.time,
        )


def check(settings: Settings) -> None:
    """An error for settings out of range."""
    if settings.folds < 2:
        raise KitchenError(f"folds must be an integer of at least 2, got {settings.folds}.")
    if settings.repeats is not None and settings.repeats < 1:
        raise KitchenError(f"repeats must be a positive integer, got {settings.repeats}.")
    if settings.max_time is not None and not settings.max_time > 0:
        raise KitchenError(
            f"max_time must be a positive number of seconds, got {settings.max_time}."
        )
    if settings.max_rows < 20:
        raise KitchenError(f"max_rows must be an integer of at least 20, got {settings.max_rows}.")
    if settings.keep not in (None, *KEPT):
        raise KitchenError(f"keep must be one of {', '.join(KEPT)}, got {settings.keep!r}.")
    unknown = [name for name in settings.recipes if name not in RECIPES]
    if unknown:
        raise KitchenError(f"recipes must be among {', '.join(RECIPES)}, got {', '.join(unknown)}.")
    if "ensemble" in settings.recipes and len(settings.recipes) < 3:
        raise KitchenError(
            "An ensemble needs at least two other recipes, such as --recipes linear,trees,ensemble."
        )
    if settings.outer_folds is not None and settings.outer_folds < 2:
        raise KitchenError(
            f"outer_folds must be an integer of at least 2, got {settings.outer_folds}."
        )
    if settings.search not in get_args(SearchMethod):
        raise KitchenError(
            f"search must be one of {', '.join(get_args(SearchMethod))}, got {settings.search!r}."
        )
    if settings.group and settings.time:
        raise KitchenError(
            "group and time cannot be used together: folds are split by one of them."
        )
    check_codes(settings.accept)

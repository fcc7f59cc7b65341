"""The settings of one run; the same table and settings give the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from kilogram.base.constraints import Constraint, Integer, Null, OneOf, Real
from kilogram.kitchen.audit.finding import check_codes
from kilogram.kitchen.errors import KitchenError, check_setting
from kilogram.kitchen.features.overrides import ColumnOverrides, orders
from kilogram.kitchen.question import TaskName

MAX_ROWS = 50_000  # the exact methods take minutes beyond, K has 20 GB; `--max-rows` raises it
SearchMethod = Literal["path", "grid", "random", "coarse", "bayes", "halving"]
# Recipes by name, simplest first; `recipes.menu` has the default menu.
RECIPES = ("naive_bayes", "lasso", "elastic_net", "poisson", "huber", "ordinal", "linear",
           "logistic", "knn", "svm", "kernel", "network", "trees", "boosting",
           "ensemble")  # fmt: skip
KEPT = ("baseline", *RECIPES)
#: Seconds; infinity and None are no limit.
TIME_LIMIT = Real(0, closed="right") | Null()
CONSTRAINTS: dict[str, Constraint] = {
    "folds": Integer(2),
    "repeats": Integer(1) | Null(),
    "max_time": TIME_LIMIT,
    "max_rows": Integer(20),
    "keep": OneOf(*KEPT) | Null(),
    "outer_folds": Integer(2) | Null(),
    "search": OneOf(*get_args(SearchMethod)),
}


@dataclass(frozen=True)
class Settings:
    """The settings of one run; `ordinal` holds texts such as "size=S,M,L", `cost` a cost matrix.

    `stopped_at` repeats what a time limit left: for a recipe the settings that its search tried in
    each outer fold and at last on all rows, 0 where it tried all; for evidence how far it went.
    """

    task: TaskName | None = None
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
    cost: Any = None
    stopped_at: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def overrides(self, target: str) -> ColumnOverrides:
        """The types of columns that were given; an order of the target is none of them."""
        levels = {name: found for name, found in orders(self.ordinal).items() if name != target}
        return ColumnOverrides.of(
            levels, self.group, self.time,
            numeric=self.numeric, categorical=self.categorical, text=self.text,
            date=self.date, image=self.image, ignore=self.ignore,
        )  # fmt: skip


def check(settings: Settings) -> None:
    """An error for settings out of range."""
    for name, constraint in CONSTRAINTS.items():
        check_setting(name, getattr(settings, name), constraint)
    for name in settings.recipes:
        check_setting("recipes", name, OneOf(*RECIPES))
    if "ensemble" in settings.recipes and len(settings.recipes) < 3:
        raise KitchenError(
            "An ensemble needs at least two other recipes, such as --recipes linear,trees,ensemble."
        )
    if settings.group and settings.time:
        raise KitchenError(
            "group and time cannot be used together: folds are split by one of them."
        )
    check_codes(settings.accept)

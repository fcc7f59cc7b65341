"""The default menu: which recipes suit a table, and why.

    ordinal          ordered classes
    linear, kernel   always: their difference measures the non-linear dependence
    lasso            numbers, more than a third as many columns as rows
    poisson          counts
    logistic         classes
    trees, boosting  columns to split, and not too many
    ensemble         of those that are better than the baseline

The choice follows from the shape of the table and the kind of the target alone, so that it does not
depend on the speed of the machine; `kg choose` shows it and `kg cook` follows it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kilogram.kitchen.features.columns import Kind, Layout
from kilogram.kitchen.measures import ORDERED, Measure

PLAIN: tuple[Kind, ...] = ("numeric", "ordinal", "categorical", "date", "time")
# Columns times classes: boosting grows a tree per class and scans all columns for every split. Our
# choice.
MAX_TREE_WORK = 3000
# Cells (times the logarithm of the rows) that a forest sorts; boosting bins them once.
MAX_FOREST_CELLS = 2_000_000
MANY_CLASSES = 30  # With more classes a round of boosting grows more trees than a forest of 30 has.
# Rows times columns times classes of Newton's method on all classes at once: our choice.
MAX_LOGISTIC_WORK = 20_000_000
WIDE = 1 / 3  # From so many columns a row on, most of them are likely to be of no use: our choice.
# Counts are small: the distribution of large ones is as good as continuous (a Poisson deviation of
# 10 % at 100).
MAX_COUNT = 100
# The mean of a count is what these measures ask for.
OF_MEANS = ("r2", "root_mean_squared_error", "poisson_deviance")


@dataclass(frozen=True)
class MenuEntry:
    """A recipe of the default menu, and the reason why it is on it or not."""

    name: str
    why: str
    used: bool = True


def default_menu(
    layout: Layout, measure: Measure, y: np.ndarray, *, along: bool = False
) -> tuple[MenuEntry, ...]:
    """The recipes for a table, those left out with the reason; simplest first.

    `along` is true where rows are grouped or ordered in time, which some methods' own folds ignore.
    """
    numbers = measure.task == "regression"
    rows, plain = len(y), len(layout.positions(*PLAIN))
    words = bool(layout.positions("text", "image"))
    classes = 1 if numbers else len(np.unique(y))
    found = []
    if numbers and not words and not along and plain > WIDE * rows:
        found.append(MenuEntry("lasso", f"{plain} columns for {rows:,} rows: few may be needed"))
    if numbers and not words and measure.name in OF_MEANS and are_counts(y):
        found.append(MenuEntry("poisson", "the target is a count"))
    if measure.name in ORDERED and not along:
        found.append(MenuEntry("ordinal", "the classes are ordered"))
    found.append(MenuEntry("linear", "the simplest, and what the others are compared with"))
    if not numbers and not along:
        work = rows * plain * classes
        ok = work <= MAX_LOGISTIC_WORK and classes <= MANY_CLASSES and not words
        why = "with so many columns and classes it would take too long"
        found.append(MenuEntry("logistic", "probabilities of classes" if ok else why, ok))
    found.append(MenuEntry("kernel", "shows whether the dependence is non-linear"))
    if plain:
        splits = plain * (classes if classes > 2 else 1)
        few = splits <= MAX_TREE_WORK
        small = few and rows * plain <= MAX_FOREST_CELLS
        slow = "with so many {} it would take too long"
        found.append(MenuEntry("trees", "jumps and thresholds" if small else
                               slow.format("cells" if few else "columns"), small))  # fmt: skip
        both = few and classes <= MANY_CLASSES
        found.append(MenuEntry("boosting", "jumps, thresholds and sums of them" if both else
                               slow.format("columns" if not few else "classes"), both))  # fmt: skip
    found.append(MenuEntry("ensemble", "of those better than the baseline"))
    return tuple(found)


def are_counts(y: np.ndarray) -> bool:
    """Small non-negative integers with small values among them."""
    whole = np.min(y) >= 0 and bool(np.all(y == np.round(y)))
    return bool(whole and np.max(y) <= MAX_COUNT and np.mean(y <= 10) > 0.1 and np.var(y) > 0)

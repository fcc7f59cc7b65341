"""The recipes that are compared: from the raw (n, d) array of a layout to predictions.

    columns   preprocessed by `kilogram.kitchen.features`
    baseline  the mean of the target, or its most frequent class
    linear    ridge regression on these features (classes as indicator targets)
    kernel    the same objective with a Gaussian kernel
    trees     a random forest
    boosting  gradient boosted trees

and methods of the library by name (`library_models`); which of them are compared unless some are
asked for is decided in `menu`. Linear and kernel recipe differ in the kernel alone, so their
difference measures the non-linear dependence. Only text is treated differently: the linear recipe
takes all its terms, the kernel version their leading components. Everything is fitted inside the
folds.

The preprocessing (scale, terms, weights) and whether the logarithm of the target is fitted are
searched together with the parameters of the models, by the method of `SearchSettings`; "path" keeps
the default preprocessing and tunes penalty and kernel width alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from kilogram.evaluation.search import Search
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.features import FeatureSettings, featurise, featurise_for_trees, grid, start
from kilogram.kitchen.features.columns import Layout
from kilogram.kitchen.features.transform_cache import TransformCache
from kilogram.kitchen.measures import BALANCED, ORDERED, Measure
from kilogram.kitchen.recipes.library_models import LIBRARY, library_pipeline
from kilogram.kitchen.recipes.menu import default_menu
from kilogram.kitchen.recipes.ridge_search import RidgeSearchClassifier, RidgeSearchRegressor
from kilogram.kitchen.recipes.tree_search import (
    TreeSearchClassifier,
    TreeSearchRegressor,
    tuning_margin,
)
from kilogram.kitchen.settings import KEPT, SearchMethod

# Preprocessing settings that a search tries; each costs one tuned fit, or a part of it.
TRIALS = 9
# Of the documents or images, for kernels: usual for latent semantic analysis, 100 to 300.
COMPONENTS = 200
# Recipes that can predict a quantile.
QUANTILE_RECIPES = ("linear", "boosting", "ensemble")
SHORT = 1000  # rows up to which a search of all settings is quick anyway
# Halving starts with a ninth of the rows, and the learning curve with an eighth of them: fewer rows
# of a class than this may leave none.
FEW_OF_CLASS = 216
# Another preprocessing than the default must be better by this part of a standard error.
MARGIN = 0.3
# A target whose 5 % and 95 % quantiles differ by more than this ratio may be fitted by its log: an
# order of magnitude.
SPREAD = 10.0
# Rows times classes that a fold of the kernel version takes a second for; it may take so many times
# the part of the time limit that one search is given.
KERNEL_CELLS_PER_SECOND, SLOWEST = 200_000, 4
# With more characters of text, counting character n-grams takes minutes.
MANY_LETTERS = 4_000_000


# What tuning minimises; other measures of numbers by squared errors.
LOSSES = {"mean_absolute_error": "absolute", "median_absolute_error": "absolute",
          "mean_absolute_percentage_error": "relative"}  # fmt: skip


@dataclass(frozen=True)
class SearchSettings:
    """How parameters are searched: method, seed, seconds for one search, characters of text.

    `wanted` names the recipes to compare; none: the default menu. `along` is true where rows are
    grouped or ordered in time.
    """

    method: SearchMethod = "halving"
    seed: int = 0
    max_time: float | None = None
    letters: int = 0
    wanted: tuple[str, ...] = ()
    along: bool = False


@dataclass(frozen=True)
class Recipe:
    """A name, a description, and the unfitted pipeline, or the search for one.

    `tuned_by` is the measure of its tuning where that is another than recipes are compared by.
    """

    name: str
    title: str
    about: str
    pipeline: Any
    tuned_by: str | None = None


def recipes(
    layout: Layout, measure: Measure, y: np.ndarray, search: SearchSettings | None = None
) -> tuple[Recipe, ...]:
    """Baseline and the default menu, or the recipes that are wanted, simplest first."""
    search = search or SearchSettings()
    if measure.quantile is not None:
        return _quantile_recipes(layout, measure, measure.quantile, y, search)
    menu = default_menu(layout, measure, y, along=search.along)
    names = search.wanted or tuple(one.name for one in menu if one.used)
    if not search.wanted and kernel_too_slow(measure, y, search):
        names = tuple(name for name in names if name != "kernel")
    shared = TransformCache()
    found = {}
    for name in names:
        if name in ("linear", "kernel"):
            found[name] = _of_ridge(name, layout, measure, y, search, shared)
        elif name == "trees" or (name == "boosting" and measure.name != "poisson_deviance"):
            found[name] = _of_trees(name, layout, measure, search)
        elif name in LIBRARY:
            found[name] = _of_library(name, layout, measure, y, search)
    ordered = (found[name] for name in KEPT if name in found)
    return (_baseline(measure), *ordered)


def kernel_too_slow(measure: Measure, y: np.ndarray, search: SearchSettings) -> bool:
    """Has the kernel version too many rows and classes for the time limit, by a rule of thumb?"""
    if measure.task == "regression" or search.max_time is None:
        return False
    return len(y) * len(np.unique(y)) > KERNEL_CELLS_PER_SECOND * SLOWEST * search.max_time


def _baseline(measure: Measure) -> Recipe:
    numbers = measure.task == "regression"
    dummy = DummyRegressor() if numbers else DummyClassifier(strategy="prior")
    constant = "the mean" if numbers else "the most frequent class"
    if measure.costs:
        constant = "the class of least expected cost"
    return Recipe("baseline", "Baseline", f"Always predicts {constant}.",
                  Pipeline([("model", dummy)]))  # fmt: skip


def _of_ridge(
    name: str, layout: Layout, measure: Measure, y: np.ndarray, search: SearchSettings,
    shared: TransformCache,
) -> Recipe:  # fmt: skip
    """Ridge regression, or its kernel version."""
    kind = "Ridge regression"
    if measure.task == "classification":
        kind += " on class indicators"
        if len(np.unique(y)) > 2:
            kind += "; class by the largest value or by Fisher's discriminant rule"
    if name == "kernel":
        return Recipe("kernel", "Kernel version",
                      f"{kind} with a Gaussian kernel; penalty and width by {_tuned_by(layout)}.",
                      _ridge("gaussian", layout, measure, y, search, shared))  # fmt: skip
    by = "a validation set" if layout.positions("text") else _tuned_by(layout)
    return Recipe("linear", "Linear", f"{kind}; penalty by {by}.",
                  _ridge("linear", layout, measure, y, search, shared))  # fmt: skip


def _tuned_by(layout: Layout) -> str:
    """What the ridge recipes leave out to tune themselves."""
    kinds = {column.kind for column in layout.columns}
    if "time" in kinds:
        return "folds of later rows"
    return "folds of other groups" if "group" in kinds else "leave-one-out"


def _quantile_recipes(
    layout: Layout, measure: Measure, q: float, y: np.ndarray, search: SearchSettings
) -> tuple[Recipe, ...]:
    """Linear regression and boosting of a quantile, and the quantile of the target itself."""
    odd = [name for name in search.wanted if name not in QUANTILE_RECIPES]
    if odd:
        raise KitchenError(
            f"The recipe {odd[0]} has no quantiles; use some of {', '.join(QUANTILE_RECIPES)}."
        )
    constant = DummyRegressor(strategy="quantile", quantile=q)
    found = [Recipe("baseline", "Baseline", f"Always predicts the {q:g} quantile.",
                    Pipeline([("model", constant)]))]  # fmt: skip
    columns = featurise(layout, len(y), FeatureSettings(components=COMPONENTS))
    titles = {"linear": ("Linear", "Linear regression of the quantile; penalty is searched."),
            "boosting": ("Boosting", "Gradient boosted trees for the quantile; parameters are "
                         "searched.")}  # fmt: skip
    for name, (title, about) in titles.items():
        if not search.wanted or name in search.wanted:
            pipeline = library_pipeline(name, columns, featurise_for_trees(layout), measure, y,
                                        search.seed, search.method, search.max_time)  # fmt: skip
            found.append(Recipe(name, title, about, pipeline))
    return tuple(found)


def _of_library(
    name: str, layout: Layout, measure: Measure, y: np.ndarray, search: SearchSettings
) -> Recipe:
    """A recipe of a method of the library that was asked for by name."""
    title, about, tasks = LIBRARY[name]
    if measure.task not in tasks:
        suited = [n for n, (_, _, kinds) in LIBRARY.items() if measure.task in kinds]
        raise KitchenError(
            f"The recipe {name} is for {tasks[0]}, not for {measure.task}; use some of "
            f"{', '.join(('linear', 'kernel', 'trees', 'boosting', *suited))}."
        )
    if name == "ordinal" and measure.name not in ORDERED:
        raise KitchenError("The recipe ordinal is for ordered classes: use --task ordinal.")
    if name == "poisson" and np.min(y) < 0:
        raise KitchenError("The recipe poisson needs a non-negative target.")
    columns = featurise(layout, len(y), FeatureSettings(components=COMPONENTS))
    return Recipe(name, title, about, library_pipeline(
        name, columns, featurise_for_trees(layout), measure, y, search.seed, search.method,
        search.max_time,
    ))  # fmt: skip


def left_out(layout: Layout, measure: Measure, y: np.ndarray, search: SearchSettings) -> list[str]:
    """Notes on recipes that are left out, and on terms that are not counted."""
    notes = []
    if search.letters > MANY_LETTERS:
        notes.append("Text was split into words only: with so much text, character n-grams would "
                     "take too long.")  # fmt: skip
    if search.wanted or measure.quantile is not None:
        return notes
    menu = default_menu(layout, measure, y, along=search.along)
    if kernel_too_slow(measure, y, search):
        notes.append("The recipe 'Kernel version' was left out: with so many rows and classes it "
                     "is too slow for the time limit.")  # fmt: skip
    return [*notes, *(f"The {one.name} recipe was left out: {one.why}."
                      for one in menu if not one.used)]  # fmt: skip


def letters(layout: Layout, X: np.ndarray) -> int:
    """Number of characters in the text columns."""
    return sum(len(cell) for k in layout.positions("text") for cell in X[:, k])


def _ridge(
    kernel: str,
    layout: Layout,
    measure: Measure,
    y: np.ndarray,
    search: SearchSettings,
    shared: TransformCache,
) -> Any:
    """The linear or kernel pipeline, inside a search of its preprocessing."""
    numbers, rows = measure.task == "regression", len(y)
    sparse = kernel == "linear" and bool(layout.positions("text"))
    plan = FeatureSettings(components=None if sparse else COMPONENTS)
    parameters: dict[str, Any] = {"random_state": search.seed}
    if kernel == "gaussian":
        parameters["n_landmarks"] = landmarks(rows)
    if numbers:
        model: Any = RidgeSearchRegressor(kernel, loss=LOSSES.get(measure.name, "squared"),
                                          **parameters)  # fmt: skip
    else:
        balanced = measure.name in BALANCED
        model = RidgeSearchClassifier(kernel, balanced=balanced, costs=measure.costs, **parameters)
    steps = [("columns", featurise(layout, rows, plan)), ("model", model)]
    pipeline = Pipeline(steps, memory=shared)
    if search.method == "path":
        return pipeline
    space = grid(layout, sparse=sparse)
    drop = ("circles", "counts__analyzer") if search.letters > MANY_LETTERS else ("circles",)
    space = {name: values for name, values in space.items() if not name.endswith(drop)}
    first = {name: value for name, value in start(layout, plan).items() if name in space}
    if numbers and _spans_magnitudes(y):
        space["model__log_target"] = [False, True]
        first["model__log_target"] = False
    if not space:
        return pipeline
    method = search.method
    # with few rows, halving them decides nothing; random search covers a short list
    if method == "halving" and (rows <= SHORT or _smallest_class(y, measure) < FEW_OF_CLASS):
        method = "random"
    scoring = "r2" if numbers else "cost" if measure.costs else "accuracy"
    return Search(pipeline, space, method=method, n_iter=TRIALS, cv="own", start=(first,),
                  margin=partial(tuning_margin, rows=rows, factor=MARGIN, scoring=scoring),
                  max_time=search.max_time,
                  random_state=search.seed)  # fmt: skip


def _of_trees(name: str, layout: Layout, measure: Measure, search: SearchSettings) -> Recipe:
    """A random forest, or gradient boosted trees."""
    # few rows favour small trees: halving would drop the large ones too early
    method = "random" if search.method in ("path", "halving") else search.method
    parameters: dict[str, Any] = {
        "kind": "forest" if name == "trees" else "boosting", "method": method,
        "max_time": search.max_time, "random_state": search.seed,
    }  # fmt: skip
    if search.method == "path":
        parameters["trials"] = 1
    model: Any
    if measure.task == "regression":
        loss = "absolute" if LOSSES.get(measure.name) else "squared"
        model = TreeSearchRegressor(loss=loss, **parameters)
    else:
        model = TreeSearchClassifier(balanced=measure.name in BALANCED, costs=measure.costs,
                                     **parameters)  # fmt: skip
    pipeline = Pipeline([("columns", featurise_for_trees(layout)), ("model", model)])
    if name == "trees":
        return Recipe("trees", "Forest", "A random forest; the size of the leaves is tuned.",
                      pipeline)  # fmt: skip
    by_loss = measure.task == "classification" and measure.name not in BALANCED
    return Recipe("boosting", "Boosting", "Gradient boosted trees; parameters tuned.", pipeline,
                  "log_loss" if by_loss else None)  # fmt: skip


def _smallest_class(y: np.ndarray, measure: Measure) -> float:
    """Rows of the smallest class; no limit for numbers."""
    if measure.task == "regression":
        return np.inf
    return int(np.unique(y, return_counts=True)[1].min())


def _spans_magnitudes(y: np.ndarray) -> bool:
    """Is the target positive and spread over orders of magnitude?"""
    low, high = np.quantile(y, [0.05, 0.95])
    return bool(np.min(y) > 0 and high > SPREAD * low)


def fitted_pipeline(model: BaseEstimator) -> Pipeline:
    """The fitted pipeline of a recipe: the best one of a search."""
    found = model.best_estimator_ if isinstance(model, Search) else model
    return found.set_params(memory=None)


def landmarks(rows: int) -> int:
    """Nystroem features for a table of so many rows: fewer for longer tables, to bound the time."""
    return 600 if rows <= 20_000 else 400

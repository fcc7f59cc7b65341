"""The recipes that are cooked side by side, from the raw (n, d) array of a layout to an answer.

    columns   made into numbers by `kilogram.kitchen.featurise`
    baseline  the mean of the target, or its most frequent class
    linear    ridge regression on these columns (classes as indicators, read by Fisher's rule)
    kernel    the same objective with a Gaussian kernel
    trees     a forest or boosted trees, where there are columns to cut

Linear and kernel differ in the kernel alone, so their difference measures one thing: how much
non-linear structure there is to use. Only text is seen differently: the linear recipe takes all
its terms, the kernel twin their leading components. Everything is fitted inside the folds.

How columns are made into numbers (scale, terms, weights) and whether the logarithm of the target is
fitted is searched together with the models' own parameters, by the method of `Hunt`; "path" keeps
the usual columns and tunes penalty and width alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from kilogram.evaluation.search import Search
from kilogram.kitchen.columns import Layout
from kilogram.kitchen.featurise import Plan, featurise, featurise_for_trees, grid, start
from kilogram.kitchen.featurise.shared import Shared
from kilogram.kitchen.measures import Measure
from kilogram.kitchen.search import TwinSearchClassifier, TwinSearchRegressor
from kilogram.kitchen.settings import Method
from kilogram.kitchen.trees import TreesSearchClassifier, TreesSearchRegressor

# Settings of the columns that a search tries; each costs one tuned fit, or a part of it.
TRIALS = 9
COMPONENTS = 200
SHORT = 1000
# Other columns than the usual ones must be better by this over the root of the rows.
MARGIN = 0.3
# A target whose middle nine tenths span more than this ratio may do better by its logarithm.
SPREAD = 10.0
# Boosting makes a tree per class and looks at all columns for every split.
MAX_TREE_WORK = 3000
# Of so many letters of text, terms of characters take minutes to count.
MANY_LETTERS = 4_000_000


@dataclass(frozen=True)
class Hunt:
    """How parameters are searched: method, seed, seconds for one search, letters of all text."""

    method: Method = "halving"
    seed: int = 0
    max_time: float | None = None
    letters: int = 0


@dataclass(frozen=True)
class Recipe:
    """A name, a sentence about it, and the unfitted pipeline, or the search for one."""

    name: str
    title: str
    about: str
    pipeline: Any


def recipes(
    layout: Layout, measure: Measure, y: np.ndarray, hunt: Hunt | None = None
) -> tuple[Recipe, ...]:
    """Baseline, linear, kernel and trees, simplest first."""
    hunt = hunt or Hunt()
    numbers = measure.task == "regression"
    dummy = DummyRegressor() if numbers else DummyClassifier(strategy="most_frequent")
    answer = "the mean" if numbers else "the most frequent class"
    kind = "Ridge regression" if numbers else "Ridge regression on the classes"
    if not numbers and len(np.unique(y)) > 2:
        kind += ", read by the largest value or Fisher's rule"
    by = "leave-one-out" if not layout.positions("text") else "rows kept aside"
    shared = Shared()
    found = [
        Recipe("baseline", "Baseline", f"Always answers {answer}.", Pipeline([("model", dummy)])),
        Recipe(
            "linear",
            "Linear",
            f"{kind}; penalty by {by}.",
            _twin("linear", layout, measure, y, hunt, shared),
        ),
        Recipe(
            "kernel",
            "Kernel twin",
            f"{kind} with a Gaussian kernel; penalty and width by leave-one-out.",
            _twin("gaussian", layout, measure, y, hunt, shared),
        ),
    ]
    if trees_serve(layout, measure, y):
        found.append(Recipe("trees", "Trees", "A forest; boosted trees for more than 3,000 rows, "
                            "the better of both from 1,000 on; their settings searched.",
                            _trees(layout, measure, hunt)))  # fmt: skip
    return tuple(found)


def left_out(menu: tuple[Recipe, ...], layout: Layout, letters: int = 0) -> list[str]:
    """What to say of recipes that are not on the menu, and of terms that are not counted."""
    said = []
    if letters > MANY_LETTERS:
        said.append("Text was taken in words alone: of so much text, terms of characters would "
                    "take too long.")  # fmt: skip
    plain = layout.positions("numeric", "ordinal", "categorical", "date", "time")
    if not plain or any(recipe.name == "trees" for recipe in menu):
        return said
    return [*said, "Trees were left out: so many columns would take them too long."]


def letters(layout: Layout, X: np.ndarray) -> int:
    """How many letters the text columns of the cells hold."""
    return sum(len(cell) for k in layout.positions("text") for cell in X[:, k])


def trees_serve(layout: Layout, measure: Measure, y: np.ndarray) -> bool:
    """Are there columns worth cutting, and not too many of them for all classes?"""
    plain = len(layout.positions("numeric", "ordinal", "categorical", "date", "time"))
    classes = 1 if measure.task == "regression" else len(np.unique(y))
    return 0 < plain * (classes if classes > 2 else 1) <= MAX_TREE_WORK


def _twin(
    kernel: str, layout: Layout, measure: Measure, y: np.ndarray, hunt: Hunt, shared: Shared
) -> Any:
    """The pipeline of one of the twins, inside a search of its columns."""
    numbers, rows = measure.task == "regression", len(y)
    sparse = kernel == "linear" and bool(layout.positions("text"))
    plan = Plan(components=None if sparse else COMPONENTS)
    said: dict[str, Any] = {"random_state": hunt.seed}
    if kernel == "gaussian":
        said["n_landmarks"] = landmarks(rows)
    if numbers:
        model: Any = TwinSearchRegressor(kernel, **said)
    else:
        balanced = measure.name == "balanced_accuracy"
        model = TwinSearchClassifier(kernel, balanced=balanced, **said)
    steps = [("columns", featurise(layout, rows, plan)), ("model", model)]
    pipeline = Pipeline(steps, memory=shared)
    if hunt.method == "path":
        return pipeline
    space = grid(layout, sparse=sparse)
    drop = ("circles", "counts__analyzer") if hunt.letters > MANY_LETTERS else ("circles",)
    space = {name: values for name, values in space.items() if not name.endswith(drop)}
    first = {name: value for name, value in start(layout, plan).items() if name in space}
    if numbers and _spread(y):
        space["model__log_target"] = [False, True]
        first["model__log_target"] = False
    if not space:
        return pipeline
    # with few rows, fewer of them tell nothing, and a small gain is luck; of a short list, random
    # draws are all there is
    method = "random" if hunt.method == "halving" and rows <= SHORT else hunt.method
    return Search(pipeline, space, method=method, n_iter=TRIALS, cv="own", start=(first,),
                  margin=MARGIN / np.sqrt(rows), max_time=hunt.max_time,
                  random_state=hunt.seed)  # fmt: skip


def _trees(layout: Layout, measure: Measure, hunt: Hunt) -> Pipeline:
    # few rows favour small trees: halving would leave out the large ones before they can tell
    method = "random" if hunt.method in ("path", "halving") else hunt.method
    said: dict[str, Any] = {"method": method, "max_time": hunt.max_time,
                            "random_state": hunt.seed}  # fmt: skip
    model: Any
    if measure.task == "regression":
        model = TreesSearchRegressor(**said)
    else:
        balanced = measure.name == "balanced_accuracy"
        model = TreesSearchClassifier(balanced=balanced, **said)
    return Pipeline([("columns", featurise_for_trees(layout)), ("model", model)])


def _spread(y: np.ndarray) -> bool:
    """Is the target positive, and its ends so far apart that ratios may matter more than gaps?"""
    low, high = np.quantile(y, [0.05, 0.95])
    return bool(np.min(y) > 0 and high > SPREAD * low)


def delivered(model: Any) -> Pipeline:
    """The fitted pipeline that a recipe comes to: what a search found best, and nothing beside."""
    found = model.best_estimator_ if isinstance(model, Search) else model
    return found.set_params(memory=None)


def landmarks(rows: int) -> int:
    """Nystroem features for a table of so many rows: fewer for longer tables, to bound the time."""
    return 600 if rows <= 20_000 else 400

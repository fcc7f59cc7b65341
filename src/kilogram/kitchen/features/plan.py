"""The settings of the preprocessing, the transformer they make, and the search space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from kilogram.kitchen.features.columns import WORDS, Layout
from kilogram.kitchen.features.dates import DateParts
from kilogram.kitchen.features.images import HOG, NetworkFeatures
from kilogram.kitchen.features.numbers import ColumnScaler, FloatColumns
from kilogram.kitchen.features.text import DenseComponents, TermCounts, TermWeights

# A category needs this many rows, or this fraction of them, for a column of its own.
RARE_ROWS, RARE_FRACTION = 3, 0.005
MAX_ENCODED = 4000  # indicator columns in all: bounds a linear fit, 128 MB of normal equations


@dataclass(frozen=True)
class FeatureSettings:
    """How each kind of column is turned into numbers.

    `components` None leaves text sparse, for models that take it so; `network` replaces HOG;
    `reach` clips numbers far outside the training range, but not dates.
    """

    scale: str = "standard"
    reach: float | None = 0.5
    indicators: bool = True
    circles: bool = True
    analyzer: str = "word"
    n: int = 2
    max_terms: int = 50_000
    min_documents: int = 2
    buckets: int | None = None
    weights: str = "sublinear"
    components: int | None = 100
    size: int = 64
    cell: int = 8
    network: Callable[..., Any] | None = None


def featurise(layout: Layout, rows: int, plan: FeatureSettings | None = None) -> ColumnTransformer:
    """The columns of a layout made fit for a model: scaled, nothing missing; for about `rows` rows.

    Dense unless `plan.components` is None and there is text.
    """
    plan = plan or FeatureSettings()
    steps: list[tuple[str, Any, Any]] = []
    mixed = bool(layout.positions(*WORDS))
    for name, kinds in (("numbers", ("numeric", "ordinal")), ("dates", ("date", "time"))):
        places = layout.positions(*kinds)  # type: ignore[arg-type]
        if places:
            steps.append((name, _numbers(plan, mixed, name == "dates"), places))
    words = layout.positions("categorical")
    if words:
        encode: Any = _one_hot(len(words), rows)
        cast = [("cells", FloatColumns())] if mixed else []
        steps.append(("words", Pipeline([*cast, ("encode", encode)]), words))
    for k in layout.positions("text"):
        steps.append((f"text {layout.used[k].name}", _text(plan), k))
    for k in layout.positions("image"):
        steps.append((f"image {layout.used[k].name}", _image(plan), k))
    if not steps:
        raise ValueError("The layout has no column to make features of.")
    # text that is to stay sparse does so in every fold, however many terms its documents share
    sparse = plan.components is None and bool(layout.positions("text"))
    return ColumnTransformer(steps, sparse_threshold=1.0 if sparse else 0.3)


def featurise_for_trees(layout: Layout, plan: FeatureSettings | None = None) -> ColumnTransformer:
    """The columns as trees take them: nothing scaled, gaps left, words as the codes they are."""
    plan = plan or FeatureSettings()
    mixed = bool(layout.positions(*WORDS))
    steps: list[tuple[str, Any, Any]] = []
    plain = layout.positions("numeric", "ordinal", "categorical")
    if plain:
        steps.append(("numbers", FloatColumns(), plain))
    dates = layout.positions("date", "time")
    if dates:
        cast = [("cells", FloatColumns())] if mixed else []
        steps.append(("dates", Pipeline([*cast, ("parts", DateParts(circles=False))]), dates))
    for k in layout.positions("text"):
        steps.append((f"text {layout.used[k].name}", _text(plan), k))
    for k in layout.positions("image"):
        steps.append((f"image {layout.used[k].name}", _image(plan), k))
    return ColumnTransformer(steps)


def _numbers(plan: FeatureSettings, mixed: bool, dates: bool) -> Pipeline:
    fill = SimpleImputer(strategy="median", add_indicator=plan.indicators, keep_empty_features=True)
    steps: list[tuple[str, Any]] = [("cells", FloatColumns())] if mixed else []
    steps += [("parts", DateParts(plan.circles))] if dates else []
    return Pipeline(
        [
            *steps,
            ("fill", fill),
            ("scale", ColumnScaler(plan.scale, reach=None if dates else plan.reach)),
        ]
    )


def _one_hot(columns: int, rows: int) -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=max(RARE_ROWS, int(RARE_FRACTION * rows)),
        max_categories=max(4, min(50, MAX_ENCODED // max(1, columns))),
        sparse_output=False,
    )


def _text(plan: FeatureSettings) -> Pipeline:
    counts = TermCounts(plan.analyzer, plan.n, max_terms=plan.max_terms,
                        min_documents=plan.min_documents, buckets=plan.buckets)  # fmt: skip
    steps = [("counts", counts), ("weights", TermWeights(plan.weights))]
    if plan.components is not None:
        steps.append(("dense", DenseComponents(plan.components)))
    return Pipeline(steps)


def _image(plan: FeatureSettings) -> Pipeline:
    extract: Any = HOG(plan.size, plan.cell)
    if plan.network is not None:
        extract = NetworkFeatures(plan.network, plan.size)
    return Pipeline([("extract", extract), ("dense", DenseComponents(plan.components or 100))])


def grid(
    layout: Layout, prefix: str = "columns__", *, sparse: bool = False
) -> dict[str, list[Any]]:
    """Parameters of the extractors worth trying for a layout, named as in a Pipeline whose step
    `columns` is the transformer of `featurise`; each is an axis of its own. `sparse`: text is
    not compressed.
    """
    found: dict[str, list[Any]] = {}
    if layout.positions("numeric", "ordinal"):
        found[f"{prefix}numbers__scale__kind"] = ["standard", "rank", "log"]
    if layout.positions("date", "time"):
        found[f"{prefix}dates__parts__circles"] = [True, False]
    for k in layout.positions("text"):
        step = f"{prefix}text {layout.used[k].name}__"
        found[f"{step}counts__analyzer"] = ["word", "char_wb"]
        found[f"{step}counts__n"] = [1, 2, 3, 5]
        found[f"{step}weights__formula"] = ["sublinear", "smooth", "plain", "binary", "counts"]
        if not sparse:
            found[f"{step}dense__n_components"] = [50, 100, 300]
    for k in layout.positions("image"):
        step = f"{prefix}image {layout.used[k].name}__"
        found[f"{step}extract__cell"] = [4, 8, 16]
        found[f"{step}dense__n_components"] = [50, 100, 300]
    return found


def start(layout: Layout, plan: FeatureSettings, prefix: str = "columns__") -> dict[str, Any]:
    """The place of a plan on the axes of `grid`."""
    at = {"scale__kind": plan.scale, "circles": plan.circles, "analyzer": plan.analyzer,
          "counts__n": plan.n, "formula": plan.weights, "n_components": plan.components or 100,
          "cell": plan.cell}  # fmt: skip
    return {
        name: next(value for end, value in at.items() if name.endswith(end))
        for name in grid(layout, prefix)
    }

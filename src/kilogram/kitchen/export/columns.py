"""The columns of a table and the parts that make numbers of them, as ONNX; in double precision.

inputs    numeric, date: double (dates as days since 1970); words: string, missing ones empty
text      string, missing ones empty
words     string -> number of its level, -1 for a new one, NaN for a missing one
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer

from kilogram.kitchen.export.graph import ML, Graph, no_graph
from kilogram.kitchen.export.text import is_text, text_features
from kilogram.kitchen.features import ColumnScaler, DateParts, FloatColumns
from kilogram.kitchen.features.columns import NEW_LEVEL, Column, Layout

DOUBLE = np.float64
# scikit-learn's: so near to an end a value counts as the end.
_AT_END = 1e-7


def cells(g: Graph, layout: Layout) -> str:
    """All used columns as one (n, d) double array, as `Layout.array` makes it; text as zeros."""
    parts = [_column(g, column, place) for place, column in enumerate(layout.used)]
    return g.add("Concat", *parts, axis=1)


def _column(g: Graph, column: Column, place: int) -> str:
    if column.kind == "image":
        raise no_graph(f"The image column {column.name!r}", "pictures are read by Python")
    if column.kind == "text":
        g.texts[place] = g.input(column.name, "string")
        nothing = g.add("LabelEncoder", g.texts[place], domain=ML, keys_strings=[""],
                        values_floats=[0.0], default_float=0.0)  # fmt: skip
        return g.cast(nothing, DOUBLE)
    if not column.levels:
        return g.input(column.name, "double")
    ordinal = column.kind == "ordinal"
    first = 1.0 if ordinal else 0.0
    code = g.add(
        "LabelEncoder", g.input(column.name, "string"), domain=ML,
        keys_strings=[*column.levels, ""],
        values_floats=[*(first + k for k in range(len(column.levels))), float("nan")],
        default_float=float("nan") if ordinal else NEW_LEVEL,
    )  # fmt: skip
    code = g.cast(code, DOUBLE)
    # r of R levels is r / R, divided in double: what is compared with a cut must not be rounded
    return g.add("Div", code, g.constant([len(column.levels)], DOUBLE)) if ordinal else code


def features(g: Graph, transformer: ColumnTransformer, x: str) -> str:
    """Graph of a fitted ColumnTransformer: its features of the cells."""
    parts = []
    for name, part, places in transformer.transformers_:
        if name == "remainder":
            continue
        places = [places] if np.isscalar(places) else list(places)
        if is_text(part):
            parts.append(text_features(g, part, g.texts[places[0]]))
            continue
        parts.append(transformed(g, part, g.take(x, places), len(places)))
    return parts[0] if len(parts) == 1 else g.add("Concat", *parts, axis=1)


def transformed(g: Graph, part: Any, x: str, width: int) -> str:
    """Graph of one fitted transformer applied to x."""
    if isinstance(part, Pipeline):
        for step in part:
            x = transformed(g, step, x, width)
        return x
    for kind, write in _PARTS.items():
        if isinstance(part, kind):
            return write(g, part, x)
    raise no_graph(part)


def _identity(g: Graph, part: Any, x: str) -> str:
    return x


def _dates(g: Graph, part: DateParts, x: str) -> str:
    found = []
    for k, periods in enumerate(part.periods_):
        days = g.take(x, [k])
        found.append(days)
        for period in periods:
            turn = g.add("Mul", days, g.constant([2.0 * np.pi / period], DOUBLE))
            found += [g.add("Sin", turn), g.add("Cos", turn)]
    return g.add("Concat", *found, axis=1)


def _filled(g: Graph, part: SimpleImputer, x: str) -> str:
    gap = g.add("IsNaN", x)
    filled = g.add("Where", gap, g.constant(part.statistics_[None, :], DOUBLE), x)
    if part.indicator_ is None or not len(part.indicator_.features_):
        return filled
    marks = g.cast(g.add("IsNaN", g.take(x, part.indicator_.features_)), DOUBLE)
    return g.add("Concat", filled, marks, axis=1)


def _scaled(g: Graph, part: ColumnScaler, x: str) -> str:
    if part.ends_ is not None:
        low, high = (g.constant(end[None, :], DOUBLE) for end in part.ends_)
        x = g.add("Min", g.add("Max", x, low), high)
    if part.shift_ is not None:
        moved = g.add("Add", x, g.constant(part.shift_[None, :], DOUBLE))
        x = g.add("Log", g.add("Max", moved, g.constant([1.0], DOUBLE)))
    scaler = part.scaler_
    if scaler is None:
        return x
    if isinstance(scaler, QuantileTransformer):
        return _ranks(g, scaler, x)
    if part.kind == "minmax":
        factor, offset = scaler.scale_, scaler.min_
    elif part.kind == "whiten":
        W = scaler.components_.T / np.sqrt(scaler.explained_variance_)
        away = g.add("Sub", x, g.constant(scaler.mean_[None, :], DOUBLE))
        return g.add("MatMul", away, g.constant(W, DOUBLE))
    else:
        factor, offset = 1.0 / scaler.scale_, -scaler.mean_ / scaler.scale_
    grown = g.add("Mul", x, g.constant(factor[None, :], DOUBLE))
    return g.add("Add", grown, g.constant(offset[None, :], DOUBLE))


def _ranks(g: Graph, scaler: QuantileTransformer, x: str) -> str:
    """Fractions of the rows below, column by column: the mean of both sides where values repeat."""
    found = []
    for k in range(scaler.quantiles_.shape[1]):
        found.append(_rank(g, g.take(x, [k]), scaler.quantiles_[:, k], scaler.references_))
    return g.add("Concat", *found, axis=1)


def _rank(g: Graph, x: str, q: np.ndarray, fractions: np.ndarray) -> str:
    last = len(q) - 1
    row = g.constant(q[None, :], DOUBLE)
    below = g.cast(g.add("GreaterOrEqual", x, row), np.int64)
    left = g.add("Sub", g.total(below), g.constant([1], np.int64))
    right = g.total(g.cast(g.add("Greater", x, row), np.int64))
    high = _interpolated(g, x, left, q, fractions)
    low = _interpolated(g, x, g.add("Sub", right, g.constant([1], np.int64)), q, fractions)
    middle = g.add("Mul", g.add("Add", high, low), g.constant([0.5], DOUBLE))
    at_end = g.add("Greater", x, g.constant([q[last] - _AT_END], DOUBLE))
    at_start = g.add("Less", x, g.constant([q[0] + _AT_END], DOUBLE))
    one, zero = g.constant([1.0], DOUBLE), g.constant([0.0], DOUBLE)
    return g.add("Where", at_start, zero, g.add("Where", at_end, one, middle))


def _interpolated(g: Graph, x: str, place: str, q: np.ndarray, fractions: np.ndarray) -> str:
    """The line from one quantile to the next at x."""
    most = g.constant(max(len(q) - 2, 0), np.int64)
    place = g.add("Clip", place, g.constant(0, np.int64), most)
    gaps = np.diff(q) if len(q) > 1 else np.ones(1)
    slope = np.where(gaps > 0, np.diff(fractions) / np.where(gaps > 0, gaps, 1.0), 0.0)
    at, fraction, tilt = (
        g.add("Gather", g.constant(values, DOUBLE), place) for values in (q, fractions, slope)
    )
    return g.add("Add", fraction, g.add("Mul", tilt, g.add("Sub", x, at)))


def _one_hot(g: Graph, part: OneHotEncoder, x: str) -> str:
    rare = getattr(part, "infrequent_categories_", [None] * len(part.categories_))
    blocks = []
    for k, (levels, few) in enumerate(zip(part.categories_, rare, strict=True)):
        blocks.append(_indicators(g, g.take(x, [k]), levels, few))
    return blocks[0] if len(blocks) == 1 else g.add("Concat", *blocks, axis=1)


def _indicators(g: Graph, x: str, levels: np.ndarray, few: Any) -> str:
    """A column per frequent level and one for the rare ones, where new ones go too."""
    levels = np.asarray(levels, dtype=float)
    few = np.empty(0) if few is None else np.asarray(few, dtype=float)
    is_rare = np.array([np.any((few == v) | (np.isnan(few) & np.isnan(v))) for v in levels])
    columns = int(np.sum(~is_rare)) + bool(len(few))
    table = np.zeros((len(levels), columns))
    table[np.flatnonzero(~is_rare), np.arange(int(np.sum(~is_rare)))] = 1.0
    if len(few):
        table[is_rare, -1] = 1.0
    order = np.argsort(np.isnan(levels), kind="stable")  # the missing one, if any, last
    levels, table = levels[order], table[order]
    known = levels[~np.isnan(levels)]
    hit = g.cast(g.add("Equal", x, g.constant(known[None, :], DOUBLE)), DOUBLE)
    if len(known) < len(levels):
        hit = g.add("Concat", hit, g.cast(g.add("IsNaN", x), DOUBLE), axis=1)
    out = g.add("MatMul", hit, g.constant(table, DOUBLE))
    if not len(few):
        return out
    new = np.zeros((1, columns))
    new[0, -1] = 1.0
    missed = g.add("Sub", g.constant([1.0], DOUBLE), g.total(hit))
    return g.add("Add", out, g.add("Mul", missed, g.constant(new, DOUBLE)))


_PARTS: dict[type, Callable[[Graph, Any, str], str]] = {
    FloatColumns: _identity,
    DateParts: _dates,
    SimpleImputer: _filled,
    ColumnScaler: _scaled,
    OneHotEncoder: _one_hot,
}

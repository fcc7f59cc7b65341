"""Costs of predicting one class where another is observed, and the decision of least expected cost.

    C[i, j]    cost of predicting class j for a row of class i
    class      argmin_j  sum_i P(i | x) C[i, j]

With C = 1 off the diagonal that is the most probable class. For ordered classes |i - j| gives the
median of the predicted distribution and (i - j)^2 the class nearest to its mean.

Reference: C. Elkan, The foundations of cost-sensitive learning, IJCAI 2001.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator

from kilogram.evaluation.probability_scaling import as_columns, fit_scaling
from kilogram.kitchen.errors import KitchenError, quoted
from kilogram.kitchen.features.columns import as_text, plain
from kilogram.kitchen.read.table import read_table

Costs = tuple[tuple[float, ...], ...]
_FORMS = (
    "two numbers for two classes (false alarm and miss of the rarer one: 1,5), a matrix with a row "
    "for each observed class and a column for each predicted one (0,1,5;1,0,2;5,2,0), or a file of "
    "that matrix with the names of the classes"
)


def least_cost(P: np.ndarray, costs: Any) -> np.ndarray:
    """(n,) positions of the classes of least expected cost for (n, classes) probabilities."""
    return np.argmin(P @ np.asarray(costs, dtype=float), axis=1)


def mean_cost(y: np.ndarray, f: np.ndarray, costs: Any) -> float:
    """Mean cost of predicting the classes f where y are observed."""
    return float(np.mean(np.asarray(costs, dtype=float)[y, f]))


def steps(classes: int, power: int) -> Costs:
    """|i - j| to this power: the costs of ordered classes."""
    place = np.arange(classes)
    return as_costs(np.abs(place[:, None] - place).astype(float) ** power)


def as_costs(C: np.ndarray) -> Costs:
    """A matrix as plain numbers."""
    return tuple(tuple(float(value) for value in row) for row in C)


@dataclass(frozen=True)
class CostScore:
    """A scorer: the mean cost of the decisions for rows kept aside, negated.

    Decision values become probabilities by the scale that suits those rows.
    """

    costs: Costs

    def __call__(self, model: BaseEstimator, X: Any, y: Any) -> float:
        C = np.asarray(self.costs)
        known = np.asarray(model.classes_, dtype=int)
        F = as_columns(_decision_values(model, X))
        y = np.asarray(y, dtype=int)
        seen = np.isin(y, known)
        P = np.zeros((len(y), len(C)))
        if seen.any():
            scaling = fit_scaling(F[seen], np.searchsorted(known, y[seen]))
            P[:, known] = scaling.probabilities(F)
        return -mean_cost(y, least_cost(P, C), C)


def _decision_values(model: BaseEstimator, X: Any) -> np.ndarray:
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    return np.log(np.maximum(model.predict_proba(X), 1e-3))  # no class is ruled out


def read_costs(given: Any, classes: tuple[str, ...], rare: int) -> Costs:
    """The costs of these classes, from a text, a file, a data frame, a mapping or a matrix.

    `rare` is the position of the rarer of two classes, which "1,5" is about.
    """
    if isinstance(given, str | Path):
        text = str(given)
        C = _literal(text, classes, rare)
        if C is None:
            C = _named(read_table(text).data, classes)
    elif isinstance(given, Mapping):
        C = _from_mapping(given, classes)
    elif hasattr(given, "columns") or hasattr(given, "column_names"):
        C = _from_frame(given, classes)
    else:
        C = _matrix(given)
    return _checked(C, classes)


def as_literal(costs: Costs) -> str:
    """The text that `read_costs` takes."""
    return ";".join(",".join(f"{value:g}" if float(f"{value:g}") == value else repr(value)
                             for value in row) for row in costs)  # fmt: skip


def _literal(text: str, classes: tuple[str, ...], rare: int) -> np.ndarray | None:
    """A matrix written as numbers; None for anything else, such as the name of a file."""
    try:
        rows = [[float(cell) for cell in row.split(",")] for row in text.split(";")]
    except ValueError:
        if Path(text).exists() or not any(mark in text for mark in ",;"):
            return None
        raise KitchenError(f"cost must be {_FORMS}, got {text!r}.") from None
    if len(rows) == 1 and len(rows[0]) == 2:
        return _two(rows[0], classes, rare)
    return _matrix(rows)


def _two(pair: Sequence[float], classes: tuple[str, ...], rare: int) -> np.ndarray:
    if len(classes) != 2:
        raise KitchenError(
            f"Two costs are for two classes; there are {len(classes)}: {quoted(classes, 8)}. Give "
            "a matrix: a row for each observed class, a column for each predicted one."
        )
    C = np.zeros((2, 2))
    C[1 - rare, rare], C[rare, 1 - rare] = pair
    return C


def _matrix(rows: Any) -> np.ndarray:
    try:
        C = np.array(rows, dtype=float)
    except (TypeError, ValueError):
        raise KitchenError(f"cost must be {_FORMS}.") from None
    if C.ndim != 2 or C.shape[0] != C.shape[1]:
        shape = " x ".join(map(str, C.shape)) or "one number"
        raise KitchenError(f"A cost matrix must be square, got {shape}.")
    return C


def _from_mapping(given: Mapping[Any, Mapping[Any, float]], classes: tuple[str, ...]) -> np.ndarray:
    """Observed class -> predicted class -> cost; what is right and not given costs nothing."""
    C = np.full((len(classes), len(classes)), np.nan)
    np.fill_diagonal(C, 0.0)
    place = {name: k for k, name in enumerate(classes)}
    for observed, row in given.items():
        for predicted, value in row.items():
            C[_place(observed, place), _place(predicted, place)] = float(value)
    if np.isnan(C).any():
        i, j = np.argwhere(np.isnan(C))[0]
        raise KitchenError(
            f"The costs lack that of predicting {classes[j]!r} where {classes[i]!r} is observed."
        )
    return C


def _place(name: Any, place: dict[str, int]) -> int:
    if str(name) not in place:
        raise KitchenError(f"The costs name {str(name)!r}, which is none of the classes "
                           f"{quoted(list(place), 8)}.")  # fmt: skip
    return place[str(name)]


def _from_frame(frame: Any, classes: tuple[str, ...]) -> np.ndarray:
    """A data frame: rows are observed classes by their index, or by the first column."""
    if hasattr(frame, "index") and hasattr(frame, "to_dict"):
        named = {str(name) for name in frame.index} == set(classes)
        return _from_mapping(frame.to_dict("index"), classes) if named else _named(
            read_table(frame).data, classes)  # fmt: skip
    return _named(read_table(frame).data, classes)


def _named(data: pa.Table, classes: tuple[str, ...]) -> np.ndarray:
    """A table whose first column names observed classes and whose header names predicted ones."""
    first, *names = data.column_names
    observed = as_text(plain(data.column(first))).to_pylist()
    try:
        values = [data.column(name).to_pylist() for name in names]
        given = {str(row): {name: float(values[k][i]) for k, name in enumerate(names)}
                 for i, row in enumerate(observed)}  # fmt: skip
    except (TypeError, ValueError):
        raise KitchenError("The cells of a table of costs must be numbers.") from None
    return _from_mapping(given, classes)


def _checked(C: np.ndarray, classes: tuple[str, ...]) -> Costs:
    if len(C) != len(classes):
        raise KitchenError(
            f"The costs are those of {len(C)} classes; the target has {len(classes)}: "
            f"{quoted(classes, 8)}."
        )
    if not np.all(np.isfinite(C)) or C.min() < 0:
        raise KitchenError(
            "Costs must be non-negative numbers. To use gains, subtract them from the largest of "
            "their row: that changes no decision."
        )
    wrong = np.flatnonzero(np.diag(C) > C.min(axis=1))
    if len(wrong):
        raise KitchenError(
            f"The right class must cost least: predicting {classes[wrong[0]]!r} where it is "
            "observed costs more than another class. Rows are observed classes, columns predicted "
            "ones."
        )
    if np.all(np.ptp(C, axis=1) == 0):
        raise KitchenError("All predictions cost the same: there is nothing to decide.")
    return as_costs(C)

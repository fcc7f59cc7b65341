"""A model explained on a table: permutation importance, partial dependence, nearest training rows.

With the target in the table, importance is the loss of score; without, the change of the
predictions. Without a table, the example rows in the model file are used; they are training rows,
so the score on them is optimistic, which a note reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kilogram.base.budget import Budget
from kilogram.base.constraints import Integer
from kilogram.kitchen.artifact.example_rows import stored_examples
from kilogram.kitchen.artifact.model import Model, measure_of
from kilogram.kitchen.artifact.model_file import load_model
from kilogram.kitchen.artifact.partial_dependence import dependence
from kilogram.kitchen.artifact.responses import predicted, responses
from kilogram.kitchen.errors import KitchenError, check_setting, quoted
from kilogram.kitchen.explain.explanation import Example, Explanation
from kilogram.kitchen.explain.importance import importance
from kilogram.kitchen.explain.nearest import Neighbour, nearest
from kilogram.kitchen.features.columns import as_floats, as_text, plain
from kilogram.kitchen.measures import of_predictions
from kilogram.kitchen.read.table import read_table


def explain_model(
    model: Model | str | Path,
    table: Any = None,
    *,
    rows: Sequence[int] = (),
    training: Any = None,
    top: int = 6,
    neighbours: int = 4,
    shuffles: int = 10,
    max_rows: int = 1000,
    max_time: float | None = 120.0,
    seed: int = 0,
    **how: Any,
) -> Explanation:
    """Explain a model: permutation importance, partial dependence, nearest training rows.

    Parameters
    ----------
    model : Model, or path of a model file
    table : path or data frame, default=None
        Rows to explain the model on, preferably new ones with the target. None takes the example
        rows of the model file.
    rows : sequence of int, default=()
        Rows of the table to show with their neighbours, counted from 0; by default three.
    training : path or data frame, default=None
        The training table, to find neighbours in all of it.
    top : int, default=6
        Number of partial dependence plots.
    neighbours, shuffles, max_rows, seed : int
    max_time : float, default=120
        Time limit for the importance in seconds; in wide tables promising columns come first.
    **how
        How a file is read: delimiter, encoding, sheet, max_memory.
    """
    for name, count, least in (
        ("top", top, 0), ("neighbours", neighbours, 0), ("shuffles", shuffles, 1),
        ("max_rows", max_rows, 2),
    ):  # fmt: skip
        check_setting(name, count, Integer(least))
    found = model if isinstance(model, Model) else load_model(model)
    rng, budget = np.random.default_rng(seed), Budget(max_time=max_time)
    X, y, name, notes = _cells(found, table, how)
    chosen = _checked(rows, len(X))
    usable = np.arange(len(X)) if y is None else np.flatnonzero(np.isfinite(y))
    few = np.sort(rng.permutation(usable)[:max_rows])
    if len(few) < len(usable):
        notes.append(f"The plots use a random sample of {len(few):,} of {len(usable):,} rows.")
    truth = None if y is None else y[few].astype(int if found.classes else float)
    matters = importance(found, X[few], truth, shuffles=shuffles, rng=rng, budget=budget)
    drawn = [dependence(found, X[few], k) for k in matters.columns[:top]]
    shown = [one for one in drawn if one is not None]
    examples, more = _examples(found, X, y, chosen, training, neighbours, how)
    score = None
    if truth is not None:
        score = float(of_predictions(measure_of(found)).function(truth, predicted(found, X[few])))
    return Explanation(
        found, name, len(X), score, matters, tuple(shown), tuple(examples), (*notes, *more)
    )


def _cells(
    model: Model, table: Any, how: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray | None, str, list[str]]:
    """Cells, truth if there is one, name and notes of the rows to explain on."""
    if table is None:
        held = stored_examples(model.use)
        if held is None:
            raise KitchenError(
                "The model file has no example rows: give a table to explain the model on."
            )
        seen = "These are training rows: the score on them is optimistic."
        return held[0], held[1], "example rows of the model file", [seen]
    read = read_table(table, header=model.header, written=model.about.get("written"), **how)
    folder = Path(read.path).parent if read.path else None
    X, notes = model.layout.array(read.data, folder), list(read.notes)
    if len(X) < 2:
        raise KitchenError("A column of one row cannot be permuted: give more rows.")
    if model.target not in read.data.column_names:
        notes.append(
            f"The table has no {model.target!r}: importance is the change of the predictions."
        )
        return X, None, read.name, notes
    y = truth_of(model, read.data.column(model.target))
    lacking = int(np.sum(~np.isfinite(y)))
    if lacking:
        notes.append(f"Rows without a known {model.target!r}: {lacking:,}.")
    if len(y) - lacking < 2:
        return X, None, read.name, notes
    if read.name == model.about.get("table"):
        notes.append("The model was trained on a table of that name: the score is optimistic.")
    return X, y, read.name, notes


def truth_of(model: Model, column: Any) -> np.ndarray:
    """Values of a column in the units of the pipeline, as floats; NaN where they are not known."""
    cells = plain(column)
    if model.classes:
        place = {word: float(k) for k, word in enumerate(model.classes)}
        return np.array([place.get(word, np.nan) for word in as_text(cells).to_pylist()])
    try:
        y = as_floats(cells)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise KitchenError(
            f"The target {model.target!r} of the table holds {cells.type} values, not numbers."
        ) from None
    return np.where(np.isfinite(y), y, np.nan)


def _checked(rows: Sequence[int], count: int) -> list[int]:
    odd = [row for row in rows if not 0 <= row < count]
    if odd:
        raise KitchenError(f"There is no row {quoted(map(str, odd))}: rows are 0 to {count - 1}.")
    return list(rows)


def _examples(
    model: Model,
    X: np.ndarray,
    y: np.ndarray | None,
    rows: list[int],
    training: Any,
    count: int,
    how: dict[str, Any],
) -> tuple[list[Example], list[str]]:
    """The chosen rows with their neighbours; what to say if there are none to look among."""
    outputs = predicted(model, X)
    picked = [(row, "as requested") for row in rows] or typical_rows(model, X, outputs)
    held: Any = stored_examples(model.use)
    if training is not None:
        known = _cells(model, training, how)
        if known[1] is None:
            raise KitchenError(f"The training table has no {model.target!r}.")
        rows_known = np.isfinite(known[1])
        held = known[0][rows_known], known[1][rows_known]
    notes = []
    near: list[list[Neighbour]] = [[] for _ in picked]
    if held is None:
        notes.append("The model file has no example rows; use --training TABLE to see neighbours.")
    elif len(model.pipeline) > 1 and picked:
        near = nearest(model, X[[row for row, _ in picked]], held, count)
        if training is None:
            notes.append(
                f"Neighbours are from the {len(held[1])} example rows of the model file; use "
                "--training TABLE to search all rows."
            )
    return [
        Example(row, why, X[row], float(outputs[row]), _known(y, row), tuple(n))
        for (row, why), n in zip(picked, near, strict=True)
    ], notes


def _known(y: np.ndarray | None, row: int) -> float | None:
    return None if y is None or not np.isfinite(y[row]) else float(y[row])


def typical_rows(model: Model, X: np.ndarray, outputs: np.ndarray) -> list[tuple[int, str]]:
    """Three rows: lowest, median and highest prediction, or least to most certain class."""
    if model.classes:
        sure = responses(model, X).max(axis=1)
        order = np.argsort(sure, kind="stable")
        names = ("least certain", "of median certainty", "most certain")
    else:
        order = np.argsort(outputs, kind="stable")
        names = ("lowest prediction", "median prediction", "highest prediction")
    places = (order[0], order[len(order) // 2], order[-1])
    picked = {int(row): name for row, name in zip(places, names, strict=True)}
    return list(picked.items())

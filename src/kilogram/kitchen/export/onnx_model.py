"""Whole models as ONNX, each checked against onnxruntime before it is given out.

    a cooked model   one input per column of the table; outputs `prediction` and, of classes with
                     margins, `probabilities` in the order of the classes
    an estimator     one input `X` (n, d); outputs `prediction`, `scores`, `probabilities`

The check runs the example rows (or a table that is given), and rows of nothing but missing
values and new words, through both. Single precision is tried first; if it is off by more than
`TOLERANCE` standard deviations of the predictions, the model is written in double; if that is off
too, the export is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector

from kilogram import __version__
from kilogram.kitchen.artifact.example_rows import stored_examples
from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.model_file import load_model
from kilogram.kitchen.artifact.uncertainty import predict_with_details
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.export.columns import cells, features
from kilogram.kitchen.export.estimators import Scores, columns_of, scores
from kilogram.kitchen.export.graph import Graph
from kilogram.kitchen.features.columns import NEW_LEVEL, Column
from kilogram.kitchen.files import write_files
from kilogram.kitchen.measures import TINY
from kilogram.kitchen.read.table import read_table
from kilogram.kitchen.recipes.ensemble import Ensemble
from kilogram.kitchen.report.model_card import card_of

TOLERANCE = 1e-4  # float32 gives five to six digits of a prediction
MAX_ROWS = 2000  # rows on which the graph is compared with the model
NEW_WORD = "a word that never was"


@dataclass(frozen=True)
class OnnxModel:
    """An ONNX model, how exact it is, and on how many rows that was seen."""

    content: bytes
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    precision: str
    rows: int
    difference: float
    probabilities: float | None
    agreed: float

    def save(self, path: str | Path) -> Path:
        """Write it, whole or not at all."""
        path = Path(path)
        return write_files(path.parent, {path.name: self.content})[0]

    @property
    def summary(self) -> str:
        """The check in one sentence."""
        parts = [f"{self.rows:,} rows through onnxruntime in {self.precision}"]
        if self.agreed < 1 or self.probabilities is not None:
            parts.append(f"{self.agreed:.2%} of the classes equal")
        if self.probabilities is not None:
            parts.append(f"probabilities differ by at most {self.probabilities:.1e}")
        else:
            parts.append(
                f"largest difference {self.difference:.1e} standard deviations of the predictions"
            )
        return ", ".join(parts) + "."


def export_model(model: Model | str | Path, table: Any = None) -> OnnxModel:
    """Export a model of `cook`, or an estimator, as an ONNX file.

    Parameters
    ----------
    model : Model, or path of a model file
    table : path or data frame, default=None
        Rows to check on; None takes the example rows of the model file.
    """
    found = model if isinstance(model, Model) else load_model(model)
    cells(Graph(), found.layout)  # a column without a graph is refused before anything is run
    X = _rows(found, table)
    predicted = predict_with_details(found, X, 0.9)
    expected = predicted.values
    for dtype in (np.float32, np.float64):
        g = _graph(found, dtype)
        notes = {"target": found.target, "task": found.task, "kilogram": __version__,
                 "card": card_of(found)}  # fmt: skip
        content = g.model(f"Predicting {found.target}", notes).SerializeToString()
        answers = run(content, _inputs(found, X))
        checked = _checked(found, g, content, answers, expected, predicted.probability)
        if _good(checked):
            return checked
    raise KitchenError(
        f"The predictions of the exported model differ: {checked.summary} It was not written."
    )


def _scores(g: Graph, pipeline: Any, x: Any) -> Scores:
    """Predictions or decision values of a pipeline; of an ensemble the mean over its members."""
    last = pipeline[-1]
    if isinstance(last, Ensemble):
        return _mean_scores(g, last, x)
    for step in pipeline[:-1]:
        x = features(g, step, x)
    return scores(g, last, g.cast(x) if not hasattr(last, "tried_") else x)


def _mean_scores(g: Graph, last: Ensemble, x: Any) -> Scores:
    """The weighted mean of predictions, or the logarithm of that of probabilities."""
    total, columns = "", 1
    scales = getattr(last, "scales_", None)
    for k, (member, weight) in enumerate(zip(last.members_, last.weights_, strict=True)):
        found = _scores(g, member, x)
        name = found.name
        if scales is not None:
            name = g.add("Mul", columns_of(g, found), g.constant([float(scales[k])]))
            name, columns = g.add("Softmax", name, axis=1), max(found.columns, 2)
        name = g.add("Mul", name, g.constant([float(weight)]))
        total = g.add("Add", total, name) if total else name
    if scales is not None:
        total = g.add("Log", g.add("Max", total, g.constant([TINY])))
    return Scores(total, columns)


def _graph(model: Model, dtype: Any) -> Graph:
    g = Graph(dtype)
    x = cells(g, model.layout)
    found = _scores(g, model.pipeline, x)
    kind = "float" if dtype == np.float32 else "double"
    if not model.classes:
        g.output(found.name, "prediction", kind, [None, 1])
        return g
    F = columns_of(g, found)
    place = g.add("ArgMax", F, axis=1, keepdims=0)
    p = ""
    if "scale" in model.use:
        scaled = g.add("Mul", F, g.constant([float(model.use["scale"])]))
        moved = g.add("Add", scaled, g.constant(np.asarray(model.use["shifts"])[None, :]))
        p = g.add("Softmax", moved, axis=1)
    if p and "costs" in model.use:
        expected = g.add("MatMul", p, g.constant(np.asarray(model.use["costs"], dtype=float)))
        place = g.add("ArgMin", expected, axis=1, keepdims=0)
    g.output(
        g.add("Gather", g.constant(list(model.classes)), place), "prediction", "string", [None]
    )
    if p:
        g.output(p, "probabilities", kind, [None, len(model.classes)])
    return g


def _rows(model: Model, table: Any) -> np.ndarray:
    """Cells to check on, and one row that is missing everywhere, one of new words."""
    if table is not None:
        read = read_table(table, header=model.header, written=model.about.get("written"))
        X = model.layout.array(read.data.slice(0, MAX_ROWS))
    else:
        held = stored_examples(model.use)
        if held is None:
            raise KitchenError("The model file has no example rows to check on: give a --table.")
        X = held[0]
    odd = np.full((2, X.shape[1]), np.nan, dtype=X.dtype)
    for k, column in enumerate(model.layout.used):
        if column.kind == "categorical":
            odd[1, k] = NEW_LEVEL
        elif column.kind == "text":
            odd[:, k] = "", NEW_WORD
    return np.concatenate([X, odd])


def _inputs(model: Model, X: np.ndarray) -> dict[str, np.ndarray]:
    return {column.name: _raw(column, X[:, [k]]) for k, column in enumerate(model.layout.used)}


def _raw(column: Column, cell: np.ndarray) -> np.ndarray:
    """Cells as a caller of the graph gives them."""
    if column.kind == "text":
        return cell.astype(object)
    if not column.levels:
        return cell.astype(np.float64)
    count = len(column.levels)
    cell = cell.astype(np.float64)
    place = np.round(cell * count) - 1 if column.kind == "ordinal" else cell
    words = {float(k): level for k, level in enumerate(column.levels)} | {NEW_LEVEL: NEW_WORD}
    flat = ["" if v != v else words[float(v)] for v in place.reshape(-1)]
    return np.asarray(flat, dtype=object).reshape(cell.shape)


def run(content: bytes, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of a graph in onnxruntime, on one thread."""
    try:
        import onnxruntime
    except ImportError:
        raise KitchenError(
            "Checking an export needs the package onnxruntime: pip install kilogram[onnx]."
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def _checked(
    model: Model, g: Graph, content: bytes, found: dict[str, np.ndarray], expected: np.ndarray,
    probability: np.ndarray | None,
) -> OnnxModel:  # fmt: skip
    difference, agreed, p = 0.0, 1.0, None
    if model.classes:
        words = np.asarray(model.classes, dtype=object)[expected]
        agreed = float(np.mean(words == found["prediction"]))
        if probability is not None:
            predicted = found["probabilities"][np.arange(len(expected)), expected]
            p = float(np.abs(predicted - probability).max())
    else:
        spread = _spread(expected)
        difference = float(np.abs(found["prediction"][:, 0] - expected).max()) / spread
    kinds = {column.name: "text" if column.levels or column.kind == "text" else "days since 1970"
             if column.kind in ("date", "time") and column.form != "number" else "number"
             for column in model.layout.used}  # fmt: skip
    return OnnxModel(
        content, tuple(kinds.items()), tuple(found),
        "single precision" if g.dtype == np.float32 else "double precision",
        len(expected), difference, p, agreed,
    )  # fmt: skip


def _good(checked: OnnxModel) -> bool:
    ties = max(0.999, 1 - 1.5 / checked.rows)  # rounding may turn a tie
    wrong = checked.probabilities is not None and checked.probabilities > 10 * TOLERANCE
    return checked.difference <= TOLERANCE and checked.agreed >= ties and not wrong


def export_estimator(estimator: BaseEstimator, X: Any, *, dtype: Any = np.float32) -> bytes:
    """A fitted estimator or pipeline of numbers as ONNX, checked on the rows of X.

    Parameters
    ----------
    estimator : fitted estimator of Kilogram, RidgeSearch, or Pipeline of them
    X : array of shape (n, d)
        Rows to check the predictions on.
    dtype : {float32, float64}, default=float32
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    g = Graph(dtype)
    kind = "float" if g.dtype == np.float32 else "double"
    found = scores(g, estimator, g.input("X", f"{kind} {X.shape[1]}"))
    if is_outlier_detector(estimator):
        negative = g.add("Less", found.name, g.constant([0.0]))
        inside = g.add("Where", negative, *(g.constant([k], np.int64) for k in (-1, 1)))
        flat = g.add("Squeeze", inside, g.constant([1], np.int64))
        g.output(flat, "prediction", "int", [None])
        g.output(found.name, "scores", kind, [None, 1])
    elif not is_classifier(estimator):
        g.output(found.name, "prediction", kind, [None, found.columns])
    else:
        F = columns_of(g, found)
        place = g.add("ArgMax", F, axis=1, keepdims=0)
        classes = np.asarray(estimator.classes_)
        words = classes.dtype.kind in "OU"
        held = g.constant([str(c) for c in classes]) if words else g.constant(classes, np.int64)
        g.output(g.add("Gather", held, place), "prediction", "string" if words else "int", [None])
        g.output(F, "scores", kind, [None, max(found.columns, 2)])
        if found.soft:
            g.output(g.add("Softmax", F, axis=1), "probabilities", kind, [None, len(classes)])
    content = g.model(type(estimator).__name__, {"kilogram": __version__}).SerializeToString()
    _agree(estimator, X, run(content, {"X": X.astype(g.dtype)}), dtype)
    return content


def _spread(expected: np.ndarray) -> float:
    """The standard deviation of the predictions; of equal ones, rounding in float32 is no error."""
    rounding = float(np.finfo(np.float32).eps * np.abs(expected).max(initial=0.0)) / TOLERANCE
    return max(float(np.std(expected)), rounding) or 1.0


def _agree(
    estimator: BaseEstimator, X: np.ndarray, found: dict[str, np.ndarray], dtype: Any
) -> None:
    expected = np.asarray(estimator.predict(X))
    if is_classifier(estimator) or is_outlier_detector(estimator):
        agreed = float(np.mean(expected.astype(str) == found["prediction"].astype(str)))
        if agreed < max(0.999, 1 - 1.5 / len(X)):
            raise KitchenError(f"The graph agrees on {agreed:.2%} of the classes only.")
        return
    spread = _spread(expected)
    off = float(np.abs(found["prediction"] - expected.reshape(len(X), -1)).max()) / spread
    if off > TOLERANCE:
        raise KitchenError(
            f"The graph is off by {off:.1e} standard deviations of the predictions in "
            f"{np.dtype(dtype).name}; try dtype float64."
        )

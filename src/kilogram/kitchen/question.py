"""The prediction task: which rows have a target, and is it regression or classification?

    text, booleans                                        classification
    numbers written as text ($1,234.50, 12 kg)            as numbers
    at most ten distinct integers, each well repeated     classification
    two distinct numbers                                  classification
    other numbers                                         regression

`task` overrides it; "ordinal" is classification with ordered classes: numbers by size, words of a
known scale by their place on it, others as given. Rows without a target are left out and counted;
so are classes with fewer rows than there are folds, since some fold would have to predict a class
it has not been trained on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kilogram.kitchen.errors import KitchenError, close_names, quoted
from kilogram.kitchen.features.columns import LARGEST, as_floats, as_text, plain
from kilogram.kitchen.features.number_formats import describe_format, number_format
from kilogram.kitchen.features.ordinal_scales import scale_order
from kilogram.kitchen.formatting import percent
from kilogram.kitchen.read.dialect import is_number, number
from kilogram.kitchen.read.table import Table

Task = Literal["regression", "classification"]
#: What can be asked for; ordinal is classification with ordered classes.
TaskName = Literal["regression", "classification", "ordinal"]
MIN_ROWS = 20  # two folds of ten rows are the least worth scoring: our choice
FEW_VALUES = 10  # whole numbers that are read as classes, grades and stages: our choice
# Integers of a column with one of these words in its name may be classes, up to so many: our
# choice.
MAYBE_CLASSES = 100
CLASS_NAMES = {"class", "classes", "label", "category", "type", "kind", "species", "code", "group"}


@dataclass(frozen=True)
class Question:
    """Target and task; `rows` have a target, `y` holds it: numbers, or indices into `classes`.

    `ordered` classes are sorted from the lowest to the highest.
    """

    target: str
    task: Task
    reason: str
    rows: np.ndarray
    y: np.ndarray
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ordered: bool = False


def make_question(
    table: Table, target: str, *, task: TaskName | None = None, folds: int = 5,
    levels: tuple[str, ...] = (),
) -> Question:  # fmt: skip
    """The task of predicting `target`, or an error that says why it is impossible.

    `levels` are its classes from the lowest to the highest, where their order was given.
    """
    if levels and task not in (None, "ordinal"):
        raise KitchenError(f"An order of {target!r} was given: its task is ordinal, not {task}.")
    if levels or task == "ordinal":
        return _ordinal(table, target, levels, folds)
    column, notes = _as_numbers(plain(_target(table, target)), target, task)
    known = np.flatnonzero(_present(column))
    if len(known) < len(column):
        left = len(column) - len(known)
        finite = " finite" if left > column.null_count + _nans(column) else ""
        notes.append(f"{left} of {len(column)} rows have no{finite} {target!r} and were left out.")
    if not len(known):
        raise KitchenError(f"The target {target!r} has no value in any row.")
    check_enough_rows(len(known), target, folds)
    column = column.take(pa.array(known))
    distinct = int(pc.count_distinct(column).as_py())
    if distinct == 1:
        raise KitchenError(
            f"The target {target!r} is {column[0].as_py()!r} in every row: there is nothing to "
            "predict."
        )
    found, reason = recognise(column, distinct)
    if task is not None and task != found:
        found, reason = task, "as requested"
    if found == "regression":
        notes += _maybe_classes(column, target, distinct, task)
        return Question(target, found, reason, known, _numbers(column, target), (), tuple(notes))
    question = _classes(Question(target, found, reason, known, np.empty(0), (), tuple(notes)),
                        as_text(column), folds)  # fmt: skip
    more = _maybe_ordered(question) if task is None else []
    return replace(question, notes=(*question.notes, *more))


def _ordinal(table: Table, target: str, levels: tuple[str, ...], folds: int) -> Question:
    """Classes in order: the given one, that of numbers, or that of a known scale."""
    found = make_question(table, target, task="classification", folds=folds)
    order = levels or natural_order(found.classes)
    if not order:
        raise KitchenError(
            f"The order of the classes of {target!r} ({quoted(found.classes, 8)}) is not known: "
            f"give it as --ordinal {target}=LOWEST,...,HIGHEST."
        )
    missing = [name for name in found.classes if name not in order]
    if missing:
        raise KitchenError(
            f"The order of {target!r} lacks the classes {quoted(missing, 8)}; it was given as "
            f"{', '.join(order)}."
        )
    classes = tuple(name for name in order if name in found.classes)
    place = np.array([classes.index(name) for name in found.classes])
    return replace(found, classes=classes, y=place[found.y], ordered=True,
                   reason=f"the classes are ordered: {' < '.join(classes)}")  # fmt: skip


def natural_order(classes: tuple[str, ...]) -> tuple[str, ...]:
    """Classes from the lowest to the highest, where numbers or a known scale tell; else none."""
    if all(map(is_number, classes)):
        return tuple(sorted(classes, key=number))
    return scale_order(list(classes))


def _maybe_ordered(question: Question) -> list[str]:
    """A hint where three or more classes are steps of a scale: words of one, or 1, 2, 3, ..."""
    classes, target = question.classes, question.target
    order = natural_order(classes) if len(classes) > 2 else ()
    if not order:
        return []
    if all(map(is_number, order)):
        numbers = np.array([number(name) for name in order])
        if np.any(np.diff(numbers) != 1) or _words(target) & CLASS_NAMES:
            return []
    return [f"The classes of {target!r} look ordered ({' < '.join(order)}): use --task ordinal to "
            "predict them so that near misses count less."]  # fmt: skip


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z]+", name.casefold()))


def _maybe_classes(column: Any, target: str, distinct: int, task: Task | None) -> list[str]:
    """A hint where whole numbers may be the names of classes."""
    if task is not None or distinct > MAYBE_CLASSES or not pa.types.is_integer(column.type):
        return []
    if not _words(target) & CLASS_NAMES:
        return []
    return [f"The {distinct} integers of {target!r} are predicted as numbers: use --task "
            "classification if they name classes."]  # fmt: skip


def recognise(column: Any, distinct: int) -> tuple[Task, str]:
    """Task and reason from the values of a column without missing ones."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        word = "boolean values" if pa.types.is_boolean(kind) else f"{distinct} distinct categories"
        return "classification", f"the target has {word}"
    if distinct == 2:
        return "classification", "the target has two distinct values"
    numbers = as_floats(column)
    whole = bool(np.all(numbers == np.round(numbers)))
    if whole and distinct <= FEW_VALUES and distinct <= len(numbers) / 10:
        return "classification", f"the target has {distinct} distinct integers"
    return "regression", f"the target has {distinct} distinct numbers"


def check_enough_rows(rows: int, target: str, folds: int) -> None:
    """An error when there are too few rows for nested cross-validation."""
    least = max(MIN_ROWS, 2 * folds)
    if rows < least:
        raise KitchenError(
            f"Only {rows} row{'s have' if rows != 1 else ' has'} a value of {target!r}; {folds} "
            f"folds need at least {least}. Collect more rows."
        )


def _target(table: Table, target: str) -> Any:
    names = table.data.column_names
    if target in names:
        return table.data.column(target)
    hint = close_names(target, names)
    if table.header_looks_like_data:
        hint += (
            f" The first line looks like data: if the file has no header, use --no-header; the "
            f"columns "
            f"are then called column_1 to column_{len(names)}."
        )
    raise KitchenError(f"{table.name} has no column {target!r}.{hint}")


def _as_numbers(column: Any, target: str, task: Task | None) -> tuple[Any, list[str]]:
    """A target of numbers written as text, as numbers, with a note on what was read."""
    if not pa.types.is_string(column.type) or task == "classification":
        return column, []
    form = number_format(column, force=task == "regression")
    if form is None or (
        task is None and all(map(is_number, pc.unique(column).drop_null().to_pylist()))
    ):
        return column, []
    bad = form.unreadable(column)
    numbers = form.read(column)
    why = describe_format(form, sum(bad.values())) + (f": {quoted(list(bad), 3)}" if bad else "")
    return pa.array(numbers, mask=np.isnan(numbers)), [f"The target {target!r} has {why}."]


def _present(column: Any) -> np.ndarray:
    here = np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False), dtype=bool)
    if pa.types.is_floating(column.type):
        here &= np.isfinite(column.to_numpy(zero_copy_only=False))
    return here


def _nans(column: Any) -> int:
    nan = pa.types.is_floating(column.type)
    return int(pc.sum(pc.is_nan(column)).as_py() or 0) if nan else 0


def _numbers(column: Any, target: str) -> np.ndarray:
    try:
        numbers = as_floats(column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise KitchenError(
            f"The target {target!r} holds {column.type} values such as {column[0].as_py()!r}, "
            "which are not numbers, so it cannot be a regression target. Try --task classification."
        ) from None
    size = float(np.abs(numbers).max())
    if size >= LARGEST:
        raise KitchenError(
            f"The target {target!r} reaches {size:.2g}, and sums of its squares overflow: divide "
            "it by its scale, or take its logarithm."
        )
    return numbers


def _nearly_numbers(words: np.ndarray) -> str:
    """A hint where a few text values keep a target from being numeric."""
    odd = sorted({word for word in words if not is_number(word)})
    numbers = sum(is_number(word) for word in words)
    if not odd or numbers < 0.5 * len(words):
        return ""
    return (
        f" {numbers} of {len(words)} values are numbers, but not {quoted(odd, 3)}: clear such "
        "cells for a regression."
    )


def _similar_classes_note(classes: np.ndarray, target: str) -> list[str]:
    """A note where classes differ only in case and white space."""
    ways: dict[str, list[str]] = {}
    for word in classes:
        ways.setdefault(" ".join(str(word).casefold().split()), []).append(str(word))
    alike = [words for words in ways.values() if len(words) > 1]
    if not alike:
        return []
    shown = "; ".join(quoted(words, 4) for words in alike[:3])
    return [f"Classes of {target!r} differ only in case or white space ({shown}) and are "
            "treated as different: use one spelling if they are the same."]  # fmt: skip


def _classes(question: Question, text: Any, folds: int) -> Question:
    """Targets as indices of the sorted classes, without the classes that are too small."""
    words = np.asarray(text.to_pylist(), dtype=str)
    classes, codes, counts = np.unique(words, return_inverse=True, return_counts=True)
    if all(map(is_number, classes)):  # 2 before 10
        order = np.argsort([number(word) for word in classes])
        classes, counts, codes = classes[order], counts[order], np.argsort(order)[codes]
    target = question.target
    if counts.max() == 1:
        raise KitchenError(
            f"The target {target!r} has one row per class, so no class can be learnt. Is it an "
            "identifier? For numbers, use --task regression."
        )
    keep = counts >= folds
    notes = [*question.notes, *_similar_classes_note(classes, target)]
    if not keep.all():
        lost = int(counts[~keep].sum())
        notes.append(
            f"{lost} rows of the classes {quoted(classes[~keep], 4)} were left out: fewer than "
            f"{folds} rows each, so not every fold would have one. They are never predicted and "
            f"not in the score: of all rows at most "
            f"{percent(1 - lost / len(words), 1)} can be right."
        )
    if keep.sum() < 2 or counts[keep].sum() < 0.5 * len(words):
        have = "1 has" if keep.sum() == 1 else f"{int(keep.sum())} have"
        raise KitchenError(
            f"The target {target!r} has {len(classes)} classes, of which {have} "
            f"the {folds} rows that {folds} folds need. Merge small classes, use fewer --folds, or "
            f"choose another target.{_nearly_numbers(words)}"
        )
    rows = keep[codes]
    check_enough_rows(int(rows.sum()), target, folds)
    renumbered = np.cumsum(keep) - 1
    return Question(
        target=target,
        task="classification",
        reason=question.reason,
        rows=question.rows[rows],
        y=renumbered[codes[rows]],
        classes=tuple(str(c) for c in classes[keep]),
        notes=tuple(notes),
    )

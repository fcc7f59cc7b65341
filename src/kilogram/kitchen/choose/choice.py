"""From a table to the methods to try: properties, decisions, costs, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kilogram.base.estimate import Estimate, estimate
from kilogram.kitchen.choose.measurements import Property, TableProperties, label_properties
from kilogram.kitchen.choose.methods import METHODS, MethodInfo
from kilogram.kitchen.choose.reasons import linear_baseline, not_reached, reasons
from kilogram.kitchen.choose.tree import (
    CLASSIFICATION,
    COOKBOOK_REGRESSION,
    LECTURE_REGRESSION,
    UNSUPERVISED,
    Decision,
    follow,
    label_kind,
    labels,
)
from kilogram.kitchen.features import featurise
from kilogram.kitchen.features.column_types import find_layout
from kilogram.kitchen.features.columns import Layout, refuse_unusable, values
from kilogram.kitchen.features.overrides import ColumnOverrides, orders
from kilogram.kitchen.measures import choose_measure
from kilogram.kitchen.question import TaskName, make_question
from kilogram.kitchen.read.table import Table, read_table
from kilogram.kitchen.recipes.menu import MenuEntry, default_menu


@dataclass(frozen=True)
class Suggestion:
    """A method to try, with the reason and the cost of one fit."""

    method: str
    title: str
    where: str
    why: str
    cost: Estimate | None
    ratings: dict[str, bool | None]


@dataclass(frozen=True)
class Choice:
    """Decisions with their reasons, methods to try in order, and methods left out."""

    table: str
    target: str | None
    answers: TableProperties
    steps: tuple[Decision, ...]
    tries: tuple[Suggestion, ...]
    left_out: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    menu: tuple[MenuEntry, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "schema": "kilogram choice 1",
            "table": self.table,
            "target": self.target,
            "steps": [asdict(step) for step in self.steps],
            "try": [asdict(one) for one in self.tries],
            "left_out": [{"method": name, "why": why} for name, why in self.left_out],
            "menu": [asdict(one) for one in self.menu],
            "answers": asdict(self.answers),
            "notes": list(self.notes),
        }

    def as_json(self) -> str:
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False)

    def __str__(self) -> str:
        from kilogram.kitchen.choose.show import as_text

        return as_text(self)


def choose(
    table: Any,
    target: str | None = None,
    *,
    task: TaskName | None = None,
    probabilities: bool = False,
    noisy_inputs: bool = False,
    sparse: bool = False,
    clusters: bool = False,
    views: int = 1,
    small_device: bool = False,
    seed: int = 0,
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
    ordinal: Mapping[str, Collection[str]] | Collection[str] = (),
    text: Collection[str] = (),
    date: Collection[str] = (),
    image: Collection[str] = (),
    drop: Collection[str] = (),
    **how: Any,
) -> Choice:
    """Suggest methods for a table, with reasons and costs.

    Parameters
    ----------
    table : path or data frame
    target : str, default=None
        The column to predict; without it, methods that need no labels.
    task : {"regression", "classification", "ordinal"}, default=None
    probabilities, noisy_inputs, sparse, clusters, small_device : bool, default=False
        What the data cannot show: probabilities (or intervals) needed, errors in the inputs, few
        columns wanted, clustering rather than dimension reduction, a small device to run on.
    views : int, default=1
        Without target: how many tables of the same rows there are.
    numeric, categorical, ordinal, text, date, image, drop
        Overrides of the detected column types.
    **how
        `delimiter`, `encoding`, `header`, `sheet`, `max_memory` of the file.

    Examples
    --------
    >>> import kilogram as kg, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": x[:, 0] + 0.1 * x[:, 1] ** 0})
    >>> [one.method for one in kg.choose(frame, "y").tries][:1]
    ['ridge']
    """
    given = orders(ordinal)
    levels = given.pop(target, ()) if target is not None else ()
    overrides = ColumnOverrides.of(
        given,
        numeric=numeric, categorical=categorical, text=text, date=date, image=image, ignore=drop,
    )  # fmt: skip
    found = read_table(table, seed=seed, **how)
    layout = find_layout(found.data, target, overrides=overrides)
    wishes: dict[str, Any] = {
        "probabilities": probabilities, "noisy_inputs": noisy_inputs, "sparse": sparse,
        "clusters": clusters, "views": views, "small_device": small_device,
    }  # fmt: skip
    refuse_unusable(layout)
    if target is None:
        answers = _unlabelled(found, layout, wishes)
        steps, methods = follow(UNSUPERVISED, answers)
        return _choice(found, None, answers, [labels(answers), *steps], methods, ())
    question = make_question(found, target, task=task, levels=levels)
    folder = Path(found.path).parent if found.path else None
    rows = np.random.default_rng(seed).permutation(len(question.rows))[:2000]
    X = layout.array(found.data.take(question.rows[np.sort(rows)]), folder)
    part = _subset(question, np.sort(rows))
    answers = TableProperties(
        rows=found.rows or len(question.rows), task=question.task,
        labels_why=f"the column {target!r}", task_why=question.reason,
        classes=len(question.classes), **label_properties(part, layout, X, seed), **wishes,
    )  # fmt: skip
    if question.task == "classification":
        steps, methods = follow(CLASSIFICATION, answers)
    else:
        steps, methods = follow(COOKBOOK_REGRESSION, answers)
        more, others = follow(LECTURE_REGRESSION, answers)
        steps, methods = [*steps, *more[1:]], tuple(dict.fromkeys((*methods, *others)))
    notes = (*found.notes, *question.notes)
    choice = _choice(found, target, answers, [labels(answers), label_kind(answers), *steps],
                     methods, notes)  # fmt: skip
    menu = default_menu(layout, choose_measure(question)[0], question.y)
    return replace(choice, menu=menu)


def _subset(question: Any, rows: np.ndarray) -> Any:
    return replace(question, rows=question.rows[rows], y=question.y[rows])


def _unlabelled(table: Table, layout: Layout, wishes: dict[str, Any]) -> TableProperties:
    head = layout.array(table.data.slice(0, 2000))
    Z = featurise(layout, table.data.num_rows).fit_transform(head)
    numbers = [c for c in layout.used if c.kind in ("numeric", "ordinal")]
    least = min((float(np.nanmin(values(c, table.data.column(c.name)))) for c in numbers),
                default=-1.0)  # fmt: skip
    positive = least >= 0 and len(numbers) == len(layout.used)
    return TableProperties(
        rows=table.rows or table.data.num_rows,
        features=Z.shape[1],
        labels_why="no target was named",
        nonnegative=Property("yes" if positive else "no", f"the smallest number is {least:g}"),
        **wishes,
    )


def _choice(
    table: Table,
    target: str | None,
    answers: TableProperties,
    steps: list[Decision],
    methods: tuple[str, ...],
    notes: tuple[str, ...],
) -> Choice:
    tries, left = [], []
    methods = (*methods, *linear_baseline(answers, methods))
    for key in methods:
        method = METHODS[key]
        cost = _cost(method, answers)
        refused = _refused(method, answers, cost)
        if refused:
            left.append((method.title, refused))
            continue
        why = "; ".join(reasons(key, method, answers))
        tries.append(Suggestion(key, method.title, method.where, why, cost, method.rated()))
    left += not_reached(answers, methods)
    return Choice(table.name, target, answers, tuple(steps), tuple(tries), tuple(left), notes)


def _cost(method: MethodInfo, answers: TableProperties) -> Estimate | None:
    try:
        return estimate(method.make(), answers.rows, max(answers.features, 1))
    except TypeError:  # no estimate for what is not ours
        return None


def _refused(method: MethodInfo, answers: TableProperties, cost: Estimate | None) -> str:
    if answers.small_device and method.kernel:
        return "it stores training rows or many weights, too much for a small device"
    if cost is not None and not cost.fits:
        return f"{cost.method} does not fit into memory"
    return ""

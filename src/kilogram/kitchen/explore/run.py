"""All of `kg explore`: a table without a target, looked at from every side.

    read -> column types -> audit -> distributions, missing values -> dependence -> components, maps
    -> clusters against references -> outliers -> topics of text -> sentences

A random sample of the rows is used where all would take too long; the notes say so.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kilogram.arrays.threads import blas_threads, idle_threads, thread_limit
from kilogram.base.budget import Budget
from kilogram.base.constraints import Integer, Null, Real
from kilogram.kitchen.audit import Audit, audit_table
from kilogram.kitchen.errors import check_setting, quoted, readable
from kilogram.kitchen.explore import structure as of
from kilogram.kitchen.explore.dependence import Dependence, dependence
from kilogram.kitchen.explore.exploration import Exploration, OutlyingRow
from kilogram.kitchen.explore.sentences import summary_sentences
from kilogram.kitchen.explore.topics import topics
from kilogram.kitchen.features.column_types import find_layout
from kilogram.kitchen.features.columns import Layout
from kilogram.kitchen.features.overrides import ColumnOverrides
from kilogram.kitchen.formatting import figure
from kilogram.kitchen.read.table import Table, read_table
from kilogram.kitchen.report.overview import summaries

MAX_ROWS = 4000  # bounds the time of clusters and neighbours: 8 million pairs
MIN_ROWS = 20  # fewer have no structure beyond chance
# Robust standard deviations from which on a cell is named beside an outlying row: 0.3 % of the
# cells of normal columns.
FAR = 3.0
RARE = 0.01  # frequency of a level that makes a row stand out: our choice
LISTED = 12  # outlying rows: one screen

Notify = Callable[[str], None]


def explore(
    table: Any,
    *,
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
    ordinal: Mapping[str, Collection[str]] | Collection[str] = (),
    text: Collection[str] = (),
    date: Collection[str] = (),
    drop: Collection[str] = (),
    max_rows: int = MAX_ROWS,
    max_time: float | None = 120.0,
    seed: int = 0,
    notify: Notify | None = None,
    **how: Any,
) -> Exploration:
    """Explore a table without a target: columns, dependence, components, clusters, outliers.

    Parameters
    ----------
    table : path or data frame
    numeric, categorical, text, date, drop : collections of column names
        Columns whose detected type is wrong; `drop` leaves columns out.
    ordinal : mapping of column to levels, lowest first, or texts such as "size=S,M,L"
    max_rows : int, default=4000
        Rows for components, clusters and outliers; of more, so many are drawn at random.
    max_time : float or None, default=120
        Seconds; steps that it leaves out are listed in the notes.
    seed : int, default=0
    notify : callable(what), default=None
        Called with the name of each step.
    **how
        `delimiter`, `encoding`, `header`, `sheet`, `max_memory` of the file.

    Returns
    -------
    Exploration
        Printed, its summary in sentences; `save(folder)` writes the report and its JSON.

    Examples
    --------
    >>> import kilogram as kg, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=60)
    >>> frame = pd.DataFrame({"x": x, "y": x + 0.1 * rng.normal(size=60), "z": rng.normal(size=60)})
    >>> found = kg.explore(frame)
    >>> found.dependence.pairs[0].first, found.dependence.pairs[0].second
    ('x', 'y')
    """
    check_setting("max_rows", max_rows, Integer(MIN_ROWS))
    check_setting("max_time", max_time, Real(0, closed="right") | Null())
    notify = notify or (lambda what: None)
    budget = Budget(max_time=max_time)
    notify("reading the table")
    read = read_table(table, seed=seed, max_time=max_time, **how)
    overrides = ColumnOverrides.of(ordinal, numeric=numeric, categorical=categorical, text=text,
                                   date=date, ignore=drop)  # fmt: skip
    layout = find_layout(read.data, None, overrides=overrides)
    found = audit_table(read, layout, None, overrides=overrides, seed=seed, notify=notify,
                        budget=budget)  # fmt: skip
    with thread_limit(idle_threads()), blas_threads(1):
        return _explored(read, layout, found, max_rows, seed, budget, notify)


def _explored(
    read: Table, layout: Layout, audit: Audit, max_rows: int, seed: int, budget: Budget,
    notify: Notify,
) -> Exploration:  # fmt: skip
    notes = list(read.notes)
    count = read.data.num_rows
    rows = np.arange(count)
    if count > max_rows:
        rows = np.sort(np.random.default_rng(seed).choice(count, max_rows, replace=False))
        notes.append(f"Components, clusters and outliers are those of a random sample of "
                     f"{max_rows:,} of {count:,} rows.")  # fmt: skip
    notify("distributions")
    columns = summaries(read.data, layout.columns)
    X = layout.array(read.data.take(rows), Path(read.path).parent if read.path else None)
    steps = _Steps(budget, notify)
    depends = steps("dependence between columns", lambda: dependence(layout, X, seed))
    features = steps("features", lambda: of.row_features(_plain(layout), _plain_cells(layout, X)))
    enough = features is not None and len(rows) >= MIN_ROWS and features.Z.shape[1] >= 2
    parts = groups = far = points = None
    shown = np.sort(np.random.default_rng(seed).permutation(len(rows))[: of.MAP_ROWS])
    if enough:
        parts = steps("principal components", lambda: of.components(features, seed))
    if parts is not None:
        points = steps("kernel map", lambda: of.kernel_map(features, shown))
        groups = steps("clusters", lambda: of.clusters(features, parts, layout, X, seed, budget))
        far = steps("outliers", lambda: of.outliers(features, parts, seed))
    texts = []
    for k in layout.positions("text"):
        one = steps("topics", partial(topics, layout.used[k].name, X[:, k], seed))
        texts += [] if one is None else [one]
    if steps.left_out:
        notes.append(f"The time limit left out: {quoted(sorted(set(steps.left_out)))}.")
    if len(rows) < MIN_ROWS:
        notes.append(f"With fewer than {MIN_ROWS} rows no structure of the rows is looked for.")
    depends = depends or Dependence((), (), (), 0, 0)
    outlying = () if far is None else _outlying(layout, X, rows, far)
    return Exploration(
        table=read.name, n_rows=count, columns=columns, layout=layout, cells=X, rows=rows,
        sentences=summary_sentences(read.name, count, columns, depends, parts, groups, far,
                                    tuple(texts), len(rows)),
        dependence=depends, components=parts,
        names=features.names if features is not None else (), kernel_map=points, map_rows=shown,
        clusters=groups, outliers=far, outlying=outlying, topics=tuple(texts), audit=audit,
        notes=tuple(notes), command=_command(read),
        seconds=time.perf_counter() - budget.started,
    )  # fmt: skip


class _Steps:
    """Runs steps while there is time, and keeps the names of those left out."""

    def __init__(self, budget: Budget, notify: Notify):
        self.budget, self.notify = budget, notify
        self.left_out: list[str] = []

    def __call__(self, what: str, step: Callable[[], Any]) -> Any:
        if self.budget.expired:
            self.left_out.append(what)
            return None
        self.notify(what)
        return step()


def _plain(layout: Layout) -> Layout:
    """The layout without text and images, where two other columns are there to compare rows by."""
    kept = tuple(c for c in layout.columns if c.kind not in ("text", "image"))
    return Layout(kept) if sum(c.used for c in kept) > 1 else layout


def _plain_cells(layout: Layout, X: np.ndarray) -> np.ndarray:
    smaller = _plain(layout)
    if smaller is layout:
        return X
    return X[:, [k for k, c in enumerate(layout.used) if c in smaller.used]].astype(float)


def _outlying(
    layout: Layout, X: np.ndarray, rows: np.ndarray, far: of.Outliers
) -> tuple[OutlyingRow, ...]:
    """The furthest rows with the cells that make them unusual."""
    away = of.far_cells(layout, X)
    found = []
    for place in far.rows[:LISTED]:
        cells = [(abs(away[place, k]), f"{layout.used[k].name} {_cell(X[place, k])}")
                 for k in range(X.shape[1]) if abs(away[place, k]) >= FAR]  # fmt: skip
        cells += _rare(layout, X, place)
        cells.sort(key=lambda one: -one[0])
        found.append(OutlyingRow(int(rows[place]), float(far.factors[place]),
                                 tuple(text for _, text in cells[:4])))  # fmt: skip
    return tuple(found)


def _rare(layout: Layout, X: np.ndarray, place: int) -> list[tuple[float, str]]:
    """Rare levels of a row."""
    found = []
    for k in layout.positions("categorical"):
        column, code = X[:, k].astype(float), float(X[place, k])
        if np.isfinite(code) and code >= 0 and float(np.mean(column == code)) < RARE:
            found.append((FAR, f"{layout.used[k].name} {layout.used[k].levels[int(code)]!r}"))
    return found


def _cell(value: Any) -> str:
    return figure(float(value), 3)


def _command(read: Table) -> str:
    if read.path is None:
        return "kilogram.explore(table)"
    return f"kg explore {shlex.quote(readable(read.path))}"

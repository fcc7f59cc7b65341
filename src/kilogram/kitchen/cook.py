"""From a table and a question to an answer one can defend.

    read -> columns -> question -> audit -> recipes judged by nested cross-validation -> the
    simplest near the best -> fitted on all rows -> evidence for the pictures -> three sentences

Each step is a file of this room; here they are only called in order. `Cooked` holds what came out,
and nothing is written until `save` is called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from kilogram.arrays.threads import blas_threads, n_threads
from kilogram.base.budget import Budget
from kilogram.evaluation.along import fit_rows
from kilogram.evaluation.nested import winner
from kilogram.kitchen.audit import Audit, audit_table
from kilogram.kitchen.card import as_markdown
from kilogram.kitchen.columns import Layout, refuse_unusable
from kilogram.kitchen.errors import CannotWriteError, KitchenError
from kilogram.kitchen.facts import as_json
from kilogram.kitchen.gather import Evidence, gather
from kilogram.kitchen.journal import Journal
from kilogram.kitchen.judge import Judged, best_above_baseline, choose, judge
from kilogram.kitchen.kinds import find_layout
from kilogram.kitchen.measures import Measure, choose_measure
from kilogram.kitchen.model import Model
from kilogram.kitchen.question import Question, Task, ask
from kilogram.kitchen.read import Table, read_table
from kilogram.kitchen.recipe_file import as_toml
from kilogram.kitchen.recipes import delivered
from kilogram.kitchen.report import as_card, as_html
from kilogram.kitchen.save import model_bytes, write_files
from kilogram.kitchen.settings import MAX_ROWS, Method, Settings, check
from kilogram.kitchen.told import orders
from kilogram.kitchen.unique import unique_rows
from kilogram.kitchen.usage import usage
from kilogram.kitchen.words import verdict
from kilogram.kitchen.work import laid_out

BUNDLED = Path(__file__).parent / "data" / "penguins.csv"
BUNDLED_TARGET = "Body Mass (g)"
FEW_ROWS = 5000

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, repr=False)
class Cooked:
    """The answer, what it rests on, and a model to use."""

    table: Table
    question: Question
    measure: Measure
    measure_reason: str
    judged: tuple[Judged, ...]
    chosen: Judged
    kept: Judged
    verdict: tuple[str, str, str]
    evidence: Evidence
    model: Model
    settings: Settings
    notes: tuple[str, ...]
    audit: Audit
    seconds: float
    made: float = field(default_factory=time.time)
    reading: Mapping[str, Any] = field(default_factory=dict)
    journal: Journal = field(default_factory=lambda: Journal(None, ""))

    def predict(self, source: Any) -> np.ndarray:
        """Answers of the model for a path or data frame."""
        return self.model.predict(source)

    def save(self, folder: str | Path) -> dict[str, Path]:
        """Write report, numbers, card, recipe and model, all of them or none.

        If they do not fit on the disk, folds that were kept while cooking stay, which is said.
        """
        card = as_markdown(self)
        files = {
            "report.html": as_html(self),
            "report.json": as_json(self),
            "recipe.toml": as_toml(self),
            "model-card.md": card.encode(),
            "model.skops": model_bytes(self.model, card=card),
        }
        try:
            written = write_files(Path(folder), files)
        except CannotWriteError as bad:
            raise CannotWriteError(f"{bad}{self.journal.told()}") from None
        return dict(zip(files, written, strict=True))

    def __repr__(self) -> str:
        return "\n".join(self.verdict)

    def _repr_html_(self) -> str:
        return as_card(self)

    @property
    def shown(self) -> Judged:
        """The recipe of the pictures: the chosen one, or the best there is above the baseline."""
        if self.chosen.name != "baseline":
            return self.chosen
        return best_above_baseline(self.judged)


def cook(
    table: Any = None,
    target: str | None = None,
    *,
    task: Task | None = None,
    measure: str | None = None,
    folds: int = 5,
    repeats: int | None = None,
    seed: int = 0,
    max_time: float | None = 600.0,
    max_rows: int = MAX_ROWS,
    keep: str | None = None,
    search: Method = "halving",
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
    ordinal: Mapping[str, Collection[str]] | Collection[str] = (),
    text: Collection[str] = (),
    date: Collection[str] = (),
    image: Collection[str] = (),
    drop: Collection[str] = (),
    ignore: Collection[str] = (),
    group: str | None = None,
    time: str | None = None,
    accept: Collection[str] = (),
    drop_duplicates: bool = False,
    examples: bool = True,
    header: bool = True,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    max_memory: str | int | None = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
) -> Cooked:
    """Predict the column `target` of a table: linear and kernel recipes judged honestly.

    Parameters
    ----------
    table : path or data frame, default=None
        CSV (gzipped or not), Parquet, Arrow, Excel, JSON lines, SQLite, DuckDB, svmlight, or a
        pandas, polars or pyarrow table. None takes the bundled table of penguins and its target.
    target : str
        The column to predict.
    task, measure : str, default=None
        "regression" or "classification", and a measure of it, where the found ones are not meant.
    folds, repeats, seed : int
        Outer folds, how often they are drawn (None: by the number of rows), and the seed of all.
    max_time : float, default=600
        Seconds; fewer folds are judged when they would take longer.
    max_rows : int, default=50000
        Longer tables are cooked from a random sample of so many rows.
    keep : {"baseline", "linear", "kernel", "trees"}, default=None
        The recipe of the model; None takes the simplest within one standard error of the best.
    search : {"halving", "grid", "random", "coarse", "bayes", "path"}, default="halving"
        How columns and models are tuned; "path" keeps the usual columns and tunes penalties alone.
    numeric, categorical, text, date, image, drop : collections of column names
        Columns whose kind is found wrong; `drop` leaves out, as `ignore` does.
    ordinal : mapping of column to levels, lowest first, or texts such as "size=S,M,L"
    group, time : str, default=None
        Rows with one value of `group` stay in one fold; with `time`, tests are on later rows.
    accept : collection of codes
        Serious findings of the audit that are known and meant; any other one stops the run.
    drop_duplicates : bool, default=False
        Cook from one of each set of equal rows.
    examples : bool, default=True
        Keep some rows of the table in the model, to explain its answers with.
    header, delimiter, encoding, sheet, max_memory
        How a file is written, where it is found wrong, and what reading may take.
    resume : path, default=None
        A folder where finished folds are kept while cooking; the same call goes on from them.
    progress : callable(done, steps, what), default=None
    """
    said = tuple(f"{name}={','.join(levels)}" for name, levels in orders(ordinal).items())
    settings = Settings(task, measure, folds, repeats, seed, max_time, max_rows, keep,
                        tuple(numeric), tuple(categorical), (*ignore, *drop), said, tuple(text),
                        tuple(date), tuple(image), group, time, tuple(accept), drop_duplicates,
                        examples, search)  # fmt: skip
    check(settings)
    if table is None:
        table, target = BUNDLED, BUNDLED_TARGET if target is None else target
    if target is None:
        raise KitchenError("Which column shall be predicted? Say --target COLUMN.")
    found = read_table(table, delimiter=delimiter, encoding=encoding, header=header, sheet=sheet,
                       max_memory=max_memory, seed=seed)  # fmt: skip
    cooked = cook_table(found, target, settings, progress or (lambda done, steps, what: None),
                        None if resume is None else Path(resume))  # fmt: skip
    reading = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet,
               "max_memory": max_memory}  # fmt: skip
    return replace(cooked, reading=reading)


def cook_table(
    table: Table, target: str, settings: Settings, progress: Progress, resume: Path | None = None
) -> Cooked:
    """The same, of a table that has been read."""
    budget = Budget(max_time=settings.max_time)
    layout = find_layout(table.data, target, told=settings.told)
    if settings.drop_duplicates:
        table = unique_rows(table, layout, target)
    question = ask(table, target, task=settings.task, folds=settings.folds)
    measure, why = choose_measure(question, settings.measure)
    refuse_unusable(layout)
    found = audit_table(table, layout, question, told=settings.told, folds=settings.folds,
                        seed=settings.seed, accept=settings.accept,
                        tell=lambda what: progress(0, 1, what))  # fmt: skip
    found.refuse()
    work = laid_out(table, layout, question, measure, settings, resume)
    tell = _counter(progress, len(work.menu) * len(work.splits) + 6)
    # threads that wait for each other cost small matrices more than they bring
    with blas_threads(1 if len(work.y) <= FEW_ROWS else n_threads()):
        judged, undone = judge(
            work.menu, work.X, work.y, measure, work.splits, first_round=settings.folds,
            budget=budget, tell=tell, along=work.along, journal=work.journal,
        )  # fmt: skip
        chosen = choose(judged)
        kept = _kept(judged, chosen, settings.keep)
        tell("fitting the model on all rows")
        fitted = fit_rows(clone(kept.recipe.pipeline), work.X, work.y, work.along)
        evidence = gather(judged, chosen, work.X, layout, settings, budget, tell)
        model = _model(table, layout, question, kept, fitted, work.X, examples=settings.examples)
    return Cooked(
        table=table, question=question, measure=measure, measure_reason=why, judged=judged,
        chosen=chosen, kept=kept, verdict=verdict(judged, chosen, target), evidence=evidence,
        model=model, settings=settings,
        notes=(*table.notes, *question.notes, *work.notes, *undone), audit=found,
        seconds=time.perf_counter() - budget.started, journal=work.journal,
    )  # fmt: skip


def _model(
    table: Table, layout: Layout, question: Question, kept: Judged, fitted: Any, X: np.ndarray,
    *, examples: bool,
) -> Model:  # fmt: skip
    """The fitted recipe with what using it needs."""
    pipeline = delivered(fitted)
    about = {"recipe": kept.name, "measure": kept.measure.name, "score": kept.score.mean,
             "winner": winner(fitted), "rows": len(kept.y), "table": table.name,
             "written": dict(table.written)}  # fmt: skip
    return Model(question.target, question.task, layout, pipeline, question.classes, table.header,
                 about, usage(kept, X, pipeline, examples=examples))  # fmt: skip


def _kept(judged: tuple[Judged, ...], chosen: Judged, wanted: str | None) -> Judged:
    found = [one for one in judged if one.name == (wanted or chosen.name)]
    if not found:
        raise KitchenError(f"The {wanted} recipe was not judged: the time limit was too short.")
    return found[0]


def _counter(progress: Progress, steps: int) -> Callable[[str], None]:
    done = iter(range(10**9))
    return lambda what: progress(min(next(done), steps), steps, what)

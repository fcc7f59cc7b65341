"""From a table and a target to an evaluated model and a report.

    read -> column types -> task -> audit -> recipes evaluated by nested cross-validation -> the
    simplest within one standard error of the best -> fitted on all rows -> evidence -> conclusion

Each step is a subpackage; here they are only called in order. `Cooked` holds the result, and
nothing is written until `save` is called.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kilogram.arrays.threads import blas_threads, idle_threads, thread_limit
from kilogram.base.budget import Budget
from kilogram.evaluation.grouped_fits import fit_rows
from kilogram.evaluation.nested import winner
from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.model_file import model_bytes
from kilogram.kitchen.artifact.partial_dependence import PartialDependence, dependence
from kilogram.kitchen.artifact.predictions import PredictionSummary, predict_blocks
from kilogram.kitchen.artifact.recipe_file import as_toml
from kilogram.kitchen.artifact.uncertainty import usage
from kilogram.kitchen.audit import audit_table
from kilogram.kitchen.audit.unique_rows import unique_rows
from kilogram.kitchen.bundled import BUNDLED, BUNDLED_TARGET
from kilogram.kitchen.costs import as_literal
from kilogram.kitchen.errors import CannotWriteError, KitchenError
from kilogram.kitchen.features.column_types import find_layout
from kilogram.kitchen.features.columns import Layout, refuse_unusable
from kilogram.kitchen.features.overrides import order_texts, orders
from kilogram.kitchen.files import write_files
from kilogram.kitchen.judge.collect_evidence import Evidence, collect_evidence, evidence_stops
from kilogram.kitchen.judge.compare import EvaluatedRecipe, judge
from kilogram.kitchen.judge.ensembles import ensemble
from kilogram.kitchen.judge.folds import rounds
from kilogram.kitchen.judge.preparation import prepare_run
from kilogram.kitchen.judge.selection import choose
from kilogram.kitchen.measures import QUANTILE_LOSS, choose_measure
from kilogram.kitchen.question import Question, TaskName, make_question
from kilogram.kitchen.read.table import Table, read_table
from kilogram.kitchen.recipes.recipe import fitted_pipeline
from kilogram.kitchen.recipes.search_limits import on_all_rows, stops_on_all_rows
from kilogram.kitchen.report.dependence_plots import dependence_plots
from kilogram.kitchen.report.facts import as_json
from kilogram.kitchen.report.html import as_card, as_html
from kilogram.kitchen.report.model_card import as_markdown
from kilogram.kitchen.report.plots import plots
from kilogram.kitchen.report.sentences import suspicious_columns, verdict
from kilogram.kitchen.report.svg import Plot
from kilogram.kitchen.result import CookResult
from kilogram.kitchen.settings import MAX_ROWS, SearchMethod, Settings, check

# Up to so many rows, threads that wait for each other cost small matrices more than they gain.
FEW_ROWS = 5000
# Columns and rows of the plots of partial dependence.
MAX_EFFECTS, MAX_EFFECT_ROWS = 6, 200
EFFECTS = "partial_dependence"  # in `Settings.stopped_at`
RARE_CLASS_WARNINGS = (
    "The least populated class in y", "A single label was found", "y_pred contains classes not in",
    "The number of unique classes is greater",
)  # fmt: skip

Progress = Callable[[int, int, str], None]


class Cooked(CookResult):
    """The result of `cook`, with the methods that write it."""

    def save(self, folder: str | Path) -> dict[str, Path]:
        """Write report, JSON, model card, recipe and model: all of them or none.

        If they do not fit on the disk, the folds finished so far are kept, and the error says so.
        """
        card = as_markdown(self)
        files = {
            "report.html": as_html(self),
            "report.json": as_json(self),
            "recipe.toml": self._recipe(Path(folder)),
            "model-card.md": card.encode(),
            "model.skops": model_bytes(self.model, card=card),
        }
        try:
            written = write_files(Path(folder), files)
        except CannotWriteError as bad:
            raise CannotWriteError(f"{bad}{self.journal.resume_hint()}") from None
        return dict(zip(files, written, strict=True))

    def _recipe(self, folder: Path) -> bytes:
        outcome = {"measure": self.measure.name, "chosen": self.chosen.name,
                   "score": self.chosen.score.mean,
                   "folds": len(self.judged[0].nested.folds)}  # fmt: skip
        return as_toml(self.table, self.question.target, self._settings_used(), dict(self.reading),
                       outcome, folder)  # fmt: skip

    def _settings_used(self) -> Settings:
        """The settings that repeat what was done: no time limit, and what it left out stays out."""
        names = tuple(one.name for one in self.judged[1:])
        folds = len(self.judged[0].nested.folds)
        whole = self.settings.repeats or rounds(len(self.judged[0].y))
        rows = len(self.judged[0].y)
        sampled = rows < len(self.question.rows)
        slow = any("too slow for the time limit" in note for note in self.notes)
        left_out = self.settings.recipes or slow
        return replace(
            self.settings, max_time=math.inf, repeats=whole,
            max_rows=rows if sampled else self.settings.max_rows,
            outer_folds=folds if folds < self.planned_folds else self.settings.outer_folds,
            recipes=names if left_out else (), stopped_at=self.stopped_at,
        )  # fmt: skip

    def compare(self) -> list[dict[str, Any]]:
        """One row per recipe: score, interval, improvement over the baseline, and the choice."""
        found = []
        for one in self.judged:
            gain = None if one is self.judged[0] else one.over_baseline(self.judged[0])
            found.append({
                "recipe": one.name, self.measure.name: one.score.mean, "low": one.score.low,
                "high": one.score.high, "gain": gain and gain.difference.mean,
                "p_value": gain and gain.p_value, "chosen": one is self.chosen,
                "seconds": one.seconds,
            })  # fmt: skip
        return found

    def predict(self, source: Any, *, details: bool = False, coverage: float = 0.9) -> Any:
        """Predictions of the model for a path or data frame.

        With `details` a dictionary of columns: the prediction with its interval (`coverage`), or
        the probability of every class, and whether a row is out of distribution.
        """
        if not details:
            return super().predict(source)
        found = self.predict_table(source, coverage=coverage)
        own = {column.name for column in self.model.layout.columns} | {self.question.target}
        return {name: found[name].to_numpy() for name in found.column_names if name not in own}

    def predict_table(
        self, source: Any, *, coverage: float = 0.9, threshold: float | None = None
    ) -> pa.Table:
        """The table with predictions, intervals or probabilities, as `kg predict` writes it."""
        blocks = predict_blocks(self.model, source, PredictionSummary(), coverage=coverage,
                                threshold=threshold)  # fmt: skip
        return pa.concat_tables(list(blocks))

    def plots(self) -> dict[str, Plot]:
        """The plots of the report by name; each shows itself in a notebook, `save` writes SVG."""
        effects = dependence_plots(self.effects, self.question.target)
        return {plot.name: plot for plot in (*plots(self), *effects)}

    def _repr_html_(self) -> str:
        return as_card(self)


def cook(
    table: Any = None,
    target: str | None = None,
    *,
    task: TaskName | None = None,
    measure: str | None = None,
    quantile: float | None = None,
    folds: int = 5,
    repeats: int | None = None,
    seed: int = 0,
    max_time: float | None = 600.0,
    max_rows: int = MAX_ROWS,
    keep: str | None = None,
    search: SearchMethod = "halving",
    recipes: Collection[str] = (),
    outer_folds: int | None = None,
    cost: Any = None,
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
    stopped_at: Mapping[str, Collection[int]] | None = None,
    header: bool = True,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    max_memory: str | int | None = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
) -> Cooked:
    """Predict the column `target` of a table: recipes compared by nested cross-validation.

    Parameters
    ----------
    table : path or data frame, default=None
        CSV (gzipped or not), Parquet, Arrow, Excel, JSON lines, SQLite, DuckDB, svmlight, or a
        pandas, polars or pyarrow table. None takes the bundled table of penguins and its target.
    target : str
        The column to predict.
    task, measure : str, default=None
        "regression", "classification" or "ordinal" (ordered classes), and a measure of it, to
        override the detected ones.
    quantile : float, default=None
        Predict this quantile of the target instead of its mean: 0.9 is exceeded by a tenth.
    folds, repeats, seed : int
        Outer folds, repetitions (None: chosen by the number of rows), and the random seed.
    max_time : float, default=600
        Seconds; fewer folds are evaluated when all of them would take longer.
    max_rows : int, default=50000
        A random sample of this many rows is taken from longer tables.
    keep : str, default=None
        The recipe of the model; None takes the simplest within one standard error of the best.
    search : {"halving", "grid", "random", "coarse", "bayes", "path"}, default="halving"
        How preprocessing and models are tuned; "path" tunes the penalties alone.
    recipes : collection of str, default=()
        Recipes to compare: naive_bayes, lasso, elastic_net, poisson, huber, linear, logistic, knn,
        svm, kernel, network, trees, boosting, ensemble. None: those that suit the table, see
        `choose`.
    outer_folds : int, default=None
        Evaluate only the first so many outer folds.
    cost : str, path, data frame, mapping or matrix, default=None
        Costs of predicting one class (column) where another is observed (row); they are then the
        measure, and the class of least expected cost is predicted. Of two classes "1,5": those of
        a false alarm and of a miss of the rarer one.
    numeric, categorical, text, date, image, drop : collections of column names
        Columns whose detected type is wrong; `drop` (or `ignore`) leaves columns out.
    ordinal : mapping of column to levels, lowest first, or texts such as "size=S,M,L"
        An order of the target makes its classes ordered.
    group, time : str, default=None
        Rows with one value of `group` stay in one fold; with `time`, test rows come later.
    accept : collection of codes
        Serious findings of the audit to accept; any other serious one stops the run.
    drop_duplicates : bool, default=False
        Keep one of each set of equal rows.
    examples : bool, default=True
        Keep some rows of the table in the model file, to explain its predictions with.
    stopped_at : mapping, default=None
        From a recipe.toml: how many settings each search tries, where a time limit had ended it.
    header, delimiter, encoding, sheet, max_memory
        Format of the file, where detected wrongly, and the memory that reading may use.
    resume : path, default=None
        A folder where finished folds are stored; the same call resumes from them.
    progress : callable(done, steps, what), default=None
    """
    if quantile is not None:
        if measure is not None:
            raise KitchenError("Give a quantile or a measure, not both: a quantile has its own.")
        task, measure = "regression", f"{QUANTILE_LOSS}{quantile:g}"
    settings = Settings(
        task=task, measure=measure, folds=folds, repeats=repeats, seed=seed, max_time=max_time,
        max_rows=max_rows, keep=keep, numeric=tuple(numeric), categorical=tuple(categorical),
        ignore=(*ignore, *drop), ordinal=order_texts(ordinal), text=tuple(text), date=tuple(date),
        image=tuple(image), group=group, time=time, accept=tuple(accept),
        drop_duplicates=drop_duplicates, examples=examples, search=search, recipes=tuple(recipes),
        outer_folds=outer_folds, cost=cost,
        stopped_at={name: tuple(counts) for name, counts in (stopped_at or {}).items()},
    )  # fmt: skip
    check(settings)
    if table is None:
        table, target = BUNDLED, BUNDLED_TARGET if target is None else target
    if target is None:
        raise KitchenError("Which column should be predicted? Give --target COLUMN.")
    found = read_table(table, delimiter=delimiter, encoding=encoding, header=header, sheet=sheet,
                       max_memory=max_memory, seed=seed, max_time=max_time)  # fmt: skip
    cooked = cook_table(found, target, settings, progress or (lambda done, steps, what: None),
                        None if resume is None else Path(resume))  # fmt: skip
    reading = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet,
               "max_memory": max_memory}  # fmt: skip
    return replace(cooked, reading=reading)


def target_names(target: str, columns: Collection[str]) -> tuple[str, ...]:
    """Several targets written with commas, unless a column has that very name."""
    if target in columns or "," not in target:
        return (target,)
    return tuple(dict.fromkeys(name.strip() for name in target.split(",") if name.strip()))


def cook_targets(table: Any, targets: Collection[str], **settings: Any) -> dict[str, Cooked]:
    """One run for each target; the other targets are left out of its inputs.

    `settings` are those of `cook`; with `resume` every target has a folder of its own there. The
    time limit is that of all targets together.
    """
    limit = settings.pop("max_time", 600.0)
    settings["max_time"] = None if limit is None else limit / len(targets)
    drop = tuple(settings.pop("drop", ()))
    resume = settings.pop("resume", None)
    found = {}
    for target in targets:
        others = tuple(name for name in targets if name != target)
        place = None if resume is None else Path(resume) / target
        found[target] = cook(table, target, drop=(*drop, *others), resume=place, **settings)
    return found


def cook_table(
    table: Table, target: str, settings: Settings, progress: Progress, resume: Path | None = None
) -> Cooked:
    """Cook a table that has been read."""
    budget = Budget(max_time=settings.max_time)
    overrides = settings.overrides(target)
    layout = find_layout(table.data, target, overrides=overrides)
    if settings.drop_duplicates:
        table = unique_rows(table, layout, target)
    question = make_question(table, target, task=settings.task, folds=settings.folds,
                   levels=orders(settings.ordinal).get(target, ()))  # fmt: skip
    measure, why = choose_measure(question, settings.measure, settings.cost)
    if settings.cost is not None:
        settings = replace(settings, measure=None, cost=as_literal(measure.costs))
    refuse_unusable(layout)
    found = audit_table(table, layout, question, overrides=overrides, folds=settings.folds,
                        seed=settings.seed, accept=settings.accept,
                        notify=lambda what: progress(0, 1, what))  # fmt: skip
    found.refuse()
    work = prepare_run(table, layout, question, measure, settings, resume)
    notify = _counter(progress, len(work.menu) * len(work.splits) + 7)
    # a thread that waits for a busy CPU holds up all others
    threads = idle_threads()
    few = len(work.y) <= FEW_ROWS
    with thread_limit(threads), blas_threads(1 if few else threads), _quiet():
        judged, undone = judge(
            work.menu, work.X, work.y, measure, work.splits, first_round=settings.folds,
            budget=budget, notify=notify, along=work.along, journal=work.journal,
            stopped=settings.stopped_at,
        )  # fmt: skip
        judged = _with_ensemble(judged, settings)
        chosen = choose(judged)
        kept = _kept(judged, chosen, settings.keep)
        notify("fitting the model on all rows")
        last = {name: counts[-1] for name, counts in settings.stopped_at.items() if counts}
        unfitted = on_all_rows(kept.recipe.pipeline, kept.name, last)
        fitted = fit_rows(unfitted, work.X, work.y, work.along)
        evidence = collect_evidence(judged, chosen, work.X, layout, settings, budget, notify,
                                    question.classes)  # fmt: skip
        model = _model(table, layout, question, kept, fitted, work.X, examples=settings.examples)
        notify("partial dependence")
        most = settings.stopped_at.get(EFFECTS, (MAX_EFFECTS,))[0]
        shown = _effects(model, kept, evidence, work.X, budget, settings.seed, most)
    stops = _stops(judged, stops_on_all_rows(fitted, kept.name))
    stops |= evidence_stops(evidence, judged, chosen, settings.stopped_at)
    if (len(shown) < most and budget.expired) or EFFECTS in settings.stopped_at:
        stops[EFFECTS] = (len(shown),)
    conclusion = verdict(judged, target, suspicious_columns(evidence.importance))
    return Cooked(
        table=table, question=question, measure=measure, measure_reason=why, judged=judged,
        chosen=chosen, kept=kept, verdict=conclusion, evidence=evidence,
        model=model, settings=settings,
        notes=(*table.notes, *question.notes, *work.notes, *undone), audit=found,
        seconds=time.perf_counter() - budget.started, rows=work.rows, effects=shown,
        journal=work.journal, planned_folds=len(work.splits), stopped_at=stops,
    )  # fmt: skip


def _stops(
    judged: tuple[EvaluatedRecipe, ...], on_all: dict[str, int]
) -> dict[str, tuple[int, ...]]:
    """After how many settings each search was ended: by recipe those of the folds, then the last.

    Only recipes with a search that was.
    """
    found = {}
    for one in judged:
        if one.name == "ensemble":  # it searches nothing itself
            continue
        counts = (*(fold.stopped_at for fold in one.nested.folds), on_all.get(one.name, 0))
        if any(counts):
            found[one.name] = counts
    return found


@contextmanager
def _quiet() -> Iterator[None]:
    """Without warnings of splitters and scores about rare classes: the audit reports them."""
    with warnings.catch_warnings():
        for message in RARE_CLASS_WARNINGS:
            warnings.filterwarnings("ignore", message=message, category=UserWarning)
        yield


def _effects(
    model: Model, kept: EvaluatedRecipe, evidence: Evidence, X: np.ndarray, budget: Budget,
    seed: int, most: int = MAX_EFFECTS,
) -> tuple[PartialDependence, ...]:  # fmt: skip
    """Partial dependence of the columns that matter most, while there is time."""
    matters = evidence.importance
    if kept.name == "baseline" or matters is None:
        return ()
    place = {column.name: k for k, column in enumerate(model.layout.used)}
    rows = X[np.random.default_rng(seed).permutation(len(X))[:MAX_EFFECT_ROWS]]
    found = []
    for k in matters.order[:most]:
        if budget.expired or matters.typical[k] <= 0:
            break
        one = dependence(model, rows, place[matters.columns[k]])
        found += [] if one is None else [one]
    return tuple(found)


def _with_ensemble(
    judged: tuple[EvaluatedRecipe, ...], settings: Settings
) -> tuple[EvaluatedRecipe, ...]:
    """The recipes and, unless other recipes alone were asked for, their ensemble."""
    if settings.recipes and "ensemble" not in settings.recipes:
        return judged
    found = ensemble(judged)
    return judged if found is None else (*judged, found)


def _model(
    table: Table,
    layout: Layout,
    question: Question,
    kept: EvaluatedRecipe,
    fitted: Any,
    X: np.ndarray,
    *,
    examples: bool,
) -> Model:
    """The fitted recipe with what using it needs."""
    pipeline = fitted_pipeline(fitted)
    about = {"recipe": kept.name, "measure": kept.measure.name, "score": kept.score.mean,
             "winner": winner(fitted), "rows": len(kept.y), "table": table.name,
             "written": dict(table.written)}  # fmt: skip
    if len(question.classes) == 2:
        about["positive"] = int(np.argmin(np.bincount(kept.y, minlength=2)))
    return Model(question.target, question.task, layout, pipeline, question.classes, table.header,
                 about, usage(kept, X, pipeline, examples=examples))  # fmt: skip


def _kept(
    judged: tuple[EvaluatedRecipe, ...], chosen: EvaluatedRecipe, wanted: str | None
) -> EvaluatedRecipe:
    found = [one for one in judged if one.name == (wanted or chosen.name)]
    if not found:
        raise KitchenError(f"The {wanted} recipe was not judged: the time limit was too short.")
    return found[0]


def _counter(progress: Progress, steps: int) -> Callable[[str], None]:
    done = iter(range(10**9))
    return lambda what: progress(min(next(done), steps), steps, what)

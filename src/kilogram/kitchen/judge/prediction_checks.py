"""Checks of the predictions on held-out rows.

chance       randomisation test of the score against that of the baseline
intervals    width and coverage of the 90 % prediction intervals, in all and by quarters
classes      rows, predictions, precision and recall of every class
ranking      area under the ROC curve, average precision, thresholds by cost (two classes)
calibration  calibrated probabilities, each fold's from the other folds
subgroups    significantly larger errors in subgroups, adjusted for multiple comparisons
more rows    extrapolation of the learning curve
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from kilogram.evaluation.calibration import Reliability, reliability
from kilogram.evaluation.conformal import CoverageTest, conformal_quantile, coverage_test
from kilogram.evaluation.intervals import Interval, corrected_interval
from kilogram.evaluation.learning_curves import LearningCurve, MoreRows
from kilogram.evaluation.losses import absolute, zero_one
from kilogram.evaluation.permutation_tests import ChanceTest
from kilogram.evaluation.probability_scaling import TemperatureScaling, fit_scaling
from kilogram.evaluation.ranking import auc, auc_interval, average_precision, rows_interval
from kilogram.evaluation.subgroups import Subgroup, subgroup_losses
from kilogram.evaluation.threshold import Threshold, best_threshold
from kilogram.kitchen.features.columns import AS_NUMBER, Column, Layout
from kilogram.kitchen.judge.compare import EvaluatedRecipe
from kilogram.kitchen.judge.evidence import HeldOutImportance, HeldOutPredictions
from kilogram.kitchen.judge.local_scale import fit_scale
from kilogram.kitchen.measures import Measure, of_predictions

COVERAGE = 0.9  # of the intervals of predictions: nine of ten is understood by everyone
COSTS = ((1.0, 1.0), (1.0, 5.0), (5.0, 1.0))
MAX_COLUMNS = 8  # whose subgroups are compared: more tests find less
MAX_LEVELS = 12  # of such a column: subgroups of more have too few rows each


@dataclass(frozen=True)
class IntervalCheck:
    """Regression: median half width of the intervals, and their coverage of other folds.

    `quarters` is the coverage in each quarter of the predictions, from the smallest; `local` tells
    whether the width varies from row to row.
    """

    half: float
    held: CoverageTest
    quarters: tuple[float, ...]
    local: bool


@dataclass(frozen=True)
class ClassCounts:
    """A class among the held-out rows: how often it is observed, predicted, and both."""

    name: str
    rows: int
    predicted: int
    right: int

    @property
    def precision(self) -> float:
        """Fraction of its predictions that are right; NaN without any."""
        return self.right / self.predicted if self.predicted else math.nan

    @property
    def recall(self) -> float:
        """Fraction of its rows that are predicted as such."""
        return self.right / self.rows if self.rows else math.nan


@dataclass(frozen=True)
class RankingQuality:
    """Two classes: areas with intervals, thresholds by cost; precision is that of the rarer one.

    `fraction` of the rows are of the rarer class.
    """

    roc: Interval
    precision: Interval
    fraction: float
    costs: tuple[tuple[float, float, Threshold], ...]


@dataclass(frozen=True)
class SubgroupResult:
    """A subgroup of the rows by one column."""

    column: str
    found: Subgroup


@dataclass(frozen=True)
class PredictionChecks:
    chance: ChanceTest
    range: IntervalCheck | None
    ranking: RankingQuality | None
    calibration: Reliability | None
    groups: tuple[SubgroupResult, ...]
    more_rows: MoreRows | None
    classes: tuple[ClassCounts, ...] = ()
    quantile: CoverageTest | None = None


def check_predictions(
    judged: EvaluatedRecipe,
    baseline: EvaluatedRecipe,
    held_out: HeldOutPredictions,
    X: np.ndarray,
    layout: Layout,
    *,
    importance: HeldOutImportance | None,
    learning: LearningCurve | None,
    seed: int,
    classes: tuple[str, ...] = (),
) -> PredictionChecks:
    """All checks of the predictions of one recipe."""
    numbers, q = judged.measure.task == "regression", judged.measure.quantile
    folds = fold_numbers(judged)
    return PredictionChecks(
        chance=judged.chance(baseline),
        range=_range(held_out, folds, X, seed) if numbers and q is None else None,
        quantile=None if q is None else quantile_coverage(held_out, q),
        ranking=_ranking(judged, held_out, folds, seed) if held_out.margin is not None else None,
        calibration=None if numbers else calibration(judged, held_out, folds),
        groups=_groups(judged, held_out, X, layout, importance),
        more_rows=None
        if learning is None
        else _more_rows(learning, of_predictions(judged.measure)),
        classes=class_counts(held_out, classes),
    )


def quantile_coverage(held_out: HeldOutPredictions, q: float) -> CoverageTest:
    """How many held-out rows lie below their predicted quantile."""
    low = np.full(len(held_out.truth), -np.inf)
    return coverage_test(held_out.truth, low, held_out.prediction, q)


def fold_numbers(judged: EvaluatedRecipe) -> np.ndarray:
    """Number of the fold, in the first round, that each held-out row belongs to."""
    folds = judged.first_round
    return np.repeat(np.arange(len(folds)), [len(fold.test) for fold in folds])


def _more_rows(curve: LearningCurve, measure: Measure) -> MoreRows:
    """What more rows would improve; an error in units of the target is compared with itself."""
    if not measure.of_error:
        return curve.more_rows(best=measure.high)
    better = replace(curve, scores=-curve.scores)
    return better.more_rows(negligible=0.005 * float(curve.means[-1]), best=-measure.low)


def class_counts(held_out: HeldOutPredictions, names: tuple[str, ...]) -> tuple[ClassCounts, ...]:
    """Observed and predicted rows of each class."""
    truth, predicted = held_out.truth, held_out.prediction
    return tuple(
        ClassCounts(name, int(np.sum(truth == k)), int(np.sum(predicted == k)),
                    int(np.sum((truth == k) & (predicted == k))))
        for k, name in enumerate(names)
    )  # fmt: skip


def _range(
    held_out: HeldOutPredictions, folds: np.ndarray, X: np.ndarray, seed: int
) -> IntervalCheck:
    """Intervals from all errors; how often they hold, each fold's from the errors of the others."""
    error = np.abs(held_out.truth - held_out.prediction)
    sigma, local = fit_scale(X[held_out.rows], held_out.prediction, error, seed)
    ratio, half = error / sigma, np.empty(len(error))
    for k in np.unique(folds):
        half[folds == k] = conformal_quantile(ratio[folds != k], COVERAGE)
    half *= sigma
    held = coverage_test(held_out.truth, held_out.prediction - half, held_out.prediction + half,
                         COVERAGE)  # fmt: skip
    order = np.array_split(np.argsort(held_out.prediction, kind="stable"), 4)
    quarters = tuple(float(np.mean(error[rows] <= half[rows])) for rows in order if len(rows))
    typical = conformal_quantile(ratio, COVERAGE) * float(np.median(sigma))
    return IntervalCheck(typical, held, quarters, bool(local))


def _ranking(
    judged: EvaluatedRecipe, held_out: HeldOutPredictions, folds: np.ndarray, seed: int
) -> RankingQuality:
    y, margin = held_out.truth, held_out.margin
    assert margin is not None
    rare = int(np.argmin(np.bincount(y, minlength=2)))  # the class that kg predict --cost is about
    p = held_out_probabilities(judged, held_out, folds)[:, rare]
    costs = tuple(
        (a, b, best_threshold(y, p, false_alarm=a, miss=b, positive=rare)) for a, b in COSTS
    )
    return RankingQuality(
        _area(judged, y, margin, folds),
        rows_interval(average_precision, (y == rare).astype(int), margin if rare else -margin,
                      draws=200, seed=seed),
        float(np.mean(y == rare)),
        costs,
    )  # fmt: skip


def _area(
    judged: EvaluatedRecipe, y: np.ndarray, margin: np.ndarray, folds: np.ndarray
) -> Interval:
    """ROC area, as uncertain as the rows (DeLong) and the folds (corrected) together make it."""
    rows = auc_interval(y, margin)
    parts = [folds == k for k in np.unique(folds)]
    if not all(0 < np.sum(y[part] == 1) < part.sum() for part in parts):
        return rows
    spread = corrected_interval([auc(y[part], margin[part]) for part in parts],
                                *judged.nested.rows).clipped(0.0, 1.0)  # fmt: skip
    return Interval(
        spread.mean, min(rows.low, spread.low), max(rows.high, spread.high), rows.confidence
    )


def shifted(judged: EvaluatedRecipe) -> bool:
    """Balanced predictions favour rare classes: only then do probabilities need shifts."""
    return judged.measure.name == "balanced_accuracy"


def scaling(judged: EvaluatedRecipe, held_out: HeldOutPredictions) -> TemperatureScaling | None:
    """Margins to probabilities, from all held-out rows."""
    if held_out.decision is None:
        return None
    return fit_scaling(held_out.decision, held_out.truth, shifts=shifted(judged))


def calibration(
    judged: EvaluatedRecipe, held_out: HeldOutPredictions, folds: np.ndarray
) -> Reliability | None:
    """Two classes: of the second. More: of the most probable one, whether it was right."""
    if held_out.decision is None:
        return None
    P = held_out_probabilities(judged, held_out, folds)
    if held_out.margin is not None:
        return reliability(held_out.truth == 1, P[:, 1])
    return reliability(np.argmax(P, axis=1) == held_out.truth, P.max(axis=1))


def held_out_probabilities(
    judged: EvaluatedRecipe, held_out: HeldOutPredictions, folds: np.ndarray
) -> np.ndarray:
    """(n, classes) probabilities of held-out rows, calibrated on the other folds."""
    assert held_out.decision is not None
    P = np.empty_like(held_out.decision)
    for k in np.unique(folds):
        rest = folds != k
        found = fit_scaling(held_out.decision[rest], held_out.truth[rest], shifts=shifted(judged))
        P[~rest] = found.probabilities(held_out.decision[~rest])
    return P


def _groups(
    judged: EvaluatedRecipe,
    held_out: HeldOutPredictions,
    X: np.ndarray,
    layout: Layout,
    importance: HeldOutImportance | None,
) -> tuple[SubgroupResult, ...]:
    """Subgroups of the columns that matter most, the worst first."""
    if judged.measure.costs:
        losses = np.asarray(judged.measure.costs)[held_out.truth, held_out.prediction]
    else:
        loss = absolute if judged.measure.task == "regression" else zero_one
        losses = loss(held_out.truth, held_out.prediction)
    columns = list(enumerate(layout.used))
    if importance is not None:
        place = {importance.columns[k]: rank for rank, k in enumerate(importance.order)}
        columns.sort(key=lambda pair: place.get(pair[1].name, len(place)))
    found: list[SubgroupResult] = []
    looked = 0
    for k, column in columns:
        names = group_names(column, X[held_out.rows, k])
        if names is None or looked == MAX_COLUMNS:
            continue
        groups = subgroup_losses(losses, names, least=max(10, len(losses) // 50))
        looked += bool(groups)
        found += [SubgroupResult(column.name, group) for group in groups]
    # Holm within a column, Bonferroni between columns
    together = [
        replace(g, found=replace(g.found, p_value=min(1.0, looked * g.found.p_value)))
        for g in found
    ]
    return tuple(sorted(together, key=lambda group: (group.found.p_value, -group.found.loss)))


def group_names(column: Column, cells: np.ndarray) -> np.ndarray | None:
    """Words as they are, numbers as low, middle and high thirds; None where neither serves."""
    if column.kind in ("text", "image"):
        return None
    cells = cells.astype(float)
    known = np.isfinite(cells)
    if column.kind in ("categorical", "ordinal"):
        if not 2 <= len(column.levels) <= MAX_LEVELS:
            return None
        scale = len(column.levels) if column.kind == "ordinal" else 1
        place = np.where(known, cells * scale - (column.kind == "ordinal"), -1)
        levels = np.array([*column.levels, "missing"], dtype=object)
        return levels[np.round(place).astype(int)]
    if known.sum() < 30 or len(np.unique(cells[known])) < 3:
        return None
    low, high = np.quantile(cells[known], [1 / 3, 2 / 3])
    if not low < high:
        return None
    first, last = (_written(column, end) for end in (low, high))
    names = np.where(cells <= low, f"up to {first}",
                     np.where(cells > high, f"above {last}", f"{first} to {last}"))  # fmt: skip
    return np.where(known, names, "missing").astype(object)


def _written(column: Column, value: float) -> str:
    """An end of a third: days as a date."""
    if column.kind in ("date", "time") and column.form != AS_NUMBER:
        return str(np.datetime64(int(np.floor(value)), "D"))
    return f"{value:.4g}".replace("-", "−")

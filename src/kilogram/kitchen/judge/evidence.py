"""The data of the plots, from held-out rows.

    held_out_predictions  predicted and observed target of every row, from the fold that held it out
    importance            loss of score when one column is permuted among the held-out rows
    learning              score with an eighth, a quarter, a half of the training rows of each fold
    tuning                leave-one-out score by parameter, averaged over the folds

Importance shows what this model uses, not what causes the target; of two correlated columns either
can look unimportant alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.model_selection import train_test_split

from kilogram.base.budget import Budget
from kilogram.evaluation.grouped_fits import fit_rows, part
from kilogram.evaluation.learning_curves import LearningCurve
from kilogram.kitchen.judge.compare import EvaluatedRecipe
from kilogram.kitchen.judge.permuted_columns import ROWS_AT_ONCE, most_correlated_columns
from kilogram.kitchen.judge.pooled_scores import pooled_score
from kilogram.kitchen.measures import Measure, of_predictions, quick
from kilogram.kitchen.recipes.search_limits import ended_at

FRACTIONS = (0.125, 0.25, 0.5)
# Rows of a fold that are predicted for importance: means are known to 2 % of the spread.
MAX_HELD_OUT = 2000
SHUFFLES = 3  # per column and fold; the folds average further


@dataclass(frozen=True)
class HeldOutPredictions:
    """Held-out rows with observed target, prediction and decision values.

    `decision` holds the decision values of all classes, `margin` that of the second of two.
    """

    rows: np.ndarray
    truth: np.ndarray
    prediction: np.ndarray
    margin: np.ndarray | None
    decision: np.ndarray | None = None


@dataclass(frozen=True)
class HeldOutImportance:
    """Loss of score per column, (columns, folds); `skipped` columns were not tested."""

    columns: tuple[str, ...]
    losses: np.ndarray
    skipped: int

    @property
    def typical(self) -> np.ndarray:
        """The median over the folds: one fold with a bad model does not decide."""
        return np.median(self.losses, axis=1)

    @property
    def order(self) -> np.ndarray:
        """Columns from the most to the least important."""
        return np.argsort(-self.typical, kind="stable")


@dataclass(frozen=True)
class Tuning:
    """Leave-one-out score by penalty: one line per kernel width, one for the linear recipe.

    `by_fisher` of `folds` assign classes by Fisher's discriminant rule, as do their lines.
    """

    recipe: str
    alphas: np.ndarray
    widths: tuple[float, ...]
    path: np.ndarray
    by_fisher: int
    folds: int


def held_out_predictions(judged: EvaluatedRecipe, X: np.ndarray) -> HeldOutPredictions:
    """Out-of-fold predictions of the first repetition."""
    folds = judged.first_round
    margins = [fold.decision for fold in folds if fold.decision is not None]
    known = len(margins) == len(folds)
    two = known and all(m.shape[1] == 2 for m in margins)
    rows = np.concatenate([fold.test for fold in folds])
    return HeldOutPredictions(
        rows,
        judged.y[rows],
        judged.held_out[1],
        np.concatenate([m[:, 1] - m[:, 0] for m in margins]) if two else None,
        np.concatenate(margins) if known else None,
    )


def importance(
    judged: EvaluatedRecipe, X: np.ndarray, names: tuple[str, ...], *, seed: int, budget: Budget,
    folds: int | None = None,
) -> HeldOutImportance | None:  # fmt: skip
    """Permutation importance on held-out rows of each fold (the first `folds`) as time allows."""
    classes = 0 if judged.measure.task == "regression" else int(judged.y.max()) + 1
    looked = np.sort(most_correlated_columns(X, judged.y, classes))
    rng = np.random.default_rng(seed)
    losses = []
    for k, fold in enumerate(judged.first_round[:folds]):
        if budget.expired:
            break
        test = fold.test[:MAX_HELD_OUT]
        predict = partial(judged.predict_with, k, fold.model)
        losses.append(_losses(predict, X[test], judged.y[test], looked, judged.measure, rng))
    if not losses:
        return None
    shown = tuple(names[k] for k in looked)
    return HeldOutImportance(shown, np.array(losses).T, len(names) - len(looked))


def _losses(
    predict: Callable[[np.ndarray], np.ndarray],
    X: np.ndarray,
    y: np.ndarray,
    columns: np.ndarray,
    measure: Measure,
    rng: np.random.Generator,
) -> list[float]:
    """Loss of score for each column, averaged over a few shuffles of it.

    Shuffled copies are predicted together, as many as make a block: one call for many.
    """
    measure = of_predictions(measure)
    function = quick(measure)
    score = function(y, predict(X))
    wanted = np.repeat(np.arange(len(columns)), SHUFFLES)
    copies = max(1, ROWS_AT_ONCE // len(X))
    after = np.empty(len(wanted))
    for start in range(0, len(wanted), copies):
        part = columns[wanted[start : start + copies]]
        shuffled = np.tile(X, (len(part), 1))
        for k, column in enumerate(part):
            shuffled[k * len(X) : (k + 1) * len(X), column] = rng.permutation(X[:, column])
        predictions = np.split(predict(shuffled), len(part))
        after[start : start + copies] = [function(y, one) for one in predictions]
    lost = measure.sign * (score - after.reshape(len(columns), SHUFFLES).mean(axis=1))
    return list(np.nan_to_num(lost))  # one row has no R^2


def learning(
    judged: EvaluatedRecipe,
    X: np.ndarray,
    *,
    seed: int,
    budget: Budget,
    notify: Callable[[str], None],
    fractions: Sequence[float] = FRACTIONS,
) -> LearningCurve | None:
    """Scores of the recipe with fewer training rows; the last size is that of the folds."""
    folds = judged.first_round
    sizes, scores = [], []
    for fraction in fractions:
        notify(f"learning curve: {fraction:.0%} of the rows")
        if budget.left < sum(fold.seconds for fold in folds) * fraction:
            continue
        found = []
        for k in range(len(folds)):
            if (prediction := _with_fewer(judged, X, k, fraction, seed)) is None:
                break
            found.append(prediction)
        if len(found) == len(folds):
            sizes.append(fraction * judged.nested.rows[0])
            scores.append(_fold_scores(judged, found))
    if not sizes:
        return None
    sizes.append(judged.nested.rows[0])
    scores.append(_fold_scores(judged, judged.predictions[: len(folds)]))
    return LearningCurve(
        np.round(sizes).astype(int), np.array(scores, dtype=float), judged.nested.rows[1]
    )


def _with_fewer(
    judged: EvaluatedRecipe, X: np.ndarray, k: int, fraction: float, seed: int
) -> np.ndarray | None:
    """Predictions of fold k with a fraction of its training rows; None when too few are left."""
    y, fold = judged.y, judged.first_round[k]
    classes = judged.measure.task == "classification"
    count = round(fraction * len(fold.train))
    least = 3 * len(np.unique(y[fold.train])) if classes else 10
    # two rows of every class in each of three inner folds
    if count < least or (classes and _smallest_class(y[fold.train]) * fraction < 6):
        return None
    rows, _ = train_test_split(
        fold.train, train_size=count, random_state=seed, stratify=y[fold.train] if classes else None
    )
    along = part(judged.along, rows)
    if along and "groups" in along and len(np.unique(along["groups"])) < 2:
        return None
    # a search goes as far as that of the fold, however long it takes
    model = fit_rows(ended_at(judged.recipe.pipeline, fold.stopped_at), X[rows], y[rows], along)
    return judged.predict_with(k, model, X[fold.test])


def _fold_scores(judged: EvaluatedRecipe, predictions: list[np.ndarray]) -> np.ndarray:
    """Contribution of each fold to the score of the pooled predictions."""
    score = quick(of_predictions(judged.measure))
    return pooled_score(score, judged.y, judged.first_round, predictions).parts


def _smallest_class(y: np.ndarray) -> int:
    """Rows of the smallest class that is present."""
    return int(np.unique(y, return_counts=True)[1].min())


def tuning(judged: EvaluatedRecipe) -> Tuning | None:
    """The tuning paths of the first round, averaged; None for a recipe without penalties."""
    searches = [fold.model[-1] for fold in judged.first_round]
    if not hasattr(searches[0], "path_"):
        return None
    alike = [search.path_ for search in searches if search.path_.shape == searches[0].path_.shape]
    count = np.isfinite(alike).sum(axis=0)
    # a width that no fold found worth trying stays without a line
    path = np.where(count, np.nansum(alike, axis=0), np.nan) / np.maximum(count, 1)
    widths = tuple(searches[0].widths) if searches[0].kernel == "gaussian" else ()
    by_fisher = sum(search.rule_ == "fisher" for search in searches)
    alphas = np.asarray(searches[0].alphas_)
    return Tuning(judged.name, alphas, widths, path, by_fisher, len(searches))

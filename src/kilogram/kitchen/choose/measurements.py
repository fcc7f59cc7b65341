"""Properties of a table, measured on a sample of its rows.

linear?       ridge and its kernel version, tuned and evaluated on the same folds: without an
              improvement by the kernel there is no useful non-linear dependence
outliers?     residuals of held-out rows beyond 6 robust standard deviations
noise?        counts, if the target counts and its spread grows with its mean; Gaussian, unless
              the residuals (outliers aside) are skewed or heavy in the tails
equal noise?  rank correlation of the size of the residual with the prediction
weak?         more features than rows, or a condition number of the features beyond 1e4
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from kilogram.evaluation.nested import Nested, nested_cross_validate
from kilogram.kitchen.features import FeatureSettings, featurise
from kilogram.kitchen.features.columns import Layout
from kilogram.kitchen.question import Question
from kilogram.kitchen.recipes.ridge_search import RidgeSearchClassifier, RidgeSearchRegressor

TRIED_ROWS = 500  # bounds the time of the kernel fits: 500^3 operations each
USEFUL = 0.01  # An improvement of the score below this is of no practical use: our choice.
FOLDS = 5  # of the comparison of linear and kernel ridge: kg cook's number
FAR = 6.0  # robust standard deviations: once in 500 million normal residuals
MANY_FAR = 0.005  # of the rows: more than typing errors; our choice
CONDITION = 1e4  # coefficients then lose four digits: our choice


@dataclass(frozen=True)
class Property:
    """A property in a word, and the reason."""

    answer: str
    why: str

    @property
    def yes(self) -> bool:
        return self.answer == "yes"


UNKNOWN = Property("no", "not tested")


@dataclass(frozen=True)
class TableProperties:
    """Everything that the decision trees ask for."""

    rows: int
    features: int
    task: str | None = None
    labels_why: str = ""
    task_why: str = ""
    classes: int = 0
    linear: Property = UNKNOWN
    noise: Property = UNKNOWN
    unequal: Property = UNKNOWN
    weak: Property = UNKNOWN
    nonnegative: Property = UNKNOWN
    probabilities: bool = False
    sparse: bool = False
    noisy_inputs: bool = False
    clusters: bool = False
    views: int = 1
    small_device: bool = False


def label_properties(
    question: Question, layout: Layout, X: np.ndarray, seed: int
) -> dict[str, Any]:
    """The properties that involve the target, from (n, d) cells X."""
    rng = np.random.default_rng(seed)
    part = np.sort(rng.permutation(len(X))[:TRIED_ROWS])
    X, y = X[part], question.y[part]
    columns = featurise(layout, len(X), FeatureSettings(components=50))
    Z = columns.fit_transform(X)
    weak = _rank_deficiency(Z, len(question.rows), len(layout.positions("categorical")))
    found: dict[str, Any] = {"features": Z.shape[1], "weak": weak}
    linear = _judged(layout, "linear", X, y, question, seed)
    kernel = _judged(layout, "gaussian", X, y, question, seed)
    found["linear"] = _linear(linear, kernel, question.task, len(part))
    if question.task == "regression":
        best = kernel if found["linear"].answer == "non-linear" else linear
        truth, guess = _pairs(best, y)
        found["noise"] = noise(truth, guess)
        found["unequal"] = unequal(truth, guess)
    return found


def _judged(
    layout: Layout, kind: str, X: np.ndarray, y: np.ndarray, question: Question, seed: int
) -> Nested:
    numbers = question.task == "regression"
    search = RidgeSearchRegressor(kind) if numbers else RidgeSearchClassifier(kind)
    pipeline = Pipeline(
        [("columns", featurise(layout, len(X), FeatureSettings(components=50))), ("model", search)]
    )
    folds = min(FOLDS, len(y) if numbers else int(np.bincount(y)[np.bincount(y) > 0].min()))
    cut: Any = KFold if numbers or folds < 2 else StratifiedKFold
    cv = cut(max(folds, 2), shuffle=True, random_state=seed)
    scoring = "r2" if numbers else "accuracy"
    return nested_cross_validate(pipeline, X, y, cv=cv, scoring=scoring)


def _linear(linear: Nested, kernel: Nested, task: str, rows: int) -> Property:
    gain = kernel.against(linear)
    useful, sure = gain.difference.mean >= USEFUL, gain.verdict == "better"
    unit = "R²" if task == "regression" else "accuracy"
    # kg cook has more folds to test a small improvement
    result = (
        ("a significant improvement" if sure else "an improvement that is not significant")
        if (useful)
        else "no useful improvement"
    )
    reason = (
        f"on {rows} rows the linear recipe has {unit} {linear.scores.mean():.3f}, its kernel "
        f"version "
        f"{kernel.scores.mean():.3f}: {result}"
    )
    return Property("non-linear" if useful else "linear", reason)


def _pairs(judged: Nested, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Observed and predicted values of the held-out rows."""
    rows = np.concatenate([fold.test for fold in judged.folds])
    return y[rows], np.concatenate([fold.prediction for fold in judged.folds])


def noise(truth: np.ndarray, guess: np.ndarray) -> Property:
    """The kind of noise, from held-out rows."""
    r = truth - guess
    spread = 1.4826 * float(np.median(np.abs(r - np.median(r)))) or float(np.std(r)) or 1.0
    far = np.abs(r - np.median(r)) > FAR * spread
    if _counts(truth, guess):
        return Property("counts", "the target is a count, and its variance grows with its mean")
    if far.sum() >= 2 and far.mean() >= MANY_FAR:
        reason = (
            f"{far.sum()} of {len(r)} residuals lie beyond {FAR:.0f} robust standard deviations"
        )
        return Property("outliers", reason)
    rest = r[~far]
    skew, tails = float(stats.skew(rest)), float(stats.kurtosis(rest))
    reason = f"residuals have skewness {skew:.1f} and excess kurtosis {tails:.1f}"
    return Property("other" if abs(skew) > 1 or tails > 2 else "additive Gaussian", reason)


def _counts(truth: np.ndarray, guess: np.ndarray) -> bool:
    """Non-negative whole numbers whose variance follows their mean."""
    if truth.min() < 0 or np.any(truth != np.round(truth)) or np.median(truth) > 100:
        return False
    order = np.argsort(guess)
    low, high = np.array_split(order, 3)[0], np.array_split(order, 3)[-1]
    means = truth[low].mean(), truth[high].mean()
    spreads = np.var((truth - guess)[low]), np.var((truth - guess)[high])
    if means[1] < 1.5 * means[0] or min(means) <= 0 or spreads[0] <= 0:
        return False
    return 0.5 < np.log(spreads[1] / spreads[0]) / np.log(means[1] / means[0]) < 2.0


def unequal(truth: np.ndarray, guess: np.ndarray) -> Property:
    """Does the size of the residuals change with the prediction?"""
    found = stats.spearmanr(np.abs(truth - guess), guess)
    yes = abs(found.statistic) > 0.2 and found.pvalue < 1e-3
    reason = f"rank correlation of absolute residual and prediction: {found.statistic:.2f}"
    return Property("yes" if yes else "no", reason)


def _rank_deficiency(Z: np.ndarray, rows: int, words: int) -> Property:
    """`words` columns were made into indicators, each of which sums to one and loses a rank."""
    d = Z.shape[1]
    if d > rows:
        return Property("yes", f"{d:,} features for {rows:,} rows")
    singular = np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False)
    singular = singular[singular > 1e-10 * singular[0]]
    if len(singular) < d - words:
        return Property("yes", "some features are linear combinations of others")
    condition = float(singular[0] / singular[-1])
    return Property("yes" if condition > CONDITION else "no", f"condition number {condition:.0f}")

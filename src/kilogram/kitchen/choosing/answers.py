"""What the data says when it is asked, measured on a part of the rows.

linear?       ridge and its kernel twin, tuned and judged on the same folds: if the kernel gains
              nothing beyond doubt, there is no useful non-linear structure
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
from kilogram.kitchen.columns import Layout
from kilogram.kitchen.featurise import Plan, featurise
from kilogram.kitchen.question import Question
from kilogram.kitchen.search import TwinSearchClassifier, TwinSearchRegressor

TRIED_ROWS = 500
# A gain in score below this changes nothing for whoever uses the answer.
USEFUL = 0.01
FOLDS = 5
FAR = 6.0
MANY_FAR = 0.005
CONDITION = 1e4


@dataclass(frozen=True)
class Said:
    """An answer in a word, and why."""

    answer: str
    why: str

    @property
    def yes(self) -> bool:
        return self.answer == "yes"


UNKNOWN = Said("no", "not looked at")


@dataclass(frozen=True)
class Answers:
    """Everything the trees ask for."""

    rows: int
    features: int
    task: str | None = None
    labels_why: str = ""
    task_why: str = ""
    classes: int = 0
    linear: Said = UNKNOWN
    noise: Said = UNKNOWN
    unequal: Said = UNKNOWN
    weak: Said = UNKNOWN
    nonnegative: Said = UNKNOWN
    probabilities: bool = False
    sparse: bool = False
    noisy_inputs: bool = False
    clusters: bool = False
    views: int = 1
    small_device: bool = False


def ask_labels(question: Question, layout: Layout, X: np.ndarray, seed: int) -> dict[str, Any]:
    """The answers about a target, from (n, d) cells X of the rows of the question."""
    rng = np.random.default_rng(seed)
    part = np.sort(rng.permutation(len(X))[:TRIED_ROWS])
    X, y = X[part], question.y[part]
    columns = featurise(layout, len(X), Plan(components=50))
    Z = columns.fit_transform(X)
    weak = _weak(Z, len(question.rows), len(layout.positions("categorical")))
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
    search = TwinSearchRegressor(kind) if numbers else TwinSearchClassifier(kind)
    pipeline = Pipeline(
        [("columns", featurise(layout, len(X), Plan(components=50))), ("model", search)]
    )
    folds = min(FOLDS, len(y) if numbers else int(np.bincount(y)[np.bincount(y) > 0].min()))
    cut: Any = KFold if numbers or folds < 2 else StratifiedKFold
    cv = cut(max(folds, 2), shuffle=True, random_state=seed)
    scoring = "r2" if numbers else "accuracy"
    return nested_cross_validate(pipeline, X, y, cv=cv, scoring=scoring)


def _linear(linear: Nested, kernel: Nested, task: str, rows: int) -> Said:
    gain = kernel.against(linear)
    useful, sure = gain.difference.mean >= USEFUL, gain.verdict == "better"
    unit = "R²" if task == "regression" else "accuracy"
    # a gain that so few folds do not prove is left for kg cook, which has more of them
    said = ("a sure gain" if sure else "perhaps a gain") if useful else "no gain worth having"
    told = (
        f"on {rows} rows the linear recipe has {unit} {linear.scores.mean():.3f}, its kernel twin "
        f"{kernel.scores.mean():.3f}: {said}"
    )
    return Said("non-linear" if useful else "linear", told)


def _pairs(judged: Nested, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Truth and prediction of the held-out rows."""
    rows = np.concatenate([fold.test for fold in judged.folds])
    return y[rows], np.concatenate([fold.prediction for fold in judged.folds])


def noise(truth: np.ndarray, guess: np.ndarray) -> Said:
    """The kind of noise, from held-out rows."""
    r = truth - guess
    spread = 1.4826 * float(np.median(np.abs(r - np.median(r)))) or float(np.std(r)) or 1.0
    far = np.abs(r - np.median(r)) > FAR * spread
    if _counts(truth, guess):
        return Said("counts", "the target counts, and its spread grows with its mean")
    if far.sum() >= 2 and far.mean() >= MANY_FAR:
        told = f"{far.sum()} of {len(r)} residuals lie beyond {FAR:.0f} robust standard deviations"
        return Said("outliers", told)
    rest = r[~far]
    skew, tails = float(stats.skew(rest)), float(stats.kurtosis(rest))
    told = f"residuals have skewness {skew:.1f} and excess kurtosis {tails:.1f}"
    return Said("other" if abs(skew) > 1 or tails > 2 else "additive Gaussian", told)


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


def unequal(truth: np.ndarray, guess: np.ndarray) -> Said:
    """Does the size of the residuals change with the prediction?"""
    found = stats.spearmanr(np.abs(truth - guess), guess)
    yes = abs(found.statistic) > 0.2 and found.pvalue < 1e-3
    told = f"size of the residual and prediction correlate with {found.statistic:.2f}"
    return Said("yes" if yes else "no", told)


def _weak(Z: np.ndarray, rows: int, words: int) -> Said:
    """`words` columns were made into indicators, each of which sums to one and loses a rank."""
    d = Z.shape[1]
    if d > rows:
        return Said("yes", f"{d:,} features for {rows:,} rows")
    singular = np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False)
    singular = singular[singular > 1e-10 * singular[0]]
    if len(singular) < d - words:
        return Said("yes", "some features are sums of others")
    condition = float(singular[0] / singular[-1])
    return Said("yes" if condition > CONDITION else "no", f"condition number {condition:.0f}")

"""Contenders on one table: `kg cook`, LightGBM with its defaults, LightGBM tuned and averaged.

Each learns from a table with the target in `y` and predicts other rows: numbers, or probabilities
of the sorted classes. All use one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.boosting_data import is_class
from kilogram.kitchen import cook
from kilogram.kitchen.recipes.ensemble import greedy_weights

# Findings of the audit that a user of these tables would have accepted.
ACCEPT = ("KG-A04", "KG-A05", "KG-A07", "KG-A08", "KG-A09", "KG-A17")
# Settings of LightGBM that are tried, the defaults being the first; folds of their evaluation.
SETTINGS, FOLDS = 20, 5
# Rounds without an improvement of the fold kept aside that end boosting, and the most rounds.
PATIENCE, MOST_ROUNDS = 50, 3000
LEAST_PROBABILITY = 1e-6  # of a class, in the log-loss


@dataclass(frozen=True)
class Outcome:
    """Predictions of other rows, the seconds until they were there, and what was found."""

    prediction: np.ndarray
    seconds: float
    about: dict[str, Any] = field(default_factory=dict)


def kilogram(train: pd.DataFrame, test: pd.DataFrame, seed: int, limit: float) -> Outcome:
    """`kg cook` with its defaults, `limit` seconds at most."""
    started = time.perf_counter()
    classes = is_class(train)
    task: Any = "classification" if classes else "regression"
    found = cook(train, "y", task=task, measure="accuracy" if classes else "r2",
                 max_time=limit, accept=ACCEPT)  # fmt: skip
    rows = test.drop(columns="y")
    if classes:
        columns = found.predict(rows, details=True)
        names = np.unique(train["y"])
        prediction = np.column_stack([columns[f"P({name})"] for name in names])
    else:
        prediction = np.asarray(found.predict(rows))
    about = {
        "chosen": found.chosen.name,
        "stated": {one.name: round(one.score.mean, 5) for one in found.judged},
        "notes": list(found.notes),
    }
    return Outcome(prediction, time.perf_counter() - started, about)


def lightgbm(train: pd.DataFrame, test: pd.DataFrame, seed: int, limit: float) -> Outcome:
    """LightGBM with its defaults; words are its categories."""
    started = time.perf_counter()
    X, y, rows = _cells(train, test)
    model = _model(train, {}, seed).fit(X, y)
    return Outcome(_predicted(model, rows), time.perf_counter() - started)


def lightgbm_tuned(train: pd.DataFrame, test: pd.DataFrame, seed: int, limit: float) -> Outcome:
    """Random settings with early stopping, each by five folds; the weighted mean of the best.

    The models of all folds are kept, so that a setting predicts with the mean of five. Weights of
    the settings are selected on the predictions of the folds kept aside. After `limit` seconds no
    further setting is begun.
    """
    import lightgbm as lgb

    started = time.perf_counter()
    X, y, rows = _cells(train, test)
    classes = is_class(train)
    splitter = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=seed)
    folds = list(splitter.split(X, y))
    rng = np.random.default_rng(seed)
    aside, outside = [], []
    for k in range(SETTINGS):
        if k and time.perf_counter() - started > limit:
            break
        chosen = _settings(rng) if k else {}
        held: Any = None
        mean: Any = 0.0
        for fit, rest in folds:
            model = _model(train, chosen | {"n_estimators": MOST_ROUNDS}, seed)
            model.fit(X.iloc[fit], y[fit], eval_set=[(X.iloc[rest], y[rest])],
                      callbacks=[lgb.early_stopping(PATIENCE, verbose=False)])  # fmt: skip
            predicted = _predicted(model, X.iloc[rest])
            held = np.zeros((len(y), *predicted.shape[1:])) if held is None else held
            held[rest] = predicted
            mean = mean + _predicted(model, rows) / FOLDS
        aside.append(held)
        outside.append(mean)
    weights = greedy_weights(_loss(y, classes), aside)
    prediction = np.tensordot(weights, outside, axes=1)
    about = {"settings": len(aside), "weights": [round(float(w), 3) for w in weights]}
    return Outcome(prediction, time.perf_counter() - started, about)


CONTENDERS: dict[str, Callable[[pd.DataFrame, pd.DataFrame, int, float], Outcome]] = {
    "kilogram": kilogram, "lightgbm": lightgbm, "lightgbm_tuned": lightgbm_tuned,
}  # fmt: skip


def losses(prediction: np.ndarray, train: pd.DataFrame, test: pd.DataFrame) -> dict[str, float]:
    """Root mean squared error, or the fraction of wrong classes and the log-loss."""
    if not is_class(train):
        return {"error": float(np.sqrt(np.mean((prediction - test["y"].to_numpy()) ** 2)))}
    truth = np.searchsorted(np.unique(train["y"]), test["y"])
    wrong = np.argmax(prediction, axis=1) != truth
    return {"error": float(np.mean(wrong)), "log_loss": _loss(truth, True)(prediction)}


def _loss(y: np.ndarray, classes: bool) -> Callable[[np.ndarray], float]:
    """Mean squared error, or the mean negative logarithm of the observed class."""
    if not classes:
        return lambda f: float(np.mean((f - y) ** 2))
    each = np.arange(len(y))
    return lambda P: float(-np.mean(np.log(np.maximum(P[each, y], LEAST_PROBABILITY))))


def _cells(
    train: pd.DataFrame, test: pd.DataFrame
) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Rows to learn from, with words as categories, their target, and the other rows."""
    both = pd.concat([train, test], ignore_index=True).drop(columns="y")
    for column in both.columns:
        if not pd.api.types.is_numeric_dtype(both[column]):
            both[column] = both[column].astype("category")
    y = train["y"].to_numpy()
    if is_class(train):
        y = np.searchsorted(np.unique(y), y)
    return both.iloc[: len(train)], y, both.iloc[len(train) :]


def _model(train: pd.DataFrame, chosen: dict[str, Any], seed: int) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if is_class(train) else LGBMRegressor
    return kind(verbose=-1, n_jobs=1, random_state=seed, **chosen)


def _settings(rng: np.random.Generator) -> dict[str, Any]:
    """A draw of the settings of LightGBM that matter most."""

    def between(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    return {
        "learning_rate": between(0.01, 0.2), "num_leaves": int(between(4, 200)),
        "min_child_samples": int(between(2, 64)), "colsample_bytree": rng.uniform(0.4, 1.0),
        "subsample": rng.uniform(0.6, 1.0), "subsample_freq": 1,
        "reg_lambda": between(1e-3, 10.0), "reg_alpha": between(1e-4, 1.0),
        "extra_trees": bool(rng.integers(2)),
    }  # fmt: skip


def _predicted(model: Any, X: pd.DataFrame) -> np.ndarray:
    found = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    return np.asarray(found)
